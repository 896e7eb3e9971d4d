// Package docker runs commands in containers of a Docker or Podman engine, which it speaks to through its API.
package docker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/moby/moby/client"

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
		Description: "commands run in a container on this machine or where DOCKER_HOST says",
		Namespace:   environment.NamespaceOwn,
		Config:      func() any { return defaults() },
		Check:       check,
		Traits:      traits,
		Open:        open,
		Probe:       probe,
		Bare:        &bare,
	})
}

// check says why no container can be made here.
func check(ctx context.Context, o environment.OpenOptions) error {
	if _, err := newPlan(hereAndNow(configOf(o.Config))); err != nil {
		return err
	}
	d, err := connect(ctx, o.Variable)
	if err != nil {
		return err
	}
	return d.Close()
}

// hereAndNow is a planning for questions that are asked before a place is opened.
func hereAndNow(c *Config) planning {
	dir, _ := os.Getwd() // a directory that is gone is found out about when it is mounted
	return planning{config: c, key: "default", home: "/", dir: dir, local: true, uid: os.Getuid(), gid: os.Getgid()}
}

// traits says what a container will show of the host by its configuration. One that can't be planned shows everything.
func traits(config any) environment.Traits {
	p, err := newPlan(hereAndNow(configOf(config)))
	if err != nil {
		return environment.Traits{HostLike: true}
	}
	return traitsOf(p.host, p.planned())
}

// probe tells doctor what works.
func probe(ctx context.Context, o environment.OpenOptions) []string {
	c := configOf(o.Config)
	d, err := connect(ctx, o.Variable)
	if err != nil {
		return []string{err.Error()}
	}
	defer d.Close()
	v, err := d.ServerVersion(ctx, client.ServerVersionOptions{})
	if err != nil {
		return []string{fmt.Sprintf("the container engine at %s doesn't tell its version: %v", d.at.host, err)}
	}
	lines := []string{fmt.Sprintf("container engine: %s at %s (from %s), API %s, %s/%s", v.Version, d.at.host, d.at.from, d.ClientVersion(), v.Os, v.Arch)}
	if _, err := d.ImageInspect(ctx, c.Image); err != nil {
		lines = append(lines, "image "+c.Image+" is not there and will be fetched at the first use")
	} else {
		lines = append(lines, "image "+c.Image+" is there")
	}
	self, _ := os.Executable() // without it the configured binary is looked at only
	pl := &place{d: d, config: c, o: environment.OpenOptions{GuardArgv: slices.DeleteFunc([]string{self}, func(s string) bool { return s == "" })}}
	switch bin, err := pl.findBinary(ctx, c.Image); {
	case err != nil:
		lines = append(lines, err.Error())
	case bin.path == "":
		lines = append(lines, plain.Note(bin.why))
	default:
		lines = append(lines, "hermes runs in containers: "+bin.path)
	}
	p, err := newPlan(hereAndNow(c))
	if err != nil {
		return append(lines, err.Error())
	}
	for _, u := range p.unsafe {
		lines = append(lines, "open towards the host, as terminal.docker_allow_unsafe permits: "+u)
	}
	return append(lines, p.notes...)
}

// swept remembers the homes whose containers were looked after by this process.
var swept sync.Map

func open(ctx context.Context, o environment.OpenOptions) (environment.Environment, error) {
	c := configOf(o.Config)
	log := cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if err := c.check(); err != nil {
		return nil, err
	}
	d, err := connect(ctx, o.Variable)
	if err != nil {
		return nil, err
	}
	p := &place{d: d, config: c, o: o, getenv: o.Variable, log: log}
	enter := p.open
	if o.Find {
		enter = p.find
	}
	e, err := enter(ctx)
	if err != nil {
		_ = d.Close()
		return nil, unavailable(err)
	}
	return e, nil
}

// plan decides what the container is to be like.
func (p *place) plan() (*plan, error) {
	return newPlan(planning{
		config: p.config, key: p.o.Key, home: p.o.HermesHome, dir: hostDir(p.o.Dir), profile: p.getenv("HERMES_PROFILE"),
		image: p.o.Overrides["docker_image"], share: p.o.Share, local: p.d.at.local(), uid: os.Getuid(), gid: os.Getgid(),
	})
}

// open finds or makes the container and gets in touch with the engine in it.
func (p *place) open(ctx context.Context) (environment.Environment, error) {
	pl, err := p.plan()
	if err != nil {
		return nil, err
	}
	if runtime.GOOS == "windows" && p.config.AsHostUser {
		return nil, badConfig("docker_run_as_host_user", fmt.Errorf("users of Windows have no number that a container could run under"))
	}
	bin, err := p.findBinary(ctx, pl.config.Image)
	if err != nil {
		return nil, err
	}
	if bin.path == "" && p.config.Resident == brought.Require {
		return nil, badConfig("resident", errors.New("it is required, but "+bin.why))
	}
	m := &maker{d: p.d, p: pl, holds: hold.Of(p.o.HermesHome, name), resident: bin, persist: p.config.Persist, uid: -1, gid: -1,
		fetch: fetch{limit: p.config.PullTimeout, getenv: p.getenv, show: p.o.Stderr}}
	if p.config.AsHostUser {
		m.uid, m.gid = os.Getuid(), os.Getgid()
	}
	p.box, err = m.obtain(ctx)
	if err != nil {
		return nil, err
	}
	p.describe(pl)
	p.plain, p.jobs = bin.why, p.box.name
	if p.config.Persist { // at any time there is one such container, and jobs of the former one are to be found by it
		p.jobs = pl.hash
	}
	e, err := contact.Open(ctx, contact.Options{
		What: "container " + p.box.name, Info: p.base, Anew: p.o.Replaces, Dial: p.dial, Variables: p.variables, Release: p.release,
		Destroy: p.destroy,
	})
	if err != nil {
		p.giveUp(ctx)
		return nil, err
	}
	for _, n := range pl.notes {
		p.log.Warn(n)
	}
	p.sweepOnce(pl, m.holds)
	return e, nil
}

// giveUp lets go of a container that is of no use, and removes it if it was made for this.
func (p *place) giveUp(ctx context.Context) {
	if p.box.anew {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeTime)
		defer cancel()
		if err := p.d.remove(ctx, p.box.id); err != nil {
			p.log.Warn("a container that was made in vain can't be removed", "container", p.box.name, "error", err)
		}
	}
	p.box.hold.Release()
}

// sweepOnce looks for containers that earlier runs left behind, beside the first use in this process.
func (p *place) sweepOnce(pl *plan, h hold.Holds) {
	if !p.config.Reaper {
		return
	}
	if _, done := swept.LoadOrStore(p.o.HermesHome, true); done {
		return
	}
	s := newSweeper(p.d, p.config, pl.labels, h)
	s.log = p.log
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	p.stopSweep = cancel
	p.work.Go(func() { defer cancel(); s.sweep(ctx) })
}
