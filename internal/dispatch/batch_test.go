package dispatch

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/hook"
	"github.com/hermes-runtime/hermes/internal/registry"
	"github.com/hermes-runtime/hermes/tool"
)

// timed is a tool that takes a second and notes when it ran.
type timed struct {
	*tool.Function
	paths func(args string) []tool.Access
}

func (t timed) Scope(_ context.Context, c *tool.Call) ([]tool.Access, error) {
	if t.paths == nil {
		return nil, fmt.Errorf("unreadable")
	}
	return t.paths(string(c.Args)), nil
}

type journal struct {
	mu    sync.Mutex
	start time.Time
	spans map[string][2]time.Duration
	runs  int
	most  int
	now   int
}

func newJournal() *journal { return &journal{start: time.Now(), spans: map[string][2]time.Duration{}} }

func (j *journal) tool(name string, effects tool.Effects, paths func(string) []tool.Access) tool.Tool {
	spec := tool.Spec{Name: name, Toolset: "test", Effects: effects}
	f := tool.Func(spec, func(ctx context.Context, c *tool.Call, a struct {
		Path string `json:"path,omitempty"`
	}) (any, error) {
		from := time.Since(j.start)
		j.mu.Lock()
		j.runs++
		j.now++
		j.most = max(j.most, j.now)
		j.mu.Unlock()
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
		}
		j.mu.Lock()
		defer j.mu.Unlock()
		j.now--
		j.spans[c.ID] = [2]time.Duration{from, time.Since(j.start)}
		return map[string]string{"id": c.ID}, ctx.Err()
	})
	return timed{f, paths}
}

func pathOf(write bool) func(string) []tool.Access {
	return func(args string) []tool.Access {
		var a struct{ Path string }
		_ = json.Unmarshal([]byte(args), &a)
		return []tool.Access{{Path: a.Path, Write: write}}
	}
}

// cleanFS resolves names lexically.
type cleanFS struct{ environment.FS }

func (cleanFS) Resolve(_ context.Context, name string, _ environment.Path) (environment.Path, error) {
	return environment.Path("/w/" + strings.TrimSuffix(strings.TrimPrefix(name, "./"), "/")), nil
}

type place struct{ environment.Environment }

func (place) Files() environment.FS  { return cleanFS{} }
func (place) Info() environment.Info { return environment.Info{Home: "/w"} }

func (b *bed) placed() *Session {
	s := b.session()
	s.Place = func(context.Context) (environment.Place, error) { return environment.Place{Environment: place{}}, nil }
	return s
}

func request(id, name, path string) tool.Request {
	return tool.Request{ID: id, Name: name, Arguments: json.RawMessage(`{"path":"` + path + `"}`)}
}

// BAT-1, BAT-2: only calls that conflict wait for each other; results come in call order.
func TestBatch_OnlyConflictingCallsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal()
		b := newBed(t, Config{}, j.tool("look", tool.PathScoped, pathOf(false)), j.tool("edit", tool.PathScoped, pathOf(true)), j.tool("shell", tool.Exclusive, nil))
		rs := b.door.CallBatch(context.Background(), b.placed(), tool.Batch{Calls: []tool.Request{
			request("a", "look", "src"), request("b", "edit", "src/x.go"), request("c", "edit", "doc"), request("d", "look", "srcs"),
			request("e", "shell", ""), request("f", "look", "src"),
		}})
		for i, id := range []string{"a", "b", "c", "d", "e", "f"} {
			if rs[i].ID != id || rs[i].JSON != `{"id":"`+id+`"}` {
				t.Errorf("result %d is %s: %s", i, rs[i].ID, rs[i].JSON)
			}
		}
		want := map[string]int{"a": 0, "b": 1, "c": 0, "d": 0, "e": 2, "f": 3}
		for id, sec := range want {
			if got := int(j.spans[id][0] / time.Second); got != sec {
				t.Errorf("%s began in second %d, want %d", id, got, sec)
			}
		}
	})
}

// BAT-4: tools of an MCP server run by themselves unless the operator says that they need not.
func TestBatch_ServersToolsAreExclusiveUnlessAllowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, allowed := range []bool{false, true} {
			j := newJournal()
			b := newBed(t, Config{})
			origin := registry.ServerOrigin("hub")
			if err := b.door.registry.Register(origin, j.tool("remote", tool.PathScoped, pathOf(false))); err != nil {
				t.Fatal(err)
			}
			b.door.registry.SetSettings(registry.Settings{Parallel: map[registry.Origin]bool{origin: allowed}})
			b.door.CallBatch(context.Background(), b.placed(), tool.Batch{Calls: []tool.Request{request("a", "remote", "1"), request("b", "remote", "2")}})
			if x, y := j.spans["a"], j.spans["b"]; (y[0] < x[1]) != allowed {
				t.Errorf("allowed %v: %v and %v", allowed, x, y)
			}
		}
	})
}

