package singularity

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine/brought"
	"github.com/hermes-runtime/hermes/internal/engine/contact"
	"github.com/hermes-runtime/hermes/internal/engine/hold"
	"github.com/hermes-runtime/hermes/internal/engine/resident"
)

// greetTime is how long the engine in the instance may take to answer its first greeting.
const greetTime = 20 * time.Second

// place is an instance as an environment: the engine runs inside, at the other end of one run of exec.
type place struct {
	client *client
	config *Config
	o      environment.OpenOptions
	holds  hold.Holds
	log    *slog.Logger

	base  environment.Info // what is known from here
	asks  []string         // flags of exec
	jobs  string           // sets the jobs of this place apart from those of others with the same home
	box   *box             // changed by dial alone
	plain string           // why the engine can't run there, where a plain shell has to do

	work      sync.WaitGroup
	stopSweep context.CancelFunc
}

// describe fills in what is known from here, the traits as the instance has them.
func (p *place) describe(pl *plan) {
	t := p.box.traits()
	others, shows := pl.split(t.Mounts)
	t.Mounts = others
	p.asks, p.jobs = pl.asks, pl.jobs
	p.base = environment.Info{Backend: name, ID: p.box.Name, Namespace: environment.NamespaceOwn, Traits: t, Shows: shows, Notes: pl.notes}
}

// homely sees to it that there is a home directory, which images that were made elsewhere lack: without one that can be written to, a
// directory in memory does.
const homely = `[ -d "$HOME" ] || mkdir -p "$HOME" 2>/dev/null; [ -w "$HOME" ] || { HOME=/tmp/hermes-home; mkdir -p "$HOME"; export HOME; }; `

// apart runs its first argument as a script in a session of its own, where that can be made.
const apart = `if command -v setsid >/dev/null 2>&1; then exec setsid /bin/sh -c "$1"; fi; exec /bin/sh -c "$1"`

// exec gives the arguments that run a script in the instance, with words for it.
func (p *place) exec(script string, words ...string) []string {
	args := append([]string{"exec", "--cleanenv", "--pwd", "/"}, p.asks...)
	args = append(args, "instance://"+p.box.Name, "/bin/sh", "-c", homely+script, "sh")
	return append(args, words...)
}

// dial makes contact. Whether the engine runs there or a plain shell has to do is settled at the first contact.
func (p *place) dial(ctx context.Context, c contact.Dialing) (contact.Link, bool, error) {
	anew, err := false, error(nil)
	if c.Number > 0 {
		if anew, err = p.revive(ctx); err != nil {
			return nil, false, p.failed(err)
		}
	}
	if p.plain == "" {
		l, err := p.engine(ctx)
		if err == nil {
			return l, anew, nil
		}
		err = p.failed(err)
		if c.Number > 0 || p.config.Resident == brought.Require || p.o.Find || ctx.Err() != nil || errors.Is(err, environment.ErrGone) {
			return nil, false, err
		}
		p.plain = err.Error()
	}
	l, err := p.plainly(ctx)
	if err != nil {
		return nil, false, p.failed(err)
	}
	return l, anew, nil
}

// errGone is an instance that doesn't run any more: nothing is left of it that could be started again.
var errGone = errors.New("it was stopped by someone else")

// revive looks for the instance again, and tells whether what ran there before is gone.
func (p *place) revive(ctx context.Context) (anew bool, err error) {
	if p.box.alive() {
		return false, nil
	}
	found, err := p.client.find(ctx, p.box.Name)
	switch {
	case err != nil:
		return false, err
	case found == nil:
		return false, errGone
	}
	p.box.instance = *found // another hermes has started it again
	return true, nil
}

// failed is the error of an instance that isn't there any more, or that doesn't answer.
func (p *place) failed(err error) error {
	op := "reach instance " + p.box.Name
	switch {
	case errors.Is(err, errGone) || !p.box.alive():
		return &environment.Error{Kind: environment.ErrGone, Op: op, Err: errors.Join(errGone, unlessSame(err, errGone))}
	}
	return &environment.Error{Kind: environment.ErrUnavailable, Op: op, Err: err}
}

func unlessSame(err, other error) error {
	if errors.Is(err, other) {
		return nil
	}
	return err
}

// link is one contact with the engine in the instance.
type link struct {
	*resident.Place
	ends func(environment.JobInfo) // told of the jobs that end with the contact; nil = they go on
}

// Close takes leave of the engine there.
func (l *link) Close(ctx context.Context) error {
	if l.ends != nil {
		all, _ := l.Jobs(ctx) // who can't be asked any more tells nothing
		for i := range all {
			if all[i].Status == environment.JobRunning || len(all[i].StillRunning) > 0 {
				l.ends(all[i])
			}
		}
	}
	return l.Place.Close(ctx)
}

// endsWithIt tells the user of a job that ends with its instance.
func (p *place) endsWithIt(j environment.JobInfo) {
	p.log.Warn("a background process ends with its instance, which isn't kept", "instance", p.box.Name, "job", j.ID)
	if p.o.Stderr != nil {
		fmt.Fprintf(p.o.Stderr, "ended with its instance, which isn't kept (terminal.container_persistent): background process %s (%s)\n", j.ID, j.Command)
	}
}

// engine starts the engine in the instance and greets it.
func (p *place) engine(ctx context.Context) (*link, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, greetTime, fmt.Errorf("hermes in the instance did not answer within %v", greetTime))
	defer cancel()
	s, err := p.client.start(p.exec("exec " + carried + " resident"))
	if err != nil {
		return nil, err
	}
	r, err := resident.Connect(ctx, s, p.base, resident.Options{Settings: resident.Settings{Grace: p.o.KillGrace, Limits: p.o.Limits, Jobs: p.jobs}})
	if err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		_ = s.Close()
		if said := s.said(); said != "" {
			err = fmt.Errorf("%w; it says: %s", err, said)
		}
		return nil, err
	}
	l := &link{Place: r}
	if !p.box.kept && !p.o.Find {
		l.ends = p.endsWithIt
	}
	return l, nil
}

// giveUp lets go of an instance that is of no use, and stops it if it was started for this.
func (p *place) giveUp(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeTime)
	defer cancel()
	if err := p.leave(ctx, always); err != nil {
		p.log.Warn("an instance that was started in vain can't be stopped", "instance", p.box.Name, "error", err)
	}
}

// release lets go of the instance. The last one who does stops it, unless jobs run in it that it is kept for.
func (p *place) release(ctx context.Context) error { return p.leave(ctx, unlessNeeded) }

// destroy stops the instance, whatever runs in it.
func (p *place) destroy(ctx context.Context) error {
	p.endSweep()
	err := p.client.stop(ctx, p.box.Name)
	p.letGo()
	return err
}

// ending says when an instance is stopped.
type ending bool

const (
	unlessNeeded ending = false // by others, or by jobs
	always       ending = true  // if it was started here
)

func (p *place) leave(ctx context.Context, e ending) error {
	p.endSweep()
	p.letGo()
	if p.o.Find || e == always && !p.box.anew {
		return nil
	}
	done, ok := p.holds.Seize(p.box.Name)
	if !ok {
		return nil // others use it
	}
	defer func() { done(!p.box.kept) }()
	if p.box.kept && e == unlessNeeded {
		if busy, err := p.box.busy(); busy || err != nil {
			return err
		}
	}
	return p.client.stop(ctx, p.box.Name)
}

func (p *place) letGo() { p.box.hold.Release() }

func (p *place) endSweep() {
	if p.stopSweep != nil {
		p.stopSweep()
	}
	p.work.Wait() // its runs of the command end with their context
}
