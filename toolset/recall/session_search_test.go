package recall_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/internal/runtime"
	"github.com/hermes-runtime/hermes/internal/store"
	"github.com/hermes-runtime/hermes/provider"
	"github.com/hermes-runtime/hermes/tool"
	_ "github.com/hermes-runtime/hermes/toolset/recall"
)

// day is when the n-th session was begun.
func day(n int) time.Time { return time.Date(2026, 1, n, 9, 0, 0, 0, time.UTC) }

// filled is a runtime with a few conversations, and the session "now" of an agent in it, whose messages they all share.
func filled(t *testing.T) (*runtime.Session, map[string][]int64) {
	t.Helper()
	r, err := runtime.Open(t.Context(), runtime.Options{Home: t.TempDir(), Environ: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	ids := map[string][]int64{}
	for i, s := range []store.Session{
		{ID: "s_long", Source: "cli", Model: "p/m", Title: "The long one"}, {ID: "s_short", Source: "telegram"}, {ID: "now", Source: "cli"},
		{ID: "child", Source: "subagent", Parent: "s_short"}, {ID: "s_branch", Source: "cli", Parent: "s_long"},
	} {
		s.Started = day(i + 1)
		if err := r.Store().Begin(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		n := map[string]int{"s_long": 60}[s.ID]
		var ms []store.Message
		for k := range max(n, 3) {
			role := []provider.Role{provider.User, provider.Assistant, provider.Tool}[k%3]
			m := store.Message{Message: provider.Message{Role: role, Text: fmt.Sprintf("%s says needle %d of %s", role, k, s.ID)}, Time: day(i + 1).Add(time.Duration(k) * time.Minute)}
			if role == provider.Assistant {
				m.Calls = []provider.Call{{ID: "c", Name: "terminal", Arguments: `{"command":"ls"}`}}
			}
			ms = append(ms, m)
		}
		if ids[s.ID], err = r.Store().Append(t.Context(), s.ID, ms...); err != nil {
			t.Fatal(err)
		}
	}
	return r.Session(runtime.SessionOptions{ID: "now", Agent: true}), ids
}

func call(t *testing.T, s *runtime.Session, arguments string) (map[string]any, tool.Result) {
	t.Helper()
	r := s.Call(t.Context(), tool.Request{Name: "session_search", Arguments: json.RawMessage(arguments)})
	var out map[string]any
	if err := json.Unmarshal([]byte(r.JSON), &out); err != nil {
		t.Fatalf("%v: %s", err, r.JSON)
	}
	return out, r
}

// members are the names of an object's members.
func members(v any) string {
	object, _ := v.(map[string]any)
	return strings.Join(slices.Sorted(maps.Keys(object)), " ")
}

// list gives a member of each object in a list.
func list(v any, member string) string {
	items, _ := v.([]any)
	out := []string{}
	for _, item := range items {
		out = append(out, fmt.Sprint(item.(map[string]any)[member]))
	}
	return strings.Join(out, " ")
}

func count(v any) int {
	items, _ := v.([]any)
	return len(items)
}

// SRCH-1: the modes in their order, each with its members; the session of the call is left out, lineages appear once.
func TestSessionSearch_Modes(t *testing.T) {
	s, ids := filled(t)
	anchor := strconv.FormatInt(ids["s_long"][30], 10)
	for _, tc := range []struct{ arguments, mode, members string }{
		{`{"query": "needle", "session_id": "s_long", "around_message_id": ` + anchor + `}`, "scroll",
			"around_message_id messages messages_after messages_before mode session_id session_meta success window"},
		{`{"query": "needle", "session_id": "s_long"}`, "read", "message_count messages mode session_meta success truncated"},
		{`{"query": "needle", "around_message_id": 1}`, "discover", "count mode query results sessions_searched success"},
		{`{}`, "browse", "count mode results success"},
		{`{"query": " ", "session_id": ""}`, "browse", "count mode results success"},
	} {
		out, r := call(t, s, tc.arguments)
		if r.Status != tool.StatusOK || out["mode"] != tc.mode || members(out) != tc.members || out["success"] != true {
			t.Errorf("%s: %s, members %s, want %s: %s", tc.arguments, out["mode"], members(out), tc.members, r.JSON)
		}
	}

	out, _ := call(t, s, `{"query": "needle", "sort": "oldest", "limit": 10}`)
	if got := list(out["results"], "session_id"); got != "s_long s_short" || out["count"] != 2.0 || out["sessions_searched"] != 3.0 {
		t.Errorf("found %s: %v", got, out)
	}
	first := out["results"].([]any)[0]
	if got, want := members(first), "bookend_end bookend_start match_message_id matched_role messages messages_after messages_before model session_id snippet source title when"; got != want {
		t.Errorf("a result has %s, want %s", got, want)
	}
	if got := first.(map[string]any); got["when"] != "2026-01-01T09:00:00Z" || got["source"] != "cli" || got["model"] != "p/m" || got["title"] != "The long one" ||
		!strings.Contains(got["snippet"].(string), ">>>needle<<<") || got["matched_role"] != "user" || got["messages_after"] != 34.0 || count(got["messages"]) != 6 || count(got["bookend_end"]) != 2 || count(got["bookend_start"]) != 0 {
		t.Errorf("the result: %v", got)
	}
	out, _ = call(t, s, `{"query": "needle", "sort": "newest"}`)
	if newest := out["results"].([]any)[0].(map[string]any); newest["session_id"] != "s_branch" || newest["parent_session_id"] != "s_long" {
		t.Errorf("the newest: %v", newest)
	}

	out, _ = call(t, s, `{"limit": 10}`)
	if got := list(out["results"], "session_id"); got != "s_branch s_short" || out["count"] != 2.0 {
		t.Errorf("the latest are %s: %v", got, out)
	}
	if got, want := members(out["results"].([]any)[0]), "last_active message_count preview session_id source started_at title"; got != want {
		t.Errorf("a brief has %s, want %s", got, want)
	}
	for _, id := range []string{"child", "now"} { // who knows the id may read
		if out, _ := call(t, s, `{"session_id": "`+id+`"}`); out["message_count"] != 2.0 {
			t.Errorf("%s by its id: %v", id, out)
		}
	}
}

// The beginning and the end of a conversation are read, and what a filter lets through.
func TestSessionSearch_Read(t *testing.T) {
	s, ids := filled(t)
	out, _ := call(t, s, `{"session_id": "s_lo"}`)
	if out["message_count"] != 40.0 || out["truncated"] != true || count(out["messages"]) != 30 || members(out["session_meta"]) != "model source title when" {
		t.Errorf("%v", out)
	}
	if got := list(out["messages"], "id"); !strings.HasPrefix(got, fmt.Sprintf("%d %d %d ", ids["s_long"][0], ids["s_long"][1], ids["s_long"][3])) || !strings.HasSuffix(got, fmt.Sprint(ids["s_long"][58])) {
		t.Errorf("messages %s", got)
	}
	if m := out["messages"].([]any)[1]; members(m) != "content id role timestamp tool_calls" {
		t.Errorf("a message is %v", m)
	}
	for filter, want := range map[string]float64{`["tool"]`: 20, `["user", "tool"]`: 40, `["user,assistant,tool"]`: 60, `["System"]`: 40, `[]`: 40, `"tool"`: 20} {
		if out, r := call(t, s, `{"session_id": "s_long", "role_filter": `+filter+`}`); out["message_count"] != want {
			t.Errorf("role_filter %s: %v messages, want %v: %.200s", filter, out["message_count"], want, r.JSON)
		}
	}
}

// SRCH-4: each match can be scrolled to, and on from there to both ends, without a gap.
func TestSessionSearch_ScrollsFromEveryMatch(t *testing.T) {
	s, _ := filled(t)
	out, _ := call(t, s, `{"query": "\"needle 40\"", "role_filter": ["assistant"]}`)
	hit := out["results"].([]any)[0].(map[string]any)
	seen := map[string]bool{}
	for _, onward := range []bool{true, false} {
		at := fmt.Sprint(hit["match_message_id"])
		for range 40 {
			out, r := call(t, s, fmt.Sprintf(`{"session_id": "%v", "around_message_id": %s, "window": 3, "role_filter": ["user", "assistant"]}`, hit["session_id"], at))
			ids := strings.Fields(list(out["messages"], "id"))
			if len(ids) < 4 || !slices.Contains(ids, at) {
				t.Fatalf("around %s: %s", at, r.JSON)
			}
			for _, id := range ids {
				seen[id] = true
			}
			next := ids[0]
			if onward {
				next = ids[len(ids)-1]
			}
			if next == at {
				break
			}
			at = next
		}
	}
	if len(seen) != 40 {
		t.Errorf("%d of 40 messages were seen", len(seen))
	}
}

// SRCH-4: what isn't there is an error with what is near.
func TestSessionSearch_UnknownNamesTheNearest(t *testing.T) {
	s, ids := filled(t)
	last := ids["s_short"][2]
	for arguments, near := range map[string]string{
		`{"session_id": "s_lang"}`: "s_long",
		`{"session_id": "s_"}`:     "s_short",
		fmt.Sprintf(`{"session_id": "s_short", "around_message_id": %d}`, last+1): fmt.Sprint(last),
		`{"session_id": "s_short", "around_message_id": 0}`:                       fmt.Sprint(ids["s_short"][0]),
	} {
		out, r := call(t, s, arguments)
		nearest, _ := out["nearest"].([]any)
		if r.Status != tool.StatusError || out["success"] != false || members(out) != "error nearest success" || !slices.Contains(nearest, any(near)) || !strings.Contains(fmt.Sprint(out["error"]), near) {
			t.Errorf("%s: %s, want %s", arguments, r.JSON, near)
		}
	}
}

// Numbers that are out of range are clamped, not refused.
func TestSessionSearch_NumbersAreClamped(t *testing.T) {
	s, ids := filled(t)
	for window, want := range map[string]float64{"0": 1, "-7": 1, "20": 20, "1000000": 20, `"4"`: 4, "null": 5} {
		out, r := call(t, s, fmt.Sprintf(`{"session_id": "s_long", "around_message_id": %d, "window": %s}`, ids["s_long"][30], window))
		if out["window"] != want {
			t.Errorf("window %s is %v, want %v: %.200s", window, out["window"], want, r.JSON)
		}
	}
	for limit, want := range map[string]float64{"0": 1, "-1": 1, "11": 2, "1": 1} {
		if out, r := call(t, s, `{"query": "needle", "limit": `+limit+`}`); out["count"] != want {
			t.Errorf("limit %s: %v, want %v: %.200s", limit, out["count"], want, r.JSON)
		}
	}
}

// SRCH-2: no query is an error.
func TestSessionSearch_AnyQuery(t *testing.T) {
	s, _ := filled(t)
	for _, query := range []string{`"`, `""`, `AND`, `*`, `-x`, `a:b`, "'; DROP TABLE messages", "\x00", strings.Repeat("x ", 3000), "(", "NEAR(", "%", "_", `\`} {
		arguments, err := json.Marshal(map[string]any{"query": query})
		if err != nil {
			t.Fatal(err)
		}
		if out, r := call(t, s, string(arguments)); r.Status != tool.StatusOK || out["mode"] != "discover" {
			t.Errorf("%.20q: %.200s", query, r.JSON)
		}
	}
}

// DSP-2: without an agent it is a stub.
func TestSessionSearch_StubWithoutAnAgent(t *testing.T) {
	r, err := runtime.Open(t.Context(), runtime.Options{Home: t.TempDir(), Environ: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close(context.Background())
	out, result := call(t, r.Session(runtime.SessionOptions{}), `{}`)
	if result.Status != tool.StatusError || !strings.Contains(fmt.Sprint(out["error"]), "session_search is handled by the agent loop") || out["success"] != false {
		t.Errorf("%s", result.JSON)
	}
}
