package sandbox

import (
	"context"
	"errors"
	"fmt"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/cloud"
	"github.com/hermes-runtime/hermes/internal/engine/brought"
	"github.com/hermes-runtime/hermes/internal/engine/contact"
	"github.com/hermes-runtime/hermes/internal/engine/plain"
	"github.com/hermes-runtime/hermes/internal/engine/resident"
)

// dial makes contact. A sandbox that was stopped is started again, unless somebody only looks. Whether the engine runs there or a plain
// shell has to do is settled at the first contact.
func (p *place) dial(ctx context.Context, d contact.Dialing) (contact.Link, bool, error) {
	again := false
	if d.Number > 0 {
		var err error
		if again, err = p.revive(ctx, d.Look || p.Open.Find); err != nil {
			return nil, false, err
		}
	}
	m, err := p.Cloud.Machine(ctx, p.box)
	if err != nil {
		return nil, false, p.failed("reach sandbox "+p.order.Name, err)
	}
	l, err := p.through(ctx, m, d.Number == 0)
	if err != nil {
		_ = m.Close(ctx)
		return nil, false, err
	}
	return l, again, nil
}

// through makes contact by a machine.
func (p *place) through(ctx context.Context, m Machine, first bool) (contact.Link, error) {
	if p.plain == "" {
		r, err := p.engine(ctx, m)
		if err == nil {
			l := &link{r, m, p}
			p.live.Store(l)
			return l, nil
		}
		if !first || p.Resident == brought.Require || ctx.Err() != nil || errors.Is(err, environment.ErrGone) || errors.Is(err, environment.ErrConfig) {
			return nil, p.failed("run hermes in sandbox "+p.order.Name, err)
		}
		p.plain = err.Error()
		p.log.Info("hermes can't run in the sandbox; a plain shell does instead", "sandbox", p.order.Name, "reason", err)
	}
	s, err := plain.Open(ctx, m.Exec, plain.Options{Info: p.base, Why: p.plain, Grace: p.Open.KillGrace, Limits: p.Open.Limits})
	if err != nil {
		return nil, p.failed("use sandbox "+p.order.Name, err)
	}
	return &plainLink{s, m, p}, nil
}

// revive has the sandbox run again if it doesn't, and tells whether what ran there before is gone.
func (p *place) revive(ctx context.Context, look bool) (anew bool, err error) {
	b, err := p.Cloud.Find(ctx, cloud.Record{ID: p.box.ID, Name: p.order.Name})
	switch {
	case err != nil:
		return false, p.failed("reach sandbox "+p.order.Name, err)
	case b.State != Ready && look:
		return false, contact.ErrAsleep
	case b.State != Ready:
		b, anew, err = p.Cloud.Up(ctx, b, wakeTime)
	}
	switch {
	case errors.Is(err, ErrSpoiled): // whoever opens it next makes another one
		return false, &environment.Error{Kind: environment.ErrGone, Op: "start sandbox " + p.order.Name, Err: err}
	case err != nil:
		return false, p.failed("start sandbox "+p.order.Name, err)
	}
	anew = anew || b.Session != p.box.Session
	p.box = b
	return anew, nil
}

// link is one contact with the engine in the sandbox.
type link struct {
	*resident.Place
	m Machine
	p *place
}

// Run runs one command, and keeps the sandbox awake meanwhile.
func (l *link) Run(ctx context.Context, c environment.Command) (environment.Result, error) {
	defer l.p.inUse(ctx)()
	return l.Place.Run(ctx, c)
}

// Start starts a job, which keeps the sandbox awake by itself from then on.
func (l *link) Start(ctx context.Context, j environment.Job) (environment.Process, error) {
	defer l.p.inUse(ctx)()
	return l.Place.Start(ctx, j)
}

// Close takes leave of the engine there.
func (l *link) Close(ctx context.Context) error {
	for _, j := range l.p.running(ctx) {
		l.p.endsWithIt(j)
	}
	l.p.live.CompareAndSwap(l, nil)
	return errors.Join(l.Place.Close(ctx), l.m.Close(ctx))
}

// plainLink is one contact with a sandbox where the engine can't run.
type plainLink struct {
	*plain.Place
	m Machine
	p *place
}

// Run runs one command, and keeps the sandbox awake meanwhile.
func (l *plainLink) Run(ctx context.Context, c environment.Command) (environment.Result, error) {
	defer l.p.inUse(ctx)()
	return l.Place.Run(ctx, c)
}

// Done is closed when no command can be started in the sandbox any more.
func (l *plainLink) Done() <-chan struct{} { return l.m.Done() }

// Close ends what runs.
func (l *plainLink) Close(ctx context.Context) error {
	return errors.Join(l.Place.Close(ctx), l.m.Close(ctx))
}

// endsWithIt tells the user of a job that ends with its sandbox, which nobody pays for any longer than it is used.
func (p *place) endsWithIt(j environment.JobInfo) {
	if p.use == nil {
		return
	}
	p.log.Warn("a background process ends with its sandbox, unless somebody else uses that", "sandbox", p.order.Name, "job", j.ID)
	if p.Open.Stderr != nil {
		fmt.Fprintf(p.Open.Stderr, "ended with its sandbox: background process %s (%s)\n", j.ID, j.Command)
	}
}

// inUse says that a command runs, until done is called.
func (p *place) inUse(ctx context.Context) (done func()) {
	if p.pulse == nil {
		return func() {}
	}
	return p.pulse.Use(ctx)
}

// busy tells whether jobs run there.
func (p *place) busy(ctx context.Context) bool { return len(p.running(ctx)) > 0 }

func (p *place) running(ctx context.Context) []environment.JobInfo {
	l := p.live.Load()
	if l == nil {
		return nil
	}
	all, _ := l.Jobs(ctx) // who can't be asked keeps nobody awake
	var on []environment.JobInfo
	for i := range all {
		if all[i].Status == environment.JobRunning || len(all[i].StillRunning) > 0 {
			on = append(on, all[i])
		}
	}
	return on
}

var (
	_ contact.Link = (*link)(nil)
	_ contact.Link = (*plainLink)(nil)
)
