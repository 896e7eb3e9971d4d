package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/moby/moby/client"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine/plain"
)

// plainLink is a contact with a container where the engine can't stand: each operation is a shell command of its own.
type plainLink struct {
	*plain.Place
	d         *daemon
	container string
	over      chan struct{}
	once      sync.Once
}

// plainly makes do without the engine inside.
func (p *place) plainly(ctx context.Context) (*plainLink, error) {
	l := &plainLink{d: p.d, container: p.box.id, over: make(chan struct{})}
	var err error
	l.Place, err = plain.Open(ctx, l.shell, plain.Options{Info: p.base, Why: p.plain, Grace: p.o.KillGrace, Limits: p.o.Limits})
	if err != nil {
		return nil, err
	}
	return l, nil
}

// Done is closed when no command can be started in the container any more.
func (l *plainLink) Done() <-chan struct{} { return l.over }

// shell runs a script in the container through the daemon alone.
func (l *plainLink) shell(ctx context.Context, script string, stdin io.Reader, stdout, stderr io.Writer) (int, error) {
	s, id, err := l.d.exec(ctx, l.container, []string{"/bin/sh", "-c", script})
	if err != nil {
		if ctx.Err() == nil {
			l.once.Do(func() { close(l.over) })
		}
		return 0, &environment.Error{Kind: environment.ErrNotStarted, Op: "run a shell in the container", Err: err}
	}
	stop := context.AfterFunc(ctx, func() { _ = s.conn.Close() })
	defer stop()
	defer s.conn.Close()
	go func() { // ends with the connection at the latest, once its reader gives something
		if stdin != nil {
			_, _ = io.Copy(struct{ io.Writer }{s.conn}, stdin) // a script that stops reading early is no failure
		}
		_ = s.shut()
	}()
	if err := s.split(stdout, stderr); err != nil {
		return 0, fmt.Errorf("follow a command in the container: %w", causeOf(ctx, err))
	}
	return l.d.exit(ctx, id)
}

// exitTime is how long after the end of its outputs a command may seem to run: the daemon hears of its end in another way. One that goes
// on for longer has not ended, but contact with it. It is less than what a guard there waits before it ends such a command.
const exitTime = time.Second

// exit tells how a command whose outputs have ended did end.
func (d *daemon) exit(ctx context.Context, id string) (int, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerTime)
	defer cancel()
	for began, pause := time.Now(), time.Millisecond; ; pause *= 2 {
		e, err := d.ExecInspect(ctx, id, client.ExecInspectOptions{})
		switch {
		case err != nil:
			return 0, fmt.Errorf("ask how a command in the container ended: %w", err)
		case !e.Running:
			return e.ExitCode, nil
		case time.Since(began) > exitTime:
			return 0, errors.New("contact ended while the command in the container went on")
		}
		time.Sleep(pause)
	}
}

// split hands on the two outputs of a process until both end.
func (s *stream) split(stdout, stderr io.Writer) error {
	buf := make([]byte, 32<<10)
	for {
		n, part, err := s.next(buf)
		w := stdout
		if part == 2 {
			w = stderr
		}
		if n > 0 && w != nil {
			if _, werr := w.Write(buf[:n]); werr != nil {
				return werr
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
	}
}
