// Package registry knows which tools there are and which of them a session gets: it admits registrations, asks whether tools can
// be used, expands toolsets, builds the definitions that a model sees, and finds the tool that a misspelt name means.
//
// What is registered and configured is one immutable snapshot behind an atomic pointer, so readers take no lock and see no half
// change. No lock is held while code of a tool runs.
package registry

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hermes-runtime/hermes/tool"
)

// Options is what a registry is made of. The zero value works: the process's table, nothing configured, no log.
type Options struct {
	Table    *tool.Table // builtin tools; nil = tool.Default()
	Log      *slog.Logger
	Services tool.Services // what checks and adapters may ask for
	Settings Settings
	Checked  func(check string, took time.Duration) // told after each run of a Check; must return at once; nil = nobody
}

// Registry holds registered tools. It is safe for concurrent use.
type Registry struct {
	log      *slog.Logger
	services tool.Services
	checked  func(string, time.Duration)

	base  context.Context // of probes
	stop  context.CancelFunc
	tasks tasks
	epoch atomic.Uint64 // raised by Invalidate

	snap atomic.Pointer[snapshot]

	mu     sync.Mutex // guards master
	master master

	memo memo
	told told
}

// snapshot is one state of the registry. Nothing in it changes once it is published, but for what is derived on first use.
type snapshot struct {
	generation uint64
	entries    map[string]*Entry
	names      []string // sorted
	refused    []Refused
	platforms  map[string]Origin // brought by plugins
	settings   *Settings

	bookOnce  sync.Once
	bookValue *book
	indexOnce sync.Once
	indexed   *index
}

// New makes a registry of what the table holds now. It runs no Check and does no I/O. A tool that can't be used is listed by
// Refused, and disturbs no other.
func New(o Options) *Registry {
	r := &Registry{log: o.Log, services: o.Services, checked: o.Checked}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	if r.services == nil {
		r.services = noServices{}
	}
	r.base, r.stop = context.WithCancel(context.Background())
	settings := o.Settings
	r.master = newMaster()
	r.snap.Store(&snapshot{entries: map[string]*Entry{}, settings: &settings})
	table := o.Table
	if table == nil {
		table = tool.Default()
	}
	entries := table.Entries()
	add := make([]Addition, len(entries))
	for i, e := range entries {
		add[i].Tool = e.Tool
	}
	// What is refused is logged and listed; there is nobody here who could act on it.
	_ = r.Apply(Change{Origin: Builtin, Add: add})
	return r
}

// Close ends the probes and waits for them until ctx ends. Checks fail afterwards.
func (r *Registry) Close(ctx context.Context) error {
	idle := r.tasks.close()
	r.stop()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("close the registry: a check is still running: %w", context.Cause(ctx))
	}
}

// Lookup finds a tool by its exact name.
func (r *Registry) Lookup(name string) (*Entry, bool) {
	e, ok := r.snap.Load().entries[name]
	return e, ok
}

// Generation is a number that grows with every change of what is registered or configured.
func (r *Registry) Generation() uint64 { return r.snap.Load().generation }

// Settings gives what the registry is configured with. Read only.
func (r *Registry) Settings() *Settings { return r.snap.Load().settings }

// SetSettings replaces the configuration and makes probes run again.
func (r *Registry) SetSettings(s Settings) {
	r.change(func(m *master, next *snapshot, _ *[]func()) bool {
		next.settings = &s
		for name := range m.layers {
			m.settle(name, next)
		}
		return true
	})
	r.Invalidate()
}

// CreateCustom adds a custom set, or replaces one, until the configuration changes or the process ends.
func (r *Registry) CreateCustom(name string, set CustomSet) error {
	if name == "" || hasWild(name) {
		return fmt.Errorf("create toolset %q: a name is not empty and has no * or ?", name)
	}
	if _, ok := shippedByName()[name]; ok || name == everything {
		return fmt.Errorf("create toolset %q: a set of that name ships with the program", name)
	}
	set.Tools, set.Includes = slices.Clone(set.Tools), slices.Clone(set.Includes)
	r.change(func(_ *master, next *snapshot, _ *[]func()) bool {
		s := *next.settings
		s.Custom = maps.Clone(s.Custom)
		if s.Custom == nil {
			s.Custom = map[string]CustomSet{}
		}
		s.Custom[name] = set
		next.settings = &s
		return true
	})
	return nil
}

// change makes the next snapshot under the lock. f says whether there is anything new; what it puts into later, logging above all,
// is done when the lock is free.
func (r *Registry) change(f func(m *master, next *snapshot, later *[]func()) bool) {
	var later []func()
	r.mu.Lock()
	old := r.snap.Load()
	next := &snapshot{
		generation: old.generation + 1, entries: maps.Clone(old.entries), platforms: old.platforms, settings: old.settings,
	}
	if f(&r.master, next, &later) {
		next.names = slices.Sorted(maps.Keys(next.entries))
		next.refused = r.master.refusals()
		r.master.forgetChecks()
		r.snap.Store(next)
	} else if refused := r.master.refusals(); !slices.Equal(refused, old.refused) {
		next.generation, next.names, next.refused = old.generation, old.names, refused
		r.snap.Store(next)
	}
	r.mu.Unlock()
	for _, f := range later {
		f()
	}
}
