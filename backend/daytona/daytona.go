// Package daytona runs commands in sandboxes of Daytona, a cloud, which it asks for through its public API.
package daytona

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/cloud"
	"github.com/hermes-runtime/hermes/internal/config"
	"github.com/hermes-runtime/hermes/internal/engine/brought"
	"github.com/hermes-runtime/hermes/internal/engine/contact"
	"github.com/hermes-runtime/hermes/internal/envs"
)

func init() {
	config.Register(func() config.Sectioned { return defaults() })
	environment.Register(environment.Backend{
		Name:        name,
		Description: "commands run in a sandbox of Daytona, which costs money while it runs",
		Namespace:   environment.NamespaceOwn,
		Config:      func() any { return defaults() },
		Check:       check,
		Traits:      func(c any) environment.Traits { return environment.Traits{Network: configOf(c).Network} },
		Open:        open,
		Probe:       probe,
	})
}

// howToEnd tells people how to end what hermes can't.
const howToEnd = "delete it in the dashboard of Daytona, or by DELETE /sandbox/NAME of the API"

// sweepTime bounds the ends of what earlier runs left, before the first use.
const sweepTime = 20 * time.Second

// check says why no sandbox can be made, as far as that can be told from here: nobody is asked.
func check(_ context.Context, o environment.OpenOptions) error {
	if err := configOf(o.Config).check(); err != nil {
		return err
	}
	_, err := accessOf(o.Variable)
	return err
}

// newPlace makes what opens, finds and probes places.
func newPlace(o environment.OpenOptions) (*place, error) {
	c := configOf(o.Config)
	if err := c.check(); err != nil {
		return nil, err
	}
	a, err := accessOf(o.Variable)
	if err != nil {
		return nil, err
	}
	owner := envs.Owner(o.HermesHome)
	l, err := cloud.OpenLedger(o.HermesHome, owner)
	if err != nil {
		return nil, err
	}
	p := &place{a: a, c: c, o: o, owner: owner, ledger: l, log: cmp.Or(o.Log, slog.New(slog.DiscardHandler))}
	p.plan()
	return p, nil
}

func (p *place) sweeping() cloud.Sweeping {
	return cloud.Sweeping{Backend: name, At: p.a.api.Base.String(), Account: p.a.account, End: p.endRecorded}
}

// endRecorded ends a place of the ledger. One that was about to be made is looked for by its name.
func (p *place) endRecorded(ctx context.Context, r cloud.Record) error {
	id := cmp.Or(r.ID, r.Name)
	if r.Kept {
		return p.a.stop(ctx, id)
	}
	return p.a.remove(ctx, id)
}

// sweep ends what runtimes left that are gone. Where there is nothing of the kind it asks nobody.
func (p *place) sweep(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, sweepTime)
	defer cancel()
	ended, errs := p.ledger.Sweep(ctx, p.sweeping())
	for _, r := range ended {
		p.log.Info("a sandbox that nobody used any more was ended", "sandbox", r.Name)
	}
	for _, err := range errs {
		p.log.Warn("a sandbox that nobody uses can't be ended", "error", err)
	}
}

func open(ctx context.Context, o environment.OpenOptions) (environment.Environment, error) {
	p, err := newPlace(o)
	if err != nil {
		return nil, err
	}
	enter := p.enter
	if o.Find {
		enter = p.find
	}
	e, err := enter(ctx)
	if err != nil {
		p.a.api.Client.CloseIdleConnections()
	}
	return e, err
}

// enter finds or makes the sandbox and makes contact with it.
func (p *place) enter(ctx context.Context) (environment.Environment, error) {
	p.sweep(ctx)
	if err := p.obtain(ctx); err != nil {
		return nil, p.failed("get sandbox "+p.name, err)
	}
	p.describe()
	p.pulse = cloud.StartPulse(cloud.PulseOptions{
		Idle: time.Duration(p.c.AutoStop) * time.Minute, Log: p.log, Jobs: p.busy,
		Beat: func(ctx context.Context) error { return p.a.touch(ctx, p.box.ID) },
	})
	e, err := p.contact(ctx)
	if err != nil {
		p.pulse.Stop()
		p.giveUp(ctx)
		return nil, err
	}
	for _, n := range p.base.Notes {
		p.log.Warn(n)
	}
	return e, nil
}

// find opens the sandbox that is there and runs, to look into. It is not made, started, kept awake or ended for that.
func (p *place) find(ctx context.Context) (environment.Environment, error) {
	if !p.c.Kept {
		return nil, &environment.Error{Kind: environment.ErrGone, Op: "find a sandbox", Err: errors.New("sandboxes aren't kept (terminal.container_persistent)")}
	}
	s, err := p.a.get(ctx, p.name)
	if err != nil {
		return nil, p.failed("find sandbox "+p.name, err)
	}
	if states[s.State] != ready {
		return nil, &environment.Error{Kind: environment.ErrUnavailable, Op: "look into sandbox " + p.name, Err: fmt.Errorf("it is %s, and is not set going for that", s.State)}
	}
	p.box = s
	p.describe()
	settings := *p.c
	settings.Resident = brought.Require // a plain shell knows of no jobs
	p.c = &settings
	return p.contact(ctx)
}

// contact makes an environment of the sandbox.
func (p *place) contact(ctx context.Context) (environment.Environment, error) {
	return contact.Open(ctx, contact.Options{
		What: "sandbox " + p.name, Info: p.base, Anew: p.o.Replaces, Dial: p.dial, Variables: p.o.LetThrough, Release: p.release, Destroy: p.destroy,
	})
}

// probe tells doctor what works, what there is, and what of it nobody knows.
func probe(ctx context.Context, o environment.OpenOptions) []string {
	if o.GuardArgv == nil {
		if self, err := os.Executable(); err == nil { // without it the configured binary is looked at only
			o.GuardArgv = []string{self}
		}
	}
	p, err := newPlace(o)
	if err != nil {
		return []string{err.Error()}
	}
	defer p.a.api.Client.CloseIdleConnections()
	lines := append(p.ledger.Lines(p.sweeping(), howToEnd), p.base.Notes...)
	all, err := p.a.list(ctx, labelHome, p.owner)
	if err != nil {
		return append(lines, p.failed("ask Daytona at "+p.a.api.Base.Host, err).Error())
	}
	lines = append([]string{fmt.Sprintf("Daytona at %s answers; sandboxes of this HERMES_HOME there: %d", p.a.api.Base.Host, len(all))}, lines...)
	recorded, _ := p.ledger.List() // Lines tells what is wrong with it
	known := map[string]bool{}
	for _, r := range recorded {
		known[r.Name] = true
	}
	for _, s := range all {
		if !known[s.Name] && states[s.State] != gone {
			lines = append(lines, fmt.Sprintf("sandbox %s is %s and not in the ledger %s; to end it: %s", s.Name, s.State, p.ledger.Path(), howToEnd))
		}
	}
	return lines
}
