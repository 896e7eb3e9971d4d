package session

import (
	"context"
	"io"
	"sync"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/textcap"
	"github.com/hermes-runtime/hermes/tool"
)

// block is how much output is filtered at a time once there is much of it: enough that handing it over costs nothing beside the
// filtering, little enough that two of them don't matter.
const block = 256 << 10

// sink is the writer that a command prints into: filter, then collector, then the file. A long output is filtered beside the reading
// of it, since the two cost about the same. What comes after finish is dropped: a place that is lost may still print.
type sink struct {
	filter  *textcap.Filter
	collect *textcap.Collector
	file    tool.SpillFile
	release context.CancelFunc // of the file's context

	mu   sync.Mutex
	done bool
	fill []byte      // what was printed and isn't filtered yet
	idle chan []byte // gives a buffer back when it is filtered; nil before the first block is full
	work chan []byte
}

func newSink(ctx context.Context, o Output) (*sink, error) {
	s := &sink{}
	opts := textcap.CollectorOptions{Limit: o.Limit}
	// The file outlives the context of the call by a moment, so that an interrupted command's output is whole.
	ctx, s.release = context.WithCancel(context.WithoutCancel(ctx))
	if o.Spill != nil {
		opts.Spill = func() (io.WriteCloser, error) {
			f, err := o.Spill(ctx)
			if err != nil {
				return nil, err
			}
			s.file = f
			return f, nil
		}
	}
	s.collect = textcap.NewCollector(opts)
	var to io.Writer = s.collect
	if o.Also != nil {
		to = io.MultiWriter(s.collect, deaf{o.Also})
	}
	var err error
	s.filter, err = textcap.NewFilter(to, textcap.FilterOptions{Encoding: o.Encoding, Redactor: o.Redactor, KnownOnly: o.KnownOnly})
	if err != nil {
		s.release()
		return nil, &environment.Error{Kind: environment.ErrConfig, Op: "terminal.encoding", Err: err}
	}
	return s, nil
}

// deaf takes everything, whatever its writer says.
type deaf struct{ io.Writer }

func (d deaf) Write(p []byte) (int, error) {
	_, _ = d.Writer.Write(p)
	return len(p), nil
}

func (s *sink) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.done {
		return len(p), nil
	}
	s.fill = append(s.fill, p...)
	if len(s.fill) >= block {
		s.hand()
	}
	return len(p), nil
}

// hand gives a full buffer to the filtering goroutine, and waits while that is busy with the other one: a reader that is faster than
// the filters must not fill the memory.
func (s *sink) hand() {
	if s.work == nil {
		s.work, s.idle = make(chan []byte), make(chan []byte, 2)
		s.idle <- make([]byte, 0, block+block/4)
		go func() { // ends with finish, which waits for it
			defer close(s.idle)
			for b := range s.work {
				_, _ = s.filter.Write(b) // a Collector takes everything
				s.idle <- b[:0]
			}
		}()
	}
	s.work <- s.fill
	s.fill = <-s.idle
}

func (s *sink) finish() (textcap.Result, *tool.Spill) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = true
	late := time.AfterFunc(spillEnd, s.release)
	defer late.Stop()
	if s.work != nil {
		close(s.work)
		for range s.idle { // until the goroutine has ended
		}
	}
	_, _ = s.filter.Write(s.fill)
	_ = s.filter.Close()
	_ = s.collect.Close() // told in the result
	res := s.collect.Result()
	if s.file == nil || res.Spill.Err != nil {
		return res, nil
	}
	return res, &tool.Spill{Path: s.file.Path(), Chars: int(res.Total.Chars), Lines: int(res.Total.Lines)}
}
