package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/hermes-runtime/hermes/internal/delegation"
	"github.com/hermes-runtime/hermes/provider"
	"github.com/hermes-runtime/hermes/tool"
)

// Child is a conversation that works for another.
type Child interface {
	ID() string
	Turn(ctx context.Context, text string) Outcome
	Model() provider.Info
	Close(ctx context.Context) error
}

// Birth says which child is to be made.
type Birth struct {
	Task   delegation.Task
	Depth  int   // below the root
	Deeper bool  // it may have children itself
	Left   *Left // what the parent has left of the budgets that they share; nil = there are none
	Listen func(Event)
}

// Children begins the children of one conversation. It implements what the tool delegate_task needs.
type Children struct {
	Config delegation.Config
	Depth  int // of the conversation below the root
	// Begin makes a child. It fails where the parent has no such toolset.
	Begin func(ctx context.Context, b Birth) (Child, error)
	// Done leaves what a child in the background came to for the conversation's next turn.
	Done func(ctx context.Context, id string, r delegation.Report)
	// Grant is what children may have of the budgets, or why none may be begun now: needed is how many tokens they are told in. nil = there
	// are no budgets, and they always may.
	Grant func(needed int) (*Left, error)
	// Watch is told of each child. nil = nobody is.
	Watch Watcher
	// HasRead tells whether the conversation has read a file. nil = it is never known.
	HasRead func(path string) bool

	mu     sync.Mutex
	stop   map[string]context.CancelCauseFunc // of those in the background, by id
	closed bool
	all    sync.WaitGroup
}

// Watcher is told of each child that is begun, and of its end behind that.
type Watcher interface {
	ChildBegan(id string, t delegation.Task)
	ChildEnded(id string, t delegation.Task, r delegation.Report)
}

// Delegate has children do the tasks side by side.
func (c *Children) Delegate(ctx context.Context, tasks []delegation.Task) (delegation.Result, error) {
	left, err := c.check(tasks)
	if err != nil {
		return delegation.Result{}, err
	}
	begun := time.Now()
	out := delegation.Result{Results: make([]delegation.Report, len(tasks))}
	var wg sync.WaitGroup
	for i, t := range tasks {
		wg.Go(func() { out.Results[i] = c.work(ctx, work{i, t, left}) })
	}
	wg.Wait()
	out.TotalDurationSeconds = time.Since(begun).Seconds()
	return out, nil
}

// check refuses what may not be begun, and says what is left for the rest.
func (c *Children) check(tasks []delegation.Task) (*Left, error) {
	if err := c.Config.Check(tasks, c.Depth); err != nil || c.Grant == nil {
		return nil, err
	}
	needed := 0
	for _, t := range tasks {
		needed += (utf8.RuneCountInString(t.Goal) + utf8.RuneCountInString(t.Context)) / charsPerToken
	}
	return c.Grant(needed)
}

// backgroundNote tells the model how it will hear of the end.
const backgroundNote = "The child works in the background. What it came to will be told with a later message; go on with other work, or end the turn."

// Dispatch has a child do a task while the conversation goes on. A new message of the user doesn't stop it, the end of the conversation
// does.
func (c *Children) Dispatch(ctx context.Context, t delegation.Task) (delegation.Dispatched, error) {
	left, err := c.check([]delegation.Task{t})
	if err != nil {
		return delegation.Dispatched{}, err
	}
	if c.Depth > 0 {
		return delegation.Dispatched{}, errors.New("a child can't have children in the background: it ends before they could report")
	}
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || len(c.stop) >= c.Config.MaxAsync {
		cancel(nil)
		if c.closed {
			return delegation.Dispatched{}, errors.New("the conversation is ending")
		}
		return delegation.Dispatched{}, fmt.Errorf("%d children work in the background: delegation.max_async_children is %d; wait for one", len(c.stop), c.Config.MaxAsync)
	}
	id := "deleg_" + strings.TrimPrefix(newTurnID(), "turn_")
	if c.stop == nil {
		c.stop = map[string]context.CancelCauseFunc{}
	}
	c.stop[id] = cancel
	c.all.Go(func() {
		defer cancel(nil)
		r := c.work(ctx, work{0, t, left})
		c.Done(context.WithoutCancel(ctx), id, r)
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.stop, id)
	})
	return delegation.Dispatched{Status: "dispatched", DelegationID: id, Goal: t.Goal, Mode: "background", Note: backgroundNote}, nil
}

// Stop ends the children that work in the background, and says how many that are. They report what they have.
func (c *Children) Stop() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, stop := range c.stop {
		stop(tool.Stop)
	}
	return len(c.stop)
}

