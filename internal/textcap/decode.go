package textcap

import (
	"fmt"
	"io"
	"unicode/utf8"

	"golang.org/x/text/transform"
)

// NewDecoder returns a writer that passes valid UTF-8 on to dst, whatever is written to it in whatever pieces.
// encoding is the name of the encoding written ("" or "utf-8": UTF-8; else a WHATWG or IANA name such as "shift_jis" or
// "cp437"). Invalid bytes become U+FFFD, one for each truncated character. Incomplete bytes are held and end as U+FFFD
// with Close, which doesn't close dst (ENG-19).
func NewDecoder(dst io.Writer, encoding string) (io.WriteCloser, error) {
	name := charsetName(encoding)
	if encoding == "" || name == "utf8" || name == "unicode11utf8" || name == "unicode20utf8" {
		return &utf8Decoder{dst: dst}, nil
	}
	e := charset(name)
	if e == nil {
		return nil, fmt.Errorf("decode text: unknown encoding %q", encoding)
	}
	return transform.NewWriter(dst, e.NewDecoder()), nil
}

type utf8Decoder struct {
	dst  io.Writer
	held [utf8.UTFMax]byte // the start of a character
	n    int               // how much of it
	buf  []byte
}

const replacement = "\uFFFD"

func (d *utf8Decoder) Write(p []byte) (int, error) {
	out := p
	if d.n > 0 || !utf8.Valid(p) {
		d.buf = d.decode(d.buf[:0], p)
		out = d.buf
	}
	if len(out) > 0 {
		if _, err := d.dst.Write(out); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

func (d *utf8Decoder) Flush() error { return flush(d.dst) }

func (d *utf8Decoder) Close() error {
	if d.n == 0 {
		return nil
	}
	d.n = 0
	_, err := io.WriteString(d.dst, replacement)
	return err
}

// decode appends p, mended, to out and keeps an incomplete end.
func (d *utf8Decoder) decode(out, p []byte) []byte {
	for d.n > 0 && len(p) > 0 { // complete what is held, byte by byte
		d.held[d.n] = p[0]
		if prefix(d.held[:d.n+1]) {
			d.n, p = d.n+1, p[1:]
			continue
		}
		if utf8.Valid(d.held[:d.n+1]) {
			out, p = append(out, d.held[:d.n+1]...), p[1:]
		} else {
			out = append(out, replacement...)
		}
		d.n = 0
	}
	start := 0 // of the valid bytes not yet appended
	for i := 0; i < len(p); {
		if p[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, size := utf8.DecodeRune(p[i:])
		if r != utf8.RuneError || size != 1 {
			i += size
			continue
		}
		out = append(out, p[start:i]...)
		bad := 1 // the longest start of a character
		for i+bad < len(p) && prefix(p[i:i+bad+1]) {
			bad++
		}
		if i+bad == len(p) && prefix(p[i:]) {
			d.n = copy(d.held[:], p[i:])
			return out
		}
		out = append(out, replacement...)
		i += bad
		start = i
	}
	return append(out, p[start:]...)
}

// prefix reports whether b is the start of a character that more bytes can complete.
func prefix(b []byte) bool {
	return len(b) < utf8.UTFMax && b[0] >= utf8.RuneSelf && !utf8.FullRune(b)
}

func flush(w io.Writer) error {
	if f, ok := w.(interface{ Flush() error }); ok {
		return f.Flush()
	}
	return nil
}
