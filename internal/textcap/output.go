package textcap

import (
	"bytes"
	"sync"
	"unicode/utf8"

	"github.com/hermes-runtime/hermes/internal/redact"
)

// Output is a Filter in front of a Collector, for output that nobody watches while it comes. It shows the same as the
// two in a row, and is several times as fast on a flood: once head and spill have all they take, it redacts only what
// may be in the tail. In the lines it passes over, secrets are counted at the length they were printed with.
// Result may be called while another goroutine writes.
type Output struct {
	mu      sync.Mutex
	filter  *Filter
	collect *Collector
	late    *lateRedactor
}

// NewOutput returns an Output with nothing in it.
func NewOutput(filter FilterOptions, collect CollectorOptions) (*Output, error) {
	c := NewCollector(collect)
	late := newLateRedactor(c, filter)
	f, err := newFilter(late, filter)
	if err != nil {
		return nil, err
	}
	return &Output{filter: f, collect: c, late: late}, nil
}

// Write takes p whole and never fails.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.filter.Write(p)
}

// Flush makes what is held because a secret may have begun in it part of the Result.
func (o *Output) Flush() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.filter.Flush()
}

// Close ends the stream and returns the error of the spill, if any. The Result stays readable.
func (o *Output) Close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.filter.Close(); err != nil {
		return err
	}
	return o.collect.Close()
}

// Result returns what has been collected so far.
func (o *Output) Result() Result {
	o.mu.Lock()
	defer o.mu.Unlock()
	_ = o.late.settle() // a Collector doesn't fail
	return o.collect.Result()
}

// reach is how far, in bytes, what stands before a line can matter to it: a private key hides 64 KiB at most, other
// secrets that go over a line end are known ones, which are shorter.
const reach = 96 << 10

// batch is how many times the text that is kept is gathered before all but that is passed over: the kept part is redacted
// each time. With the defaults it comes to 2.5 MB.
const batch = 8

// lateRedactor lets text through a redactor to a Collector, at once as long as all of it counts, and afterwards only
// when it must: it keeps the last lines as they came, passes over the ones before, and redacts what is left at the end.
type lateRedactor struct {
	opts   FilterOptions
	dst    *Collector
	redact *redact.Writer
	keep   int    // bytes that the tail may need
	late   bool   // only the tail counts
	raw    []byte // not yet given to redact
	anew   bool   // lines before raw have been passed over
	mute   bool   // what leaves redact is not to be seen
}

func newLateRedactor(dst *Collector, opts FilterOptions) *lateRedactor {
	l := &lateRedactor{opts: opts, dst: dst, keep: dst.tail.max + 2*reach}
	l.redact = opts.redactor((*lateOutlet)(l))
	return l
}

// lateOutlet is where the text of a lateRedactor leaves its redactor.
type lateOutlet lateRedactor

func (l *lateOutlet) Write(p []byte) (int, error) {
	if l.mute {
		return len(p), nil
	}
	return l.dst.Write(p)
}

func (l *lateRedactor) Write(p []byte) (int, error) {
	if !l.late {
		n, err := l.redact.Write(p)
		l.late = l.dst.tailOnly()
		return n, err
	}
	l.raw = append(l.raw, p...)
	if len(l.raw) < batch*l.keep {
		return len(p), nil
	}
	return len(p), l.pass()
}

// pass goes over the lines too far back to be shown. When there is no line end to begin anew behind, or what follows it
// is for the most part secret, all is redacted as it stands; so are the first lines, as the redactor may hold the start
// of something.
func (l *lateRedactor) pass() error {
	end := 1 + bytes.LastIndexByte(l.raw[:len(l.raw)-l.keep], '\n')
	switch {
	case end == 0 || !l.enough(l.raw[end:]):
		return l.settle()
	case l.anew:
		l.dst.skip(l.raw[:end])
	default:
		if _, err := l.redact.Write(l.raw[:end]); err != nil {
			return err
		}
		l.anew = true
	}
	l.raw = append(l.raw[:0], l.raw[end:]...)
	return nil
}

// leadOf returns how much of the text behind lines that were passed over must not be shown.
func leadOf(raw []byte) int {
	lead := reach
	if i := bytes.IndexByte(raw[reach:2*reach], '\n'); i >= 0 {
		return lead + i + 1
	}
	for !utf8.RuneStart(raw[lead]) {
		lead++
	}
	return lead
}

// enough reports whether raw, redacted, fills the tail.
func (l *lateRedactor) enough(raw []byte) bool {
	var shown counter
	w := l.opts.redactor(&shown)
	lead := leadOf(raw)
	_, _ = w.Write(raw[:lead]) // a counter doesn't fail
	shown = counter{}
	_, _ = w.Write(raw[lead:])
	return l.dst.units(Counts(shown)) >= int64(l.dst.opts.Limit-l.dst.headLimit)
}

// counter counts what is written to it.
type counter Counts

func (c *counter) Write(p []byte) (int, error) {
	c.Bytes += int64(len(p))
	c.Chars += int64(chars(p))
	return len(p), nil
}

// settle redacts all that is kept. Behind lines that were passed over nothing is shown until whatever may have begun in
// them has ended.
func (l *lateRedactor) settle() error {
	if l.anew {
		lead := leadOf(l.raw)
		l.redact = l.opts.redactor((*lateOutlet)(l))
		l.mute = true
		_, err := l.redact.Write(l.raw[:lead])
		l.mute = false
		if err != nil {
			return err
		}
		l.dst.skip(l.raw[:lead])
		l.raw, l.anew = append(l.raw[:0], l.raw[lead:]...), false
	}
	_, err := l.redact.Write(l.raw)
	l.raw = l.raw[:0]
	return err
}

func (l *lateRedactor) Flush() error {
	if err := l.settle(); err != nil {
		return err
	}
	return l.redact.Flush()
}

func (l *lateRedactor) Close() error {
	if err := l.settle(); err != nil {
		return err
	}
	return l.redact.Close()
}
