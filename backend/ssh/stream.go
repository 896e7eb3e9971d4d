package ssh

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
)

const (
	// leaveTime is how long a program there may take to put things in order and go, once its input is closed.
	leaveTime = 3 * time.Second
	// keptErrors is how much of what a program there says on standard error is kept, to explain why it ended.
	keptErrors = 4 << 10
)

// stream is a program on the host: its input and output are one stream of bytes.
type stream struct {
	session *ssh.Session
	in      io.WriteCloser
	turn    chan struct{} // held while something is written: the library lets nobody end the input meanwhile
	shut    bool          // guarded by turn
	out     io.Reader
	done    chan struct{} // closed when the program has ended and status is set
	status  error
	once    sync.Once

	mu   sync.Mutex
	errs bytes.Buffer
}

// start starts a program on the host: a line for the user's shell there.
func (c *connection) start(ctx context.Context, line string) (*stream, error) {
	var s *stream
	err := c.within(ctx, func() (err error) {
		s, err = c.begin(line)
		return err
	})
	return s, err
}

// within does something that the library gives no context for. The connection is given up where ctx ends first.
func (c *connection) within(ctx context.Context, do func() error) error {
	stop := context.AfterFunc(ctx, c.hangUp)
	err := do()
	if !stop() {
		return causeOf(ctx, err)
	}
	return err
}

func (c *connection) begin(line string) (*stream, error) {
	session, err := c.NewSession()
	if err != nil {
		return nil, fmt.Errorf("open a channel: %w", err)
	}
	s := &stream{session: session, turn: make(chan struct{}, 1), done: make(chan struct{})}
	if s.in, err = session.StdinPipe(); err == nil {
		s.out, err = session.StdoutPipe()
	}
	session.Stderr = &tail{s: s}
	if err == nil {
		err = session.Start(line)
	}
	if err != nil {
		_ = session.Close()
		return nil, fmt.Errorf("start a program: %w", err)
	}
	c.work.Go(func() { // ends with the channel, at the latest with the connection
		s.status = session.Wait()
		close(s.done)
	})
	return s, nil
}

// tail keeps the beginning of what a program says on standard error.
type tail struct{ s *stream }

func (t *tail) Write(b []byte) (int, error) {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	t.s.errs.Write(b[:min(len(b), max(0, keptErrors-t.s.errs.Len()))])
	return len(b), nil
}

// said is what the program printed as errors.
func (s *stream) said() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.TrimSpace(s.errs.String())
}

func (s *stream) Read(b []byte) (int, error) { return s.out.Read(b) }

func (s *stream) Write(b []byte) (int, error) {
	s.turn <- struct{}{}
	defer func() { <-s.turn }()
	if s.shut {
		return 0, io.ErrClosedPipe
	}
	return s.in.Write(b)
}

// closeInput ends the input, unless a write is stuck until give.
func (s *stream) closeInput(give <-chan time.Time) {
	select {
	case s.turn <- struct{}{}:
	case <-give:
		return
	}
	defer func() { <-s.turn }()
	if !s.shut {
		s.shut = true
		_ = s.in.Close()
	}
}

// Close ends the input of the program, which is how it learns that it isn't needed, gives it time to put things in order, and ends
// the channel. Somebody else has to be reading meanwhile.
func (s *stream) Close() error {
	s.once.Do(func() {
		stuck := time.NewTimer(leaveTime / 3)
		defer stuck.Stop()
		s.closeInput(stuck.C)
		timer := time.NewTimer(leaveTime)
		defer timer.Stop()
		select {
		case <-s.done:
		case <-timer.C:
		}
		_ = s.session.Close()
	})
	return nil
}

// exit waits for the end of the program and gives its exit code, -1 where it has none.
func (s *stream) exit(ctx context.Context) (int, error) {
	select {
	case <-s.done:
	case <-ctx.Done():
		return -1, context.Cause(ctx)
	}
	var code *ssh.ExitError
	switch {
	case s.status == nil:
		return 0, nil
	case errors.As(s.status, &code):
		return code.ExitStatus(), nil
	}
	return -1, s.status
}

// do runs a program to its end with some input, and gives what it printed.
func (c *connection) do(ctx context.Context, line string, input io.Reader) (string, int, error) {
	s, err := c.start(ctx, line)
	if err != nil {
		return "", -1, err
	}
	var out bytes.Buffer
	code := -1
	err = c.within(ctx, func() error {
		if input != nil {
			if _, err := io.Copy(struct{ io.Writer }{s}, input); err != nil && !errors.Is(err, io.EOF) {
				return err
			}
		}
		s.closeInput(nil)
		if _, err := io.Copy(&out, io.LimitReader(s.out, maxAnswer)); err != nil {
			return err
		}
		var err error
		code, err = s.exit(ctx)
		return err
	})
	_ = s.Close()
	if err == nil && code != 0 && s.said() != "" {
		return out.String(), code, fmt.Errorf("exit code %d: %s", code, s.said())
	}
	return out.String(), code, err
}

// maxAnswer bounds what a program may answer, in bytes.
const maxAnswer = 1 << 20
