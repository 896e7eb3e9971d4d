//go:build linux || darwin

package jobs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine"
	"github.com/hermes-runtime/hermes/internal/engine/group"
)

// Options says where a table stands and what it bounds. Only Dir is needed.
type Options struct {
	Dir         string         // one directory per job below it; made where it is missing
	Scope       string         // ScopeHost (the default) or ScopeSandbox
	Engine      engine.Options // how commands run; Home and Guard have no say: jobs outlive whoever asked for them
	MaxRunning  int            // jobs at once; 0 = DefaultMaxRunning
	MaxPerOwner int            // of one value of LabelOwner; 0 = DefaultMaxPerOwner
	LogHead     int64          // bytes of a log that are kept from its beginning; 0 = DefaultLogHead
	LogTail     int64          // and of its end; 0 = DefaultLogTail
	Keep        time.Duration  // how long a job is remembered after its end; 0 = DefaultKeep
	KeepBytes   int64          // what finished jobs may take on the disk; 0 = DefaultKeepBytes
	Log         *slog.Logger
}

func (o Options) filled() Options {
	o.Scope = cmp.Or(o.Scope, ScopeHost)
	o.MaxRunning = cmp.Or(o.MaxRunning, DefaultMaxRunning)
	o.MaxPerOwner = cmp.Or(o.MaxPerOwner, DefaultMaxPerOwner)
	o.LogHead = cmp.Or(o.LogHead, DefaultLogHead)
	o.LogTail = cmp.Or(o.LogTail, DefaultLogTail)
	o.Keep = cmp.Or(o.Keep, DefaultKeep)
	o.KeepBytes = cmp.Or(o.KeepBytes, DefaultKeepBytes)
	o.Engine.Grace = cmp.Or(o.Engine.Grace, engine.DefaultGrace)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	o.Engine.Log = o.Log
	o.Engine.Home, o.Engine.Guard = "", nil
	return o
}

// Table keeps jobs. It is safe for concurrent use.
type Table struct {
	o      Options
	engine *engine.Engine
	self   group.Owner
	events *events

	watchWindow time.Duration

	reading sync.Mutex // one directory is taken in at a time

	mu     sync.Mutex
	jobs   map[string]*job
	closed bool
	change chan struct{}   // closed and made anew when a job comes or ends
	wake   chan struct{}   // for tend
	ctx    context.Context // ends with Close
	stop   context.CancelFunc
	tasks  sync.WaitGroup
}

// Spec is a job with all that its command needs: nothing is looked up later.
type Spec struct {
	Job   environment.Job
	Base  engine.Base
	Grace time.Duration // between TERM and KILL; 0 = the engine's
}

// Open reads what is in the directory and takes over what its former keeper left.
func Open(o Options) (*Table, error) {
	o = o.filled()
	if err := os.MkdirAll(o.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory of jobs: %w", err)
	}
	t := &Table{
		o: o, engine: engine.New(o.Engine), self: group.Self(""), jobs: map[string]*job{},
		change: make(chan struct{}), wake: make(chan struct{}, 1), watchWindow: watchWindow,
	}
	t.events = newEvents()
	t.ctx, t.stop = context.WithCancel(context.Background())
	if err := t.load(); err != nil {
		t.stop()
		return nil, err
	}
	t.tasks.Go(func() { t.tend(t.ctx) })
	return t, nil
}

// LimitError is why a job was refused: so many run already.
type LimitError struct {
	Key     string // of the configuration
	Limit   int
	Running int
	Oldest  string // id of the job that runs longest
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("%d jobs run, and %s allows %d; the oldest is %s", e.Running, e.Key, e.Limit, e.Oldest)
}

// Start starts a job: see environment.Starter.
func (t *Table) Start(ctx context.Context, s Spec) (environment.Process, error) {
	j, err := t.enter(s)
	if err != nil {
		return nil, &environment.Error{Kind: environment.ErrNotStarted, Op: "start a job", Err: err}
	}
	if err := j.start(ctx, s); err != nil {
		return nil, err
	}
	return j, nil
}

// enter makes room for a job and its directory.
func (t *Table) enter(s Spec) (*job, error) {
	id := s.Job.ID
	if id == "" {
		id = NewID()
	}
	if !isID(id) {
		return nil, fmt.Errorf("the id %q is none: letters, digits, _ and -, at most 64", id)
	}
	j := newJob(t, id)
	j.rec = recordOf(s, id, t)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, errors.New("the table of jobs is closed")
	}
	if err := t.room(s.Job); err != nil {
		return nil, err
	}
	if err := os.Mkdir(j.dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory of the job: %w", err)
	}
	t.jobs[id] = j
	return j, nil
}