// BAT-1: no more than the configured number run at once.
func TestBatch_PlacesAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal()
		b := newBed(t, Config{MaxParallelCalls: 3}, j.tool("look", tool.PathScoped, pathOf(false)))
		var calls []tool.Request
		for i := range 10 {
			calls = append(calls, request(fmt.Sprint(i), "look", fmt.Sprint(i)))
		}
		b.door.CallBatch(context.Background(), b.placed(), tool.Batch{Calls: calls})
		if j.most != 3 || time.Since(j.start) != 4*time.Second {
			t.Errorf("%d at once, %v in all", j.most, time.Since(j.start))
		}
	})
}

// BAT-2: a Scoper that fails makes its call exclusive.
func TestBatch_UnreadableScopeIsExclusive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal()
		b := newBed(t, Config{}, j.tool("odd", tool.PathScoped, nil), j.tool("look", tool.PathScoped, pathOf(false)))
		b.door.CallBatch(context.Background(), b.placed(), tool.Batch{Calls: []tool.Request{request("a", "odd", "x"), request("b", "look", "y")}})
		if j.spans["b"][0] != time.Second {
			t.Errorf("b began after %v", j.spans["b"][0])
		}
	})
}

// BAT-7: identical reads run once, unless something between them may have changed the answer; calls with effects all run.
func TestBatch_IdenticalReadsRunOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal()
		b := newBed(t, Config{}, j.tool("look", tool.PathScoped, pathOf(false)), j.tool("edit", tool.PathScoped, pathOf(true)))
		rs := b.door.CallBatch(context.Background(), b.placed(), tool.Batch{Calls: []tool.Request{
			request("a", "look", "x"), request("b", "look", "x"), request("c", "edit", "x"), request("d", "edit", "x"), request("e", "look", "x"),
		}})
		if j.runs != 4 {
			t.Errorf("%d runs, want 4: a for b too, c, d, e", j.runs)
		}
		if rs[1].ID != "b" || rs[1].JSON != `{"id":"a"}` || rs[4].JSON != `{"id":"e"}` {
			t.Errorf("got %+v", rs)
		}
		if n := len(b.audit.lines(t)); n != 5 {
			t.Errorf("%d audit lines for 5 calls", n)
		}
	})
}

// BAT-6: missing ids are made, repeated ones told apart.
func TestBatch_IdsAreUnique(t *testing.T) {
	b := newBed(t, Config{}, giving("x", 1))
	rs := b.door.CallBatch(context.Background(), b.session(), tool.Batch{Calls: []tool.Request{{ID: "i", Name: "x"}, {Name: "x"}, {ID: "i", Name: "nothing_like_it"}, {ID: "i", Name: "x"}}})
	seen := map[string]bool{}
	for _, r := range rs {
		if r.ID == "" || seen[r.ID] {
			t.Errorf("id %q is missing or repeated", r.ID)
		}
		seen[r.ID] = true
	}
	if rs[0].ID != "i" || rs[2].ID != "i_2" || rs[3].ID != "i_3" || rs[2].Type != tool.ErrTypeUnknownTool || rs[3].Status != tool.StatusOK {
		t.Errorf("got %+v", rs)
	}
}

