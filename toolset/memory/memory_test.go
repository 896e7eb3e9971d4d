package memory_test

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/internal/runtime"
	"github.com/hermes-runtime/hermes/tool"
	_ "github.com/hermes-runtime/hermes/toolset/memory"
)

func open(t *testing.T) *runtime.Runtime {
	t.Helper()
	r, err := runtime.Open(t.Context(), runtime.Options{Home: t.TempDir(), Environ: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close(context.Background()) })
	return r
}

func call(t *testing.T, s *runtime.Session, arguments string) (map[string]any, tool.Result) {
	t.Helper()
	r := s.Call(t.Context(), tool.Request{Name: "memory", Arguments: json.RawMessage(arguments)})
	var out map[string]any
	if err := json.Unmarshal([]byte(r.JSON), &out); err != nil {
		t.Fatalf("%v: %s", err, r.JSON)
	}
	return out, r
}

// Each answer has the members that are needed to go on, and no others.
func TestMemory_Answers_MEM1(t *testing.T) {
	s := open(t).Session(runtime.SessionOptions{Agent: true})
	long := strings.Repeat("long and longer ", 60)
	for _, tc := range []struct {
		arguments string
		status    tool.Status
		members   string
		says      string
	}{
		{`{"action":"add","target":"memory","content":"builds with make"}`, tool.StatusOK, "entries entry_count message success target usage", `"usage":"0% — 16/2200 chars"`},
		{`{"action":"add","target":"user","content":"likes tea"}`, tool.StatusOK, "entries entry_count message success target usage", `"entry_count":1`},
		{`{"action":"add","target":"memory","content":"builds with make"}`, tool.StatusOK, "entries entry_count message success target usage", "already"},
		{`{"action":"add","target":"memory","content":"builds on ` + long + `"}`, tool.StatusOK, "entries entry_count message success target usage", "added"},
		{`{"action":"replace","target":"memory","content":"x","old_text":"builds"}`, tool.StatusError, "error matches success target", `"builds with make","builds on long`},
		{`{"action":"add","target":"memory","content":"` + long + long + `"}`, tool.StatusError, "entries error success target usage", "is the limit"},
		{`{"action":"remove","target":"user","old_text":"coffee"}`, tool.StatusError, "entries error success target usage", "likes tea"},
		{`{"action":"add","target":"user"}`, tool.StatusError, "error success target", "needs content"},
		{`{"action":"add","target":"user","content":"a\u200bb"}`, tool.StatusError, "error success target", "U+200B"},
		{`{"action":"forget","target":"user"}`, tool.StatusError, "error success", "remove"},
		{`{"action":"add","target":"me","content":"x"}`, tool.StatusError, "error success", "user"},
		{`{"action":"add","content":"x"}`, tool.StatusError, "error success", "target"},
	} {
		out, r := call(t, s, tc.arguments)
		if got := strings.Join(slices.Sorted(maps.Keys(out)), " "); r.Status != tc.status || got != tc.members || !strings.Contains(r.JSON, tc.says) || out["success"] != (r.Status == tool.StatusOK) {
			t.Errorf("%s: %s with %s\n%s", tc.arguments, r.Status, got, r.JSON)
		}
		matches, _ := out["matches"].([]any)
		for _, m := range matches {
			if n := len([]rune(m.(string))); n > 81 {
				t.Errorf("a preview of %d characters", n)
			}
		}
	}
}

// MEM-5: what one session notes the next one's tools see at once; the limits are the configuration's.
func TestMemory_IsSharedBySessions(t *testing.T) {
	r := open(t)
	one, two := r.Session(runtime.SessionOptions{Agent: true}), r.Session(runtime.SessionOptions{Agent: true})
	call(t, one, `{"action":"add","target":"memory","content":"first"}`)
	if out, _ := call(t, two, `{"action":"add","target":"memory","content":"second"}`); len(out["entries"].([]any)) != 2 {
		t.Errorf("%v", out)
	}
}

func TestMemory_WithoutAnAgent_DSP2(t *testing.T) {
	out, r := call(t, open(t).Session(runtime.SessionOptions{}), `{"action":"add","target":"memory","content":"x"}`)
	if r.Status != tool.StatusError || !strings.Contains(out["error"].(string), "memory is handled by the agent loop") || out["success"] != false {
		t.Errorf("%s", r.JSON)
	}
}
