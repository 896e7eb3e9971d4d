package textcap

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"sync"
	"unicode/utf8"
)

// Unit is what a Collector counts its limits in.
type Unit uint8

// The units of a Collector's limits.
const (
	InChars Unit = iota // code points
	InBytes
)

// Defaults of CollectorOptions.
const (
	DefaultLimit    = 50_000    // SIZ-9
	DefaultSpillMax = 5_000_000 // ENG-17
	headPercent     = 40        // the rest of the limit is the tail's
)

// CollectorOptions says how much a Collector keeps. The zero value keeps DefaultLimit characters and spills nothing.
type CollectorOptions struct {
	Limit       int  // 0: DefaultLimit; below 0: nothing is kept, all is counted
	Unit        Unit // of Limit and SpillMax
	HeadPercent int  // share of Limit that the head has; 0: 40
	// Spill, if given, is called once the limit is exceeded. What it opens gets the whole text from its beginning,
	// up to SpillMax, and is closed by Close.
	Spill    func() (io.WriteCloser, error)
	SpillMax int64 // 0: DefaultSpillMax
}

// Collector keeps the head and the tail of a stream of UTF-8 in constant memory and counts all of it (ENG-17).
// Pieces may split a character. Writing never fails: when the spill does, that is told in the Result.
// It may be read while it is written to.
type Collector struct {
	mu        sync.Mutex
	opts      CollectorOptions
	headLimit int
	head      []byte
	headUnits int
	tail      ring
	total     Counts
	last      byte // of the stream

	spill     *bufio.Writer // open
	spillFile io.WriteCloser
	spilled   Counts
	spillErr  error
	spillDone bool // no more is to be written
}

// Counts are exact sizes of a text.
type Counts struct {
	Bytes, Chars int64
	Lines        int64 // a last line without a line break counts
}

// Result is what a Collector has of its stream.
type Result struct {
	Head      string // the whole text unless Truncated
	Tail      string // its end; empty unless Truncated
	Truncated bool
	Total     Counts // of the whole stream
	Omitted   Counts // of what is between Head and Tail; a line left out in part counts
	// Spill tells of the spill: Opened if there is one, how much it holds, whether that is all, and why not.
	Spill SpillState
}

// SpillState tells how far the whole text was written beside the Collector.
type SpillState struct {
	Opened   bool
	Complete bool // it holds the whole text
	Held     Counts
	Err      error // of opening, writing or closing it
}

// NewCollector returns an empty Collector.
func NewCollector(opts CollectorOptions) *Collector {
	switch {
	case opts.Limit == 0:
		opts.Limit = DefaultLimit
	case opts.Limit < 0:
		opts.Limit = 0
	}
	if opts.HeadPercent == 0 {
		opts.HeadPercent = headPercent
	}
	if opts.SpillMax == 0 {
		opts.SpillMax = DefaultSpillMax
	}
	c := &Collector{opts: opts, headLimit: opts.Limit * opts.HeadPercent / 100}
	width := 1
	if opts.Unit == InChars {
		width = utf8.UTFMax
	}
	// One character more than the tail tells whether it begins a line.
	c.tail.max = (opts.Limit-c.headLimit)*width + utf8.UTFMax
	return c
}

// Write takes p whole and never fails.
func (c *Collector) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	before := c.units(c.total)
	c.total.Bytes += int64(len(p))
	c.total.Chars += int64(chars(p))
	c.total.Lines += int64(bytes.Count(p, newline))
	c.last = p[len(p)-1]
	if c.opts.Spill != nil && !c.spillDone && c.units(c.total) > int64(c.opts.Limit) {
		if before <= int64(c.opts.Limit) {
			c.openSpill()
		}
		c.toSpill(p)
	}
	n := c.fillHead(p)
	c.tail.write(p[n:])
	return len(p), nil
}

var newline = []byte{'\n'}

func (c *Collector) units(n Counts) int64 {
	if c.opts.Unit == InBytes {
		return n.Bytes
	}
	return n.Chars
}

// fillHead gives the head what it still takes of p and returns how much that was.
func (c *Collector) fillHead(p []byte) int {
	if c.tail.total > 0 {
		return 0 // text after the head has come
	}
	n := 0
	if c.opts.Unit == InBytes {
		n = min(len(p), c.headLimit-len(c.head))
	} else {
		n = offset(p, c.headLimit-c.headUnits)
		n = min(n, c.headLimit*utf8.UTFMax-len(c.head)) // bounded for what isn't UTF-8, too
		c.headUnits += chars(p[:n])
	}
	c.head = append(c.head, p[:n]...)
	return n
}

func (c *Collector) openSpill() {
	f, err := c.opts.Spill()
	if err != nil {
		c.stopSpill(fmt.Errorf("open the file for the whole output: %w", err))
		return
	}
	c.spillFile, c.spill = f, bufio.NewWriterSize(f, 64<<10)
	c.toSpill(c.head)
	a, b := c.tail.parts()
	c.toSpill(a)
	c.toSpill(b)
}

