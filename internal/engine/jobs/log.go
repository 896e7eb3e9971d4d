package jobs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"
	"unicode/utf8"
)

// maxLine is where a line without end is broken, in bytes, so that whole lines can always be dropped.
const maxLine = 1 << 20

// journal is the log of a job that runs: text is appended, and once it is longer than it may be, whole lines in the middle go. One
// goroutine writes; any may read.
type journal struct {
	path       string
	head, tail int64

	mu     sync.Mutex
	f      *os.File
	count  counts
	size   int64
	last   time.Time // of output
	full   int64     // characters that a full disk did not take, since it took some
	warned bool      // once is enough
	warn   func(error)
}

// counts tells how much a job printed, over its whole life.
type counts struct {
	Lines   int   `json:"lines"`             // finished ones
	Partial int   `json:"partial,omitempty"` // bytes of the line that isn't finished
	Chars   int64 `json:"chars"`
	Gap     *gap  `json:"gap,omitempty"`
}

// total counts an unfinished last line too.
func (c counts) total() int {
	if c.Partial > 0 {
		return c.Lines + 1
	}
	return c.Lines
}

func (c counts) dropped() int {
	if c.Gap == nil {
		return 0
	}
	return c.Gap.Lines
}

// gap is where lines were dropped. In its place stands a line that says so.
type gap struct {
	At    int64 `json:"at"`    // offset in the file
	End   int64 `json:"end"`   // where the lines after it begin
	First int   `json:"first"` // number of the first line dropped
	Lines int   `json:"lines"` // how many
}

const gapForm = "[hermes: %d lines dropped here]\n"

func newJournal(path string, head, tail int64) *journal {
	return &journal{path: path, head: head, tail: tail, warn: func(error) {}}
}

// open makes the file. Nothing is written before that.
func (l *journal) open() error {
	f, err := os.OpenFile(l.path, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.f = f
	return nil
}

// Write appends text. It never fails: a job isn't ended because a disk is full.
func (l *journal) Write(b []byte) (int, error) {
	all := len(b)
	for len(b) > 0 {
		n := len(b)
		if nl := bytes.IndexByte(b, '\n'); nl < 0 && l.count.Partial+n > maxLine || nl >= 0 && l.count.Partial+nl > maxLine {
			n = l.breakLine(b)
		} else if nl >= 0 && n > maxLine {
			n = nl + 1
		}
		l.append(b[:n])
		b = b[n:]
	}
	if l.size > l.head+l.tail+l.tail/4 {
		if err := l.compact(); err != nil {
			l.warn(fmt.Errorf("shorten the log %s: %w", l.path, err))
		}
	}
	return all, nil
}

// breakLine ends a line that is too long and gives how many bytes of b belong to it.
func (l *journal) breakLine(b []byte) int {
	n := max(0, maxLine-l.count.Partial)
	for n > 0 && n < len(b) && !utf8.RuneStart(b[n]) {
		n--
	}
	if n == 0 {
		l.append([]byte{'\n'})
		n = min(len(b), maxLine)
		for n > 1 && n < len(b) && !utf8.RuneStart(b[n]) {
			n--
		}
		if nl := bytes.IndexByte(b[:n], '\n'); nl >= 0 {
			n = nl + 1
		}
	}
	return n
}

func (l *journal) append(b []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = time.Now()
	if l.f == nil {
		return
	}
	text := b
	if l.full > 0 { // the note alone may fit where nothing else does
		text = append(fmt.Appendf(nil, fullForm, l.full), b...)
	}
	if err := l.put(text); err != nil {
		if !l.warned {
			l.warn(fmt.Errorf("write the log %s: %w", l.path, err))
		}
		l.warned = true
		l.full += int64(utf8.RuneCount(b))
		return
	}
	l.full = 0
}

// fullForm stands where a full disk took nothing.
const fullForm = "\n[hermes: %d characters are missing here: the disk was full]\n"

// put writes all of b or, as far as the file can be made so, nothing.
func (l *journal) put(b []byte) error {
	if _, err := l.f.WriteAt(b, l.size); err != nil {
		_ = l.f.Truncate(l.size) // a part may stand there, whatever the count says
		return err
	}
	l.size += int64(len(b))
	l.count.Chars += int64(utf8.RuneCount(b))
	if n := bytes.Count(b, []byte{'\n'}); n > 0 {
		l.count.Lines += n
		l.count.Partial = len(b) - 1 - bytes.LastIndexByte(b, '\n')
	} else {
		l.count.Partial += len(b)
	}
	return nil
}

// compact writes the log anew without its middle. Who reads the old one goes on reading that.
func (l *journal) compact() error {
	old := l.count.Gap
	var cut gap
	var err error
	if old != nil {
		cut = *old
	} else {
		if cut.At, err = lineStart(l.f, l.head); err != nil {
			return err
		}
		if cut.First, err = countLines(l.f, 0, cut.At); err != nil {
			return err
		}
		cut.End = cut.At
		mark, _ := json.Marshal(cut) //nolint:errchkjson // plain numbers
		if err := os.WriteFile(filepath.Join(filepath.Dir(l.path), gapFile), mark, 0o600); err != nil {
			return err
		}
	}
	from, err := lineStart(l.f, l.size-l.tail)
	if err != nil || from <= cut.End {
		return err
	}
	more, err := countLines(l.f, cut.End, from)
	if err != nil {
		return err
	}
	cut.Lines += more
	note := fmt.Sprintf(gapForm, cut.Lines)
	fresh, err := os.OpenFile(l.path+".new", os.O_CREATE|os.O_TRUNC|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	size, err := splice(fresh, io.NewSectionReader(l.f, 0, cut.At), bytes.NewReader([]byte(note)), io.NewSectionReader(l.f, from, l.size-from))
	l.mu.Lock() // file and counts change together, for view
	defer l.mu.Unlock()
	if err == nil {
		err = os.Rename(l.path+".new", l.path)
	}
	if err != nil {
		return errors.Join(err, fresh.Close(), os.Remove(l.path+".new"))
	}
	cut.End = cut.At + int64(len(note))
	_ = l.f.Close()
	l.f, l.size, l.count.Gap = fresh, size, &cut
	return nil
}

func splice(to io.Writer, parts ...io.Reader) (int64, error) {
	var size int64
	for _, p := range parts {
		n, err := io.Copy(to, p)
		if size += n; err != nil {
			return size, err
		}
	}
	return size, nil
}

// view opens what there is by now, for one reader.
func (l *journal) view() (*view, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	f, err := os.Open(l.path)
	if err != nil {
		return nil, err
	}
	return &view{f: f, size: l.size, counts: l.count}, nil
}

// end gives the last n characters, and how much was printed by then. It reads the writer's own file: to poll a job opens none.
func (l *journal) end(n int) (string, counts) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f == nil {
		return "", l.count
	}
	text, _ := (&view{f: l.f, size: l.size}).end(n) // an unreadable log shows nothing
	return text, l.count
}

// tally is how much was printed.
func (l *journal) tally() counts {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count
}

// close ends the writing.
func (l *journal) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.f == nil {
		return
	}
	if l.full > 0 {
		_ = l.put(fmt.Appendf(nil, fullForm, l.full)) // at worst the end is missing and nothing says so
	}
	_ = l.f.Close()
	l.f = nil
}
