//go:build modal

package modal

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"sync"
	"time"

	sdk "github.com/modal-labs/modal-client/go"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/cloud"
	"github.com/hermes-runtime/hermes/internal/cloud/sandbox"
	"github.com/hermes-runtime/hermes/internal/engine"
)

const (
	// atOnce is how many bytes of input go with one request at most.
	atOnce = 1 << 20
	// firstPause and longestPause are the pauses before asking again whether a sandbox lives.
	firstPause, longestPause = time.Second, 30 * time.Second
	// byeTime bounds saying goodbye to what runs there, and the question whether there still is a sandbox.
	byeTime = 5 * time.Second
	// maxLogged is how many lines the engine there may print into its log.
	maxLogged = 1000
)

// machine is what runs programs in one sandbox.
type machine struct {
	s    *service
	sb   *sdk.Sandbox
	name string
	life context.Context // ends with Close, and with the sandbox, which it tells why
	end  context.CancelCauseFunc
	over chan struct{}
	once sync.Once
	work sync.WaitGroup
}

var _ sandbox.Machine = (*machine)(nil)

// Machine makes contact with what runs programs in a sandbox.
func (s *service) Machine(ctx context.Context, b sandbox.Box) (sandbox.Machine, error) {
	sb, err := s.client.Sandboxes.FromID(ctx, b.ID, nil)
	if err != nil {
		return nil, err
	}
	m := &machine{s: s, sb: sb, name: b.Name, over: make(chan struct{})}
	m.life, m.end = context.WithCancelCause(context.Background())
	m.work.Go(m.watch)
	return m, nil
}

// watch notices the end of the sandbox, which what runs there needn't tell.
func (m *machine) watch() {
	for pause := firstPause; ; pause = min(pause*2, longestPause) {
		code, err := m.sb.Wait(m.life, nil)
		switch {
		case m.life.Err() != nil:
			return
		case err == nil:
			m.end(ended(m.name, code))
			m.finish()
			return
		case isMissing(err):
			m.end(goneError(m.name, "it is there no more"))
			m.finish()
			return
		}
		if cloud.Rest(m.life, pause) != nil {
			return
		}
	}
}

// finish says that nothing can be started here any more.
func (m *machine) finish() { m.once.Do(func() { close(m.over) }) }

// Done is closed when no command can be started in the sandbox any more.
func (m *machine) Done() <-chan struct{} { return m.over }

// Close lets go of the sandbox.
func (m *machine) Close(ctx context.Context) error {
	m.end(io.ErrClosedPipe)
	done := make(chan struct{})
	go func() { // ends with what it waits for, which the client bounds
		m.work.Wait()
		close(done)
	}()
	ctx, cancel := context.WithTimeout(ctx, byeTime)
	defer cancel()
	select {
	case <-done:
	case <-ctx.Done():
	}
	return m.sb.Detach()
}

// Become runs a script, and gives what it reads and prints.
func (m *machine) Become(ctx context.Context, script string) (io.ReadWriteCloser, error) {
	p, err := m.sb.Exec(ctx, []string{"sh", "-c", script}, nil)
	if err != nil {
		return nil, m.s.told(m.reason(ctx, err))
	}
	s := &stream{m: m, p: p}
	s.life, s.end = context.WithCancelCause(m.life)
	s.read, s.write = io.Pipe()
	m.work.Go(s.feed)
	m.work.Go(s.log)
	context.AfterFunc(s.life, s.hangUp)
	return s, nil
}

// stream is what a program there reads and prints. What it says on stderr is its log.
type stream struct {
	m     *machine
	p     *sdk.ContainerProcess
	life  context.Context
	end   context.CancelCauseFunc
	read  *io.PipeReader
	write *io.PipeWriter
}

// Read gives what is printed.
func (s *stream) Read(b []byte) (int, error) {
	n, err := s.p.Stdout.Read(b)
	if err != nil && s.life.Err() != nil {
		err = context.Cause(s.life)
	}
	return n, err
}

// Write gives something to read.
func (s *stream) Write(b []byte) (int, error) { return s.write.Write(b) }

// Close hangs up.
func (s *stream) Close() error {
	s.end(io.ErrClosedPipe)
	return nil
}

// hangUp ends reads and writes that go on.
func (s *stream) hangUp() {
	_ = s.write.CloseWithError(io.EOF)
	_ = s.read.CloseWithError(context.Cause(s.life))
	_ = s.p.Stdout.Close()
	_ = s.p.Stderr.Close()
}

// feed sends what was written. The client sends it again where contact breaks, and the far side takes each byte once.
func (s *stream) feed() {
	buf := make([]byte, atOnce)
	for {
		n, err := s.read.Read(buf)
		if n > 0 {
			if _, werr := s.p.Stdin.Write(buf[:n]); werr != nil {
				s.end(s.m.s.told(werr))
				return
			}
		}
		if err != nil {
			break
		}
	}
	if !s.m.isOver() {
		_ = s.p.Stdin.Close() // it ends with the sandbox at the latest
	}
}

// log takes down what the program says on stderr.
func (s *stream) log() {
	lines := bufio.NewScanner(s.p.Stderr)
	for n := 0; lines.Scan(); n++ {
		if n < maxLogged {
			s.m.s.log.Debug("hermes in the sandbox", "sandbox", s.m.name, "says", lines.Text())
		}
	}
	_, _ = io.Copy(io.Discard, s.p.Stderr) // a line that is too long is no reason to hold the program up
}

func (m *machine) isOver() bool {
	select {
	case <-m.over:
		return true
	default:
		return false
	}
}

// Upload writes a file of this machine there: by a tool that Modal puts into sandboxes, and through a shell where that doesn't work.
func (m *machine) Upload(ctx context.Context, from, to string) error {
	err := m.sb.Filesystem.CopyFromLocal(ctx, from, to, nil)
	if err == nil || ctx.Err() != nil {
		return err
	}
	m.s.log.Debug("Modal's own way to write files fails; a shell does it instead", "sandbox", m.name, "error", m.s.told(err))
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	code, err := m.Exec(ctx, "exec cat >"+engine.Word(to, false), f, nil, nil)
	if err == nil && code != 0 {
		err = errors.New("the shell there can't write it")
	}
	return err
}

// reason prefers that the sandbox is gone to what came of it.
func (m *machine) reason(ctx context.Context, err error) error {
	if m.life.Err() != nil {
		return context.Cause(m.life)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), byeTime)
	defer cancel()
	if gone := m.s.lives(ctx, m.sb); errors.Is(gone, environment.ErrGone) {
		return gone
	}
	return err
}

// fails says that nothing else can be expected of this contact, unless it is only that nobody waits any longer.
func (m *machine) fails(ctx context.Context) {
	if ctx.Err() == nil {
		m.finish()
	}
}

// unbegun is a script that was not started.
func (m *machine) unbegun(ctx context.Context, err error) error {
	m.fails(ctx)
	return &environment.Error{Kind: environment.ErrNotStarted, Op: "run a shell in sandbox " + m.name, Err: m.s.told(err)}
}

// lost is a script of which nobody knows what became of it.
func (m *machine) lost(ctx context.Context, err error) error {
	m.fails(ctx)
	return &environment.Error{Kind: environment.ErrLost, Op: "follow a shell in sandbox " + m.name, Err: m.s.told(err)}
}
