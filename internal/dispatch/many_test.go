package dispatch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/internal/hook"
	"github.com/hermes-runtime/hermes/tool"
)

// ASY-4: after many calls, a third of them cancelled, no goroutine and no descriptor is left over.
func TestDoor_ManyCallsLeaveNothingBehind(t *testing.T) {
	b := newBed(t, Config{InterruptGrace: 10 * time.Second}, simple("x", func(ctx context.Context, c *tool.Call) (any, error) {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		default:
			return c.ID, nil
		}
	}))
	s := b.session()
	ended, cancel := context.WithCancelCause(context.Background())
	cancel(tool.Stop)
	before, open := runtime.NumGoroutine(), descriptors(t)
	n := 10_000
	if testing.Short() {
		n = 1000
	}
	var wg sync.WaitGroup
	for w := range 8 {
		wg.Go(func() {
			for i := w; i < n; i += 8 {
				ctx, want := context.Background(), tool.StatusOK
				if i%3 == 0 {
					ctx, want = ended, tool.StatusCancelled
				}
				if r := b.door.Call(ctx, s, tool.Request{Name: "x"}); r.Status != want {
					t.Errorf("call %d: %s %s", i, r.Status, r.JSON)
					return
				}
			}
		})
	}
	wg.Wait()
	if err := b.door.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(time.Minute)
	for (runtime.NumGoroutine() > before || descriptors(t) > open) && time.Now().Before(deadline) {
		runtime.Gosched()
	}
	if g, d := runtime.NumGoroutine(), descriptors(t); g > before || d > open {
		t.Errorf("goroutines %d, before %d; descriptors %d, before %d", g, before, d, open)
	}
	if lines := b.audit.lines(t); len(lines) != n {
		t.Errorf("%d audit lines for %d calls", len(lines), n)
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if errors.Is(err, os.ErrNotExist) {
		return 0 // not told here
	}
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// ASY-5: a call made inside a handler never waits for itself, at any depth.
func TestInvoke_NestsAtAnyDepth(t *testing.T) {
	const depth = 100
	b := newBed(t, Config{MaxParallelCalls: 1}, simple("nest", func(ctx context.Context, c *tool.Call) (any, error) {
		var n int
		if _, err := fmt.Sscanf(string(c.Args), `{"n":%d}`, &n); err != nil || n == 0 {
			return map[string]any{"deepest": c.Parent}, err
		}
		r := c.Host.Invoke(ctx, tool.Request{ID: fmt.Sprintf("%s/%d", c.ID, n), Name: "nest", Arguments: []byte(fmt.Sprintf(`{"n":%d}`, n-1))})
		return r.JSON, r.Err
	}))
	r := b.door.CallBatch(context.Background(), b.session(), tool.Batch{Calls: []tool.Request{{ID: "c", Name: "nest", Arguments: []byte(fmt.Sprintf(`{"n":%d}`, depth))}}})[0]
	if r.Status != tool.StatusOK || len(b.audit.lines(t)) != depth+1 {
		t.Errorf("%s, %d audit lines", r.JSON, len(b.audit.lines(t)))
	}
}

// BAT-9, XL-5: what ends a call ends the calls made in it.
func TestInvoke_EndsWithItsParent(t *testing.T) {
	started := make(chan struct{})
	b := newBed(t, Config{}, simple("inner", func(ctx context.Context, _ *tool.Call) (any, error) {
		close(started)
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}), simple("outer", func(ctx context.Context, c *tool.Call) (any, error) {
		return c.Host.Invoke(ctx, tool.Request{Name: "inner"}).JSON, nil
	}))
	s := b.session()
	go func() { <-started; s.Calls.Interrupt(tool.NewMessage) }()
	b.door.Call(context.Background(), s, tool.Request{Name: "outer"})
	lines := b.audit.lines(t)
	if len(lines) != 2 || lines[0]["tool"] != "inner" || lines[0]["status"] != "cancelled" || lines[0]["parent"] != lines[1]["call"] {
		t.Errorf("audit: %v", lines)
	}
}

// HK-1: every call, nested ones too, is seen by the hooks exactly once.
func TestHooks_SeeNestedCallsOnce(t *testing.T) {
	b := newBed(t, Config{}, giving("inner", 1), simple("outer", func(ctx context.Context, c *tool.Call) (any, error) {
		return c.Host.Invoke(ctx, tool.Request{Name: "inner"}).JSON, nil
	}))
	var mu sync.Mutex
	seen := map[string]int{}
	b.hooks.Add(hook.Hook{PreToolCall: func(_ context.Context, c hook.Call) (hook.Verdict, error) {
		mu.Lock()
		defer mu.Unlock()
		seen[c.ToolName+" "+c.Version]++
		return hook.Verdict{}, nil
	}})
	b.call(t, "outer", `{}`)
	if seen["inner "+hook.SchemaVersion] != 1 || seen["outer "+hook.SchemaVersion] != 1 || len(seen) != 2 {
		t.Errorf("seen %v", seen)
	}
}
