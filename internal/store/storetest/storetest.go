// Package storetest is what every store must pass.
package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hermes-runtime/hermes/internal/store"
	"github.com/hermes-runtime/hermes/provider"
)

// Secret is what the redactor of a store under test replaces by Mark.
const (
	Secret = "hunter2-hunter2"
	Mark   = "[REDACTED:PASSWORD]"
)

// Redact is the redactor of a store under test.
func Redact(s string) string { return strings.ReplaceAll(s, Secret, Mark) }

// Run holds stores to the contract. open gives an empty one that uses Redact, and closes it with the test.
func Run(t *testing.T, open func(t *testing.T) store.Store) {
	for _, c := range []struct {
		name string
		run  func(*testing.T, store.Store)
	}{
		{"MessagesComeBackAsTheyWere", messagesComeBack},
		{"BeginChangesWhatIsGiven", beginChanges},
		{"TitlesAreUnique", titles},
		{"FindKnowsIdsPrefixesTitlesAndLast", find},
		{"CountersGrow", counters},
		{"CompactionKeepsOrderAndLosesNothing", compaction},
		{"AppendIsAllOrNothingAndInOrder", appends},
		{"AmendingChangesWhatIsFound", amending},
		{"ResultsStandInTheOrderOfTheirCalls", results},
		{"TodosAreReplaced", todos},
		{"EventsWaitUntilDelivered", events},
		{"SecretsAreNotKept", secrets},
		{"UnknownSessionsAreErrors", unknown},
		{"ClaimsExclude", claims},
		{"DeleteRemovesWhatBelongsToASession", deletion},
		{"ListShowsLineagesOnce", listing},
		{"LookShowsWhatLiesAround", look},
		{"SearchFindsEverySubstring", substrings},
		{"SearchTakesAnyText", anyText},
		{"SearchShowsLineagesOnce", lineages},
		{"SearchSorts", sorts},
		{"SearchKnowsRoles", roles},
		{"SnippetsMark", snippets},
	} {
		t.Run(c.name, func(t *testing.T) { c.run(t, open(t)) })
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func begin(t *testing.T, s store.Store, sessions ...store.Session) {
	t.Helper()
	for i := range sessions {
		must(t, s.Begin(t.Context(), sessions[i]))
	}
}

func message(role provider.Role, text string) store.Message {
	return store.Message{Message: provider.Message{Role: role, Text: text}}
}

// say appends messages, users' and assistants' in turn, and gives their ids.
func say(t *testing.T, s store.Store, session string, texts ...string) []int64 {
	t.Helper()
	var ms []store.Message
	for i, text := range texts {
		ms = append(ms, message([]provider.Role{provider.User, provider.Assistant}[i%2], text))
	}
	ids, err := s.Append(t.Context(), session, ms...)
	must(t, err)
	return ids
}

func texts(ms []store.Message) []string {
	out := []string{}
	for i := range ms {
		out = append(out, ms[i].Text)
	}
	return out
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func messagesComeBack(t *testing.T, s store.Store) {
	begin(t, s, store.Session{ID: "a"})
	when := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	want := []store.Message{
		message(provider.User, "hello\n\twörld 日本 \"quoted\" 'x' \\ %_"),
		{Message: provider.Message{
			Role: provider.Assistant, Text: "I look.", Reasoning: "hm",
			Calls:  []provider.Call{{ID: "c1", Name: "terminal", Arguments: `{"command":"a \u003c b", "n": 1.50}`}, {ID: "c2", Name: "x", Arguments: `{"a":[1,2`}},
			Opaque: &provider.Opaque{Provider: "p", Model: "m", Data: json.RawMessage(`{ "signature" : "<a&b>" ,"n":1e2}`)},
		}, Time: when, Finish: "stop", Tokens: 12},
		{Message: provider.Message{Role: provider.Tool, CallID: "c1", Name: "terminal", Text: `{"exit_code":1}`, Failed: true}, Time: when, Status: "error"},
		{Message: provider.Message{Role: provider.Assistant}, Time: when, Status: "cut"},
	}
	ids, err := s.Append(t.Context(), "a", want...)
	must(t, err)
	got, err := s.Messages(t.Context(), "a")
	must(t, err)
	if len(got) != len(want) || got[0].Time.IsZero() {
		t.Fatalf("%d messages, the first at %v", len(got), got[0].Time)
	}
	want[0].Time = got[0].Time
	for i := range want {
		want[i].ID, want[i].Active = ids[i], true
	}
	same(t, "messages", got, want)
	if !slices.IsSorted(ids) {
		t.Errorf("ids %v", ids)
	}
	_, err = s.Append(t.Context(), "a", message(provider.Tool, "a\x00b\xffc"))
	must(t, err)
	got, err = s.Messages(t.Context(), "a")
	must(t, err)
	same(t, "a text that is none", got[len(got)-1].Text, "a␀b\ufffdc")
}

func beginChanges(t *testing.T, s store.Store) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	full := store.Session{
		ID: "a", Source: "cli", User: "u", Model: "p/m", Dir: "/d", Title: "A title", Parent: "none-such", Enabled: []string{}, Disabled: []string{"x"},
		Started: start, Ended: start.Add(time.Hour), EndReason: "done",
	}
	begin(t, s, full, store.Session{ID: "a"})
	got, err := s.Find(t.Context(), "a")
	must(t, err)
	full.Active = start
	same(t, "an empty change", got, full)
	begin(t, s, store.Session{ID: "a", Model: "q/n", Enabled: []string{"file"}, Archived: true})
	full.Model, full.Enabled, full.Archived = "q/n", []string{"file"}, true
	got, err = s.Find(t.Context(), "a")
	must(t, err)
	same(t, "a change", got, full)
	say(t, s, "a", "on it goes")
	if got, err = s.Find(t.Context(), "a"); err != nil || !got.Ended.IsZero() || got.EndReason != "" || !got.Active.After(start) {
		t.Errorf("a session that goes on: %+v, %v", got, err)
	}
	if err := s.Begin(t.Context(), store.Session{}); err == nil {
		t.Error("a session without an id was begun")
	}
}

func titles(t *testing.T, s store.Store) {
	begin(t, s, store.Session{ID: "a", Title: "One"}, store.Session{ID: "b"}, store.Session{ID: "c"})
	for _, id := range []string{"b", "d"} {
		if err := s.Begin(t.Context(), store.Session{ID: id, Title: "One"}); !errors.Is(err, store.ErrTitle) {
			t.Errorf("a second title: %v", err)
		}
	}
	if _, err := s.Find(t.Context(), "d"); !errors.Is(err, store.ErrUnknown) {
		t.Errorf("the session whose title was refused: %v", err)
	}
	begin(t, s, store.Session{ID: "a", Title: "One"})
}

func find(t *testing.T, s store.Store) {
	if _, err := s.Find(t.Context(), store.Last); !errors.Is(err, store.ErrUnknown) {
		t.Errorf("the last of none: %v", err)
	}
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	begin(t, s,
		store.Session{ID: "20260101_aa", Title: "build it", Started: at}, store.Session{ID: "20260101_ab", Started: at.Add(time.Hour)},
		store.Session{ID: "20260102_x%", Started: at.Add(2 * time.Hour), Source: "subagent"}, store.Session{ID: "20260103_q", Started: at.Add(3 * time.Hour), Archived: true})
	for ref, want := range map[string]string{
		"20260101_aa": "20260101_aa", "20260101_ab": "20260101_ab", "20260102": "20260102_x%", "build it": "20260101_aa", "last": "20260101_ab", "20260103": "20260103_q",
	} {
		if got, err := s.Find(t.Context(), ref); err != nil || got.ID != want {
			t.Errorf("%q: %q, %v; want %q", ref, got.ID, err, want)
		}
	}
	for ref, want := range map[string]error{
		"2026": store.ErrAmbiguous, "20260101_a": store.ErrAmbiguous, "": store.ErrUnknown, "%": store.ErrUnknown, "build": store.ErrUnknown, "20260101_ac": store.ErrUnknown,
	} {
		_, err := s.Find(t.Context(), ref)
		e, ok := errors.AsType[*store.NotFound](err)
		if !errors.Is(err, want) || !ok || len(e.Near) == 0 {
			t.Errorf("%q: %v, want %v with what is near", ref, err, want)
			continue
		}
		if near := ref == "20260101_ac" || ref == "build"; near && !strings.HasPrefix(e.Near[0], "20260101_a") {
			t.Errorf("%q: nearest are %v", ref, e.Near)
		}
	}
}

func counters(t *testing.T, s store.Store) {
	begin(t, s, store.Session{ID: "a"})
	must(t, s.Count(t.Context(), "a", provider.Usage{Input: 3, Output: 4}, 2))
	must(t, s.Count(t.Context(), "a", provider.Usage{Input: 10, Output: 20}, 0))
	say(t, s, "a", "1", "2", "3")
	begin(t, s, store.Session{ID: "a", Model: "m", Input: 99, Messages: 99})
	got, err := s.Find(t.Context(), "a")
	must(t, err)
	if got.Input != 13 || got.Output != 24 || got.Calls != 2 || got.Messages != 3 {
		t.Errorf("%+v", got)
	}
}

func compaction(t *testing.T, s store.Store) {
	begin(t, s, store.Session{ID: "a"}, store.Session{ID: "b"})
	ids := say(t, s, "a", "1", "2", "3", "4", "5")
	others := say(t, s, "b", "x", "y")
	step := func(through int64, with []string, want ...string) []store.Message {
		t.Helper()
		var ms []store.Message
		for _, text := range with {
			ms = append(ms, message(provider.User, text))
		}
		must(t, s.Compact(t.Context(), "a", through, ms))
		got, err := s.Messages(t.Context(), "a")
		must(t, err)
		same(t, "active messages", texts(got), want)
		return got
	}
	got := step(ids[2], []string{"S1", "S2", "S3"}, "S1", "S2", "S3", "4", "5")
	step(got[1].ID, []string{"T"}, "T", "S3", "4", "5")
	step(ids[3], nil, "5")
	say(t, s, "a", "6")
	step(ids[4], []string{"U"}, "U", "6")
	for through, want := range map[int64]error{ids[0]: store.ErrBusy, ids[4]: store.ErrBusy, others[0]: store.ErrNoMessage, 1 << 40: store.ErrNoMessage} {
		if err := s.Compact(t.Context(), "a", through, nil); !errors.Is(err, want) {
			t.Errorf("through %d: %v, want %v", through, err, want)
		}
	}
	all, err := s.Look(t.Context(), "a", store.View{First: 100})
	must(t, err)
	same(t, "all messages", texts(all.Start), []string{"1", "2", "3", "S1", "S2", "T", "S3", "4", "5", "U", "6"})
	b, err := s.Messages(t.Context(), "b")
	must(t, err)
	same(t, "another session", texts(b), []string{"x", "y"})
	f, err := s.Search(t.Context(), store.Query{Text: "S2"})
	must(t, err)
	if len(f.Hits) != 1 || f.Hits[0].Message.Active { // CTX-4
		t.Errorf("what was replaced is not found: %+v", f)
	}
}

// A message that was amended is read and found as it is now, and no longer as it was; secrets stay out.
func amending(t *testing.T, s store.Store) {
	begin(t, s, store.Session{ID: "a"})
	id := say(t, s, "a", "the long result", "another")[0]
	must(t, s.Amend(t.Context(), "a", id, "a short one with "+Secret))
	ms, err := s.Messages(t.Context(), "a")
	must(t, err)
	same(t, "the messages", texts(ms), []string{"a short one with " + Mark, "another"})
	same(t, "what was", found(t, s, store.Query{Text: "long result"}), "")
	if found(t, s, store.Query{Text: "short one"}) == "" {
		t.Error("the text as it is now isn't found")
	}
	if err := s.Amend(t.Context(), "a", id+1000, "x"); !errors.Is(err, store.ErrNoMessage) {
		t.Errorf("a message that isn't there: %v", err)
	}
}

// Results stand in the order of their calls, whichever came first; one that answers nothing stands at the end.
func results(t *testing.T, s store.Store) {
	begin(t, s, store.Session{ID: "a"})
	say(t, s, "a", "do it")
	_, err := s.Append(t.Context(), "a", store.Message{Message: provider.Message{Role: provider.Assistant, Calls: []provider.Call{{ID: "x"}, {ID: "y"}, {ID: "z"}}}})
	must(t, err)
	for _, id := range []string{"z", "x", "y", "y", "other"} {
		_, err := s.Append(t.Context(), "a", store.Message{Message: provider.Message{Role: provider.Tool, CallID: id, Text: "of " + id}})
		must(t, err)
	}
	say(t, s, "a", "thanks")
	ms, err := s.Messages(t.Context(), "a")
	must(t, err)
	same(t, "the messages", texts(ms), []string{"do it", "", "of x", "of y", "of z", "of y", "of other", "thanks"})
}

func appends(t *testing.T, s store.Store) {
	const sessions, each = 4, 30
	var all sync.WaitGroup
	for n := range sessions {
		id := fmt.Sprint("s", n)
		begin(t, s, store.Session{ID: id})
		all.Go(func() {
			for i := range each {
				if _, err := s.Append(t.Context(), id, message(provider.User, fmt.Sprint(2*i)), message(provider.Assistant, fmt.Sprint(2*i+1))); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	for n := range sessions {
		got, err := s.Messages(t.Context(), fmt.Sprint("s", n))
		must(t, err)
		if len(got) != 2*each {
			t.Fatalf("%d messages", len(got))
		}
		for i := range got {
			if got[i].Text != fmt.Sprint(i) {
				t.Fatalf("message %d is %q", i, got[i].Text)
			}
		}
	}
	if ids, err := s.Append(t.Context(), "s0"); err != nil || len(ids) != 0 {
		t.Errorf("nothing appended: %v, %v", ids, err)
	}
}

func todos(t *testing.T, s store.Store) {
	begin(t, s, store.Session{ID: "a"}, store.Session{ID: "b"})
	want := []store.Todo{{ID: "2", Content: "second", Status: "pending"}, {ID: "1", Content: "first", Status: "completed"}}
	must(t, s.SetTodos(t.Context(), "a", []store.Todo{{ID: "0"}, {ID: "9"}, {ID: "8"}}))
	must(t, s.SetTodos(t.Context(), "a", want))
	got, err := s.Todos(t.Context(), "a")
	must(t, err)
	same(t, "todos", got, want)
	if got, err := s.Todos(t.Context(), "b"); err != nil || len(got) != 0 {
		t.Errorf("another session: %v, %v", got, err)
	}
}

func events(t *testing.T, s store.Store) {
	begin(t, s, store.Session{ID: "a"}, store.Session{ID: "b"})
	for i := range 3 {
		must(t, s.Post(t.Context(), "a", "async_delegation", json.RawMessage(fmt.Sprintf(`{"n":%d}`, i))))
	}
	for range 2 { // reading takes nothing
		got, err := s.Waiting(t.Context(), "a")
		must(t, err)
		if len(got) != 3 || got[0].Kind != "async_delegation" || string(got[1].Data) != `{"n":1}` || got[2].Time.IsZero() {
			t.Fatalf("%+v", got)
		}
	}
	got, err := s.Waiting(t.Context(), "a")
	must(t, err)
	must(t, s.Delivered(t.Context(), "b", got[0].ID))
	must(t, s.Delivered(t.Context(), "a", got[0].ID, got[2].ID))
	left, err := s.Waiting(t.Context(), "a")
	must(t, err)
	same(t, "what waits", left, got[1:2])
}

// STO-8.
func secrets(t *testing.T, s store.Store) {
	begin(t, s, store.Session{ID: "a", Title: "about " + Secret})
	ids, err := s.Append(t.Context(), "a", store.Message{Message: provider.Message{
		Role: provider.Assistant, Text: "it is " + Secret, Reasoning: Secret, Calls: []provider.Call{{ID: "c", Name: "x", Arguments: `{"a":"` + Secret + `"}`}},
		Opaque: &provider.Opaque{Provider: "p", Data: json.RawMessage(`"` + Secret + `"`)},
	}})
	must(t, err)
	must(t, s.SetTodos(t.Context(), "a", []store.Todo{{ID: "1", Content: Secret}}))
	must(t, s.Compact(t.Context(), "a", ids[0], []store.Message{message(provider.User, "summary: "+Secret)}))
	must(t, s.Post(t.Context(), "a", "k", json.RawMessage(`"`+Secret+`"`)))
	session, err := s.Find(t.Context(), "a")
	must(t, err)
	x, err := s.Look(t.Context(), "a", store.View{First: 10})
	must(t, err)
	plan, err := s.Todos(t.Context(), "a")
	must(t, err)
	waiting, err := s.Waiting(t.Context(), "a")
	must(t, err)
	kept, err := json.Marshal([]any{session, x, plan, waiting})
	must(t, err)
	if strings.Contains(string(kept), Secret) || strings.Count(string(kept), Mark) != 7 {
		t.Errorf("kept: %s", kept)
	}
}
