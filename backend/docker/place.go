package docker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine/brought"
	"github.com/hermes-runtime/hermes/internal/engine/contact"
	"github.com/hermes-runtime/hermes/internal/engine/resident"
	"github.com/hermes-runtime/hermes/internal/envs"
)

// greetTime is how long the engine in the container may take to answer its first greeting.
const greetTime = 20 * time.Second

// place is a container as an environment: the engine runs inside, at the other end of one attached process.
type place struct {
	d      *daemon
	config *Config
	o      environment.OpenOptions
	getenv func(string) string
	log    *slog.Logger
	jobs   string // sets the jobs of this place apart from those of others with the same home

	base  environment.Info // what is known from here
	box   *made            // changed by dial alone
	plain string           // why the engine can't run there, where a plain shell has to do

	work      sync.WaitGroup
	stopSweep context.CancelFunc
}

// hostDir is terminal.cwd as a directory of this machine.
func hostDir(cwd string) string { return envs.StartDir(cwd) }

// describe fills in what is known from here, the traits as the container has them.
func (p *place) describe(pl *plan) {
	i := p.box.info
	mounts, shown := pl.split(environmentMounts(i.Mounts))
	p.base = environment.Info{
		Backend: name, ID: p.box.name, Namespace: environment.NamespaceOwn, Traits: traitsOf(i.HostConfig, pl.mark(mounts)), Shows: shown, Notes: pl.notes,
	}
	if !p.d.at.local() {
		p.base.Notes = append(p.base.Notes, "the container engine runs elsewhere: "+p.d.at.host)
	}
}

