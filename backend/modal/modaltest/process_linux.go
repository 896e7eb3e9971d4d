//go:build modal

package modaltest

import (
	"context"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/hermes-runtime/hermes/internal/cloud/cloudtest"
)

// process is a program in a sandbox.
type process struct {
	args     []string
	asked    int // how often it was asked for
	started  int
	deadline time.Time // zero = none
	killed   bool
	timer    *time.Timer

	cmd      *exec.Cmd
	stdin    *spool
	out, err *spool
	done     chan struct{}
}

func (p *process) running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// age has a program killed whose time is over: «proto», TaskExecStartRequest. The server is locked.
func (p *process) age(s *Server) {
	if !p.killed && !p.deadline.IsZero() && !s.now().Before(p.deadline) {
		p.killed = true
		s.work.Go(p.kill)
	}
}

// kill kills until the program has ended: a signal meets nobody while nsenter hasn't begun it yet.
func (p *process) kill() {
	for {
		cloudtest.Signal(p.cmd, syscall.SIGKILL)
		select {
		case <-p.done:
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// pipes gives the program what it reads from and prints into. An output that nobody wants is nil.
func (p *process) pipes() (feed *os.File, read map[*os.File]*spool, given []*os.File, err error) {
	in, feed, err := os.Pipe()
	if err != nil {
		return nil, nil, nil, err
	}
	p.cmd.Stdin, given, read = in, []*os.File{in}, map[*os.File]*spool{}
	for w, s := range map[*io.Writer]*spool{&p.cmd.Stdout: p.out, &p.cmd.Stderr: p.err} {
		if s.isOver() {
			continue
		}
		from, to, err := os.Pipe()
		if err != nil {
			return nil, nil, nil, err
		}
		*w = to
		given, read[from] = append(given, to), s
	}
	return feed, read, given, nil
}

// start has it run. All that goes on then ends with the machine at the latest.
func (p *process) start(s *Server, ended func()) error {
	feed, read, given, err := p.pipes()
	if err == nil {
		err = p.cmd.Start()
	}
	for _, f := range given {
		_ = f.Close()
	}
	if err != nil {
		return err
	}
	p.started++
	for f, to := range read {
		s.work.Go(func() {
			_, _ = io.Copy(to, f)
			_ = f.Close()
			to.end()
		})
	}
	s.work.Go(func() {
		_ = p.cmd.Wait()
		p.stdin.end()
		close(p.done)
		ended()
	})
	s.work.Go(func() {
		defer feed.Close()
		for at := 0; ; {
			b, _ := p.stdin.from(context.Background(), at)
			n, err := feed.Write(b)
			if at += n; len(b) == 0 || err != nil {
				return
			}
		}
	})
	return nil
}

// spool keeps what was written for readers that come back.
type spool struct {
	mu   sync.Mutex
	b    []byte
	over bool
	news chan struct{}
}

func newSpool() *spool { return &spool{news: make(chan struct{})} }

// Write keeps.
func (s *spool) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keep(b)
	return len(b), nil
}

func (s *spool) keep(b []byte) {
	s.b = append(s.b, b...)
	close(s.news)
	s.news = make(chan struct{})
}

func (s *spool) isOver() bool { s.mu.Lock(); defer s.mu.Unlock(); return s.over }

func (s *spool) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shut()
}

func (s *spool) shut() {
	if !s.over {
		s.over = true
		close(s.news)
		s.news = make(chan struct{})
	}
}

// from gives what is behind an offset, waiting for it; nothing = it is over.
func (s *spool) from(ctx context.Context, at int) ([]byte, error) {
	for {
		s.mu.Lock()
		b, over, news := s.b, s.over, s.news
		s.mu.Unlock()
		if at < len(b) {
			return b[at:min(len(b), at+64<<10)], nil
		}
		if over {
			return nil, nil
		}
		select {
		case <-news:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}
