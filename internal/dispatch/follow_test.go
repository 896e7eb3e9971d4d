package dispatch

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"testing"

	"github.com/hermes-runtime/hermes/tool"
)

// watch notes what it is told, and refuses the tools it is given.
type watch struct {
	mu     sync.Mutex
	told   []string
	refuse map[string]bool
	remark any
}

func (w *watch) note(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told = append(w.told, text)
}

func (w *watch) Before(c *tool.Call) map[string]any {
	if w.refuse[c.Name] {
		return map[string]any{"error": "round and round", "guardrail": map[string]any{"action": "block"}}
	}
	return nil
}

func (w *watch) After(g tool.Guarded) any { return w.remark }

// BAT-5, LGD-3: who follows a batch hears of each call's beginning if it began and of its end in any case; a call that the guard
// refuses never runs, and what it remarks stands in a result that is still one JSON object.
func TestBatch_IsFollowedAndGuarded(t *testing.T) {
	var mu sync.Mutex // calls run side by side
	ran := map[string]int{}
	counted := func(name string, result any) tool.Tool {
		return simple(name, func(context.Context, *tool.Call) (any, error) {
			mu.Lock()
			defer mu.Unlock()
			ran[name]++
			return result, nil
		})
	}
	b := newBed(t, Config{}, counted("good", map[string]any{"n": 1}), counted("list", "[1,2]"), counted("void", "{ }"), counted("loop", 1))
	w := &watch{refuse: map[string]bool{"loop": true}, remark: map[string]any{"count": 2}}
	rs := b.door.CallBatch(t.Context(), b.session(), tool.Batch{
		Calls: []tool.Request{{ID: "a", Name: "good"}, {ID: "b", Name: "list"}, {ID: "c", Name: "loop"}, {ID: "d", Name: "missing_altogether"}, {ID: "e", Name: "void"}},
		Began: func(i int, c *tool.Call, _ []string) { w.note(string(rune('0'+i)) + " began " + c.ID) },
		Ended: func(i int, r tool.Result) { w.note(string(rune('0'+i)) + " ended " + r.ID) },
		Guard: w,
	})
	want := []string{`{"n":1,"guardrail":{"count":2}}`, `{"result":[1,2],"guardrail":{"count":2}}`, `{"error":"round and round","guardrail":{"action":"block"}}`, "", `{"guardrail":{"count":2}}`}
	for i, r := range rs {
		if !json.Valid([]byte(r.JSON)) || want[i] != "" && r.JSON != want[i] {
			t.Errorf("call %d is answered %s", i, r.JSON)
		}
	}
	if rs[2].Status != tool.StatusBlocked || rs[2].Type != tool.ErrTypeGuardrailBlock || ran["loop"] != 0 || ran["good"] != 1 {
		t.Errorf("%+v; %v", rs[2], ran)
	}
	slices.Sort(w.told)
	if got, want := w.told, []string{"0 began a", "0 ended a", "1 began b", "1 ended b", "2 ended c", "3 ended d", "4 began e", "4 ended e"}; !slices.Equal(got, want) {
		t.Errorf("told %q", got)
	}
}