// BAT-5, BAT-8: an interruption answers every call, the running ones within the grace, the others at once.
func TestBatch_InterruptionAnswersEveryCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal()
		b := newBed(t, Config{}, j.tool("shell", tool.Exclusive, nil), simple("deaf", func(context.Context, *tool.Call) (any, error) {
			time.Sleep(8 * time.Second)
			return "late", nil
		}), giving("quick", 1))
		ctx, cancel := context.WithCancelCause(context.Background())
		time.AfterFunc(500*time.Millisecond, func() { cancel(tool.NewMessage) })
		rs := b.door.CallBatch(ctx, b.session(), tool.Batch{Calls: []tool.Request{{ID: "q", Name: "quick"}, {ID: "d", Name: "deaf"}, {ID: "s", Name: "shell"}, {ID: "t", Name: "shell"}}})
		if took := time.Since(j.start); took > 4*time.Second {
			t.Errorf("the batch took %v", took)
		}
		if rs[0].Status != tool.StatusOK {
			t.Errorf("the result that was there is lost: %s", rs[0].JSON)
		}
		for _, r := range rs[1:] {
			if r.Status != tool.StatusCancelled || !strings.Contains(r.JSON, `"status":"cancelled"`) || !strings.Contains(r.JSON, "new message") {
				t.Errorf("%s: %s %s", r.ID, r.Status, r.JSON)
			}
		}
		if !strings.Contains(rs[3].JSON, "shell was not started") {
			t.Errorf("got %s", rs[3].JSON)
		}
		if j.runs != 0 {
			t.Errorf("%d calls ran after the interruption", j.runs)
		}
	})
}

// BAT-9: an interruption of one session ends no call of another.
func TestBatch_InterruptionStaysInItsSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal()
		b := newBed(t, Config{}, j.tool("shell", tool.Exclusive, nil))
		one, two := b.session(), b.session()
		var first, second tool.Result
		var wg sync.WaitGroup
		wg.Go(func() { first = b.door.Call(context.Background(), one, tool.Request{ID: "a", Name: "shell"}) })
		wg.Go(func() { second = b.door.Call(context.Background(), two, tool.Request{ID: "b", Name: "shell"}) })
		synctest.Wait()
		one.Calls.Interrupt(tool.Stop)
		wg.Wait()
		if first.Status != tool.StatusCancelled || second.Status != tool.StatusOK {
			t.Errorf("got %s and %s", first.Status, second.Status)
		}
		if err := one.Calls.Close(context.Background(), tool.SessionEnd); err != nil {
			t.Fatal(err)
		}
		if r := b.door.Call(context.Background(), one, tool.Request{Name: "shell"}); r.Status != tool.StatusCancelled || j.runs != 2 {
			t.Errorf("a call after the end got %s; %d runs", r.JSON, j.runs)
		}
	})
}

// A hook that changes arguments makes its call wait until nothing else runs: nobody planned for what it touches now.
func TestBatch_ChangedArgumentsRunAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal()
		b := newBed(t, Config{}, j.tool("look", tool.PathScoped, pathOf(false)))
		b.hooks.Add(hook.Hook{PreToolCall: func(_ context.Context, c hook.Call) (hook.Verdict, error) {
			if strings.Contains(string(c.Args), "change") {
				return hook.Verdict{Args: json.RawMessage(`{"path":"elsewhere"}`)}, nil
			}
			return hook.Verdict{}, nil
		}})
		b.door.CallBatch(context.Background(), b.placed(), tool.Batch{Calls: []tool.Request{
			request("a", "look", "1"), request("b", "look", "change1"), request("c", "look", "change2"), request("d", "look", "2"),
		}})
		for _, pair := range [][2]string{{"a", "b"}, {"b", "c"}, {"d", "b"}, {"d", "c"}} {
			x, y := j.spans[pair[0]], j.spans[pair[1]]
			if x[0] < y[1] && y[0] < x[1] {
				t.Errorf("%s (%v) and %s (%v) ran side by side", pair[0], x, pair[1], y)
			}
		}
	})
}

// BAT-1: a call whose arguments a hook changed waits for every earlier call, those that have not started included.
func TestBatch_ChangedArgumentsWaitForAllEarlierCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal()
		b := newBed(t, Config{}, j.tool("edit", tool.PathScoped, pathOf(true)))
		b.hooks.Add(hook.Hook{PreToolCall: func(_ context.Context, c hook.Call) (hook.Verdict, error) {
			if strings.Contains(string(c.Args), "change") {
				return hook.Verdict{Args: json.RawMessage(`{"path":"1"}`)}, nil
			}
			return hook.Verdict{}, nil
		}})
		b.door.CallBatch(context.Background(), b.placed(), tool.Batch{Calls: []tool.Request{
			request("a", "edit", "1"), request("b", "edit", "1"), request("c", "edit", "change"),
		}})
		for _, pair := range [][2]string{{"a", "b"}, {"b", "c"}} {
			if x, y := j.spans[pair[0]], j.spans[pair[1]]; y[0] < x[1] {
				t.Errorf("%s (%v) did not wait for %s (%v)", pair[1], y, pair[0], x)
			}
		}
	})
}

