package docker

import (
	"context"
	"errors"
	"fmt"

	"github.com/moby/moby/api/types/container"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine/brought"
	"github.com/hermes-runtime/hermes/internal/engine/contact"
	"github.com/hermes-runtime/hermes/internal/engine/hold"
)

// find opens the container that is there, to look into: the one in which jobs go on, if there are several. It stays as it is, and is not
// started, restarted or removed.
func (p *place) find(ctx context.Context) (environment.Environment, error) {
	pl, err := p.plan()
	if err != nil {
		return nil, err
	}
	all, err := p.d.former(ctx, pl.labels)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, &environment.Error{Kind: environment.ErrGone, Op: "find a container", Err: errors.New("there is none")}
	}
	c := all[0]
	for _, other := range all {
		if busy, err := p.d.busy(ctx, other); err == nil && busy {
			c = other
			break
		}
	}
	if c.State != container.StateRunning {
		return nil, &environment.Error{Kind: environment.ErrUnavailable, Op: "look into container " + nameOf(c), Err: fmt.Errorf("it is %s, and is not set going for that", c.State)}
	}
	h, err := hold.Of(p.o.HermesHome, name).Share(nameOf(c))
	if err != nil {
		return nil, err
	}
	e, err := p.lookInto(ctx, pl, &made{id: c.ID, name: nameOf(c), hold: h}, c.Labels[labelConfig])
	if err != nil {
		h.Release()
	}
	return e, err
}

// lookInto makes contact with a container that runs. Its jobs are found by the digest that it was made with.
func (p *place) lookInto(ctx context.Context, pl *plan, box *made, digest string) (environment.Environment, error) {
	var err error
	p.box = box
	if box.info, err = p.d.awake(ctx, box.id); err != nil {
		return nil, p.failed(err)
	}
	p.describe(pl)
	settings := *p.config
	settings.Resident = brought.Require // a plain shell knows of no jobs
	p.config, p.jobs = &settings, box.name
	if settings.Persist {
		p.jobs = digest
	}
	return contact.Open(ctx, contact.Options{What: "container " + box.name, Info: p.base, Release: p.release,
		Dial: func(ctx context.Context, d contact.Dialing) (contact.Link, bool, error) {
			d.Look = true
			return p.dial(ctx, d)
		}})
}
