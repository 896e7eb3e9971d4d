package runtime

import (
	"context"
	"errors"
	"fmt"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/envs"
	"github.com/hermes-runtime/hermes/internal/process"
)

// distant are places that are opened to look for the jobs that they keep, and for nothing else.
type distant struct {
	over context.Context // ends when the runtime closes
	end  context.CancelCauseFunc
	turn chan struct{}                      // held while one is opened, which may ask a person, and while all are closed
	open map[string]environment.Environment // by backend; guarded by turn
}

var errClosing = errors.New("the runtime is closing")

func newDistant() *distant {
	d := &distant{turn: make(chan struct{}, 1)}
	d.over, d.end = context.WithCancelCause(context.Background())
	return d
}

// close gives up what is being opened and closes what is open.
func (d *distant) close(ctx context.Context) error {
	d.end(errClosing)
	select {
	case d.turn <- struct{}{}:
		defer func() { <-d.turn }()
	case <-ctx.Done():
		return fmt.Errorf("close the places that were looked into: %w", context.Cause(ctx))
	}
	var errs []error
	for _, e := range d.open {
		errs = append(errs, e.Close(ctx))
	}
	d.open = nil
	return errors.Join(errs...)
}

// find gives the place of a backend, as far as there is one: nothing is made for it.
func (d *distant) find(ctx context.Context, r *Runtime, b environment.Backend) (environment.Environment, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(d.over, func() { cancel(context.Cause(d.over)) })()
	select {
	case d.turn <- struct{}{}:
		defer func() { <-d.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	switch {
	case d.over.Err() != nil:
		return nil, context.Cause(d.over)
	case d.open[b.Name] != nil:
		return d.open[b.Name], nil
	}
	o, err := r.OpenOptions(b)
	o.Find, o.Key = true, envs.DefaultKey
	if err == nil && b.Check != nil {
		err = b.Check(ctx, o)
	}
	if err != nil {
		return nil, err
	}
	e, err := b.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	if d.over.Err() != nil { // close may have stopped waiting for it
		late, done := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
		defer done()
		return nil, errors.Join(context.Cause(d.over), e.Close(late))
	}
	if d.open == nil {
		d.open = map[string]environment.Environment{}
	}
	d.open[b.Name] = e
	return e, nil
}

// jobsElsewhere are the places of other backends that may keep jobs, as far as looking there starts nothing. The error names those that
// can't be looked into, and how they can be.
func (r *Runtime) jobsElsewhere(ctx context.Context) ([]process.Home, error) {
	var homes []process.Home
	var unseen []error
	for _, b := range environment.Backends() {
		if b.Name == r.place.Backend || !r.keptAt(b) {
			continue
		}
		e, err := r.distant.find(ctx, r, b)
		switch {
		case errors.Is(err, environment.ErrGone): // nobody is there to keep any
			continue
		case err != nil:
			unseen = append(unseen, fmt.Errorf("what %s may keep is not shown; TERMINAL_ENV=%s hermes process list tries harder: %w", b.Name, b.Name, err))
			continue
		}
		if k, ok := e.(environment.Keeper); ok {
			homes = append(homes, process.Home{Key: b.Name, Keep: k})
		}
	}
	return homes, errors.Join(unseen...)
}
