package hook

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hermes-runtime/hermes/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func pre(name string, v Verdict, err error) Hook {
	return Hook{Name: name, PreToolCall: func(context.Context, Call) (Verdict, error) { return v, err }}
}

// HK-2: the strictest verdict counts and the first block ends the row.
func TestPreToolCall_StrictestVerdictCounts(t *testing.T) {
	var after atomic.Bool
	var s Set
	s.Add(pre("a", Verdict{Action: Ask, Message: "sure?"}, nil), pre("b", Verdict{}, nil),
		pre("c", Verdict{Action: Block}, nil),
		Hook{Name: "d", PreToolCall: func(context.Context, Call) (Verdict, error) { after.Store(true); return Verdict{}, nil }})
	d := s.PreToolCall(context.Background(), Call{}, nil)
	if d.Action != Block || d.Hook != "c" || d.Message == "" || after.Load() {
		t.Errorf("got %+v, the hook behind the block ran: %v", d, after.Load())
	}
}

// HK-2: each hook sees what its predecessors left.
func TestPreToolCall_ArgumentsPassFromHookToHook(t *testing.T) {
	var seen []string
	var s Set
	s.Add(pre("a", Verdict{Args: json.RawMessage(`{"n":1}`)}, nil),
		Hook{Name: "b", PreToolCall: func(_ context.Context, c Call) (Verdict, error) {
			seen = append(seen, string(c.Args))
			return Verdict{}, nil
		}})
	d := s.PreToolCall(context.Background(), Call{Args: json.RawMessage(`{}`)}, nil)
	if len(seen) != 1 || seen[0] != `{"n":1}` || string(d.Args) != `{"n":1}` || d.Changed != "a" {
		t.Errorf("seen %v, decision %+v", seen, d)
	}
}

// HK-4, HK-5: an error, a panic, an unknown action and broken arguments block, unless the hook fails open.
func TestPreToolCall_FailureBlocksUnlessOpen(t *testing.T) {
	panics := Hook{Name: "p", PreToolCall: func(context.Context, Call) (Verdict, error) { panic("boom") }}
	for name, h := range map[string]Hook{
		"error": pre("p", Verdict{}, errors.New("boom")), "panic": panics,
		"unknown action": pre("p", Verdict{Action: "blok"}, nil),
		"broken args":    pre("p", Verdict{Args: json.RawMessage(`{`)}, nil),
	} {
		for _, mode := range []OnError{Closed, "", Open} {
			h.OnError = mode
			var s Set
			s.Add(h)
			d := s.PreToolCall(context.Background(), Call{}, nil)
			if blocked := d.Action == Block; blocked != (mode != Open) {
				t.Errorf("%s, on_error %q: %+v", name, mode, d)
			}
			if mode != Open && !strings.Contains(d.Message, `"p"`) {
				t.Errorf("%s: the block doesn't name the hook: %s", name, d.Message)
			}
			if d.Args != nil {
				t.Errorf("%s: a failed hook changed the arguments", name)
			}
		}
	}
}

// HK-6: the first string wins, errors are left out.
func TestTransform_FirstChangeWins(t *testing.T) {
	var s Set
	s.Add(Hook{TransformToolResult: func(context.Context, Done) (string, bool, error) { return "x", true, errors.New("no") }},
		Hook{TransformToolResult: func(context.Context, Done) (string, bool, error) { return "", false, nil }},
		Hook{TransformToolResult: func(context.Context, Done) (string, bool, error) { return "second", true, nil }},
		Hook{TransformToolResult: func(context.Context, Done) (string, bool, error) { return "third", true, nil }})
	if out, ok := s.TransformToolResult(context.Background(), Done{}); !ok || out != "second" {
		t.Errorf("got %q, %v", out, ok)
	}
}

// HK-7: a slow observer delays no call; what is too much is dropped and counted; Close lets the rest through.
func TestPostToolCall_SlowObserverDelaysNothing(t *testing.T) {
	var s Set
	gate := make(chan struct{})
	var seen atomic.Int64
	s.Add(Hook{PostToolCall: func(context.Context, Done) error { <-gate; seen.Add(1); return nil }})
	const sent = queueLength + 50
	for range sent {
		s.PostToolCall(Done{})
	}
	close(gate)
	if err := s.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if s.Dropped() == 0 || seen.Load()+s.Dropped() != sent {
		t.Errorf("seen %d, dropped %d of %d", seen.Load(), s.Dropped(), sent)
	}
}

// HK-3: hooks of parallel calls run in parallel.
func TestPreToolCall_ParallelCallsRunHooksInParallel(t *testing.T) {
	var s Set
	var both sync.WaitGroup
	both.Add(2)
	s.Add(Hook{PreToolCall: func(context.Context, Call) (Verdict, error) { both.Done(); both.Wait(); return Verdict{}, nil }})
	var calls sync.WaitGroup
	for range 2 {
		calls.Go(func() {
			if d := s.PreToolCall(context.Background(), Call{}, nil); d.Action != NoObjection {
				t.Errorf("got %+v", d)
			}
		})
	}
	calls.Wait()
}