// HK-7: a hook that comes back with other arguments after its call was given up holds nobody up.
func TestBatch_LateHookHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal()
		b := newBed(t, Config{MaxParallelCalls: 2}, j.tool("look", tool.Exclusive, nil))
		b.hooks.Add(hook.Hook{PreToolCall: func(_ context.Context, c hook.Call) (hook.Verdict, error) {
			if c.ToolCallID != "late" {
				return hook.Verdict{}, nil
			}
			time.Sleep(20 * time.Second)
			return hook.Verdict{Args: json.RawMessage(`{"path":"x"}`)}, nil
		}})
		calls := []tool.Request{request("late", "look", "1")}
		for i := range 12 { // they run for a second each, so some still wait when the hook returns
			calls = append(calls, request(fmt.Sprint(i), "look", "1"))
		}
		rs := b.door.CallBatch(context.Background(), b.placed(), tool.Batch{Calls: calls})
		if rs[0].Status != tool.StatusBlocked || rs[12].Status != tool.StatusOK || j.runs != 12 {
			t.Errorf("%s, %s, %d ran", rs[0].JSON, rs[12].JSON, j.runs)
		}
	})
}

// HK-7: a hook that hangs and ignores its context costs its call, not the runtime.
func TestHooks_HangingHookBlocksItsCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var ran atomic.Bool
		b := newBed(t, Config{}, simple("x", func(context.Context, *tool.Call) (any, error) { ran.Store(true); return 1, nil }))
		b.hooks.Add(hook.Hook{Name: "deaf", PreToolCall: func(context.Context, hook.Call) (hook.Verdict, error) {
			time.Sleep(20 * time.Second)
			return hook.Verdict{}, nil
		}})
		r := b.call(t, "x", `{}`)
		if r.Status != tool.StatusBlocked || !strings.Contains(r.JSON, "deaf") || !strings.Contains(r.JSON, "10s") || time.Since(start) > 14*time.Second {
			t.Errorf("after %v: %s %s", time.Since(start), r.Status, r.JSON)
		}
		time.Sleep(time.Minute)
		if ran.Load() {
			t.Error("the call ran although it was answered as blocked")
		}
	})
}

// DSP-9: while a call waits for a person, the time of the calls that it is made in stands still too, however deep.
func TestClock_OuterCallsStandStillToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		spec := func(name string, async bool) tool.Spec {
			return tool.Spec{Name: name, Toolset: "test", Timeout: 5 * time.Second, Async: async}
		}
		through := func(next string) func(ctx context.Context, c *tool.Call, _ struct{}) (any, error) {
			return func(ctx context.Context, c *tool.Call, _ struct{}) (any, error) {
				return c.Host.Invoke(ctx, tool.Request{Name: next}).JSON, nil
			}
		}
		b := newBed(t, Config{AsyncIdle: 3 * time.Second, AsyncMax: 4 * time.Second},
			tool.Func(spec("outer", true), through("middle")), tool.Func(spec("middle", false), through("asks")),
			simple("asks", func(ctx context.Context, c *tool.Call) (any, error) {
				resume := c.Host.(*host).flight.pause()
				time.Sleep(time.Hour)
				resume()
				time.Sleep(2 * time.Second)
				return "answered", ctx.Err()
			}))
		if r := b.call(t, "outer", `{}`); r.Status != tool.StatusOK || !strings.Contains(r.JSON, "answered") {
			t.Errorf("got %s", r.JSON)
		}
		b = newBed(t, Config{}, tool.Func(spec("outer", false), through("late")), simple("late", func(ctx context.Context, _ *tool.Call) (any, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}))
		if r := b.call(t, "outer", `{}`); !strings.Contains(r.JSON, "5s") || !strings.Contains(r.JSON, "timeout of outer") {
			t.Errorf("without a person the limit holds: got %s", r.JSON)
		}
	})
}

// BAT-11 and the clocks: while a person is asked the call's time stands still.
func TestClock_StandsStillWhilePaused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBed(t, Config{}, simple("asks", func(ctx context.Context, c *tool.Call) (any, error) {
			resume := c.Host.(*host).flight.pause()
			time.Sleep(time.Hour)
			resume()
			select {
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			case <-time.After(4 * time.Second):
				return 1, nil
			}
		}))
		r := b.door.Call(context.Background(), b.session(), tool.Request{Name: "asks", Timeout: 5 * time.Second})
		if r.Status != tool.StatusOK {
			t.Errorf("got %s", r.JSON)
		}
	})
}
