// Package ansi keeps text from driving a terminal: it removes control sequences from a stream of UTF-8 text, in whatever pieces it
// comes, or writes them out for a person to see.
//
// Removed is what ECMA-48 defines: CSI, OSC, DCS, SOS, PM and APC with all their parameters, the two- and three-byte
// escapes, and the C1 controls, which in UTF-8 are the code points U+0080 to U+009F. Everything else stays, the text of
// a hyperlink (which stands between two OSC sequences) and an escape that is only written out included.
package ansi

import (
	"bytes"
	"io"
	"strings"
)

// MaxString bounds what an OSC, DCS, SOS, PM or APC may swallow, in bytes: one that is never ended must not hide all
// output after it. 64 KiB is above every title, link and clipboard text seen in practice.
const MaxString = 64 << 10

const (
	esc      = 0x1b
	bel      = 0x07
	can, sub = 0x18, 0x1a // end any sequence at once
	leadC1   = 0xc2       // the first byte of U+0080 to U+00BF; it is never a continuation byte
)

type state uint8

const (
	text         state = iota
	textLead           // leadC1 seen in text
	escape             // ESC seen
	intermediate       // ESC and bytes of column 2 seen
	csi                // in a control sequence
	str                // in a DCS, SOS, PM or APC
	osc                // in an OSC, which a BEL ends too
	strLead            // leadC1 seen in str; the two lie as far apart as str and osc
	oscLead            // leadC1 seen in osc
)

// openers maps the byte that follows ESC to what it opens; the same with 0x40 added follows leadC1. Other bytes of
// columns 4 and 5 are whole in themselves.
var openers = [256]state{'P': str, 'X': str, '^': str, '_': str, '[': csi, ']': osc}

// Writer passes on what is written to it without control sequences. Make one with NewWriter or ForPeople. It holds back one
// byte at most. Which pieces the text comes in makes no difference. It is for one goroutine.
type Writer struct {
	// DropControls also drops the control characters outside any sequence, but for tab, newline and carriage
	// return (XO-4). Set it before the first Write.
	DropControls bool
	// DropTurns also drops the marks that turn the direction of text around (U+202A to U+202E, U+2066 to U+2069), by which a line can
	// be made to read as another. Set it before the first Write; with it up to two bytes are held back.
	DropTurns bool

	dst   io.Writer
	state state
	n     int // bytes swallowed by the string that is open
	buf   []byte
	held  []byte // how a mark would begin
}

// ForPeople returns a Writer in front of a terminal: what comes through can do nothing but be read.
func ForPeople(dst io.Writer) *Writer { return &Writer{dst: dst, DropControls: true, DropTurns: true} }

// NewWriter returns a Writer in front of dst.
func NewWriter(dst io.Writer) *Writer { return &Writer{dst: dst} }

