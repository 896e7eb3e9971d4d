package singularity

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine/plain"
)

// plainLink is a contact with an instance where the engine can't stand: each operation is a shell command of its own.
type plainLink struct {
	*plain.Place
	p    *place
	of   instance
	over chan struct{}
	once sync.Once
}

// plainly makes do without the engine inside.
func (p *place) plainly(ctx context.Context) (*plainLink, error) {
	l := &plainLink{p: p, of: p.box.instance, over: make(chan struct{})}
	var err error
	l.Place, err = plain.Open(ctx, l.shell, plain.Options{Info: p.base, Why: p.plain, Grace: p.o.KillGrace, Limits: p.o.Limits})
	if err != nil {
		return nil, err
	}
	return l, nil
}

// Done is closed when no command can be started in the instance any more.
func (l *plainLink) Done() <-chan struct{} { return l.over }

// gone notes that the instance has ended.
func (l *plainLink) gone() bool {
	if l.of.alive() {
		return false
	}
	l.once.Do(func() { close(l.over) })
	return true
}

// shell runs a script in the instance, up to the end of its outputs.
func (l *plainLink) shell(ctx context.Context, script string, stdin io.Reader, stdout, stderr io.Writer) (int, error) {
	if l.gone() {
		return 0, &environment.Error{Kind: environment.ErrNotStarted, Op: "run a shell in the instance", Err: errGone}
	}
	c := l.p.client
	f := &follower{cmd: c.command(c.environ(passed...), l.p.exec(apart, script)...)}
	if err := f.start(stdin, stdout, stderr); err != nil {
		return 0, &environment.Error{Kind: environment.ErrNotStarted, Op: "run a shell in the instance", Err: err}
	}
	code, err := f.wait(ctx)
	switch {
	case err != nil:
		return 0, err
	case code != 0 && l.gone():
		return 0, fmt.Errorf("follow a command in the instance: %w", errGone)
	}
	return code, nil
}

// follower hands on what a run of the command reads and prints.
type follower struct {
	cmd   *exec.Cmd
	outs  []*os.File
	work  sync.WaitGroup
	mu    sync.Mutex
	wrong error
}

func (f *follower) start(stdin io.Reader, stdout, stderr io.Writer) error {
	var theirs []*os.File
	defer func() {
		for _, w := range theirs {
			_ = w.Close()
		}
	}()
	pipe := func() (r, w *os.File, err error) {
		if r, w, err = os.Pipe(); err == nil {
			f.outs, theirs = append(f.outs, r), append(theirs, w)
		}
		return r, w, err
	}
	out, outW, err := pipe()
	if err != nil {
		return err
	}
	errs, errsW, err := pipe()
	if err != nil {
		f.hangUp()
		return err
	}
	f.cmd.Stdout, f.cmd.Stderr = outW, errsW
	var in io.WriteCloser
	if stdin != nil {
		if in, err = f.cmd.StdinPipe(); err != nil {
			f.hangUp()
			return err
		}
	}
	if err := f.cmd.Start(); err != nil {
		f.hangUp()
		return err
	}
	if in != nil {
		go func() { // nobody waits for it: what it reads may block for as long as it likes
			_, _ = io.Copy(struct{ io.Writer }{in}, stdin) // a script that stops reading early is no failure
			_ = in.Close()
		}()
	}
	f.work.Go(func() { f.copy(stdout, out) })
	f.work.Go(func() { f.copy(stderr, errs) })
	return nil
}

func (f *follower) copy(to io.Writer, from *os.File) {
	if to == nil {
		to = io.Discard
	}
	if _, err := io.Copy(to, from); err != nil && !errors.Is(err, os.ErrClosed) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.wrong = err
	}
}

func (f *follower) hangUp() {
	for _, r := range f.outs {
		_ = r.Close()
	}
}

// wait waits for the end of the outputs and of the command. When ctx ends first it hangs up.
func (f *follower) wait(ctx context.Context) (int, error) {
	stop := context.AfterFunc(ctx, func() {
		kill(f.cmd)
		f.hangUp()
	})
	f.work.Wait()
	err := f.cmd.Wait()
	if !stop() {
		return 0, context.Cause(ctx)
	}
	f.hangUp()
	var exit *exec.ExitError
	switch {
	case f.wrong != nil:
		return 0, fmt.Errorf("follow a command in the instance: %w", f.wrong)
	case err == nil:
		return 0, nil
	case !errors.As(err, &exit):
		return 0, fmt.Errorf("follow a command in the instance: %w", err)
	}
	if s := signalOf(f.cmd); s > 0 {
		return 128 + s, nil
	}
	return exit.ExitCode(), nil
}
