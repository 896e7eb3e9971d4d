// Package vercel runs commands in sandboxes of Vercel, a cloud, which it asks for through its public API.
package vercel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/cloud"
	"github.com/hermes-runtime/hermes/internal/config"
	"github.com/hermes-runtime/hermes/internal/engine/contact"
	"github.com/hermes-runtime/hermes/internal/envs"
)

func init() {
	config.Register(func() config.Sectioned { return defaults() })
	environment.Register(environment.Backend{
		Name:        name,
		Description: "commands run in a sandbox of Vercel, which costs money while it runs",
		Namespace:   environment.NamespaceOwn,
		Config:      func() any { return defaults() },
		Check:       check,
		Traits:      func(c any) environment.Traits { return environment.Traits{Network: configOf(c).Network} },
		Open:        open,
		Probe:       probe,
	})
}

// howToEnd tells people how to end what hermes can't.
const howToEnd = "delete it in the dashboard of Vercel, or by DELETE /v2/sandboxes/NAME of the API"

// sweepTime bounds the ends of what earlier runs left, before the first use.
const sweepTime = 20 * time.Second

// check says why no sandbox can be made, as far as that can be told from here: nobody is asked.
func check(_ context.Context, o environment.OpenOptions) error {
	c := configOf(o.Config)
	if err := c.check(); err != nil {
		return err
	}
	_, err := accessOf(c, o.Variable)
	return err
}

// newPlace makes what opens and probes places.
func newPlace(o environment.OpenOptions) (*place, error) {
	c := configOf(o.Config)
	if err := c.check(); err != nil {
		return nil, err
	}
	a, err := accessOf(c, o.Variable)
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

// endRecorded ends a place of the ledger.
func (p *place) endRecorded(ctx context.Context, r cloud.Record) error {
	if r.Kept {
		return p.a.stop(ctx, r.Name)
	}
	return p.a.remove(ctx, r.Name)
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
	if o.Find { // only for background processes, of which a plain shell knows none
		return nil, &environment.Error{Kind: environment.ErrUnavailable, Op: "look into a sandbox of Vercel", Err: errors.New(noEngine)}
	}
	p, err := newPlace(o)
	if err != nil {
		return nil, err
	}
	e, err := p.enter(ctx)
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
	p.base.Backend, p.base.ID, p.base.Namespace = name, p.name, environment.NamespaceOwn
	p.base.Traits = environment.Traits{Network: p.c.Network}
	p.pulse = cloud.StartPulse(cloud.PulseOptions{Idle: idle, Log: p.log, Beat: p.extend})
	e, err := contact.Open(ctx, contact.Options{
		What: "sandbox " + p.name, Info: p.base, Anew: p.o.Replaces, Dial: p.dial, Variables: p.o.LetThrough, Release: p.release, Destroy: p.destroy,
	})
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

// probe tells doctor what works, what there is, and what of it nobody knows.
func probe(ctx context.Context, o environment.OpenOptions) []string {
	p, err := newPlace(o)
	if err != nil {
		return []string{err.Error()}
	}
	defer p.a.api.Client.CloseIdleConnections()
	lines := append(p.ledger.Lines(p.sweeping(), howToEnd), p.base.Notes...)
	all, err := p.a.list(ctx)
	if err != nil {
		return append(lines, p.failed("ask Vercel at "+p.a.api.Base.Host, err).Error())
	}
	recorded, _ := p.ledger.List() // Lines tells what is wrong with it
	known := map[string]bool{}
	for _, r := range recorded {
		known[r.Name] = true
	}
	mine := 0
	for _, s := range all {
		if s.Tags[tagHome] != p.owner {
			continue
		}
		if mine++; !known[s.Name] {
			lines = append(lines, fmt.Sprintf("sandbox %s is %s and not in the ledger %s; to end it: %s", s.Name, s.Status, p.ledger.Path(), howToEnd))
		}
	}
	return append([]string{fmt.Sprintf("Vercel at %s answers; sandboxes of this HERMES_HOME there: %d", p.a.api.Base.Host, mine)}, lines...)
}
