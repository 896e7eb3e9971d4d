//go:build linux || darwin

package local

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine"
	"github.com/hermes-runtime/hermes/internal/engine/jobs"
	"github.com/hermes-runtime/hermes/internal/engine/resident"
)

var (
	_ environment.Starter = (*place)(nil)
	_ environment.Keeper  = (*place)(nil)
)

// listPreview is how many characters of output a list shows of each job.
const listPreview = 200

// keeping is how this machine keeps jobs: in a process of its own that outlives this one, or, without a program to start, in this one.
type keeping struct {
	o environment.OpenOptions

	mu     sync.Mutex
	host   resident.JobHost
	closed bool
	leave  func(context.Context) error
}

// endWithUs is said where nothing outlives this process.
const endWithUs = "background processes end with this program: it has no program to start that could keep them"

// keepsJobs tells whether a process of its own keeps the jobs.
func keepsJobs(o environment.OpenOptions) bool { return len(o.KeeperArgv) > 0 && o.HermesHome != "" }

// jobs gives whoever keeps the jobs.
func (p *place) jobs() (resident.JobHost, error) {
	k := &p.keeping
	k.mu.Lock()
	defer k.mu.Unlock()
	unavailable := func(err error) error {
		return &environment.Error{Kind: environment.ErrUnavailable, Op: "keep background processes", Err: err}
	}
	switch {
	case k.closed:
		return nil, unavailable(errors.New("the environment was closed"))
	case k.host != nil:
		return k.host, nil
	case keepsJobs(k.o):
		keeper := resident.NewKeeper(resident.KeeperOptions{Home: k.o.HermesHome, Argv: k.o.KeeperArgv, Scope: jobs.ScopeHost})
		k.host, k.leave = keeper, keeper.Close
		return keeper, nil
	}
	t, leave, err := tables.enter(k.o)
	if err != nil {
		return nil, unavailable(err)
	}
	k.host, k.leave = t, leave
	return t, nil
}

// close lets go of the jobs. Those that another process keeps go on.
func (k *keeping) close(ctx context.Context) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closed = true
	if k.leave == nil {
		return nil
	}
	leave := k.leave
	k.host, k.leave = nil, nil
	return leave(ctx)
}

// Start starts a job.
func (p *place) Start(ctx context.Context, j environment.Job) (environment.Process, error) {
	host, err := p.jobs()
	if err != nil {
		return nil, err
	}
	j.Command.Limits = engine.Bounds(j.Command.Limits, p.keeping.o.Limits)
	return host.Start(ctx, jobs.Spec{Job: j, Base: p.base(ctx), Grace: p.keeping.o.KillGrace})
}

// Jobs lists the jobs of this machine.
func (p *place) Jobs(ctx context.Context) ([]environment.JobInfo, error) {
	host, err := p.jobs()
	if err != nil {
		return nil, err
	}
	return host.Jobs(ctx, listPreview)
}

// Attach finds a job.
func (p *place) Attach(ctx context.Context, id string) (environment.Process, error) {
	host, err := p.jobs()
	if err != nil {
		return nil, err
	}
	return host.Attach(ctx, id)
}

// Adopt gives what a command left running an entry.
func (p *place) Adopt(ctx context.Context, l environment.Leftover) (environment.Process, error) {
	host, err := p.jobs()
	if err != nil {
		return nil, err
	}
	return host.Adopt(ctx, l)
}

// Forget removes a job that has ended.
func (p *place) Forget(ctx context.Context, id string) error {
	host, err := p.jobs()
	if err != nil {
		return err
	}
	return host.Forget(ctx, id)
}

// Events gives what jobs have to tell.
func (p *place) Events(ctx context.Context, labels map[string]string) ([]environment.JobEvent, error) {
	host, err := p.jobs()
	if err != nil {
		return nil, err
	}
	return host.Events(ctx, labels)
}

// Taken says that an event was told.
func (p *place) Taken(ctx context.Context, eventID string) error {
	host, err := p.jobs()
	if err != nil {
		return err
	}
	return host.Taken(ctx, eventID)
}

// tables are those of this process, one per directory: two over one would each take the other's jobs for those of a dead process.
var tables tableSet

type tableSet struct {
	mu   sync.Mutex
	open map[string]*sharedTable
}

type sharedTable struct {
	table *jobs.Table
	users int
}

// enter gives the table of a home, and how to leave it: the last one to go ends what runs.
func (s *tableSet) enter(o environment.OpenOptions) (*jobs.Table, func(context.Context) error, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	dir, temporary := filepath.Join(o.HermesHome, "jobs"), false
	if o.HermesHome == "" {
		made, err := os.MkdirTemp("", "hermes-jobs-")
		if err != nil {
			return nil, nil, err
		}
		dir, temporary = made, true
	}
	t := s.open[dir]
	if t == nil {
		table, err := jobs.Open(jobs.Options{Dir: dir, Engine: engine.Options{Subreaper: o.Subreaper}, Log: o.Log})
		if err != nil {
			return nil, nil, err
		}
		if t = (&sharedTable{table: table}); s.open == nil {
			s.open = map[string]*sharedTable{}
		}
		s.open[dir] = t
	}
	t.users++
	return t.table, func(ctx context.Context) error {
		s.mu.Lock()
		t.users--
		last := t.users == 0
		if last {
			delete(s.open, dir)
		}
		s.mu.Unlock()
		if !last {
			return nil
		}
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
		defer cancel()
		err := t.table.Close(end)
		if temporary {
			err = errors.Join(err, os.RemoveAll(dir))
		}
		return err
	}, nil
}

// closeTime bounds the end of the jobs of this process.
const closeTime = 30 * time.Second