// room says why no further job may run.
func (t *Table) room(job environment.Job) error {
	owner := job.Labels[LabelOwner]
	most, mostOwn := cmp.Or(job.Bounds.Running, t.o.MaxRunning), cmp.Or(job.Bounds.PerOwner, t.o.MaxPerOwner)
	all, own := tally{}, tally{}
	for _, j := range t.jobs {
		if j.holds() {
			all.add(j)
			if owner != "" && j.rec.Labels[LabelOwner] == owner {
				own.add(j)
			}
		}
	}
	switch {
	case all.n >= most:
		return &LimitError{"process.max_running", most, all.n, all.oldest.rec.ID}
	case own.n >= mostOwn:
		return &LimitError{"process.max_running_per_session", mostOwn, own.n, own.oldest.rec.ID}
	}
	return nil
}

type tally struct {
	n      int
	oldest *job
}

func (c *tally) add(j *job) {
	if c.n++; c.oldest == nil || j.rec.Started.Before(c.oldest.rec.Started) {
		c.oldest = j
	}
}

func recordOf(s Spec, id string, t *Table) record {
	c := s.Job.Command
	shown := s.Job.Shown
	if shown == "" {
		if shown = c.Script; len(c.Argv) > 0 {
			shown = strings.Join(c.Argv, " ")
		}
	}
	return record{
		Format: format, ID: id, Command: shown, Boot: t.self.Boot, Scope: t.o.Scope, Keeper: t.self.String(),
		Terminal: s.Job.Terminal, KeepStdin: s.Job.KeepStdin, Notify: s.Job.Notify, Watch: slices.Clone(s.Job.Watch),
		Labels: maps.Clone(s.Job.Labels), Life: c.Timeout, Started: time.Now(), Keep: s.Job.Bounds.Keep, EventKeep: s.Job.Bounds.EventKeep,
	}
}

// Jobs lists all: see environment.Keeper.
func (t *Table) Jobs(ctx context.Context, preview int) ([]environment.JobInfo, error) {
	t.refresh()
	var list []environment.JobInfo
	for _, j := range t.all() {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		list = append(list, j.info(preview))
	}
	slices.SortStableFunc(list, func(a, b environment.JobInfo) int {
		if a.Status != b.Status {
			if a.Status == environment.JobRunning {
				return -1
			}
			return 1
		}
		return b.Started.Compare(a.Started)
	})
	return list, nil
}

func (t *Table) all() []*job {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Collect(maps.Values(t.jobs))
}

// Attach finds a job: see environment.Keeper.
func (t *Table) Attach(_ context.Context, id string) (environment.Process, error) {
	j := t.find(id)
	if j == nil {
		t.refresh()
		j = t.find(id)
	}
	if j == nil {
		return nil, fmt.Errorf("job %q: %w", id, fs.ErrNotExist)
	}
	return j, nil
}

func (t *Table) find(id string) *job {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.jobs[id]
}

// Busy tells how many jobs run or have left someone running.
func (t *Table) Busy() int {
	n := 0
	for _, j := range t.all() {
		if j.holds() || j.lingers() {
			n++
		}
	}
	return n
}

// Changed is closed when a job comes or ends.
func (t *Table) Changed() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.change
}

func (t *Table) changed() {
	t.mu.Lock()
	close(t.change)
	t.change = make(chan struct{})
	t.mu.Unlock()
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// atOnce bounds how many groups are ended side by side: each may look at all processes.
const atOnce = 32

// Close ends every job that this process holds and lets go. It may be called more than once.
func (t *Table) Close(ctx context.Context) error {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.KillAll(ctx, "close")
	t.stop()
	t.tasks.Wait()
	t.events.close()
	return t.engine.Close(ctx)
}

// KillAll ends every job that this process holds, saying who wanted it.
func (t *Table) KillAll(ctx context.Context, source string) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	for _, j := range t.all() {
		if !j.held() {
			continue
		}
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			if left, err := j.Kill(ctx, source); err != nil || len(left) > 0 {
				t.o.Log.Warn("a job could not be ended", "id", j.rec.ID, "left", len(left), "error", err)
			}
		})
	}
	wg.Wait()
}
