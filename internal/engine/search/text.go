package search

import (
	"bytes"
	"errors"
	"io"
	"unicode/utf8"

	"github.com/hermes-runtime/hermes/environment"
)

// Sizes of what is held of one file.
const (
	pieceSize  = 128 << 10 // read at once; most files are smaller
	growPieces = 4 << 20   // files larger than one piece are read in pieces of this size
	dropPiece  = 64 << 10  // what follows in a line that is longer is read and dropped in pieces of this size
)

// maxPiece is how far one line is searched, in bytes, and how long a UTF-16 file may be. Tests lower it.
var maxPiece = 64 << 20

// errBinary says that a file isn't text.
var errBinary = errors.New("binary file")

var errNotRegular = errors.New("not a regular file any more")

var errLongLine = errors.New("the file is too long to be searched in its encoding")

// pieces gives a file in pieces of whole lines, decoded and without byte order mark. Its memory is used again for the next file.
type pieces struct {
	buf  []byte
	file io.Reader
	have int // bytes in buf
	used int // of which were given already
	size int // of the next piece
	end  bool
	wide bool // begins with a byte order mark of UTF-16
	new  bool // nothing was given yet
	cut  bool // a line was longer than what is searched of one
}

func (p *pieces) open(file io.Reader, size int) {
	p.file, p.have, p.used, p.end, p.new, p.wide, p.cut = file, 0, 0, false, true, false, false
	p.size = size
	p.grow(size)
}

func (p *pieces) grow(size int) {
	if len(p.buf) < size {
		p.buf = append(p.buf[:p.have], make([]byte, size-p.have)...)
	}
}

// next gives the next piece; io.EOF after the last.
func (p *pieces) next() ([]byte, error) {
	copy(p.buf, p.buf[p.used:p.have])
	p.have -= p.used
	p.used = 0
	for {
		if err := p.fill(); err != nil {
			return nil, err
		}
		if p.new {
			p.wide = bytes.HasPrefix(p.buf[:p.have], []byte{0xFF, 0xFE}) || bytes.HasPrefix(p.buf[:p.have], []byte{0xFE, 0xFF})
		}
		if p.wide && !p.end {
			if err := p.more(); err != nil {
				return nil, err
			}
			continue
		}
		if p.have == 0 {
			return nil, io.EOF
		}
		cut := p.have
		if !p.end {
			if cut = bytes.LastIndexByte(p.buf[:p.have], '\n') + 1; cut == 0 && p.size < maxPiece {
				if err := p.more(); err != nil {
					return nil, err
				}
				continue
			} else if cut == 0 {
				var err error
				if cut, err = p.drop(); err != nil {
					return nil, err
				}
			}
		}
		p.used = cut
		return p.text(p.buf[:cut])
	}
}

// more makes room for a longer line.
func (p *pieces) more() error {
	if p.size >= maxPiece {
		return errLongLine
	}
	p.size = min(max(2*p.size, growPieces), maxPiece)
	p.grow(p.size)
	return nil
}

// drop reads over the rest of a line that fills all there is room for, and ends what is kept of it with a line break. It gives the
// size of that.
func (p *pieces) drop() (int, error) {
	p.cut = true
	keep := p.size - dropPiece
	p.buf[keep-1] = '\n'
	rest := p.buf[keep:p.have]
	for {
		if i := bytes.IndexByte(rest, '\n'); i >= 0 {
			p.have = keep + copy(p.buf[keep:], rest[i+1:])
			return keep, nil
		}
		n, err := p.file.Read(p.buf[keep:p.size])
		rest = p.buf[keep : keep+n]
		if err == io.EOF && n == 0 {
			p.end, p.have = true, keep
			return keep, nil
		}
		if err != nil && err != io.EOF {
			return 0, err
		}
	}
}

