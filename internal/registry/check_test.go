package registry_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hermes-runtime/hermes/internal/registry"
	"github.com/hermes-runtime/hermes/tool"
)

// counted is a Check that counts its runs.
func counted(probe bool, n *atomic.Int32, err error) *tool.Check {
	return &tool.Check{Name: "counted", Probe: probe, Run: func(context.Context, tool.Services) error { n.Add(1); return err }}
}

func TestCheck_RunsOncePerPass_CHK1_CHK3(t *testing.T) {
	var n atomic.Int32
	c := counted(false, &n, nil)
	r := newRegistry(t, tableOf(made("a", "x", checked(c)), made("b", "x", checked(c)), made("d", "y", checked(c))), registry.Settings{})
	for pass := int32(1); pass <= 3; pass++ {
		if got := r.offered(t, registry.Request{}); len(got) != 3 {
			t.Fatalf("offered %v", got)
		}
		if n.Load() != pass {
			t.Fatalf("after pass %d it ran %d times", pass, n.Load())
		}
	}
	if _, err := r.Tools(context.Background()); err != nil || n.Load() != 4 {
		t.Errorf("a list asked %d times, %v", n.Load()-3, err)
	}
}

func TestCheck_FailureOfAnyKindHides_CHK2(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry(t, tableOf(
			made("ok", "x", checked(passing("p"))),
			made("errs", "x", checked(failing("KEY"))),
			made("panics", "x", checked(&tool.Check{Name: "panics", Run: func(context.Context, tool.Services) error { panic("boom") }})),
			made("slow", "x", checked(&tool.Check{Name: "slow", Run: func(ctx context.Context, _ tool.Services) error { <-ctx.Done(); return ctx.Err() }})),
			made("after_slow", "x", checked(&tool.Check{Name: "after", Run: func(ctx context.Context, _ tool.Services) error { return ctx.Err() }})),
			made("hangs", "x", checked(&tool.Check{Name: "hangs", Probe: true, Run: func(context.Context, tool.Services) error { time.Sleep(time.Minute); return nil }})),
		), registry.Settings{})
		began := time.Now()
		list, err := r.Tools(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("took %s", took)
		}
		for _, s := range list {
			want := map[string]string{"ok": "", "after_slow": "", "errs": "KEY is missing", "panics": "boom",
				"slow": "no answer within 5s", "hangs": "no answer within 5s"}[s.Name]
			if s.Available != (want == "") || !strings.Contains(s.Reason, want) {
				t.Errorf("%+v", s)
			}
		}
		if got := r.offered(t, registry.Request{}); !slices.Equal(got, []string{"after_slow", "ok"}) {
			t.Errorf("offered %v", got)
		}
	})
}

func TestCheck_ChangeIsLoggedOnce_CHK2(t *testing.T) {
	var bad atomic.Bool
	c := &tool.Check{Name: "flag", Run: func(context.Context, tool.Services) error {
		if bad.Load() {
			return errors.New("gone")
		}
		return nil
	}}
	r := newRegistry(t, tableOf(made("a", "x", checked(c))), registry.Settings{})
	for _, state := range []bool{false, true, false} {
		bad.Store(state)
		for range 3 {
			r.offered(t, registry.Request{})
		}
	}
	if r.log.count("check fails") != 1 || r.log.count("passes again") != 1 || r.log.count("reason=gone") != 1 {
		t.Errorf("log: %s", r.log.buf.String())
	}
}

func TestProbe_AnswerIsHeld_CHK3(t *testing.T) {
	for _, result := range []error{nil, errors.New("down")} {
		synctest.Test(t, func(t *testing.T) {
			var n atomic.Int32
			r := newRegistry(t, tableOf(made("a", "x", checked(counted(true, &n, result)))), registry.Settings{})
			ask := func(want int32, why string) {
				t.Helper()
				if got := r.offered(t, registry.Request{}); (len(got) == 1) != (result == nil) {
					t.Errorf("offered %v", got)
				}
				if n.Load() != want {
					t.Errorf("%s: ran %d times, want %d", why, n.Load(), want)
				}
			}
			ask(1, "first")
			time.Sleep(29 * time.Second)
			ask(1, "held")
			time.Sleep(2 * time.Second)
			ask(2, "expired")
			r.Invalidate()
			ask(3, "invalidated")
			r.SetSettings(registry.Settings{})
			ask(4, "configuration")
			r.add(t, registry.PluginOrigin("p"), made("failing", "x", checked(failing("f"))))
			ask(5, "plugin loaded")
			r.Withdraw(registry.PluginOrigin("p"))
			ask(6, "plugin unloaded")
			r.SetSettings(registry.Settings{CheckTTL: -1})
			ask(7, "not at all")
			ask(8, "not at all")
		})
	}
}

