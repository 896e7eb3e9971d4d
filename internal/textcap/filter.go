package textcap

import (
	"io"

	"github.com/hermes-runtime/hermes/internal/ansi"
	"github.com/hermes-runtime/hermes/internal/redact"
)

// FilterOptions says how output is made fit to be shown. The zero value decodes UTF-8, removes control sequences and
// what looks like a secret.
type FilterOptions struct {
	Encoding     string           // of the bytes written; see NewDecoder
	DropControls bool             // also drop control characters but tab, newline and return (XO-4)
	Redactor     *redact.Redactor // knows the secrets; may be nil
	KnownOnly    bool             // replace known secrets only (security.redact: off)
}

// Filter is the chain that all output passes: decode, remove terminal control sequences, redact (ENG-18). Each is a
// stream: a character, a sequence or a secret that is split between writes is handled as if it had come whole. It is for
// one goroutine.
type Filter struct {
	decode io.WriteCloser
	strip  *ansi.Writer
	redact *redact.Writer
}

// NewFilter returns a Filter in front of dst, which gets valid UTF-8. Most often dst is a Collector, or an
// io.MultiWriter of one and whoever watches.
func NewFilter(dst io.Writer, opts FilterOptions) (*Filter, error) {
	mode := redact.ModeAll
	if opts.KnownOnly {
		mode = redact.ModeKnown
	}
	last := opts.Redactor.NewWriter(dst, mode)
	f := &Filter{redact: last, strip: ansi.NewWriter(last)}
	f.strip.DropControls = opts.DropControls
	var err error
	f.decode, err = NewDecoder(f.strip, opts.Encoding)
	return f, err
}

// Write filters p. Errors are those of dst.
func (f *Filter) Write(p []byte) (int, error) { return f.decode.Write(p) }

// Flush passes on what is held because a secret might have begun in it; for when the stream has fallen silent, as at a
// prompt. What has already been seen of a value stays hidden, and so does the rest of it when it comes.
func (f *Filter) Flush() error { return f.redact.Flush() }

// Close passes on all that is held. It doesn't close dst. Writing after it is an error of the caller.
func (f *Filter) Close() error {
	for _, c := range []io.Closer{f.decode, f.strip, f.redact} {
		if err := c.Close(); err != nil {
			return err
		}
	}
	return nil
}
