package docker

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/moby/moby/client"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine/plain"
)

// plainPlace is a container where the engine can't stand: each operation is a shell command of its own.
type plainPlace struct {
	*plain.Place
	p *place
}

var (
	_ environment.Environment = (*plainPlace)(nil)
	_ environment.Environer   = (*plainPlace)(nil)
)

// plainly makes do without the engine inside.
func (p *place) plainly(ctx context.Context, why string) (environment.Environment, error) {
	inner, err := plain.Open(ctx, p.shell, plain.Options{Info: p.base, Why: why, Grace: p.o.KillGrace, Limits: p.o.Limits})
	if err != nil {
		return nil, err
	}
	return &plainPlace{inner, p}, nil
}

// shell runs a script in the container through the daemon alone. A container that was stopped is started again.
func (p *place) shell(ctx context.Context, script string, stdin io.Reader, stdout, stderr io.Writer) (int, error) {
	if _, err := p.d.up(ctx, p.box.id); err != nil {
		return 0, p.lost(err)
	}
	s, id, err := p.d.exec(ctx, p.box.id, []string{"/bin/sh", "-c", script})
	if err != nil {
		return 0, p.lost(err)
	}
	stop := context.AfterFunc(ctx, func() { _ = s.conn.Close() })
	defer stop()
	defer s.conn.Close()
	fed := make(chan struct{})
	go func() { // ends with the connection at the latest, once its reader gives something
		defer close(fed)
		if stdin != nil {
			_, _ = io.Copy(struct{ io.Writer }{s.conn}, stdin) // a script that stops reading early is no failure
		}
		_ = s.shut()
	}()
	if err := s.split(stdout, stderr); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return 0, fmt.Errorf("follow a command in the container: %w", err)
	}
	e, err := p.d.ExecInspect(context.WithoutCancel(ctx), id, client.ExecInspectOptions{})
	if err != nil {
		return 0, fmt.Errorf("ask how a command in the container ended: %w", err)
	}
	return e.ExitCode, nil
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

// Run runs one command.
func (e *plainPlace) Run(ctx context.Context, c environment.Command) (environment.Result, error) {
	return e.Place.Run(ctx, e.p.forward(c))
}

// Close ends what runs and lets go of the container.
func (e *plainPlace) Close(ctx context.Context) error {
	return errors.Join(e.Place.Close(ctx), e.p.Close(ctx))
}
