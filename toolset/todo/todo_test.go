package todo_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/internal/runtime"
	"github.com/hermes-runtime/hermes/internal/store"
	"github.com/hermes-runtime/hermes/tool"
	_ "github.com/hermes-runtime/hermes/toolset/todo"
)

// plan is what an agent keeps for a session.
type plan struct {
	list []store.Todo
	err  error
}

func (p *plan) Todos(context.Context) ([]store.Todo, error) { return slices.Clone(p.list), p.err }
func (p *plan) SetTodos(_ context.Context, list []store.Todo) error {
	p.list = list
	return p.err
}

// session is one with an agent whose plan is p.
func session(t *testing.T, o runtime.SessionOptions) *runtime.Session {
	t.Helper()
	r, err := runtime.Open(t.Context(), runtime.Options{Home: t.TempDir(), Environ: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close(context.Background()) })
	return r.Session(o)
}

type result struct {
	Todos   []store.Todo
	Summary map[string]int
	Notes   []string
	Error   string
}

func call(t *testing.T, s *runtime.Session, arguments string) (result, tool.Result) {
	t.Helper()
	r := s.Call(t.Context(), tool.Request{Name: "todo", Arguments: json.RawMessage(arguments)})
	var out result
	if err := json.Unmarshal([]byte(r.JSON), &out); err != nil {
		t.Fatalf("%v: %s", err, r.JSON)
	}
	return out, r
}

// brief is a list as id:content:status.
func brief(list []store.Todo) string {
	var out []string
	for _, t := range list {
		out = append(out, t.ID+":"+t.Content+":"+t.Status)
	}
	return strings.Join(out, " ")
}

func TestTodo_Writes_TODO1_TODO2(t *testing.T) {
	for _, tc := range []struct {
		name, before, arguments, want string
		notes                         []string // what each says
	}{
		{"nothing reads", "a:x:pending", `{}`, "a:x:pending", nil},
		{"merge alone reads", "a:x:pending", `{"merge": true}`, "a:x:pending", nil},
		{"null reads", "a:x:pending", `{"todos": null}`, "a:x:pending", nil},
		{"an empty list clears", "a:x:pending", `{"todos": []}`, "", nil},
		{"a list replaces", "a:x:pending", `{"todos": [{"id":"b","content":"y","status":"in_progress"}]}`, "b:y:in_progress", nil},
		{"of one id the last counts, in its place", "", `{"todos": [{"id":"a","content":"1","status":"pending"},{"id":"b","content":"2","status":"pending"},{"id":"a","content":"3","status":"completed"}]}`,
			"b:2:pending a:3:completed", []string{`"a"`}},
		{"what is missing is filled", "", `{"todos": [{"content":"x","status":"pending"},{"id":"b","status":"completed"},{"id":"c","content":"z"},{"id":"d","content":"w","status":"done"}]}`,
			"?:x:pending b:(no description):completed c:z:pending d:w:pending", []string{"no id", "no content", "no status", `"done"`}},
		{"two without an id are two", "", `{"todos": [{"content":"x","status":"pending"},{"content":"y","status":"pending"}]}`, "?:x:pending ?:y:pending", []string{"item 1", "item 2"}},
		{"blanks are nothing", "", `{"todos": [{"id":" ","content":" \n ","status":" Completed "}]}`, "?:(no description):completed", []string{"no id", "no content"}},
		{"merge changes what is given", "a:x:pending b:y:pending", `{"merge": true, "todos": [{"id":"b","status":"completed"},{"id":"a","content":"z","status":""}]}`,
			"a:z:pending b:y:completed", nil},
		{"merge leaves an unknown status", "a:x:in_progress", `{"merge": true, "todos": [{"id":"a","content":"y","status":"finished"}]}`, "a:y:in_progress", []string{`"finished"`}},
		{"merge appends", "a:x:pending", `{"merge": true, "todos": [{"id":"b"},{"id":"b","content":"later"}]}`, "a:x:pending b:later:pending", []string{"no content", "no status"}},
		{"merge skips what has no id", "a:x:pending", `{"merge": true, "todos": [{"content":"lost","status":"pending"}]}`, "a:x:pending", []string{"skipped"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := &plan{}
			for item := range strings.FieldsSeq(tc.before) {
				f := strings.Split(item, ":")
				p.list = append(p.list, store.Todo{ID: f[0], Content: f[1], Status: f[2]})
			}
			got, r := call(t, session(t, runtime.SessionOptions{Agent: true, Services: []any{p}}), tc.arguments)
			if r.Status != tool.StatusOK || brief(got.Todos) != tc.want || brief(p.list) != tc.want {
				t.Errorf("%s: answered %q and kept %q, want %q", r.Status, brief(got.Todos), brief(p.list), tc.want)
			}
			if len(got.Notes) != len(tc.notes) {
				t.Fatalf("notes %q", got.Notes)
			}
			for i, n := range tc.notes {
				if !strings.Contains(got.Notes[i], n) {
					t.Errorf("note %q doesn't say %q", got.Notes[i], n)
				}
			}
		})
	}
}

