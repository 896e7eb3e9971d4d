// Package singularity runs commands in instances of Apptainer or Singularity, which it works through their command.
package singularity

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/config"
	"github.com/hermes-runtime/hermes/internal/engine/brought"
	"github.com/hermes-runtime/hermes/internal/engine/contact"
	"github.com/hermes-runtime/hermes/internal/engine/hold"
	"github.com/hermes-runtime/hermes/internal/engine/plain"
)

func init() {
	config.Register(func() config.Sectioned { return defaults() })
	environment.Register(environment.Backend{
		Name:        name,
		Description: "commands run in an Apptainer or Singularity instance on this machine",
		Namespace:   environment.NamespaceOwn,
		Config:      func() any { return defaults() },
		Check:       check,
		Traits:      func(config any) environment.Traits { return planned(configOf(config)) },
		Open:        open,
		Probe:       probe,
	})
}

// check says why no instance can be started here.
func check(ctx context.Context, o environment.OpenOptions) error {
	if err := configOf(o.Config).check(); err != nil {
		return err
	}
	c, err := lookFor(o.Variable)
	if err != nil {
		return err
	}
	_, err = c.version(ctx)
	return err
}

// probe tells doctor what works.
func probe(ctx context.Context, o environment.OpenOptions) []string {
	c := configOf(o.Config)
	if err := c.check(); err != nil {
		return []string{err.Error()}
	}
	cl, err := lookFor(o.Variable)
	if err != nil {
		return []string{err.Error()}
	}
	v, err := cl.version(ctx)
	if err != nil {
		return []string{err.Error()}
	}
	lines := []string{fmt.Sprintf("%s, version %s", cl.program, v)}
	s := c.scratch(o)
	if isRemote(c.Image) {
		said := "is not there yet and will be made from it at the first use"
		if _, err := os.Stat(s.sif(c.Image)); err == nil {
			said = "is there"
		}
		lines = append(lines, "image "+c.Image+": its file "+s.sif(c.Image)+" "+said)
	}
	if c.Files {
		lines = append(lines, "files of instances are kept in "+s.overlays())
	} else {
		lines = append(lines, "files of instances live in memory and end with them")
	}
	if len(o.GuardArgv) == 0 {
		self, _ := os.Executable() // without it the configured binary is looked at only
		o.GuardArgv = slices.DeleteFunc([]string{self}, func(s string) bool { return s == "" })
	}
	if bin, err := c.finder(o).Find(here); err != nil {
		lines = append(lines, plain.Note(err.Error()))
	} else {
		lines = append(lines, "hermes runs in instances: "+bin)
	}
	if asRoot() {
		lines = append(lines, "you are root, and root in an instance is root of this machine: commands there are judged as if they ran here")
	}
	return lines
}

// here is what programs in instances are made for: they run on this machine's kernel.
func here() (brought.Machine, error) { return brought.Here(), nil }

// swept remembers the homes whose instances were looked after by this process.
var swept sync.Map

func open(ctx context.Context, o environment.OpenOptions) (environment.Environment, error) {
	c := *configOf(o.Config)
	c.Image = cmp.Or(o.Overrides["singularity_image"], c.Image)
	if err := c.check(); err != nil {
		return nil, err
	}
	cl, err := lookFor(o.Variable)
	if err != nil {
		return nil, err
	}
	p := &place{client: cl, config: &c, o: o, holds: hold.Of(o.HermesHome, name), log: cmp.Or(o.Log, slog.New(slog.DiscardHandler))}
	e, err := p.open(ctx)
	if err != nil {
		return nil, unavailable(err)
	}
	return e, nil
}

// unavailable is the error of an instance that can't be had.
func unavailable(err error) error {
	for _, kind := range []error{environment.ErrConfig, environment.ErrUnavailable, environment.ErrGone} {
		if errors.Is(err, kind) {
			return err
		}
	}
	return &environment.Error{Kind: environment.ErrUnavailable, Op: "get an instance", Err: err}
}

// open finds or starts the instance and gets in touch with the engine in it.
func (p *place) open(ctx context.Context) (environment.Environment, error) {
	bin, err := p.config.finder(p.o).Find(here)
	if why, none := brought.None(err); none {
		if p.config.Resident == brought.Require {
			return nil, badConfig("resident", errors.New("it is required, but "+why))
		}
		p.plain = why
	} else if err != nil {
		return nil, err
	}
	pl, err := newPlan(p.config, p.o, bin)
	if err != nil {
		return nil, err
	}
	m := &maker{client: p.client, plan: pl, holds: p.holds, o: p.o, config: p.config, log: p.log}
	obtain := m.obtain
	if p.o.Find {
		obtain = m.find
		if p.plain != "" { // a plain shell knows of no jobs
			return nil, &environment.Error{Kind: environment.ErrUnavailable, Op: "look into an instance", Err: errors.New(p.plain)}
		}
	}
	if p.box, err = obtain(ctx); err != nil {
		return nil, err
	}
	p.describe(pl)
	e, err := contact.Open(ctx, contact.Options{
		What: "instance " + p.box.Name, Info: p.base, Anew: p.o.Replaces, Dial: p.dial, Variables: p.o.LetThrough, Release: p.release, Destroy: p.destroy,
	})
	if err != nil {
		p.giveUp(ctx)
		return nil, err
	}
	for _, n := range pl.notes {
		p.log.Warn(n)
	}
	p.sweepOnce()
	return e, nil
}
