package docker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"github.com/hermes-runtime/hermes/environment"
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
	box    *made

	base environment.Info // what is known from here
	info atomic.Pointer[environment.Info]

	live      atomic.Pointer[link]
	turn      chan struct{} // held while contact is made or ended
	closed    bool          // guarded by turn
	recreated atomic.Bool   // to be said with the next command

	work      sync.WaitGroup
	stopSweep context.CancelFunc
}

// link is one contact with the engine in the container.
type link struct {
	*resident.Place
	stream *stream
}

var (
	_ environment.Environment = (*place)(nil)
	_ environment.Environer   = (*place)(nil)
	_ environment.Searcher    = (*place)(nil)
)

// hostDir is terminal.cwd as a directory of this machine.
func hostDir(cwd string) string { return envs.StartDir(cwd) }

// describe fills in what is known from here, the traits as the container has them.
func (p *place) describe(pl *plan) {
	i := p.box.info
	p.turn = make(chan struct{}, 1)
	p.base = environment.Info{
		Backend: name, ID: p.box.name, Namespace: environment.NamespaceOwn, Traits: traitsOf(i.HostConfig, environmentMounts(i.Mounts)), Notes: pl.notes,
	}
	if !p.d.at.local() {
		p.base.Notes = append(p.base.Notes, "the container engine runs elsewhere: "+p.d.at.host)
	}
	p.info.Store(&p.base)
}

// Info describes the container as it was started.
func (p *place) Info() environment.Info { return *p.info.Load() }

// notStarted is a failure before anything was asked of the container.
func notStarted(kind error, op string, err error) error {
	return &environment.Error{Kind: environment.ErrNotStarted, Op: op, Err: &environment.Error{Kind: kind, Op: name, Err: err}}
}

// reach gives a contact that works: the present one, or a new one. A container that was stopped is started again, one that can't be
// talked to is restarted.
func (p *place) reach(ctx context.Context) (*link, error) {
	if l := p.live.Load(); l != nil && !isOver(l) {
		return l, nil
	}
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return nil, notStarted(environment.ErrUnavailable, "wait for the container", context.Cause(ctx))
	}
	before := p.live.Load()
	switch {
	case p.closed:
		return nil, &environment.Error{Kind: environment.ErrUnavailable, Op: "use the container", Err: errors.New("the environment was closed")}
	case before != nil && !isOver(before):
		return before, nil
	case before != nil:
		_ = before.Close(ctx)
		if err := p.revive(ctx); err != nil {
			return nil, err
		}
	}
	l, err := p.attach(ctx)
	if err != nil && ctx.Err() == nil && (before != nil || !p.box.anew) {
		p.log.Warn("the container doesn't answer and is restarted", "container", p.box.name, "error", err)
		limit := stopTime
		if _, rerr := p.d.ContainerRestart(ctx, p.box.id, client.ContainerRestartOptions{Timeout: &limit}); rerr != nil {
			return nil, p.lost(errors.Join(err, rerr))
		}
		p.recreated.Store(true)
		l, err = p.attach(ctx)
	}
	if err != nil {
		return nil, p.lost(err)
	}
	info := l.Info()
	p.info.Store(&info)
	p.live.Store(l)
	return l, nil
}

func isOver(l *link) bool {
	select {
	case <-l.Done():
		return true
	default:
		return false
	}
}

// revive has the container run again if it doesn't.
func (p *place) revive(ctx context.Context) error {
	started := p.box.info.State.StartedAt
	i, err := p.d.up(ctx, p.box.id)
	if err != nil {
		return p.lost(err)
	}
	if i.State.StartedAt != started { // what ran there before is gone
		p.box.info = i
		p.recreated.Store(true)
	}
	return nil
}

// lost is the error of a container that isn't there any more, or that doesn't answer.
func (p *place) lost(err error) error {
	if errdefs.IsNotFound(err) {
		return notStarted(environment.ErrGone, "use container "+p.box.name, errors.New("it was removed by someone else"))
	}
	return notStarted(environment.ErrUnavailable, "use container "+p.box.name, err)
}