// Write filters p. Errors are those of dst; the count is len(p) unless there is one.
func (w *Writer) Write(p []byte) (int, error) {
	out := p
	if w.state != text || bytes.IndexByte(p, esc) >= 0 || bytes.IndexByte(p, leadC1) >= 0 {
		w.buf = w.filter(w.buf[:0], p)
		out = w.buf
	}
	if w.DropControls {
		out = w.dropControls(out)
	}
	if w.DropTurns {
		out = w.dropTurns(out)
	}
	if len(out) > 0 {
		if _, err := w.dst.Write(out); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// Flush does nothing for the byte that may be held, which can't be told from the start of a control; it exists to
// pass the wish on.
func (w *Writer) Flush() error {
	if f, ok := w.dst.(interface{ Flush() error }); ok {
		return f.Flush()
	}
	return nil
}

// Close passes on a byte that is held and forgets a sequence that was never finished. It doesn't close dst.
func (w *Writer) Close() error {
	held := w.held
	if w.state == textLead {
		held = append(held, leadC1)
	}
	w.state, w.n, w.held = text, 0, nil
	if len(held) > 0 {
		_, err := w.dst.Write(held)
		return err
	}
	return nil
}

// Clean returns s as ForPeople lets it through.
func Clean(s string) string {
	var b strings.Builder
	w := ForPeople(&b)
	_, _ = io.WriteString(w, s) // a Builder never fails
	_ = w.Close()
	return b.String()
}

// Strip returns s without control sequences. For valid UTF-8 a second Strip changes nothing.
func Strip(s string) string {
	if strings.IndexByte(s, esc) < 0 && strings.IndexByte(s, leadC1) < 0 {
		return s
	}
	var w Writer
	out := w.filter(make([]byte, 0, len(s)), []byte(s))
	if w.state == textLead {
		out = append(out, leadC1)
	}
	return string(out)
}

// filter appends to out what stays of p.
func (w *Writer) filter(out, p []byte) []byte {
	nextEsc, nextLead := -1, -1 // where the next one stands; searched again only when passed
	for i := 0; i < len(p); {
		if w.state != text {
			out, i = w.step(out, p, i)
			continue
		}
		if nextEsc < i {
			nextEsc = index(p, i, esc)
		}
		if nextLead < i {
			nextLead = index(p, i, leadC1)
		}
		end := min(nextEsc, nextLead)
		out = append(out, p[i:end]...)
		switch {
		case end == len(p):
		case end == nextEsc:
			w.state = escape
		default:
			w.state = textLead
		}
		i = end + 1
	}
	return out
}

// index is bytes.IndexByte from i on, giving len(p) when there is none.
func index(p []byte, i int, c byte) int {
	if j := bytes.IndexByte(p[i:], c); j >= 0 {
		return i + j
	}
	return len(p)
}

// step takes the byte p[i] (or, inside a string, all up to the next byte that matters) in a state other than text. A
// byte that doesn't belong to the sequence ends it and is looked at again.
func (w *Writer) step(out, p []byte, i int) ([]byte, int) {
	c := p[i]
	switch w.state {
	case textLead:
		w.state = text
		if c < 0x80 || c > 0x9f {
			return append(out, leadC1), i // any other character; c is handled as text
		}
		w.open(c - 0x40)
		return out, i + 1
	case escape:
		return out, w.afterEscape(c, i)
	case intermediate:
		return out, w.until(c, i, 0x30)
	case csi:
		for ; i < len(p) && w.state == csi; i++ {
			if c = p[i]; c < 0x20 || c >= 0x40 {
				return out, w.until(c, i, 0x40)
			}
		}
		return out, i
	default:
		return out, w.inString(p, i)
	}
}

func (w *Writer) open(c byte) { w.state, w.n = openers[c], 0 }

func (w *Writer) afterEscape(c byte, i int) int {
	switch {
	case c == esc:
	case c >= 0x20 && c <= 0x2f:
		w.state = intermediate
	case c >= 0x30 && c <= 0x7e:
		w.open(c)
	case c == can || c == sub:
		w.state = text
	default:
		w.state = text
		return i
	}
	return i + 1
}

// until swallows parameters and intermediates up to a final byte, which is final or above.
func (w *Writer) until(c byte, i int, final byte) int {
	switch {
	case c == esc:
		w.state = escape
	case c == can || c == sub:
		w.state = text
	case c < 0x20 || c > 0x7e:
		w.state = text
		return i
	case c >= final:
		w.state = text
	}
	return i + 1
}

func (w *Writer) inString(p []byte, i int) int {
	for ; i < len(p); i++ {
		c := p[i]
		if w.state == oscLead || w.state == strLead {
			w.state -= strLead - str
			if c >= 0x80 && c <= 0x9f {
				w.open(c - 0x40) // ST, or another control, which ends the string as ESC does
				return i + 1
			}
		}
		w.n++
		switch {
		case c == esc:
			w.state = escape // of ST, or of whatever follows instead
			return i + 1
		case c == can || c == sub || c == bel && w.state == osc:
			w.state = text
			return i + 1
		case w.n > MaxString:
			w.state = text
			return i
		case c == leadC1 && w.state == osc:
			w.state = oscLead
		case c == leadC1:
			w.state = strLead
		}
	}
	return i
}

// dropControls removes C0 controls and DEL but for tab, newline and return. It never changes what it was given but
// for w.buf.
func (w *Writer) dropControls(p []byte) []byte {
	first := 0
	for first < len(p) && !isControl[p[first]] {
		first++
	}
	if first == len(p) {
		return p
	}
	out := append(w.buf[:0], p[:first]...) // in place when p is w.buf
	for _, c := range p[first:] {
		if !isControl[c] {
			out = append(out, c)
		}
	}
	w.buf = out
	return out
}

var isControl = func() (t [256]bool) {
	for c := range 0x20 {
		t[c] = c != '\t' && c != '\n' && c != '\r'
	}
	t[0x7f] = true
	return t
}()