// dial makes contact. A container that was stopped is started again, unless somebody only looks, and one that can't be talked to is
// restarted. Whether the engine runs there or a plain shell has to do is settled at the first contact.
func (p *place) dial(ctx context.Context, c contact.Dialing) (contact.Link, bool, error) {
	anew, err := false, error(nil)
	if c.Number > 0 {
		if anew, err = p.revive(ctx, c.Look); err != nil {
			return nil, false, p.failed(err)
		}
	}
	if p.plain == "" {
		l, again, err := p.engine(ctx, c)
		if err == nil {
			return l, anew || again, nil
		}
		err = p.failed(err)
		if c.Number > 0 || p.config.Resident == brought.Require || ctx.Err() != nil || errors.Is(err, environment.ErrGone) {
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

// link is one contact with the engine in the container.
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

// endsWithIt tells the user of a job that ends with its container.
func (p *place) endsWithIt(j environment.JobInfo) {
	p.log.Warn("a background process ends with its container, which isn't kept", "container", p.box.name, "job", j.ID)
	if p.o.Stderr != nil {
		fmt.Fprintf(p.o.Stderr, "ended with its container, which isn't kept (terminal.docker_persist_across_processes): background process %s (%s)\n", j.ID, j.Command)
	}
}

// engine makes contact with the engine inside. A container that was there before and doesn't answer is restarted, but not for somebody
// who only looks: that would end what runs in it.
func (p *place) engine(ctx context.Context, c contact.Dialing) (l *link, anew bool, err error) {
	l, err = p.attach(ctx)
	if err == nil || ctx.Err() != nil || errdefs.IsNotFound(err) || c.Look || c.Number == 0 && p.box.anew {
		return l, false, err
	}
	p.log.Warn("the container doesn't answer and is restarted", "container", p.box.name, "error", err)
	limit := stopTime
	if _, rerr := p.d.ContainerRestart(ctx, p.box.id, client.ContainerRestartOptions{Timeout: &limit}); rerr != nil {
		return nil, false, errors.Join(err, rerr)
	}
	if _, err = p.revive(ctx, false); err == nil {
		l, err = p.attach(ctx)
	}
	return l, true, err
}

// revive has the container run again if it doesn't, and tells whether what ran there before is gone.
func (p *place) revive(ctx context.Context, look bool) (anew bool, err error) {
	find := p.d.up
	if look {
		find = p.d.awake
	}
	i, err := find(ctx, p.box.id)
	if err != nil {
		return false, err
	}
	anew = i.State.StartedAt != p.box.info.State.StartedAt
	p.box.info = i
	return anew, nil
}

// failed is the error of a container that isn't there any more, or that doesn't answer.
func (p *place) failed(err error) error {
	op := "reach container " + p.box.name
	switch {
	case errdefs.IsNotFound(err):
		return &environment.Error{Kind: environment.ErrGone, Op: op, Err: errors.New("it was removed by someone else")}
	case errors.Is(err, contact.ErrAsleep) || errors.Is(err, environment.ErrUnavailable):
		return err
	}
	return &environment.Error{Kind: environment.ErrUnavailable, Op: op, Err: err}
}

// attach starts the engine in the container and greets it.
func (p *place) attach(ctx context.Context) (*link, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, greetTime, fmt.Errorf("hermes in the container did not answer within %v", greetTime))
	defer cancel()
	s, id, err := p.d.exec(ctx, p.box.id, []string{carried, "resident"})
	if err != nil {
		return nil, err
	}
	r, err := resident.Connect(ctx, s, p.base, resident.Options{Settings: resident.Settings{Grace: p.o.KillGrace, Limits: p.o.Limits, Jobs: p.jobs}})
	if err != nil {
		return nil, p.explain(ctx, id, s, causeOf(ctx, err))
	}
	l := &link{Place: r}
	if !p.config.Persist && !p.o.Find {
		l.ends = p.endsWithIt
	}
	return l, nil
}

// explain adds to a failed greeting what the daemon and the program there say.
func (p *place) explain(ctx context.Context, id string, s *stream, err error) error {
	ask, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerTime)
	defer cancel()
	if e, ierr := p.d.ExecInspect(ask, id, client.ExecInspectOptions{}); ierr == nil && !e.Running && e.ExitCode != 0 {
		err = fmt.Errorf("hermes can't run there (exit code %d): %w", e.ExitCode, err)
	}
	if said := s.said(); said != "" {
		err = fmt.Errorf("%w; it says: %s", err, said)
	}
	return err
}

// exec starts a program in a container, as one stream.
func (d *daemon) exec(ctx context.Context, container string, argv []string) (*stream, string, error) {
	e, err := d.ExecCreate(ctx, container, client.ExecCreateOptions{Cmd: argv, AttachStdin: true, AttachStdout: true, AttachStderr: true})
	if err != nil {
		return nil, "", fmt.Errorf("prepare a program in the container: %w", err)
	}
	a, err := d.ExecAttach(ctx, e.ID, client.ExecAttachOptions{})
	if err != nil {
		return nil, "", fmt.Errorf("start a program in the container: %w", err)
	}
	return newStream(a.HijackedResponse), e.ID, nil
}

// variables are those of docker_forward_env: what is set here now, else what the file of secrets says. They go over the stream with each
// command and are stored nowhere.
func (p *place) variables() map[string]string {
	vars := map[string]string{}
	if len(p.config.ForwardEnv) == 0 {
		return vars
	}
	here, secrets := map[string]string{}, map[string]string{}
	if p.o.Environ != nil {
		for _, e := range p.o.Environ() {
			n, v, _ := strings.Cut(e, "=")
			here[n] = v
		}
	}
	if p.o.Secrets != nil {
		secrets = p.o.Secrets()
	}
	for _, n := range p.config.ForwardEnv {
		for _, v := range []string{here[n], secrets[n], p.getenv(n)} {
			if v != "" {
				vars[n] = v
				break
			}
		}
	}
	return vars
}

// release lets go of the container, or removes it if it isn't to be kept.
func (p *place) release(ctx context.Context) error {
	return p.leave(ctx, !p.config.Persist && !p.o.Find)
}

// destroy removes the container, whether it is to be kept or not.
func (p *place) destroy(ctx context.Context) error { return p.leave(ctx, true) }

func (p *place) leave(ctx context.Context, remove bool) error {
	if p.stopSweep != nil {
		p.stopSweep()
	}
	p.work.Wait() // its requests end with their context
	var err error
	if remove {
		err = p.d.end(ctx, p.box.id)
	}
	p.box.hold.Release()
	if cerr := p.d.Client.Close(); err == nil {
		err = cerr
	}
	return err
}
