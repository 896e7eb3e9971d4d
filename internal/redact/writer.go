package redact

import "io"

// Writer redacts a stream on its way to another writer. Make one with NewWriter. It holds back only what may be the
// start of a secret, a few KiB at most. Secrets added to the set are found from the next Write on. It is for one
// goroutine.
type Writer struct {
	r      *Redactor
	dst    io.Writer
	mode   Mode
	known  knownStage
	shapes shapeStage
}

// NewWriter returns a Writer in front of dst.
func (r *Redactor) NewWriter(dst io.Writer, mode Mode) *Writer {
	return &Writer{r: r, dst: dst, mode: mode}
}

// Write redacts p. Errors are those of dst; the count is len(p) unless there is one.
func (w *Writer) Write(p []byte) (int, error) {
	if err := w.feed(p, false); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (w *Writer) feed(p []byte, final bool) error {
	p = w.known.feed(w.r.known(), p, final)
	if w.mode == ModeAll {
		p = w.shapes.feed(p, final)
	}
	return w.send(p)
}

func (w *Writer) send(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	_, err := w.dst.Write(p)
	return err
}

// Flush passes on what is held because a secret may have begun in it; for when the stream has fallen silent, as at a
// prompt. Of a secret that does go on afterwards the rest is still replaced.
func (w *Writer) Flush() error {
	p := w.known.flush(w.r.known())
	if w.mode == ModeAll {
		out := w.shapes.feed(p, false)
		if err := w.send(out); err != nil {
			return err
		}
		p = w.shapes.flush()
	}
	if err := w.send(p); err != nil {
		return err
	}
	if f, ok := w.dst.(interface{ Flush() error }); ok {
		return f.Flush()
	}
	return nil
}

// Close passes on all that is held. It doesn't close dst.
func (w *Writer) Close() error { return w.feed(nil, true) }
