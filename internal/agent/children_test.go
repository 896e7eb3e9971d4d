package agent

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/hermes-runtime/hermes/internal/delegation"
	"github.com/hermes-runtime/hermes/provider"
	"github.com/hermes-runtime/hermes/tool"
)

// kid is a child that does what its goal says.
type kid struct {
	birth  Birth
	closed *sync.Map
}

func (k kid) ID() string { return "id of " + k.birth.Task.Goal }

func (k kid) Model() provider.Info { return provider.Info{Model: "m"} }

func (k kid) Close(context.Context) error {
	k.closed.Store(k.birth.Task.Goal, true)
	return nil
}

func (k kid) Turn(ctx context.Context, goal string) Outcome {
	switch goal {
	case "wait":
		<-ctx.Done()
		return Outcome{Status: Interrupted, ExitReason: ExitInterrupted, Answer: "so far", Err: context.Cause(ctx)}
	case "fail":
		return Outcome{Status: Failed, ExitReason: ExitError, Answer: "all is well", Err: &provider.Error{Kind: provider.ErrAuth}, Error: "no key"}
	case "long":
		return Outcome{Status: Partial, ExitReason: ExitMaxIterations, Answer: "half", Error: "used up"}
	case "odd":
		return Outcome{Status: Partial, ExitReason: ExitInvalidCalls, Error: "round and round"}
	}
	k.birth.Listen(Event{Type: EventToolStart, Call: "1", Tool: "write_file", Args: []byte(`{"a":1}`)})
	k.birth.Listen(Event{Type: EventToolEnd, Call: "1", Tool: "write_file", Status: "ok", Result: `{"files_modified":["/x"],"files_created":["/y"]}`})
	return Outcome{Status: Completed, ExitReason: ExitCompleted, Answer: "did " + goal, APICalls: 2}
}

func parent(t *testing.T, c delegation.Config) (*Children, *sync.Map) {
	t.Helper()
	if c.MaxDepth == 0 {
		c.MaxDepth = 1
	}
	if c.MaxChildren == 0 {
		c.MaxChildren, c.MaxAsync = 4, 1
	}
	var closed sync.Map
	return &Children{Config: c, Begin: func(_ context.Context, b Birth) (Child, error) {
		if b.Task.Goal == "none" {
			return nil, errors.New("no such toolset")
		}
		return kid{b, &closed}, nil
	}}, &closed
}

// DEL-1, DEL-2: reports stand in the order of the tasks, whatever ended first; the status comes from how a child ended and never from
// what it said; every child is closed.
func TestDelegate_ReportsHowChildrenEnded(t *testing.T) {
	c, closed := parent(t, delegation.Config{})
	r, err := c.Delegate(t.Context(), []delegation.Task{{Goal: "fail"}, {Goal: "work"}, {Goal: "long"}, {Goal: "odd"}})
	if err != nil {
		t.Fatal(err)
	}
	want := []delegation.Status{delegation.Error, delegation.Completed, delegation.Completed, delegation.Failed}
	for i, x := range r.Results {
		if x.TaskIndex != i || x.Status != want[i] {
			t.Errorf("%d: %+v", i, x)
		}
		if _, ok := closed.Load([]string{"fail", "work", "long", "odd"}[i]); !ok {
			t.Errorf("%d isn't closed", i)
		}
	}
	w := r.Results[1]
	if w.Summary != "did work" || w.Error != "" || len(w.ToolTrace) != 1 || w.ToolTrace[0].ArgsBytes != 7 || strings.Join(w.FilesChanged, " ") != "/x /y" {
		t.Errorf("%+v", w)
	}
	if r, _ := c.Delegate(t.Context(), []delegation.Task{{Goal: "none"}}); r.Results[0].Status != delegation.Error || r.Results[0].Error != "no such toolset" {
		t.Errorf("%+v", r)
	}
}

// DEL-4, DEL-8: what passes a bound is refused with the bound before any child begins.
func TestDelegate_BoundsAreHeld(t *testing.T) {
	c, closed := parent(t, delegation.Config{MaxChildren: 2, MaxAsync: 1, MaxDepth: 1})
	three := []delegation.Task{{Goal: "a"}, {Goal: "b"}, {Goal: "c"}}
	if _, err := c.Delegate(t.Context(), three); err == nil || !strings.Contains(err.Error(), "max_concurrent_children is 2") {
		t.Errorf("three: %v", err)
	}
	c.Depth = 1
	if _, err := c.Delegate(t.Context(), three[:1]); err == nil || !strings.Contains(err.Error(), "max_spawn_depth is 1") {
		t.Errorf("too deep: %v", err)
	}
	c.Config.MaxDepth = 3
	if _, err := c.Dispatch(t.Context(), three[0]); err == nil || !strings.Contains(err.Error(), "background") {
		t.Errorf("in the background of a child: %v", err)
	}
	c.Depth, c.Grant = 0, func(int) (*Left, error) {
		return nil, errors.New("nothing is left, 1000 of 1000 tokens are used, agent.max_tokens_total")
	}
	if _, err := c.Delegate(t.Context(), three[:1]); err == nil || !strings.Contains(err.Error(), "max_tokens_total") {
		t.Errorf("nothing left: %v", err)
	}
	c.Grant = func(int) (*Left, error) { return nil, delegation.ErrPaused }
	if _, err := c.Delegate(t.Context(), three[:1]); err == nil || !strings.Contains(err.Error(), "delegation.paused is true") {
		t.Errorf("paused: %v", err)
	}
	if _, err := c.Dispatch(t.Context(), three[0]); err == nil || !strings.Contains(err.Error(), "delegation.paused is true") {
		t.Errorf("paused, in the background: %v", err)
	}
	closed.Range(func(k, _ any) bool { t.Errorf("%v was begun", k); return true })
}