func TestTodo_CountsByStatus_TODO1(t *testing.T) {
	p := &plan{list: []store.Todo{{Status: "pending"}, {Status: "pending"}, {Status: "in_progress"}, {Status: "completed"}, {Status: "cancelled"}}}
	_, r := call(t, session(t, runtime.SessionOptions{Agent: true, Services: []any{p}}), `{}`)
	if want := `"summary":{"total":5,"pending":2,"in_progress":1,"completed":1,"cancelled":1}`; !strings.Contains(r.JSON, want) {
		t.Errorf("%s lacks %s", r.JSON, want)
	}
	_, r = call(t, session(t, runtime.SessionOptions{Agent: true, Services: []any{&plan{}}}), `{}`)
	if want := `{"todos":[],"summary":{"total":0,"pending":0,"in_progress":0,"completed":0,"cancelled":0}}`; r.JSON != want {
		t.Errorf("an empty list is %s", r.JSON)
	}
}

func TestTodo_IsBounded_TODO3(t *testing.T) {
	p := &plan{}
	s := session(t, runtime.SessionOptions{Agent: true, Services: []any{p}})
	var items []string
	for i := range 300 {
		items = append(items, fmt.Sprintf(`{"id":"%d","content":%q,"status":"odd"}`, i, strings.Repeat("é", 5000)))
	}
	got, _ := call(t, s, `{"todos": [`+strings.Join(items, ",")+`]}`)
	if len(p.list) != 256 || p.list[255].ID != "255" || len(got.Notes) > 22 {
		t.Errorf("%d items, %d notes", len(p.list), len(got.Notes))
	}
	if c := []rune(p.list[0].Content); len(c) != 4000 || !strings.HasSuffix(string(c), "[cut]") {
		t.Errorf("%d characters that end in %q", len(c), string(c[len(c)-9:]))
	}
	for _, bad := range []string{`{"todos": "x"}`, `{"todos": ["x"]}`, `{"todos": [{"id":"a","content":{},"status":"pending"}]}`, `{"todos": [{"ids":"a"}]}`} {
		if _, r := call(t, s, bad); r.Type != tool.ErrTypeInvalidArguments {
			t.Errorf("%s: %s %s", bad, r.Type, r.JSON)
		}
	}
}

func TestTodo_WithoutAnAgent_DSP2(t *testing.T) {
	for name, tc := range map[string]struct {
		o    runtime.SessionOptions
		says string
	}{
		"no agent":   {runtime.SessionOptions{}, "todo is handled by the agent loop"},
		"the disk":   {runtime.SessionOptions{Agent: true, Services: []any{&plan{err: errors.New("disk is full")}}}, "disk is full"},
		"not hidden": {runtime.SessionOptions{Services: []any{&plan{}}}, "handled by the agent loop"},
	} {
		if got, r := call(t, session(t, tc.o), `{"todos": []}`); r.Status != tool.StatusError || !strings.Contains(got.Error, tc.says) {
			t.Errorf("%s: %s %s", name, r.Status, r.JSON)
		}
	}
}