func TestProbes_RunSideBySide_CHK4(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := &tool.Table{}
		for i := range 20 {
			table.Register(made(fmt.Sprint("t", i), "x", checked(&tool.Check{Name: "second", Probe: true,
				Run: func(context.Context, tool.Services) error { time.Sleep(time.Second); return nil }})))
		}
		r := newRegistry(t, table, registry.Settings{})
		began := time.Now()
		if got := r.offered(t, registry.Request{}); len(got) != 20 {
			t.Fatalf("offered %v", got)
		}
		if took := time.Since(began); took != time.Second {
			t.Errorf("took %s", took)
		}
	})
}

func TestProbe_IsSharedAndOutlivesWhoGivesUp_CHK4(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n atomic.Int32
		c := &tool.Check{Name: "slow", Probe: true, Run: func(ctx context.Context, _ tool.Services) error {
			n.Add(1)
			select {
			case <-time.After(2 * time.Second):
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}}
		r := newRegistry(t, tableOf(made("a", "x", checked(c))), registry.Settings{})
		impatient, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := r.Definitions(impatient, registry.Request{}); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("the one who gave up got %v", err)
			}
		})
		for range 8 {
			all.Go(func() {
				if got := r.offered(t, registry.Request{}); len(got) != 1 {
					t.Errorf("offered %v", got)
				}
			})
		}
		all.Wait()
		if n.Load() != 1 {
			t.Errorf("the probe ran %d times", n.Load())
		}
		if r.log.count("check fails") != 0 {
			t.Error("giving up counted as a failure")
		}
	})
}

func TestCheck_CallerWhoGivesUpLeavesNoTrace_CHK4(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	c := &tool.Check{Name: "c", Run: func(ctx context.Context, _ tool.Services) error { cancel(); return ctx.Err() }}
	r := newRegistry(t, tableOf(made("a", "x", checked(c))), registry.Settings{})
	if _, err := r.Definitions(ctx, registry.Request{}); !errors.Is(err, context.Canceled) {
		t.Fatalf("err %v", err)
	}
	if got := r.offered(t, registry.Request{}); len(got) != 1 || r.log.count("check fails") != 0 {
		t.Errorf("offered %v", got)
	}
}

func TestProbe_ThatHangsIsNotStartedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var n atomic.Int32
		release := make(chan struct{})
		c := &tool.Check{Name: "hangs", Probe: true, Run: func(context.Context, tool.Services) error { n.Add(1); <-release; return nil }}
		r := newRegistry(t, tableOf(made("a", "x", checked(c))), registry.Settings{})
		for range 3 {
			if got := r.offered(t, registry.Request{}); len(got) != 0 {
				t.Fatalf("offered %v", got)
			}
			time.Sleep(time.Minute)
		}
		if n.Load() != 1 {
			t.Errorf("%d goroutines hang", n.Load())
		}
		short, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if err := r.Close(short); err == nil {
			t.Error("Close didn't tell of the straggler")
		}
		close(release)
	})
}

