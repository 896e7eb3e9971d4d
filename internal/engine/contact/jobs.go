package contact

import (
	"context"
	"errors"
	"sync"

	"github.com/hermes-runtime/hermes/environment"
)

// nothing is the value of an operation that has none.
type nothing struct{}

// withJobs is a place that keeps jobs, which go on while there is no contact.
type withJobs struct{ full }

var (
	_ environment.Starter = withJobs{}
	_ environment.Keeper  = withJobs{}
)

// jobKeeper is what a contact with jobs has.
type jobKeeper interface {
	environment.Starter
	environment.Keeper
}

// Start starts a job.
func (w withJobs) Start(ctx context.Context, j environment.Job) (environment.Process, error) {
	if w.o.Variables != nil && j.Command.Environ == nil {
		j.Command.Env = w.over(j.Command)
	}
	return with(ctx, w.keeper, func(l Link) (environment.Process, error) {
		p, err := l.(jobKeeper).Start(ctx, j)
		if err != nil {
			return nil, err
		}
		i, err := p.Info(ctx, 0)
		if err != nil {
			return nil, err
		}
		return &process{w: w, id: i.ID, link: l, p: p}, nil
	})
}

// Jobs lists every job. A place that is gone has none.
func (w withJobs) Jobs(ctx context.Context) ([]environment.JobInfo, error) {
	list, err := with(ctx, w.keeper, func(l Link) ([]environment.JobInfo, error) { return l.(jobKeeper).Jobs(ctx) })
	if errors.Is(err, environment.ErrGone) {
		return nil, nil
	}
	return list, err
}

// Attach finds a job.
func (w withJobs) Attach(ctx context.Context, id string) (environment.Process, error) {
	p := &process{w: w, id: id}
	_, err := p.at(ctx, func(environment.Process) error { return nil })
	if err != nil {
		return nil, err
	}
	return p, nil
}

// Adopt gives what a command left running an entry.
func (w withJobs) Adopt(ctx context.Context, left environment.Leftover) (environment.Process, error) {
	return with(ctx, w.keeper, func(l Link) (environment.Process, error) {
		p, err := l.(jobKeeper).Adopt(ctx, left)
		if err != nil {
			return nil, err
		}
		i, err := p.Info(ctx, 0)
		if err != nil {
			return nil, err
		}
		return &process{w: w, id: i.ID, link: l, p: p}, nil
	})
}

// Forget removes a job that has ended.
func (w withJobs) Forget(ctx context.Context, id string) error {
	_, err := with(ctx, w.keeper, func(l Link) (nothing, error) { return nothing{}, l.(jobKeeper).Forget(ctx, id) })
	return err
}

// Events gives what jobs have to tell, over as many contacts as it takes. A place in which nothing runs is not set going for it.
func (w withJobs) Events(ctx context.Context, labels map[string]string) ([]environment.JobEvent, error) {
	for {
		change := *w.news.Load()
		list, err := follow(ctx, w.keeper, look, func(l Link) ([]environment.JobEvent, error) { return l.(jobKeeper).Events(ctx, labels) })
		if !errors.Is(err, ErrAsleep) && !errors.Is(err, environment.ErrGone) {
			return list, err
		}
		select {
		case <-change:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// Taken says that an event was told.
func (w withJobs) Taken(ctx context.Context, eventID string) error {
	_, err := with(ctx, w.keeper, func(l Link) (nothing, error) { return nothing{}, l.(jobKeeper).Taken(ctx, eventID) })
	return err
}

// process is a job over whatever contact there is.
type process struct {
	w  withJobs
	id string

	mu   sync.Mutex
	link Link // that p was found over
	p    environment.Process
}

// over finds the job over a contact.
func (p *process) over(ctx context.Context, l Link) (environment.Process, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.link == l {
		return p.p, nil
	}
	found, err := l.(jobKeeper).Attach(ctx, p.id)
	if err == nil {
		p.link, p.p = l, found
	}
	return found, err
}

func (p *process) at(ctx context.Context, do func(environment.Process) error) (nothing, error) {
	return with(ctx, p.w.keeper, func(l Link) (nothing, error) {
		j, err := p.over(ctx, l)
		if err != nil {
			return nothing{}, err
		}
		return nothing{}, do(j)
	})
}

// Info tells how the job stands.
func (p *process) Info(ctx context.Context, preview int) (i environment.JobInfo, err error) {
	_, err = p.at(ctx, func(j environment.Process) (err error) { i, err = j.Info(ctx, preview); return err })
	return i, err
}

// Wait waits for the end of the job, over as many contacts as it takes.
func (p *process) Wait(ctx context.Context) error {
	_, err := follow(ctx, p.w.keeper, act, func(l Link) (nothing, error) {
		j, err := p.over(ctx, l)
		if err != nil {
			return nothing{}, err
		}
		return nothing{}, j.Wait(ctx)
	})
	return err
}

// Kill ends all that the job started.
func (p *process) Kill(ctx context.Context, source string) (left []environment.ProcessRef, err error) {
	_, err = p.at(ctx, func(j environment.Process) (err error) { left, err = j.Kill(ctx, source); return err })
	return left, err
}

// Write sends bytes to the job.
func (p *process) Write(ctx context.Context, b []byte) (n int, err error) {
	_, err = p.at(ctx, func(j environment.Process) (err error) { n, err = j.Write(ctx, b); return err })
	return n, err
}

// Keys presses keys of the job's terminal.
func (p *process) Keys(ctx context.Context, names []string) error {
	_, err := p.at(ctx, func(j environment.Process) error { return j.Keys(ctx, names) })
	return err
}

// CloseInput ends the job's standard input.
func (p *process) CloseInput(ctx context.Context) error {
	_, err := p.at(ctx, func(j environment.Process) error { return j.CloseInput(ctx) })
	return err
}

// Resize changes the size of the job's terminal.
func (p *process) Resize(ctx context.Context, s environment.Size) error {
	_, err := p.at(ctx, func(j environment.Process) error { return j.Resize(ctx, s) })
	return err
}

// Screen tells what a person would see.
func (p *process) Screen(ctx context.Context) (s environment.Screen, err error) {
	_, err = p.at(ctx, func(j environment.Process) (err error) { s, err = j.Screen(ctx); return err })
	return s, err
}

// Log reads lines of the job's output.
func (p *process) Log(ctx context.Context, offset, limit int) (page environment.LogPage, err error) {
	_, err = p.at(ctx, func(j environment.Process) (err error) { page, err = j.Log(ctx, offset, limit); return err })
	return page, err
}
