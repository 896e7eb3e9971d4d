package vercel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

const (
	// maxTyped is how much input may wait until the API has taken what is on its way, and how much goes with one request. It is sent in
	// large pieces since Vercel limits the number of requests.
	maxTyped = 256 << 10
	// leaveTime bounds the last words to a command.
	leaveTime = 3 * time.Second
	// maxTail bounds what is told of a command's errors.
	maxTail = 300
)

// stream is a command as a stream of bytes: what it reads and prints.
type stream struct {
	tape   *tape
	input  typing
	life   context.Context
	hangUp context.CancelCauseFunc
	read   *io.PipeReader
	tail   []byte // of its errors; the tape's until that has ended
	plays  sync.WaitGroup
	types  sync.WaitGroup
	shut   sync.Once

	mu      sync.Mutex
	changed *sync.Cond
	waiting []byte
	leaving bool
	err     error // why nothing can be typed any more
}

// Become runs a script, whose input and output are the stream.
func (m *machine) Become(ctx context.Context, script string) (io.ReadWriteCloser, error) {
	r, w := io.Pipe()
	s := &stream{read: r}
	s.changed = sync.NewCond(&s.mu)
	s.life, s.hangUp = context.WithCancelCause(m.life)
	begun := make(chan string, 1)
	s.tape = &tape{m: m, print: func(of, text string) error {
		if of == "stderr" {
			s.tail = append(s.tail, text...)
			s.tail = s.tail[max(0, len(s.tail)-maxTail):]
			return nil
		}
		_, err := io.WriteString(w, text)
		return err
	}}
	s.tape.begun = func() { begun <- s.tape.id }
	s.tape.whole = func() bool { return s.tape.exit != nil }
	over := make(chan error, 1)
	s.plays.Go(func() {
		err := s.tape.play(s.life, m.starting([]string{"-c", script}, true))
		over <- err
		s.fail(s.ended(err))
		_ = w.CloseWithError(s.ended(err))
	})
	var err error
	select {
	case id := <-begun:
		return s.typed(id), nil
	case err = <-over:
		if len(begun) > 0 { // it began, too
			return s.typed(<-begun), nil
		}
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	s.hangUp(err)
	_ = r.Close()
	s.plays.Wait()
	m.hold(s.tape.id)
	return nil, fmt.Errorf("start a command: %w", err)
}

// typed has the stream type into the command of that id.
func (s *stream) typed(id string) *stream {
	s.input = typing{m: s.tape.m, id: id}
	s.types.Go(s.send)
	return s
}

// ended says what the end of the command means to who reads.
func (s *stream) ended(err error) error {
	switch {
	case err != nil:
		return err
	case *s.tape.exit == 0:
		return io.EOF
	}
	return fmt.Errorf("the command ended with exit code %d: %q", *s.tape.exit, s.tail)
}

// Read gives what is printed.
func (s *stream) Read(b []byte) (int, error) { return s.read.Read(b) }

// Write types. It waits for room only; what becomes of it is told later.
func (s *stream) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.waiting) >= maxTyped && s.err == nil && !s.leaving {
		s.changed.Wait()
	}
	switch {
	case s.leaving:
		return 0, io.ErrClosedPipe
	case s.err != nil:
		return 0, s.err
	}
	s.waiting = append(s.waiting, b...)
	s.changed.Broadcast()
	return len(b), nil
}

// send sends what was written, all that waits with one request.
func (s *stream) send() {
	for {
		in, ok := s.next()
		if !ok {
			return
		}
		if err := s.input.send(s.life, in); err != nil {
			s.fail(fmt.Errorf("type into a command: %w", err))
			s.hangUp(err)
			return
		}
		if in.Close {
			return
		}
	}
}

// next waits for something to send.
func (s *stream) next() (in input, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.waiting) == 0 && !s.leaving && s.err == nil {
		s.changed.Wait()
	}
	if s.err != nil {
		return in, false
	}
	n := min(len(s.waiting), maxTyped)
	in.Data = string(s.waiting[:n])
	s.waiting = append(s.waiting[:0], s.waiting[n:]...)
	in.Close = s.leaving && len(s.waiting) == 0
	s.changed.Broadcast()
	return in, true
}

// fail says why nothing can be typed any more.
func (s *stream) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
	s.changed.Broadcast()
}

// Close sends what was written, closes the command's input and hangs up.
func (s *stream) Close() error {
	s.shut.Do(func() {
		late := time.AfterFunc(leaveTime, func() { s.hangUp(errors.New("the command doesn't take its leave")) })
		defer late.Stop()
		s.mu.Lock()
		s.leaving = true
		s.changed.Broadcast()
		s.mu.Unlock()
		s.types.Wait()
		s.hangUp(io.ErrClosedPipe)
		_ = s.read.Close()
		s.plays.Wait()
	})
	return nil
}
