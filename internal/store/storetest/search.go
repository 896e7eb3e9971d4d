package storetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/hermes-runtime/hermes/internal/store"
	"github.com/hermes-runtime/hermes/provider"
)

// passages are texts of which every part must be found.
var passages = []string{
	"The quick brown fox", "日本語のテキストにGoと書く", "한국어 문장과 English를 섞어", "中文里的Latin词", "ไทยไม่มีช่องว่าง", "Ünïcödé ÄÖÜ ßtraße ΣΊΣΥΦΟΣ Ж",
	"internal/store/search.go:42", "x := a[i]*b->c && !d | e", `say "hello" and 'bye'`, "100% of_it \\ done", "AND OR NOT NEAR( foo* -bar col:baz ^x", "🙂🙃 e\u0301",
	"a\tb\nc  d", "--flag=value", "¿qué?", "0x1F", "()", `"`, "''", "\u200bzero\u200dwidth",
}

// SRCH-3: each part of a text finds it, in any order of sorting.
func substrings(t *testing.T, s store.Store) {
	for i, p := range passages {
		id := fmt.Sprint("s", i)
		begin(t, s, store.Session{ID: id})
		say(t, s, id, p)
	}
	begin(t, s, store.Session{ID: "calls"})
	_, err := s.Append(t.Context(), "calls", store.Message{Message: provider.Message{
		Role: provider.Assistant, Calls: []provider.Call{{Name: "terminal", Arguments: `{"command":"grep -rn \"n\u00e4\" .\nls","n":[17,true]}`}, {Name: "broken", Arguments: `{"path":"unfin`}},
	}})
	must(t, err)
	asked := map[string]bool{}
	ask := func(id, text string) {
		if asked[id+text] || strings.TrimSpace(text) == "" {
			return
		}
		asked[id+text] = true
		q := store.Query{Text: text, Limit: 100, Sort: []store.Sort{store.ByRelevance, store.Oldest}[len(asked)%2]}
		f, err := s.Search(t.Context(), q)
		must(t, err)
		if !slices.ContainsFunc(f.Hits, func(h store.Hit) bool { return h.Session.ID == id }) {
			t.Errorf("%q doesn't find it in %s, sorted %q", text, id, q.Sort)
		}
	}
	for i, p := range passages {
		chars := []rune(p)
		for from := 0; from < len(chars); from += stride {
			for _, n := range []int{1, 2, 3, 5, len(chars)} {
				if from+n <= len(chars) {
					ask(fmt.Sprint("s", i), string(chars[from:from+n]))
				}
			}
		}
	}
	for id, texts := range map[string][]string{
		"calls": {"terminal", "grep -rn", `"nä" .`, "ls", "17", "true", "broken", "unfin"},
		"s0":    {"THE QUICK", "QU", "q"}, "s5": {"ÜNÏ", "σ", "ж", "äö"}, // in any case
	} {
		for _, text := range texts {
			ask(id, text)
		}
	}
}

// SRCH-2: no text is an error, and words are searched together.
func anyText(t *testing.T, s store.Store) {
	begin(t, s, store.Session{ID: "a"}, store.Session{ID: "b"})
	say(t, s, "a", "the parser of the shell")
	say(t, s, "b", "a shell, and its parser")
	for text, want := range map[string]string{
		"parser shell": "a b", `"parser of"`: "a", `parser "of the"`: "a", "parser nothing": "", "": "", " \t\n": "", `""`: "", "PARSER": "a b", "parser*": "", "pars": "a b",
		"-parser": "", "content:parser": "", "parser AND shell": "b", "parser OR shell": "", "NOT parser": "", "parser \x00": "", "parser \xff": "",
		`"parser`: "a b", `parser"`: "a b", `"parser of" "the shell"`: "a", "(parser": "", "parser shell parser": "a b", strings.Repeat("parser ", 5000): "a b",
		strings.Repeat("x", 100_000): "", strings.Repeat(`"`, 999): "", "%": "", "_": "", "NEAR(parser shell)": "", "{parser}": "", "^parser": "", "+": "",
	} {
		f, err := s.Search(t.Context(), store.Query{Text: text, Sort: store.Oldest})
		if err != nil {
			t.Errorf("%.40q: %v", text, err)
			continue
		}
		var ids []string
		for i := range f.Hits {
			ids = append(ids, f.Hits[i].Session.ID)
		}
		if got := strings.Join(ids, " "); got != want || f.Sessions != 2 {
			t.Errorf("%.40q finds %q in %d sessions, want %q", text, got, f.Sessions, want)
		}
	}
}

// found gives ids of sessions.
func found(t *testing.T, s store.Store, q store.Query) string {
	t.Helper()
	f, err := s.Search(t.Context(), q)
	must(t, err)
	var ids []string
	for i := range f.Hits {
		ids = append(ids, f.Hits[i].Session.ID)
	}
	return strings.Join(ids, " ")
}

