//go:build linux || darwin

package resident

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine"
	"github.com/hermes-runtime/hermes/internal/engine/jobs"
	"github.com/hermes-runtime/hermes/internal/engine/resident/wire"
	"github.com/hermes-runtime/hermes/internal/engine/staging"
)

// JobHost keeps jobs: a table in this process, or a keeper that stands for one.
type JobHost interface {
	Start(ctx context.Context, s jobs.Spec) (environment.Process, error)
	Jobs(ctx context.Context, preview int) ([]environment.JobInfo, error)
	Attach(ctx context.Context, id string) (environment.Process, error)
	Adopt(ctx context.Context, l environment.Leftover) (environment.Process, error)
	Forget(ctx context.Context, id string) error
	Events(ctx context.Context, labels map[string]string) ([]environment.JobEvent, error)
	Taken(ctx context.Context, eventID string) error
	Close(ctx context.Context) error
}

var (
	_ JobHost = (*jobs.Table)(nil)
	_ JobHost = (*Keeper)(nil)
)

// answerJob serves one request about jobs. base is what a command gets whose request brings none.
func answerJob(ctx context.Context, t *talk, host JobHost, base func(context.Context) engine.Base) error {
	var r jobRequest
	if err := t.hear(&r); err != nil {
		return err
	}
	a, err := serveJob(ctx, host, r, base)
	a.Error = failureOf(err)
	return t.conclude(a)
}

func serveJob(ctx context.Context, host JobHost, r jobRequest, base func(context.Context) engine.Base) (jobAnswer, error) {
	var a jobAnswer
	var err error
	switch r.Op {
	case jobStart:
		a.Info, err = serveStart(ctx, host, r.Start, base)
	case jobList:
		a.Jobs, err = host.Jobs(ctx, r.Preview)
	case jobEvents:
		a.Events, err = host.Events(ctx, r.Labels)
	case jobAdopt:
		a.Info, err = serveAdopt(ctx, host, r.Leftover)
	case jobForget:
		err = host.Forget(ctx, r.ID)
	case jobTaken:
		err = host.Taken(ctx, r.ID)
	default:
		var p environment.Process
		if p, err = host.Attach(ctx, r.ID); err == nil {
			err = serveProcess(ctx, p, r, &a)
		}
	}
	return a, err
}

func serveStart(ctx context.Context, host JobHost, r *startRequest, base func(context.Context) engine.Base) (*environment.JobInfo, error) {
	if r == nil {
		return nil, fmt.Errorf("start a job: %w: the request has none", environment.ErrNotStarted)
	}
	s := jobs.Spec{Job: r.Job, Grace: r.Grace}
	s.Job.Command.State = r.State.state()
	if r.Sudo != nil {
		s.Job.Command.SudoSecret = func(context.Context) (string, error) { return *r.Sudo, nil }
	}
	switch {
	case r.Base != nil:
		s.Base = engine.Base{Environ: r.Base.Environ, Home: r.Base.Home, Temp: r.Base.Temp}
		if r.Base.Login != "" {
			s.Base.Login = &engine.Login{Text: r.Base.Login}
		}
	case base != nil:
		s.Base = base(ctx)
	default:
		return nil, fmt.Errorf("start a job: %w: the request doesn't say with which variables", environment.ErrNotStarted)
	}
	p, err := host.Start(ctx, s)
	return described(ctx, p, err)
}

// described tells how a job stands that was just given.
func described(ctx context.Context, p environment.Process, err error) (*environment.JobInfo, error) {
	if err != nil {
		return nil, err
	}
	if d, ok := p.(environment.Described); ok {
		i := d.Standing()
		return &i, nil
	}
	i, err := p.Info(ctx, environment.DescribedPreview)
	return &i, err
}

func serveAdopt(ctx context.Context, host JobHost, l *environment.Leftover) (*environment.JobInfo, error) {
	if l == nil {
		return nil, fmt.Errorf("give what a command left running an entry: %w: the request names nothing", environment.ErrUnsupported)
	}
	p, err := host.Adopt(ctx, *l)
	return described(ctx, p, err)
}