// fill reads until the piece is full or the file ends.
func (p *pieces) fill() error {
	limit := max(p.size, p.have)
	for !p.end && p.have < limit {
		n, err := p.file.Read(p.buf[p.have:limit])
		p.have += n
		switch {
		case err == io.EOF:
			p.end = true
		case err != nil:
			return err
		}
	}
	if !p.end && p.size < growPieces {
		p.size = growPieces
		p.grow(p.size)
		return p.fill()
	}
	return nil
}

// text decodes a piece and refuses one that isn't text.
func (p *pieces) text(b []byte) ([]byte, error) {
	if p.wide {
		b = fromUTF16(b)
	} else if p.new {
		b = bytes.TrimPrefix(b, []byte("\uFEFF"))
	}
	p.new = false
	if bytes.IndexByte(b, 0) >= 0 {
		return nil, errBinary
	}
	return b, nil
}

// fromUTF16 decodes text with a byte order mark. What is no character becomes the replacement mark.
func fromUTF16(b []byte) []byte {
	little := b[0] == 0xFF
	b = b[2:]
	unit := func(i int) rune {
		if little {
			return rune(b[i]) | rune(b[i+1])<<8
		}
		return rune(b[i])<<8 | rune(b[i+1])
	}
	out := make([]byte, 0, len(b))
	i := 0
	for ; i+1 < len(b); i += 2 {
		r := unit(i)
		if 0xD800 <= r && r < 0xDC00 && i+3 < len(b) {
			if low := unit(i + 2); 0xDC00 <= low && low < 0xE000 {
				r = (r-0xD800)<<10 + (low - 0xDC00) + 0x10000
				i += 2
			}
		}
		out = utf8.AppendRune(out, r) // a lone half becomes the mark
	}
	if i < len(b) {
		out = utf8.AppendRune(out, utf8.RuneError)
	}
	return out
}

// binary reports whether the file at path isn't text.
func binary(path string) (bool, error) {
	f, err := openFile(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	var p pieces
	for p.open(f, pieceSize); ; {
		switch _, err := p.next(); {
		case err == io.EOF:
			return false, nil
		case errors.Is(err, errBinary):
			return true, nil
		case err != nil:
			return false, err
		}
	}
}

// newMatch makes the answer for one line. start is where its first match begins, in bytes.
func (j *job) newMatch(rel string, number int, line []byte, start int) environment.Match {
	line = trimBreak(line)
	start = min(start, len(line))
	m := environment.Match{Path: j.path(rel), Line: number, Column: utf8.RuneCount(line[:start]) + 1}
	m.Text, m.Truncated = window(line, start, j.MaxLine)
	return m
}

// newContext makes the answer for a line beside a match.
func (j *job) newContext(number int, line []byte) environment.ContextLine {
	text, _ := window(trimBreak(line), 0, j.MaxLine)
	return environment.ContextLine{Line: number, Text: text}
}

func trimBreak(line []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
}

// window is the part of line around start, at most size characters; bytes that are none are shown as replacement marks.
func window(line []byte, start, size int) (text string, cut bool) {
	if len(line) > size && utf8.RuneCount(line) > size {
		cut = true
		from := start
		for n := size / 4; n > 0 && from > 0; n-- { // a quarter of the window shows what comes before
			from -= lastSize(line[:from])
		}
		to := skip(line, from, size)
		for n := size - utf8.RuneCount(line[from:to]); n > 0 && from > 0; n-- { // near the end there is room at the front
			from -= lastSize(line[:from])
		}
		line = line[from:to]
	}
	if utf8.Valid(line) {
		return string(line), cut
	}
	var out []byte
	for len(line) > 0 {
		r, n := utf8.DecodeRune(line)
		out = utf8.AppendRune(out, r)
		line = line[n:]
	}
	return string(out), cut
}

func lastSize(b []byte) int {
	_, n := utf8.DecodeLastRune(b)
	return n
}

// skip is the place n characters behind from.
func skip(b []byte, from, n int) int {
	for ; n > 0 && from < len(b); n-- {
		_, size := utf8.DecodeRune(b[from:])
		from += size
	}
	return from
}