// attach starts the engine in the container and greets it.
func (p *place) attach(ctx context.Context) (*link, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, greetTime, fmt.Errorf("hermes in the container did not answer within %v", greetTime))
	defer cancel()
	s, id, err := p.d.exec(ctx, p.box.id, []string{carried, "resident"})
	if err != nil {
		return nil, err
	}
	r, err := resident.Connect(ctx, s, p.base, resident.Options{Settings: resident.Settings{Grace: p.o.KillGrace, Limits: p.o.Limits}})
	if err != nil {
		return nil, p.explain(ctx, id, s, causeOf(ctx, err))
	}
	return &link{r, s}, nil
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

// Run runs one command in the container.
func (p *place) Run(ctx context.Context, c environment.Command) (environment.Result, error) {
	c = p.forward(c)
	for again := true; ; again = false {
		l, err := p.reach(ctx)
		if err != nil {
			return environment.Result{}, err
		}
		res, err := l.Run(ctx, c)
		if err == nil {
			res.Recreated = p.recreated.Swap(false)
			return res, nil
		}
		if !again || !isOver(l) || !unbegun(err) {
			return res, err
		}
	}
}

// unbegun reports whether an operation failed before it was told to the far side, so that it can be repeated.
func unbegun(err error) bool {
	return errors.Is(err, environment.ErrNotStarted) || errors.Is(err, environment.ErrUnavailable)
}

// Environ tells the variables that a command with this state would see.
func (p *place) Environ(ctx context.Context, s *environment.State) (map[string]string, error) {
	l, err := p.reach(ctx)
	if err != nil {
		return nil, err
	}
	vars, err := l.Environ(ctx, s)
	if err == nil {
		maps.Copy(vars, p.forwarded(s))
	}
	return vars, err
}

// Search searches a tree in the container.
func (p *place) Search(ctx context.Context, q environment.Query) (environment.Matches, error) {
	l, err := p.reach(ctx)
	if err != nil {
		return environment.Matches{}, err
	}
	return l.Search(ctx, q)
}

// forward gives a command the variables of docker_forward_env. They go over the stream with the command and are stored nowhere.
func (p *place) forward(c environment.Command) environment.Command {
	if len(p.config.ForwardEnv) == 0 || c.Environ != nil {
		return c
	}
	vars := p.forwarded(c.State)
	maps.Copy(vars, c.Env)
	c.Env = vars
	return c
}

// forwarded are the variables of docker_forward_env: what is set here now, else what the file of secrets says. What a session has set
// itself stays.
func (p *place) forwarded(s *environment.State) map[string]string {
	vars := map[string]string{}
	if len(p.config.ForwardEnv) == 0 {
		return vars
	}
	here, secrets, set := map[string]string{}, map[string]string{}, map[string]*string{}
	if p.o.Environ != nil {
		for _, e := range p.o.Environ() {
			n, v, _ := strings.Cut(e, "=")
			here[n] = v
		}
	}
	if p.o.Secrets != nil {
		secrets = p.o.Secrets()
	}
	if s != nil {
		set = s.Snapshot().Vars
	}
	for _, n := range p.config.ForwardEnv {
		if _, own := set[n]; own {
			continue
		}
		for _, v := range []string{here[n], secrets[n], p.getenv(n)} {
			if v != "" {
				vars[n] = v
				break
			}
		}
	}
	return vars
}

// Close ends what runs and lets go of the container, or removes it if it isn't to be kept.
func (p *place) Close(ctx context.Context) error {
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return fmt.Errorf("close container %s: %w", p.box.name, context.Cause(ctx))
	}
	if p.closed {
		return nil
	}
	p.closed = true
	if p.stopSweep != nil {
		p.stopSweep()
	}
	p.work.Wait() // its requests end with their context
	if l := p.live.Load(); l != nil {
		_ = l.Close(ctx)
	}
	var err error
	if !p.config.Persist {
		err = p.d.end(ctx, p.box.id)
	}
	p.box.hold.release()
	if cerr := p.d.Client.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("close container %s: %w", p.box.name, err)
	}
	return nil
}
