package ansi

import (
	"bytes"
	"fmt"
	"io"
	"unicode/utf8"
)

// JSON returns a writer that passes JSON texts on to dst, which may be a terminal: what it would obey stands in them as an escape, so that
// they mean the same. A character must not be written in pieces.
func JSON(dst io.Writer) io.Writer { return jsonWriter{dst} }

type jsonWriter struct{ dst io.Writer }

func (w jsonWriter) Write(p []byte) (int, error) {
	out := p
	if bytes.ContainsAny(p, "\x7f") || bytes.IndexByte(p, leadC1) >= 0 || bytes.IndexByte(p, leadTurn) >= 0 {
		out = make([]byte, 0, len(p)+16)
		for rest := p; len(rest) > 0; {
			r, n := utf8.DecodeRune(rest)
			if turn, _ := isTurn(rest); r >= 0x7f && r <= 0x9f || turn && rest[0] == leadTurn {
				out = fmt.Appendf(out, `\u%04x`, r)
			} else {
				out = append(out, rest[:n]...)
			}
			rest = rest[n:]
		}
	}
	if _, err := w.dst.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}
