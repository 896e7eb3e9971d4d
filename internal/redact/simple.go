package redact

import (
	"bytes"
	"io"
	"regexp"
	"strings"
)

type known struct{}

var shapes = regexp.MustCompile(`\bsk-[\w-]{16,}|\bgh[opsur]_\w{16,}|\bgithub_pat_\w{16,}|\bxox[a-z]-[\w-]{10,}|\bAKIA[A-Z0-9]{16,}|\beyJ[\w-]{10,}\.[\w-]{10,}[\w.-]*|(?s:-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [A-Z ]*PRIVATE KEY-----)`)

// Text returns s redacted by mode.
func (r *Redactor) Text(mode Mode, s string) string {
	if r != nil {
		for _, v := range r.set.Values() {
			s = strings.ReplaceAll(s, v.Text, Mark(v.Name))
		}
	}
	if mode == ModeAll {
		s = shapes.ReplaceAllString(s, Mark("secret"))
	}
	return s
}

// Bytes returns b redacted by mode: b itself if nothing is replaced, else a new slice.
func (r *Redactor) Bytes(mode Mode, b []byte) []byte {
	out := []byte(r.Text(mode, string(b)))
	if bytes.Equal(out, b) {
		return b
	}
	return out
}

// Writer redacts a stream.
type Writer struct {
	r    *Redactor
	dst  io.Writer
	mode Mode
	buf  []byte
}

// NewWriter returns a Writer in front of dst.
func (r *Redactor) NewWriter(dst io.Writer, mode Mode) *Writer {
	return &Writer{r: r, dst: dst, mode: mode}
}

func (w *Writer) Write(p []byte) (int, error) {
	w.buf = append(w.buf, p...)
	if i := bytes.LastIndexByte(w.buf, '\n'); i >= 0 {
		_, err := w.dst.Write(w.r.Bytes(w.mode, w.buf[:i+1]))
		w.buf = append(w.buf[:0:0], w.buf[i+1:]...)
		return len(p), err
	}
	return len(p), nil
}

// Flush passes on what is held.
func (w *Writer) Flush() error {
	_, err := w.dst.Write(w.r.Bytes(w.mode, w.buf))
	w.buf = nil
	return err
}

// Close passes on what is held. It doesn't close dst.
func (w *Writer) Close() error { return w.Flush() }