// Close ends the children that work in the background, and waits for them until ctx ends.
func (c *Children) Close(ctx context.Context) error {
	c.mu.Lock()
	c.closed = true
	for _, stop := range c.stop {
		stop(tool.ParentEnd)
	}
	c.mu.Unlock()
	done := make(chan struct{})
	go func() { c.all.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the children in the background: %w", context.Cause(ctx))
	}
}

// closeTime bounds the end of a child that has reported.
const closeTime = 10 * time.Second

// work is what one child is to do.
type work struct {
	index int
	task  delegation.Task
	left  *Left
}

// work has one child do a task and reports how it ended.
func (c *Children) work(ctx context.Context, w work) (r delegation.Report) {
	begun := time.Now()
	r = delegation.Report{TaskIndex: w.index, ToolTrace: []delegation.Traced{}, FilesChanged: []string{}}
	defer func() { r.DurationSeconds = time.Since(begun).Seconds() }()
	if limit := c.Config.Timeout(); limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, fmt.Errorf("the child took longer than %v, delegation.child_timeout_seconds: %w", limit, context.DeadlineExceeded))
		defer cancel()
	}
	var seen trace
	child, err := c.Begin(ctx, Birth{Task: w.task, Depth: c.Depth + 1, Deeper: c.Config.Deeper(w.task.Role, c.Depth), Left: w.left, Listen: seen.listen})
	if err != nil {
		r.Status, r.ExitReason, r.Error = delegation.Error, string(ExitError), err.Error()
		return r
	}
	if c.Watch != nil {
		c.Watch.ChildBegan(child.ID(), w.task)
		defer func() { c.Watch.ChildEnded(child.ID(), w.task, r) }()
	}
	o := child.Turn(ctx, w.task.Goal)
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer cancel()
	if err := child.Close(closing); err != nil && o.Error == "" {
		o.Error = err.Error()
	}
	r.Status, r.Summary, r.APICalls, r.ExitReason, r.Error = statusOf(o), o.Answer, o.APICalls, string(o.ExitReason), o.Error
	r.Model, r.Tokens = child.Model().Model, delegation.Tokens{Input: o.Tokens.Input, Output: o.Tokens.Output}
	seen.fill(&r)
	if c.HasRead != nil {
		r.ReadAgain = slices.DeleteFunc(slices.Clone(r.FilesChanged), func(f string) bool { return !c.HasRead(f) })
	}
	if r.Status == delegation.Completed && o.Status == Completed {
		r.Error = ""
	}
	return r
}

// statusOf is how a child ended, by what happened and never by what it said.
func statusOf(o Outcome) delegation.Status {
	switch {
	case o.Status == Interrupted:
		return delegation.Interrupted
	case o.ExitReason == ExitTimeout:
		return delegation.Timeout
	case o.Status == Completed, o.ExitReason == ExitMaxIterations, o.ExitReason == ExitBudget:
		return delegation.Completed
	case o.ExitReason == ExitInvalidCalls:
		return delegation.Failed
	}
	if _, typed := errors.AsType[*provider.Error](o.Err); typed {
		return delegation.Error
	}
	return delegation.Failed
}

// trace notes the calls of a child and the files that they changed.
type trace struct {
	mu    sync.Mutex
	args  map[string]int // bytes of the arguments, by call
	calls []delegation.Traced
	files []string
}

func (t *trace) listen(e Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch e.Type {
	case EventToolStart:
		if t.args == nil {
			t.args = map[string]int{}
		}
		t.args[e.Call] = len(e.Args)
	case EventToolEnd:
		t.calls = append(t.calls, delegation.Traced{Tool: e.Tool, ArgsBytes: t.args[e.Call], ResultBytes: len(e.Result), Status: e.Status})
		delete(t.args, e.Call)
		var changed struct {
			Modified []string `json:"files_modified"`
			Created  []string `json:"files_created"`
			Deleted  []string `json:"files_deleted"`
			Below    []struct {
				Changed []string `json:"files_changed"`
			} `json:"results"` // of its own children
		}
		if json.Unmarshal([]byte(e.Result), &changed) != nil {
			return
		}
		files := slices.Concat(changed.Modified, changed.Created, changed.Deleted)
		for _, b := range changed.Below {
			files = append(files, b.Changed...)
		}
		for _, f := range files {
			if !slices.Contains(t.files, f) {
				t.files = append(t.files, f)
			}
		}
	}
}

func (t *trace) fill(r *delegation.Report) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r.ToolTrace = append(r.ToolTrace, t.calls...)
	r.FilesChanged = append(r.FilesChanged, t.files...)
}
