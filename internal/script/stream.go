package script

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/hermes-runtime/hermes/internal/redact"
	"github.com/hermes-runtime/hermes/internal/secret"
	"github.com/hermes-runtime/hermes/internal/textcap"
)

// stream takes one of the script's output streams, at any length in constant memory: what may be shown is filtered, what lies
// between the kept head and tail is only counted.
type stream struct {
	o       streamOptions
	collect *textcap.Collector

	mu      sync.Mutex
	chain   io.Writer
	closers []io.Closer
	passed  int64  // bytes that came out of the filters
	enough  int64  // passed from which on nothing but the tail can still be shown
	total   int64  // bytes as printed
	ring    []byte // the last bytes, once there is enough
	next    int
	skipped int64 // bytes that went through the ring and out of it
	lines   int64 // line breaks among them
	closed  bool
}

type streamOptions struct {
	limit    int // bytes kept
	head     int // percent of limit
	spillMax int // bytes in the spill file; 0 = no file
	spill    func() (io.WriteCloser, error)
	staging  string
	token    string // of the run's channel, never shown
	redactor *redact.Redactor
	known    bool              // only known secrets are hidden
	watch    func(text []byte) // sees filtered text as it comes; nil = nobody
}

const (
	minRing = 1 << 20 // more than any control sequence or secret that the filters know is long
	endKept = 500     // of what came last, for a script that printed nothing else (XO-6)
)

func newStream(o streamOptions) (*stream, error) {
	c := textcap.CollectorOptions{Limit: o.limit, Unit: textcap.InBytes, HeadPercent: o.head, SpillMax: int64(o.spillMax)}
	if o.spillMax > 0 && o.spill != nil {
		c.Spill = o.spill
	}
	s := &stream{o: o, collect: textcap.NewCollector(c), enough: int64(max(o.spillMax, o.limit)) + minRing}
	return s, s.build()
}

func (s *stream) build() error {
	f := newFrames(writerFunc(s.kept), s.o.staging)
	token := &secret.Set{}
	token.Add(tokenName, s.o.token)
	hide := redact.New(token).NewWriter(f, redact.ModeKnown)
	filter, err := textcap.NewFilter(hide, textcap.FilterOptions{DropControls: true, Redactor: s.o.redactor, KnownOnly: s.o.known})
	if err != nil {
		return fmt.Errorf("filter a script's output: %w", err)
	}
	s.chain, s.closers = filter, []io.Closer{filter, hide, f}
	return nil
}

type writerFunc func(p []byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// kept takes what came out of the filters.
func (s *stream) kept(p []byte) (int, error) {
	s.passed += int64(len(p))
	if s.o.watch != nil {
		s.o.watch(p)
	}
	return s.collect.Write(p)
}

// Write never fails: a script is not to be stopped by its output.
func (s *stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return len(p), nil // after the end of the run
	}
	n := len(p)
	s.total += int64(n)
	if s.passed < s.enough {
		if _, err := s.chain.Write(p); err != nil {
			return n, nil //nolint:nilerr // the collector never fails
		}
		return n, nil
	}
	s.toRing(p)
	return n, nil
}

// toRing keeps the last bytes as they came.
func (s *stream) toRing(p []byte) {
	if s.ring == nil {
		s.ring = make([]byte, 0, max(minRing, 2*s.o.limit))
	}
	size := cap(s.ring)
	if len(p) > size {
		s.lose(s.ring)
		s.lose(p[:len(p)-size])
		s.ring, s.next, p = s.ring[:0], 0, p[len(p)-size:]
	}
	if room := size - len(s.ring); room > 0 {
		n := min(room, len(p))
		s.ring, p = append(s.ring, p[:n]...), p[n:]
	}
	for len(p) > 0 {
		n := min(len(p), size-s.next)
		s.lose(s.ring[s.next : s.next+n])
		copy(s.ring[s.next:], p[:n])
		s.next, p = (s.next+n)%size, p[n:]
	}
}

func (s *stream) lose(p []byte) {
	s.skipped += int64(len(p))
	s.lines += int64(bytes.Count(p, []byte{'\n'}))
}

// close ends the stream: what is held passes, and the end of a very long one is filtered from a line's beginning on.
func (s *stream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.closed = true
	if s.skipped > 0 {
		s.finish()
		last := append(bytes.Clone(s.ring[s.next:]), s.ring[:s.next]...)
		if from := bytes.IndexByte(last, '\n') + 1; from > 0 && from < len(last)/2 {
			s.lose(last[:from])
			last = last[from:]
		}
		if s.build() == nil {
			s.chain.Write(last) //nolint:errcheck // the collector never fails
		}
	} else if len(s.ring) > 0 {
		s.chain.Write(s.ring) //nolint:errcheck // the collector never fails
	}
	s.finish()
	s.collect.Close() //nolint:errcheck // told in the result
	s.ring = nil
}

func (s *stream) finish() {
	for _, c := range s.closers {
		c.Close() //nolint:errcheck // the collector never fails
	}
}

// text is what a stream came to.
type text struct {
	head, tail string
	cut        bool
	total      int64 // bytes printed, as they are shown where nothing was cut out of the middle unseen
	captured   int64
	omitted    int64
	lines      int64 // left out
	spillErr   error
}

func (s *stream) text() text {
	r := s.collect.Result()
	t := text{head: r.Head, tail: r.Tail, cut: r.Truncated, total: r.Total.Bytes + s.skipped, captured: int64(len(r.Head) + len(r.Tail)), spillErr: r.Spill.Err}
	t.omitted = t.total - t.captured
	t.lines = r.Omitted.Lines + s.lines
	return t
}

// whole puts the parts together; between them stand the notes, each on a line of its own.
func (t text) whole(notes ...string) string {
	if !t.cut {
		return t.head
	}
	var b strings.Builder
	b.WriteString(t.head)
	for _, n := range notes {
		if b.Len() > 0 && !strings.HasSuffix(b.String(), "\n") {
			b.WriteByte('\n')
		}
		b.WriteString(n + "\n")
	}
	b.WriteString(t.tail)
	return b.String()
}

// appendLine adds a line at the end of text, on a line of its own.
func appendLine(text, line string) string {
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text + line
}

var errNoSpill = errors.New("the runtime keeps no files of results")
