package file

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/hermes-runtime/hermes/toolset/file/memory"
)

// pager picks a run of lines out of a file that goes by in pieces, in constant memory.
type pager struct {
	first    int  // number of the first line wanted, from 1
	limit    int  // lines wanted; 0 = all
	maxChars int  // of all lines together, 0 = no bound
	maxLine  int  // characters of a line that are kept, 0 = all
	joined   bool // lines are kept as one text, with no bound on characters
	room     int  // bytes that the joined text may need
	brk      byte // what ends a line
	index    *memory.Index

	line    int   // number of the line that the next byte belongs to
	at      int64 // place of the next byte in the file
	open    bool  // that line has begun
	out     []shownLine
	text    []byte // joined: the lines taken, as they stand in the file
	taken   int    // lines in out or text
	current shownLine
	chars   int
	full    bool // nothing more is taken
	dropped bool // the line behind out was left out because it didn't fit
	beyond  bool // there is something behind the last line taken
}

// shownLine is one line, or its beginning.
type shownLine struct {
	text  []byte // with its break unless it was cut
	chars int    // of the whole line
	cut   bool
}

// feed takes the next piece of the file.
func (p *pager) feed(b []byte) {
	for len(b) > 0 {
		var n int
		switch {
		case p.line < p.first:
			n = p.skip(b)
		case p.full:
			p.beyond = true
			n = len(b)
			p.count(b)
		case p.joined:
			n = p.join(b)
		default:
			n = p.take(b)
		}
		p.at += int64(n)
		b = b[n:]
	}
}

// skip passes over lines before the first one wanted and tells how many bytes that were.
func (p *pager) skip(b []byte) int {
	need := p.first - p.line
	if bytes.Count(b, []byte{p.brk}) < need {
		p.count(b)
		return len(b)
	}
	n := 0
	for ; need > 0; need-- {
		n += bytes.IndexByte(b[n:], p.brk) + 1
	}
	p.line, p.open = p.first, false
	return n
}

// count counts lines in bytes that aren't taken.
func (p *pager) count(b []byte) {
	n := bytes.Count(b, []byte{p.brk})
	p.line += n
	p.open = b[len(b)-1] != p.brk
	if n > 0 && p.index != nil {
		p.index.Note(p.line, p.at+int64(bytes.LastIndexByte(b, p.brk))+1)
	}
}

// join takes as many lines as are wanted and tells how many bytes that were.
func (p *pager) join(b []byte) int {
	n, lines := len(b), bytes.Count(b, []byte{p.brk})
	if p.limit > 0 && p.taken+lines >= p.limit {
		n, lines = 0, p.limit-p.taken
		for range lines {
			n += bytes.IndexByte(b[n:], p.brk) + 1
		}
		p.full = true
	}
	if p.text == nil {
		p.text = make([]byte, 0, max(p.room, n))
	}
	p.text = append(p.text, b[:n]...)
	p.line += lines
	p.taken += lines
	p.open = n > 0 && b[n-1] != p.brk
	return n
}

// take adds to the current line and tells how many bytes it took.
func (p *pager) take(b []byte) int {
	n := bytes.IndexByte(b, p.brk) + 1
	ended := n > 0
	if !ended {
		n = len(b)
	}
	p.open = true
	c := &p.current
	piece := b[:n]
	c.chars += runeStarts(piece)
	if keep := 4*p.maxLine + utf8.UTFMax; p.maxLine > 0 && len(c.text)+len(piece) > keep {
		piece = piece[:keep-min(keep, len(c.text))]
		c.cut = true
	}
	c.text = append(c.text, piece...)
	if ended {
		c.chars--
		p.end()
	}
	return n
}

// runeStarts counts bytes that begin a character; what is no UTF-8 counts as one each where it isn't a continuation.
func runeStarts(b []byte) int {
	n := 0
	for _, c := range b {
		if c&0xC0 != 0x80 {
			n++
		}
	}
	return n
}

// end finishes the current line.
func (p *pager) end() {
	c := p.current
	p.current = shownLine{}
	p.line++
	p.open = false
	size := c.chars
	if p.maxLine > 0 {
		size = min(size, p.maxLine)
	}
	size += len(fmt.Sprint(p.line)) + 2 // number, bar, break
	if p.maxChars > 0 && p.taken > 0 && p.chars+size > p.maxChars {
		p.full, p.dropped, p.beyond = true, true, true
		return
	}
	p.chars += size
	p.out = append(p.out, c)
	p.taken++
	p.full = p.limit > 0 && p.taken >= p.limit
}

// finish is called at the end of the file and gives the number of its lines.
func (p *pager) finish() int {
	if !p.open {
		return p.line - 1
	}
	switch {
	case p.line < p.first || p.full:
		return p.line
	case p.joined:
		p.taken++
		p.line++
	default:
		p.end()
	}
	return p.line - 1
}

// next is the number of the line behind those taken.
func (p *pager) next() int { return p.first + p.taken }
