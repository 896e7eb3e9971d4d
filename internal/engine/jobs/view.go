package jobs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/hermes-runtime/hermes/environment"
)

// maxPage bounds the text of one page, in bytes. A page has one line in any case.
const maxPage = 2 << 20

// block is how much is read at a time when lines are looked for.
const block = 64 << 10

// view is a log as it stood at one moment.
type view struct {
	f    *os.File
	size int64
	counts
}

func (v *view) close() { _ = v.f.Close() }

// openView opens the log of a job that nobody writes any more.
func openView(dir string, c counts) (*view, error) {
	f, err := os.Open(filepath.Join(dir, logName))
	if err != nil {
		return nil, err
	}
	i, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &view{f: f, size: i.Size(), counts: c}, nil
}

// recount finds out about a log whose writer died.
func recount(dir string) (counts, error) {
	var c counts
	f, err := os.Open(filepath.Join(dir, logName))
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	if err != nil {
		return c, err
	}
	defer f.Close()
	c.Gap = findGap(dir, f)
	r := &counter{}
	if _, err := io.Copy(r, f); err != nil {
		return c, err
	}
	c.Lines, c.Partial, c.Chars = r.lines, r.partial, r.chars
	if g := c.Gap; g != nil {
		c.Lines += g.Lines - 1 // the line that says so is none of the job's
	}
	return c, nil
}

// findGap reads the line that stands where lines were dropped, if they were: the note beside the log is written before the log is.
func findGap(dir string, f *os.File) *gap {
	b, err := os.ReadFile(filepath.Join(dir, gapFile))
	var g gap
	if err != nil || json.Unmarshal(b, &g) != nil {
		return nil
	}
	line := make([]byte, 100)
	n, _ := f.ReadAt(line, g.At)
	text, _, ok := strings.Cut(string(line[:n]), "\n")
	if !ok {
		return nil
	}
	if _, err := fmt.Sscanf(text+"\n", gapForm, &g.Lines); err != nil {
		return nil
	}
	g.End = g.At + int64(len(text)) + 1
	return &g
}

// counter counts what is written to it.
type counter struct {
	lines, partial int
	chars          int64
}

func (c *counter) Write(b []byte) (int, error) {
	for _, x := range b {
		if utf8.RuneStart(x) {
			c.chars++
		}
	}
	if n := bytes.Count(b, []byte{'\n'}); n > 0 {
		c.lines += n
		c.partial = len(b) - 1 - bytes.LastIndexByte(b, '\n')
	} else {
		c.partial += len(b)
	}
	return len(b), nil
}

// end gives the last n characters.
func (v *view) end(n int) (string, error) {
	if n <= 0 || v.size == 0 {
		return "", nil
	}
	from := max(0, v.size-int64(n)*utf8.UTFMax)
	b := make([]byte, v.size-from)
	if _, err := v.f.ReadAt(b, from); err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	i := len(b)
	for ; n > 0 && i > 0; n-- {
		_, w := utf8.DecodeLastRune(b[:i])
		i -= w
	}
	return string(b[i:]), nil
}

// page reads lines: limit of them from offset, or the last ones for an offset below 0. Where the first one asked for was dropped, it
// begins behind the gap, and it never goes over one.
func (v *view) page(offset, limit int) (environment.LogPage, error) {
	p := environment.LogPage{Total: v.total(), Dropped: v.dropped()}
	limit = max(limit, 1)
	if offset < 0 {
		offset = max(0, p.Total-limit)
	}
	s := section{v: v, to: v.size, count: p.Total}
	if g := v.Gap; g != nil {
		if offset < g.First {
			s.to, s.count = g.At, g.First
		} else {
			s.from, s.first = g.End, g.First+g.Lines
			s.count = p.Total - s.first
			offset = max(offset, s.first)
		}
	}
	p.First = min(offset, p.Total)
	limit = min(limit, s.first+s.count-offset)
	if limit <= 0 {
		return p, nil
	}
	at, err := s.find(offset - s.first)
	if err != nil {
		return p, err
	}
	p.Text, p.Count, err = s.read(at, limit)
	return p, err
}

// section is a stretch of the log without gaps.
type section struct {
	v        *view
	from, to int64
	first    int // number of its first line
	count    int // of its lines
}

// find gives where its n-th line begins, looking from the nearer end.
func (s section) find(n int) (int64, error) {
	if n <= s.count/2 {
		return s.forward(n)
	}
	back := s.count - n // lines from there to the end
	at, b := s.to, make([]byte, block)
	if s.to == s.v.size && s.v.Partial > 0 {
		back--
		at = s.to - int64(s.v.Partial)
		if back == 0 {
			return at, nil
		}
	}
	back++ // the break before the line is looked for, not the one that ends the last
	for at > s.from {
		k := min(int64(block), at-s.from)
		if _, err := s.v.f.ReadAt(b[:k], at-k); err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		for part := b[:k]; ; {
			i := bytes.LastIndexByte(part, '\n')
			if i < 0 {
				break
			}
			if back--; back == 0 {
				return at - k + int64(i) + 1, nil
			}
			part = part[:i]
		}
		at -= k
	}
	return s.from, nil
}

func (s section) forward(n int) (int64, error) {
	at, b := s.from, make([]byte, block)
	for n > 0 && at < s.to {
		k := min(int64(block), s.to-at)
		if _, err := s.v.f.ReadAt(b[:k], at); err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		part := b[:k]
		for n > 0 {
			i := bytes.IndexByte(part, '\n')
			if i < 0 {
				break
			}
			n--
			at += int64(i) + 1
			part = part[i+1:]
		}
		if n > 0 {
			at += int64(len(part))
		}
	}
	return at, nil
}

// read gives up to limit lines from an offset, and how many they are.
func (s section) read(at int64, limit int) (string, int, error) {
	var out []byte
	n := 0
	b := make([]byte, block)
	for at < s.to && n < limit {
		k := min(int64(block), s.to-at)
		if _, err := s.v.f.ReadAt(b[:k], at); err != nil && !errors.Is(err, io.EOF) {
			return "", 0, err
		}
		part := b[:k]
		for n < limit && len(part) > 0 {
			i := bytes.IndexByte(part, '\n')
			if i < 0 {
				out = append(out, part...)
				at += int64(len(part))
				break
			}
			out = append(out, part[:i+1]...)
			at += int64(i) + 1
			part = part[i+1:]
			if n++; len(out) > maxPage {
				return string(out), n, nil
			}
		}
	}
	if n < limit && len(out) > 0 && out[len(out)-1] != '\n' {
		n++ // the unfinished one
	}
	return string(out), n, nil
}

// lineStart gives where the first line begins at or behind an offset.
func lineStart(f io.ReaderAt, at int64) (int64, error) {
	if at <= 0 {
		return 0, nil
	}
	b := make([]byte, block)
	for at--; ; {
		n, err := f.ReadAt(b, at)
		if i := bytes.IndexByte(b[:n], '\n'); i >= 0 {
			return at + int64(i) + 1, nil
		}
		if at += int64(n); err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return at, err
		}
	}
}

func countLines(f io.ReaderAt, from, to int64) (int, error) {
	c := &counter{}
	_, err := io.Copy(c, io.NewSectionReader(f, from, to-from))
	return c.lines, err
}
