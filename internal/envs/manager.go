// Package envs keeps the environments that tasks work in: one for each key, made at the first use, closed when nobody needs it.
package envs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/hermes-runtime/hermes/environment"
)

// DefaultKey is the environment that tasks share.
const DefaultKey = "default"

const (
	reapEvery    = 60 * time.Second
	closeOne     = 30 * time.Second // for one environment that is reaped or thrown away
	leaveAll     = 5 * time.Second  // of closeAll, for fetching files from all that are open, side by side
	closeAll     = 8 * time.Second  // leaves the process 2 s of the 10 that a shutdown may take
	closedNotice = "the runtime is closing"
)

// Options makes a Manager.
type Options struct {
	Backend string // fixed for the life of the manager
	Cwd     string // terminal.cwd; see StartDir
	// Settings gives what a backend is opened with. Key and Dir are filled in by the manager. nil = nothing but those.
	Settings func(b environment.Backend, key string, o Override) (environment.OpenOptions, error)
	// Mirror brings files of this machine to places that are elsewhere; nil = nothing is brought.
	Mirror   Mirror
	Lifetime time.Duration // without use; 0 = environments are kept until Close
	// Busy tells whether jobs run in an environment, which keeps it from being reaped. It is asked with no lock held; nil = never.
	Busy func(key string) bool
	Log  *slog.Logger // nil = nothing is logged
}

// Mirror keeps files of this machine in places that are elsewhere. What goes wrong it tells itself: no call fails for it. Places that
// share the host's files are none of its business.
type Mirror interface {
	// Share is what a place is to show, if it can.
	Share(key string) []environment.Share
	// Push brings what the place lacks, once it is made and each time before it is used.
	Push(ctx context.Context, key string, e environment.Environment)
	// Leave fetches back what changed there: the place is about to be closed.
	Leave(ctx context.Context, key string, e environment.Environment)
}

// Manager owns the environments of one runtime. It is safe for concurrent use.
type Manager struct {
	o    Options
	log  *slog.Logger
	life context.Context // ends with Close
	end  context.CancelFunc
	work sync.WaitGroup // openings, closings, the reaper

	mu      sync.Mutex
	closed  bool
	reaping bool
	slots   map[string]*slot
	closing map[string]*ending
	tasks   map[string]*task
}

// New makes a manager. It opens nothing and starts nothing.
func New(o Options) *Manager {
	m := &Manager{o: o, log: o.Log, slots: map[string]*slot{}, closing: map[string]*ending{}, tasks: map[string]*task{}}
	if m.log == nil {
		m.log = slog.New(slog.DiscardHandler)
	}
	m.life, m.end = context.WithCancel(context.Background())
	return m
}

// Place is where a task works. The environment is made if there is none, and held until ctx ends: pass the context of the call that
// uses it.
func (m *Manager) Place(ctx context.Context, name string) (environment.Place, error) {
	key, o := m.assign(name)
	env, err := m.acquire(ctx, key, o)
	if err != nil {
		return environment.Place{}, err
	}
	m.push(ctx, key, env)
	state, workspace := m.settle(ctx, name, env)
	return environment.Place{Environment: env, State: state, Workspace: workspace}, nil
}

// push brings what env lacks of this machine's files.
func (m *Manager) push(ctx context.Context, key string, env environment.Environment) {
	if m.o.Mirror != nil && env.Info().Namespace != environment.NamespaceHost {
		m.o.Mirror.Push(ctx, key, env)
	}
}

// Renew is Place for a caller whose environment turned out to be gone before its command started: old is thrown away unless
// somebody has done so already.
func (m *Manager) Renew(ctx context.Context, name string, old environment.Environment) (environment.Place, error) {
	key, _ := m.assign(name)
	m.mu.Lock()
	if s := m.slots[key]; s != nil && s.env == old {
		m.retire(key, s)
	}
	m.mu.Unlock()
	return m.Place(ctx, name)
}

// Reset throws the environment of key away, one that would be kept too, and waits until that is done. Tasks keep their directory and
// variables; the next use makes a new one. Without an environment it does nothing.
func (m *Manager) Reset(ctx context.Context, key string) error {
	m.mu.Lock()
	var e *ending
	if s := m.slots[key]; s != nil && s.env != nil {
		e = m.remove(key, s, true)
	}
	m.mu.Unlock()
	if e == nil {
		return nil
	}
	select {
	case <-e.done:
		return e.err
	case <-ctx.Done():
		return fmt.Errorf("reset environment %s: %w", key, context.Cause(ctx))
	}
}

// Open describes the environments that are open, by key.
func (m *Manager) Open() map[string]environment.Info {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make(map[string]environment.Info, len(m.slots))
	for k, s := range m.slots {
		if s.env != nil {
			out[k] = s.env.Info()
		}
	}
	return out
}

// Environments are those that are open, by key. They aren't held: one that is idle may be closed at any moment.
func (m *Manager) Environments() map[string]environment.Environment {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make(map[string]environment.Environment, len(m.slots))
	for k, s := range m.slots {
		if s.env != nil {
			out[k] = s.env
		}
	}
	return out
}

// Close ends all environments, at most 8 s long. The error names those that were not closed by then; their backend sweeps them at
// its next start. Closing twice is the same as once.
func (m *Manager) Close(ctx context.Context) error {
	m.mu.Lock()
	m.closed = true
	m.end()
	for k, s := range m.slots {
		if s.env != nil {
			m.retire(k, s)
		}
	}
	m.mu.Unlock()

	ctx, cancel := context.WithTimeout(ctx, closeAll)
	defer cancel()
	done := make(chan struct{})
	go func() { m.work.Wait(); close(done) }() // ends with the last close, each of which is bounded
	select {
	case <-done:
	case <-ctx.Done():
	}
	return m.unfinished()
}

func (m *Manager) unfinished() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var errs []error
	for k, e := range m.closing {
		errs = append(errs, fmt.Errorf("environment %s (%s) was not closed in time", k, e.what))
	}
	for k := range m.slots {
		errs = append(errs, fmt.Errorf("environment %s was still being made", k))
	}
	return errors.Join(errs...)
}

// Lookup finds a backend, or says which there are.
func Lookup(name string) (environment.Backend, error) {
	if b, ok := environment.Lookup(name); ok {
		return b, nil
	}
	var known []string
	for _, b := range environment.Backends() {
		known = append(known, b.Name)
	}
	if len(known) == 0 {
		return environment.Backend{}, &environment.Error{Kind: environment.ErrConfig,
			Op: "no backend is linked into this program: import github.com/hermes-runtime/hermes/backend/all, or single ones below backend"}
	}
	return environment.Backend{}, &environment.Error{Kind: environment.ErrConfig,
		Op: fmt.Sprintf("terminal.backend %q is not known; there are: %s", name, strings.Join(known, ", "))}
}