func serveProcess(ctx context.Context, p environment.Process, r jobRequest, a *jobAnswer) error {
	switch r.Op {
	case jobFind:
		var err error
		a.Info, err = described(ctx, p, nil)
		return err
	case jobInfo:
		i, err := p.Info(ctx, r.Preview)
		a.Info = &i
		return err
	case jobWait:
		return p.Wait(ctx)
	case jobKill:
		var err error
		a.Left, err = p.Kill(context.WithoutCancel(ctx), r.Source) // who asks may go; what is begun is done
		return err
	case jobWrite:
		var err error
		a.Bytes, err = p.Write(ctx, r.Data)
		return err
	case jobKeys:
		return p.Keys(ctx, r.Keys)
	case jobClose:
		return p.CloseInput(ctx)
	case jobResize:
		if r.Size == nil {
			return fmt.Errorf("change the size: %w: none is given", environment.ErrUnsupported)
		}
		return p.Resize(ctx, *r.Size)
	case jobScreen:
		s, err := p.Screen(ctx)
		a.Screen = &s
		return err
	case jobLog:
		l, err := p.Log(ctx, r.Offset, r.Limit)
		a.Page = &l
		return err
	}
	return fmt.Errorf("the request %.50q is not known: %w", r.Op, environment.ErrUnsupported)
}

// keeping is how a server on a stream comes to its jobs: a keeper beside it, which outlives the stream, or a table of its own where
// there is no program to start.
type keeping struct {
	mu   sync.Mutex
	host JobHost
}

// job serves one request about jobs.
func (s *server) job(st *wire.Stream, t *talk) error {
	host, err := s.jobs()
	if err != nil {
		return t.say(jobAnswer{Error: failureOf(err)})
	}
	return answerJob(st.Context(), t, host, s.baseFor)
}

func (s *server) jobs() (JobHost, error) {
	s.keeping.mu.Lock()
	defer s.keeping.mu.Unlock()
	if s.keeping.host != nil {
		return s.keeping.host, nil
	}
	home, err := s.jobsHome()
	if err != nil {
		return nil, &environment.Error{Kind: environment.ErrUnavailable, Op: "keep jobs", Err: err}
	}
	if len(s.o.Keeper) > 0 {
		s.keeping.host = NewKeeper(KeeperOptions{Home: home, Argv: s.o.Keeper, Build: s.o.Build, Scope: jobs.ScopeSandbox})
		return s.keeping.host, nil
	}
	t, err := jobs.Open(jobs.Options{Dir: filepath.Join(home, jobsDir), Scope: jobs.ScopeSandbox, Engine: engine.Options{Subreaper: true}, Log: s.o.Log})
	if err != nil {
		return nil, &environment.Error{Kind: environment.ErrUnavailable, Op: "keep jobs", Err: err}
	}
	s.keeping.host = t
	return t, nil
}

// jobsHome is where jobs are kept: below the home's cache, or where nothing can be written there below the directory for temporary files.
func (s *server) jobsHome() (string, error) {
	home := filepath.Join(home(s.o.Environ), ".cache", "hermes", s.want.Jobs)
	err := writable(home)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return tempHome(s.base.Temp, s.want.Jobs)
	}
	return home, err
}

// tempHome is the one below the directory for temporary files, where others may have put what they like beforehand.
func tempHome(temp, name string) (string, error) {
	own := filepath.Join(temp, "hermes-"+strconv.Itoa(os.Getuid()))
	home := filepath.Join(own, name)
	for _, dir := range []string{own, home} {
		if err := staging.Private(dir); err != nil {
			return "", fmt.Errorf("make a directory for jobs: %w", err)
		}
	}
	return home, writable(home)
}

// writable makes a directory and sees whether something can be made in it.
func writable(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	probe, err := os.MkdirTemp(dir, ".probe")
	if err != nil {
		return err
	}
	return os.Remove(probe)
}

// endJobs lets go of the jobs: those of a keeper go on.
func (s *server) endJobs(ctx context.Context) error {
	s.keeping.mu.Lock()
	defer s.keeping.mu.Unlock()
	if s.keeping.host == nil {
		return nil
	}
	return s.keeping.host.Close(ctx)
}