// SRCH-1.
func lineages(t *testing.T, s store.Store) {
	begin(t, s, store.Session{ID: "a"}, store.Session{ID: "b"}, store.Session{ID: "a2", Parent: "a"}, store.Session{ID: "a3", Parent: "a2", Source: "subagent"},
		store.Session{ID: "old", Archived: true})
	for _, id := range []string{"a", "b", "a2", "a3", "old"} {
		for range 10 {
			say(t, s, id, "needle")
		}
	}
	hidden := []string{"subagent", "tool"}
	for _, c := range []struct {
		q    store.Query
		want string
	}{
		{store.Query{Text: "needle", Sort: store.Newest}, "a3 b"},
		{store.Query{Text: "needle", Sort: store.Newest, Hidden: hidden}, "a2 b"},
		{store.Query{Text: "needle", Sort: store.Oldest, Hidden: hidden}, "a b"},
		{store.Query{Text: "needle", Sort: store.Oldest, Limit: 1}, "a"},
		{store.Query{Text: "needle", Without: "a3"}, "b"},
		{store.Query{Text: "needle", Without: "b", Hidden: hidden}, "a2"},
		{store.Query{Text: "ne", Sort: store.Newest, Without: "a", Limit: 9}, "b"},
	} {
		if got := found(t, s, c.q); got != c.want {
			t.Errorf("%+v finds %q, want %q", c.q, got, c.want)
		}
	}
	begin(t, s, store.Session{ID: "b", Parent: "a"}) // a parent that is told later
	if got := found(t, s, store.Query{Text: "needle", Limit: 9}); strings.Contains(got, " ") {
		t.Errorf("one lineage is %q", got)
	}
}

func sorts(t *testing.T, s store.Store) {
	for i, text := range []string{"word " + strings.Repeat("and much else ", 40), "word word word", "word " + strings.Repeat("other things ", 20)} {
		id := fmt.Sprint("s", i)
		begin(t, s, store.Session{ID: id, Started: time.Date(2026, 1, 1+i, 0, 0, 0, 0, time.UTC)})
		say(t, s, id, text)
	}
	for sort, want := range map[store.Sort]string{store.Newest: "s2 s1 s0", store.Oldest: "s0 s1 s2", store.ByRelevance: "s1 s2 s0"} {
		if got := found(t, s, store.Query{Text: "word", Sort: sort}); got != want {
			t.Errorf("%q: %q, want %q", sort, got, want)
		}
	}
}

func roles(t *testing.T, s store.Store) {
	begin(t, s, store.Session{ID: "a"})
	_, err := s.Append(t.Context(), "a", message(provider.Tool, "output text"), message(provider.User, "user text"))
	must(t, err)
	for _, c := range []struct {
		text  string
		roles []provider.Role
		want  string
	}{
		{"output", nil, ""}, {"output", []provider.Role{provider.Tool}, "a"}, {"user", nil, "a"}, {"user", []provider.Role{provider.Assistant, provider.Tool}, ""},
		{"text", []provider.Role{}, ""}, {"ou", nil, ""}, {"ou", []provider.Role{provider.Tool}, "a"},
	} {
		if got := found(t, s, store.Query{Text: c.text, Roles: c.roles}); got != c.want {
			t.Errorf("%q among %v: %q", c.text, c.roles, got)
		}
	}
}

// SRCH-5.
func snippets(t *testing.T, s store.Store) {
	for _, c := range []struct{ text, query, want string }{
		{"find the Needle here", "needle", "find the >>>Needle<<< here"},
		{"one two three", "three one", ">>>one<<< two >>>three<<<"},
		{"日本語テキスト", "語", "日本>>>語<<<テキスト"},
		{"a\n\nline\tbreak", "break", "a line >>>break<<<"},
		{"overlaps", "over erla", ">>>overla<<<ps"},
		{"x>>>y", "y", "x>>>>>>y<<<"},
		{"Straße", "STRAẞE", ">>>Straße<<<"},
	} {
		id := fmt.Sprint(c.text, c.query)
		begin(t, s, store.Session{ID: id})
		say(t, s, id, c.text)
		f, err := s.Search(t.Context(), store.Query{Text: c.query, Sort: store.Newest})
		must(t, err)
		if len(f.Hits) == 0 || f.Hits[0].Snippet != c.want {
			t.Errorf("%q in %q: %+v, want %q", c.query, c.text, f.Hits, c.want)
		}
	}
	begin(t, s, store.Session{ID: "long"})
	say(t, s, "long", strings.Repeat("läng ", 400)+"treasure"+strings.Repeat(" lång", 400))
	f, err := s.Search(t.Context(), store.Query{Text: "treasure"})
	must(t, err)
	if got := f.Hits[0].Snippet; !strings.Contains(got, ">>>treasure<<<") || utf8.RuneCountInString(got) > 260 || !strings.HasPrefix(got, "…") || !strings.HasSuffix(got, "…") {
		t.Errorf("the snippet of a long text: %q", got)
	}
	begin(t, s, store.Session{ID: "call"})
	_, err = s.Append(t.Context(), "call", store.Message{Message: provider.Message{Role: provider.Assistant, Text: "I look", Calls: []provider.Call{{Name: "terminal", Arguments: `{"command":"unusual"}`}}}})
	must(t, err)
	if f, err = s.Search(t.Context(), store.Query{Text: "unusual"}); err != nil || f.Hits[0].Snippet != "terminal command >>>unusual<<<" {
		t.Errorf("the snippet of a call: %+v, %v", f, err)
	}
}
