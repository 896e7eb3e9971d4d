package daytona

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/cloud"
	"github.com/hermes-runtime/hermes/internal/engine/brought"
	"github.com/hermes-runtime/hermes/internal/engine/contact"
	"github.com/hermes-runtime/hermes/internal/engine/resident"
)

// place is a sandbox as an environment.
type place struct {
	a      *access
	c      *Config
	o      environment.OpenOptions
	owner  string
	ledger *cloud.Ledger
	log    *slog.Logger

	name string // of the sandbox
	want create // what it is to be made like
	base environment.Info

	use   *cloud.Use // nil for somebody who only looks
	pulse *cloud.Pulse
	box   *sandbox
	anew  bool  // the sandbox was made for this place
	doubt doubt // what is to be done about it where the start fails

	plain string               // why the engine can't run there, where a plain shell has to do
	live  atomic.Pointer[link] // the engine there
}

// describe fills in what is known from here.
func (p *place) describe() {
	p.base.Backend, p.base.ID, p.base.Namespace = name, p.box.ID, environment.NamespaceOwn
	p.base.Traits = environment.Traits{Network: p.c.Network}
}

// failed gives an error of the API its kind, and says what can be done about it.
func (p *place) failed(op string, err error) error {
	var known *environment.Error
	switch status := cloud.Status(err); {
	case errors.As(err, &known):
		return err
	case status == http.StatusUnauthorized || status == http.StatusForbidden && strings.Contains(strings.ToLower(statusText(err)), "unauthorized"):
		err = fmt.Errorf("%w; the credentials (%s) are refused", err, wanted)
	}
	return &environment.Error{Kind: environment.ErrUnavailable, Op: op, Err: err}
}

func statusText(err error) string {
	var s *cloud.StatusError
	if errors.As(err, &s) {
		return s.Code
	}
	return ""
}

// dial makes contact. A sandbox that was stopped is started again, unless somebody only looks. Whether the engine runs there or a plain
// shell has to do is settled at the first contact.
func (p *place) dial(ctx context.Context, d contact.Dialing) (contact.Link, bool, error) {
	again := false
	if d.Number > 0 {
		var err error
		if again, err = p.revive(ctx, d.Look || p.o.Find); err != nil {
			return nil, false, err
		}
	}
	box, err := p.a.toolbox(ctx, p.box)
	if err != nil {
		return nil, false, p.failed("reach sandbox "+p.name, err)
	}
	t := &toolbox{api: box}
	if p.plain == "" {
		l, err := p.engine(ctx, t)
		if err == nil {
			p.live.Store(l)
			return l, again, nil
		}
		if d.Number > 0 || p.c.Resident == brought.Require || ctx.Err() != nil || errors.Is(err, environment.ErrGone) || errors.Is(err, environment.ErrConfig) {
			return nil, false, p.failed("run hermes in sandbox "+p.name, err)
		}
		p.plain = err.Error()
		p.log.Info("hermes can't run in the sandbox; a plain shell does instead", "sandbox", p.name, "reason", err)
	}
	l, err := p.plainly(ctx, t)
	if err != nil {
		return nil, false, p.failed("use sandbox "+p.name, err)
	}
	return l, again, nil
}

// revive has the sandbox run again if it doesn't, and tells whether what ran there before is gone.
func (p *place) revive(ctx context.Context, look bool) (anew bool, err error) {
	s, err := p.a.get(ctx, p.box.ID)
	switch {
	case err != nil:
		return false, p.failed("reach sandbox "+p.name, err)
	case states[s.State] == ready:
		p.box = s
		return false, nil
	case look:
		return false, contact.ErrAsleep
	}
	if s, anew, err = p.a.up(ctx, p.box.ID, wakeTime); err != nil {
		return false, p.failed("start sandbox "+p.name, err)
	}
	p.box = s
	return anew, nil
}

// link is one contact with the engine in the sandbox.
type link struct {
	*resident.Place
	p *place
}

// Run runs one command, and keeps the sandbox awake meanwhile.
func (l *link) Run(ctx context.Context, c environment.Command) (environment.Result, error) {
	defer l.p.inUse()()
	return l.Place.Run(ctx, c)
}

// Close takes leave of the engine there.
func (l *link) Close(ctx context.Context) error {
	for _, j := range l.p.running(ctx) {
		l.p.endsWithIt(j)
	}
	l.p.live.CompareAndSwap(l, nil)
	return l.Place.Close(ctx)
}

// endsWithIt tells the user of a job that ends with its sandbox, which nobody pays for any longer than it is used.
func (p *place) endsWithIt(j environment.JobInfo) {
	if p.use == nil {
		return
	}
	p.log.Warn("a background process ends with its sandbox, unless somebody else uses that", "sandbox", p.name, "job", j.ID)
	if p.o.Stderr != nil {
		fmt.Fprintf(p.o.Stderr, "ended with its sandbox: background process %s (%s)\n", j.ID, j.Command)
	}
}

// inUse says that a command runs, until done is called.
func (p *place) inUse() (done func()) {
	if p.pulse == nil {
		return func() {}
	}
	return p.pulse.Use()
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

// settings are what the engine there is told.
func (p *place) settings() resident.Options {
	return resident.Options{Text: true, Settings: resident.Settings{Grace: p.o.KillGrace, Limits: p.o.Limits, Jobs: p.name}}
}

// finder looks for the hermes binary that is brought there.
func (p *place) finder() brought.Finder {
	return brought.Finder{Mode: p.c.Resident, Path: expandHome(p.c.ResidentPath), Self: p.o.GuardArgv}
}

// release lets go of the sandbox: the last of its users stops or deletes it.
func (p *place) release(ctx context.Context) error {
	defer p.a.api.Client.CloseIdleConnections()
	if p.use == nil {
		return nil
	}
	p.pulse.Stop()
	return p.use.Leave(ctx, p.endRecorded)
}

// destroy deletes the sandbox, whether it is to be kept or not.
func (p *place) destroy(ctx context.Context) error {
	defer p.a.api.Client.CloseIdleConnections()
	if p.use == nil {
		return nil
	}
	p.pulse.Stop()
	return p.use.Throw(ctx, p.removeRecorded)
}
