// Package script runs a Python script that calls tools: the child, its channel back, and what becomes of its output.
//
// A Runner is one runtime's; each Run is on its own: directory, socket, token, deadline, counters. The parts stand in packages
// below: python finds the interpreter, stub writes the module that a script imports, rpc is the channel, staging the directory.
package script

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"sync"

	"github.com/hermes-runtime/hermes/internal/script/python"
	"github.com/hermes-runtime/hermes/tool"
)

// Options says what a Runner works with. The zero value keeps Hermes's own interpreter under the system's temp directory.
type Options struct {
	Home     string // HERMES_HOME
	Getenv   func(string) string
	Resolver *python.Resolver // nil = one with Hermes's own interpreter below Home, where the build has it
	Clock    Clock            // nil = the real one
	Log      *slog.Logger     // nil = none
	Tell     func(string)     // tells a person what takes long before a script starts; nil = nobody is told
	GOOS     string           // operating system that hermes runs on, "" = runtime.GOOS
}

// Runner runs scripts. It is safe for concurrent use; nothing is opened before the first run.
type Runner struct {
	o       Options
	queue   queue
	repeats repeats

	mu      sync.Mutex
	origins map[string]Origin
	closed  bool
	runs    sync.WaitGroup
}

// New returns a Runner.
func New(o Options) *Runner {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Clock == nil {
		o.Clock = realClock{}
	}
	if o.GOOS == "" {
		o.GOOS = runtime.GOOS
	}
	if o.Home == "" {
		o.Home = os.TempDir()
	}
	if o.Resolver == nil {
		o.Resolver = python.New(python.Options{
			Embedded: python.Embedded(python.EmbeddedOptions{Home: o.Home, Log: o.Log}),
			Path:     o.Getenv("PATH"),
		})
	}
	return &Runner{
		o:       o,
		origins: map[string]Origin{},
	}
}

// platforms are the operating systems on which scripts run.
var platforms = map[string]bool{"linux": true, "darwin": true}

// ErrPlatform says why scripts don't run on this system.
var ErrPlatform = errors.New("scripts need Unix domain sockets and process groups, which Hermes uses on Linux and macOS only; call the tools one by one instead")

// Check says whether scripts can run. It starts no interpreter and extracts none, and asks no place elsewhere for one.
func (r *Runner) Check(ctx context.Context, s tool.Services) error {
	if !platforms[r.o.GOOS] {
		return ErrPlatform
	}
	if w, ok := tool.Lookup[Where](s); ok && w.ScriptsRunElsewhere() || r.o.Resolver.HasOwn() {
		return nil
	}
	if _, err := r.o.Resolver.Own(ctx, nil); err != nil {
		return fmt.Errorf("look for an interpreter: %w", err)
	}
	return nil
}

// Resolver returns the interpreters, for doctor.
func (r *Runner) Resolver() *python.Resolver { return r.o.Resolver }

// Close waits for the runs, which end with their contexts.
func (r *Runner) Close() error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	r.runs.Wait()
	return nil
}

// begin notes a run, unless the Runner is closed.
func (r *Runner) begin() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return false
	}
	r.runs.Add(1)
	return true
}

// queue admits so many runs at a time, in order of arrival (XQ-2).
type queue struct {
	mu      sync.Mutex
	running int
	waiting []chan struct{}
}

// enter waits for a place among limit. leave must be called after a nil error.
func (q *queue) enter(ctx context.Context, limit int, waiting func(ahead int)) error {
	q.mu.Lock()
	if q.running < limit && len(q.waiting) == 0 {
		q.running++
		q.mu.Unlock()
		return nil
	}
	turn := make(chan struct{})
	q.waiting = append(q.waiting, turn)
	ahead := len(q.waiting)
	q.mu.Unlock()
	waiting(ahead)
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	q.mu.Lock()
	for i, w := range q.waiting {
		if w == turn {
			q.waiting = append(q.waiting[:i], q.waiting[i+1:]...)
			q.mu.Unlock()
			return context.Cause(ctx)
		}
	}
	q.mu.Unlock()
	q.leave() // the place came in the same moment
	return context.Cause(ctx)
}

// leave hands the place to the next in line.
func (q *queue) leave() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) > 0 {
		close(q.waiting[0])
		q.waiting = q.waiting[1:]
		return
	}
	q.running--
}