// DEL-6: an interruption reaches the children, each hands back what it has.
func TestDelegate_InterruptionReachesChildren(t *testing.T) {
	c, _ := parent(t, delegation.Config{})
	ctx, stop := context.WithCancelCause(t.Context())
	stop(tool.NewMessage)
	r, err := c.Delegate(ctx, []delegation.Task{{Goal: "wait"}, {Goal: "wait"}})
	if err != nil || len(r.Results) != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	for _, x := range r.Results {
		if x.Status != delegation.Interrupted || x.Summary != "so far" {
			t.Errorf("%+v", x)
		}
	}
}

// DEL-7: one in the background reports once, outlives the call, takes a place while it works, and ends with the conversation.
func TestDispatch_WorksInTheBackground(t *testing.T) {
	c, _ := parent(t, delegation.Config{})
	done := make(chan delegation.Report, 2)
	c.Done = func(_ context.Context, id string, r delegation.Report) {
		if !strings.HasPrefix(id, "deleg_") {
			t.Errorf("id %q", id)
		}
		done <- r
	}
	ctx, stop := context.WithCancel(t.Context())
	d, err := c.Dispatch(ctx, delegation.Task{Goal: "wait"})
	if err != nil || d.Status != "dispatched" || d.Goal != "wait" || d.Mode != "background" || d.Note == "" {
		t.Fatalf("%+v, %v", d, err)
	}
	stop() // the call has ended
	if _, err := c.Dispatch(t.Context(), delegation.Task{Goal: "work"}); err == nil || !strings.Contains(err.Error(), "max_async_children is 1") {
		t.Errorf("a second one: %v", err)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if r := <-done; r.Status != delegation.Interrupted || r.Summary != "so far" {
		t.Errorf("%+v", r)
	}
	if _, err := c.Dispatch(t.Context(), delegation.Task{Goal: "work"}); err == nil {
		t.Error("begun behind the end")
	}
}

// DEL-7: a stop of the session ends them; they report what they have, and others may be begun.
func TestStop_EndsChildrenInTheBackground(t *testing.T) {
	c, _ := parent(t, delegation.Config{MaxDepth: 1, MaxChildren: 2, MaxAsync: 2})
	done := make(chan delegation.Report, 3)
	c.Done = func(_ context.Context, _ string, r delegation.Report) { done <- r }
	if n := c.Stop(); n != 0 {
		t.Errorf("%d were stopped of none", n)
	}
	for range 2 {
		if _, err := c.Dispatch(t.Context(), delegation.Task{Goal: "wait"}); err != nil {
			t.Fatal(err)
		}
	}
	if n := c.Stop(); n != 2 {
		t.Errorf("%d were stopped", n)
	}
	for range 2 {
		if r := <-done; r.Status != delegation.Interrupted || r.Summary != "so far" || !strings.Contains(r.ExitReason, "interrupted") {
			t.Errorf("%+v", r)
		}
	}
	c.all.Wait()
	if _, err := c.Dispatch(t.Context(), delegation.Task{Goal: "work"}); err != nil {
		t.Errorf("no other may be begun: %v", err)
	}
	if r := <-done; r.Status != delegation.Completed {
		t.Errorf("%+v", r)
	}
}

// book notes what a Watcher is told.
type book struct {
	mu  sync.Mutex
	log []string
}

func (b *book) ChildBegan(id string, t delegation.Task) { b.note("began " + id + ", " + t.Goal) }

func (b *book) ChildEnded(id string, t delegation.Task, r delegation.Report) {
	b.note("ended " + id + ", " + t.Goal + ": " + string(r.Status))
}

func (b *book) note(s string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.log = append(b.log, s)
}

// DEL-9: the watcher hears of each child once, of its beginning before its end; one that never was isn't told of. Files that the parent had
// read are named.
func TestDelegate_WatchedOnceEach(t *testing.T) {
	c, _ := parent(t, delegation.Config{})
	b := &book{}
	c.Watch, c.HasRead = b, func(path string) bool { return path == "/y" }
	for _, goal := range []string{"work", "none", "fail"} {
		r, err := c.Delegate(t.Context(), []delegation.Task{{Goal: goal}})
		if err != nil {
			t.Fatal(err)
		}
		want := ""
		if goal == "work" {
			want = "/y"
		}
		if got := strings.Join(r.Results[0].ReadAgain, " "); got != want {
			t.Errorf("%s: to be read again: %q, want %q", goal, got, want)
		}
	}
	if got := strings.Join(b.log, "; "); got != "began id of work, work; ended id of work, work: completed; began id of fail, fail; ended id of fail, fail: error" {
		t.Error(got)
	}
}

// DEL-1: what the children of a child changed is what it changed.
func TestTrace_FilesOfGrandchildren(t *testing.T) {
	var seen trace
	seen.listen(Event{Type: EventToolEnd, Result: `{"results":[{"files_changed":["/a","/b"]},{"files_changed":["/b"]}],"files_modified":["/c"]}`})
	seen.listen(Event{Type: EventToolEnd, Result: `[1]`})
	var r delegation.Report
	if seen.fill(&r); strings.Join(r.FilesChanged, " ") != "/c /a /b" {
		t.Errorf("%q", r.FilesChanged)
	}
}