// OBS-5: how long each run of a Check took is told, however it ended.
func TestCheck_ItsRunsAreTold_OBS5(t *testing.T) {
	told := map[string]int{}
	var table tool.Table
	for name, run := range map[string]func(context.Context, tool.Services) error{
		"good": func(context.Context, tool.Services) error { return nil },
		"bad":  func(context.Context, tool.Services) error { panic("no") },
	} {
		table.Register(tool.Func(tool.Spec{Name: name, Toolset: "set", Check: &tool.Check{Name: name, Run: run}},
			func(context.Context, *tool.Call, struct{}) (any, error) { return nil, nil }))
	}
	r := registry.New(registry.Options{Table: &table, Checked: func(check string, took time.Duration) {
		if took >= 0 {
			told[check]++
		}
	}})
	defer func() { _ = r.Close(context.Background()) }()
	for range 2 {
		if _, err := r.Definitions(context.Background(), registry.Request{Quiet: true}); err != nil {
			t.Fatal(err)
		}
	}
	if told["good"] != 2 || told["bad"] != 2 {
		t.Errorf("told %v", told)
	}
}

func TestIsToolsetAvailable_CHK5(t *testing.T) {
	r := newRegistry(t, tableOf(made("a", "free"), made("b", "mixed", checked(failing("x"))), made("c", "mixed", checked(passing("y"))),
		made("d", "out", checked(failing("z"))), made("e", "out", checked(failing("z")))), registry.Settings{})
	for set, want := range map[string]bool{"free": true, "mixed": true, "out": false, "nothing": false, "web": false, "all": true} {
		if got := r.IsToolsetAvailable(context.Background(), set); got != want {
			t.Errorf("%s: %v", set, got)
		}
	}
	sets, err := r.Toolsets(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range sets {
		if s.Available != r.IsToolsetAvailable(context.Background(), name) {
			t.Errorf("two displays disagree about %s", name)
		}
	}
}

func TestNeeds_AreDecidedPerSession_CHK6(t *testing.T) {
	needs := func(n ...tool.Need) func(*tool.Spec) { return func(s *tool.Spec) { s.Needs = n } }
	r := newRegistry(t, tableOf(made("clarify", "clarify", needs(tool.NeedAsker)), made("delegate_task", "delegation", needs(tool.NeedModel, tool.NeedStore)),
		made("todo", "todo")), registry.Settings{})
	for range 2 {
		for _, c := range []struct {
			has  []tool.Need
			want []string
		}{
			{nil, []string{"todo"}},
			{[]tool.Need{tool.NeedAsker}, []string{"clarify", "todo"}},
			{[]tool.Need{tool.NeedModel}, []string{"todo"}},
			{[]tool.Need{tool.NeedModel, tool.NeedStore}, []string{"delegate_task", "todo"}},
		} {
			d, err := r.Definitions(context.Background(), registry.Request{Has: c.has})
			if err != nil || len(d.List) != len(c.want) || len(d.List)+len(d.Hidden) != 3 {
				t.Errorf("with %v: %v, %v", c.has, d.List, err)
			}
			if got := r.offered(t, registry.Request{Has: c.has}); !slices.Equal(got, c.want) {
				t.Errorf("with %v offered %v", c.has, got)
			}
		}
	}
}

func TestCheck_HidesButDoesNotForbid_CHK7(t *testing.T) {
	r := newRegistry(t, tableOf(made("web_search", "web", checked(failing("KEY")))), registry.Settings{})
	d, err := r.Definitions(context.Background(), registry.Request{})
	if err != nil || len(d.List) != 0 || len(d.Hidden) != 1 || d.Hidden[0].Reason != "KEY is missing" {
		t.Fatalf("%+v, %v", d, err)
	}
	if res := r.Repair("web_search", d.Scope); res.Entry == nil {
		t.Errorf("%+v", res)
	}
}

type services struct{ tool.Services }

func (services) Getenv(name string) string { return "value of " + name }

func TestCheck_GetsTheServices(t *testing.T) {
	var got string
	c := &tool.Check{Name: "env", Run: func(_ context.Context, s tool.Services) error { got = s.Getenv("KEY"); return nil }}
	r := registry.New(registry.Options{Table: tableOf(made("a", "x", checked(c))), Services: services{}})
	if _, err := r.Tools(context.Background()); err != nil || got != "value of KEY" {
		t.Errorf("%q, %v", got, err)
	}
	bare := registry.New(registry.Options{Table: tableOf(made("a", "x", checked(c)))})
	if _, err := bare.Tools(context.Background()); err != nil || got != "" {
		t.Errorf("%q, %v", got, err)
	}
}