func (c *Collector) toSpill(p []byte) {
	if c.spillDone || len(p) == 0 {
		return
	}
	room := c.opts.SpillMax - c.units(c.spilled)
	n := len(p)
	if c.opts.Unit == InBytes {
		if int64(n) > room {
			for n = int(room); n > 0 && !utf8.RuneStart(p[n]); {
				n--
			}
		}
	} else if int64(n) > room {
		n = offset(p, int(room))
	}
	if _, err := c.spill.Write(p[:n]); err != nil {
		c.stopSpill(fmt.Errorf("write the whole output to a file: %w", err))
		return
	}
	c.spilled.Bytes += int64(n)
	c.spilled.Chars += int64(chars(p[:n]))
	c.spilled.Lines += int64(bytes.Count(p[:n], newline))
	if n < len(p) {
		c.stopSpill(nil)
	}
}

// stopSpill ends the writing of the spill, at an error or its limit.
func (c *Collector) stopSpill(err error) {
	c.spillDone = true
	if c.spill != nil {
		if e := c.spill.Flush(); err == nil && e != nil {
			err = fmt.Errorf("write the whole output to a file: %w", e)
		}
		if e := c.spillFile.Close(); err == nil && e != nil {
			err = fmt.Errorf("close the file of the whole output: %w", e)
		}
		c.spill = nil
	}
	c.spillErr = err
}

// Close ends the spill and returns its error, if any. The Result stays readable.
func (c *Collector) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.spillDone {
		c.stopSpill(nil)
	}
	return c.spillErr
}

// Flush is there so that a Collector can end a chain of filters.
func (c *Collector) Flush() error { return nil }

// Result returns what has been collected so far.
func (c *Collector) Result() Result {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := Result{Total: c.total, Spill: SpillState{
		Opened:   c.spillFile != nil,
		Complete: c.spillFile != nil && c.spillErr == nil && c.spilled.Bytes == c.total.Bytes,
		Held:     c.spilled,
		Err:      c.spillErr,
	}}
	if c.total.Bytes > 0 && c.last != '\n' {
		r.Total.Lines++
	}
	tail := c.tail.bytes()
	if c.units(c.total) <= int64(c.opts.Limit) {
		r.Head = string(c.head) + string(tail)
		return r
	}
	r.Truncated = true
	head := wholeRunes(c.head)
	head = head[:headEnd(head)]
	start := c.tailAt(tail)
	before := c.head // what the text that is left out ends with
	if start > 0 {
		before = tail[:start]
	}
	tail = tail[start:]
	r.Head, r.Tail = string(head), string(tail)
	r.Omitted = Counts{
		Bytes: c.total.Bytes - int64(len(head)+len(tail)),
		Chars: c.total.Chars - int64(chars(head)+chars(tail)),
		Lines: c.total.Lines - int64(bytes.Count(head, newline)+bytes.Count(tail, newline)),
	}
	if !bytes.HasSuffix(before, newline) {
		r.Omitted.Lines++ // its last line goes on in the tail, or is the stream's unended last
	}
	return r
}

// tailAt returns where in b, what the ring holds, the tail begins.
func (c *Collector) tailAt(b []byte) int {
	keep := c.opts.Limit - c.headLimit
	start := 0
	if c.opts.Unit == InBytes {
		start = max(0, len(b)-keep)
		for start < len(b) && !utf8.RuneStart(b[start]) {
			start++
		}
	} else {
		start = offsetFromEnd(b, keep)
	}
	return start + tailStart(b[start:], start > 0 && b[start-1] == '\n')
}

// wholeRunes returns b without a character that isn't whole at its end.
func wholeRunes(b []byte) []byte {
	for i := len(b) - 1; i >= max(0, len(b)-utf8.UTFMax); i-- {
		if utf8.RuneStart(b[i]) {
			if !utf8.FullRune(b[i:]) {
				return b[:i]
			}
			break
		}
	}
	return b
}

// ring keeps the last max bytes written to it. It grows as it is filled.
type ring struct {
	max   int
	buf   []byte
	next  int   // where the next byte goes once buf is full
	total int64 // bytes ever written
}

func (r *ring) write(p []byte) {
	r.total += int64(len(p))
	if len(p) >= r.max {
		r.buf, r.next = append(r.buf[:0], p[len(p)-r.max:]...), 0
		return
	}
	if room := r.max - len(r.buf); room > 0 {
		n := min(room, len(p))
		r.buf, p = append(r.buf, p[:n]...), p[n:]
	}
	n := copy(r.buf[r.next:], p)
	r.next += n
	if n < len(p) {
		r.next = copy(r.buf, p[n:])
	}
	if r.next == r.max {
		r.next = 0
	}
}

// parts returns what is held, in order.
func (r *ring) parts() (a, b []byte) { return r.buf[r.next:], r.buf[:r.next] }

func (r *ring) bytes() []byte {
	a, b := r.parts()
	return append(append(make([]byte, 0, len(r.buf)), a...), b...)
}
