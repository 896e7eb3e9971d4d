package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/internal/store"
	"github.com/hermes-runtime/hermes/provider"
)

func unknown(t *testing.T, s store.Store) {
	ctx := t.Context()
	begin(t, s, store.Session{ID: "near-by"})
	for what, do := range map[string]func() error{
		"append":   func() error { _, err := s.Append(ctx, "near", message(provider.User, "x")); return err },
		"count":    func() error { return s.Count(ctx, "near", provider.Usage{}, 1) },
		"messages": func() error { _, err := s.Messages(ctx, "near"); return err },
		"compact":  func() error { return s.Compact(ctx, "near", 1, nil) },
		"todos":    func() error { return s.SetTodos(ctx, "near", []store.Todo{{ID: "1"}}) },
		"look":     func() error { _, err := s.Look(ctx, "near", store.View{First: 1}); return err },
		"post":     func() error { return s.Post(ctx, "near", "k", json.RawMessage("1")) },
		"delete":   func() error { return s.Delete(ctx, "near") },
	} {
		if err := do(); !errors.Is(err, store.ErrUnknown) {
			t.Errorf("%s: %v", what, err)
		}
	}
	id := say(t, s, "near-by", "x")[0]
	_, err := s.Look(ctx, "near-by", store.View{Anchor: id + 7}) // SRCH-4
	if e, ok := errors.AsType[*store.NotFound](err); !ok || !errors.Is(err, store.ErrNoMessage) || !slices.Equal(e.Near, []string{fmt.Sprint(id)}) {
		t.Errorf("an unknown anchor: %v", err)
	}
}

// CHAT-6.
func claims(t *testing.T, s store.Store) {
	release, err := s.Claim(t.Context(), "a")
	must(t, err)
	if _, err := s.Claim(t.Context(), "a"); !errors.Is(err, store.ErrInUse) {
		t.Errorf("a second claim: %v", err)
	}
	other, err := s.Claim(t.Context(), "b")
	must(t, err)
	release()
	release()
	release, err = s.Claim(t.Context(), "a")
	must(t, err)
	release()
	other()
}

func deletion(t *testing.T, s store.Store) {
	begin(t, s, store.Session{ID: "a", Title: "gone"}, store.Session{ID: "b", Parent: "a"})
	many := make([]string, 120)
	for i := range many {
		many[i] = "word vanished"
	}
	say(t, s, "a", many...)
	say(t, s, "b", "word stays")
	must(t, s.SetTodos(t.Context(), "a", []store.Todo{{ID: "1"}}))
	must(t, s.Delete(t.Context(), "a"))
	if _, err := s.Find(t.Context(), "a"); !errors.Is(err, store.ErrUnknown) {
		t.Errorf("it is still there: %v", err)
	}
	f, err := s.Search(t.Context(), store.Query{Text: "word", Limit: 9})
	must(t, err)
	if len(f.Hits) != 1 || f.Hits[0].Session.ID != "b" || f.Sessions != 1 {
		t.Errorf("found %+v", f)
	}
	begin(t, s, store.Session{ID: "a", Title: "gone"})
	if plan, err := s.Todos(t.Context(), "a"); err != nil || len(plan) != 0 {
		t.Errorf("a session of the same id has the plan %v, %v", plan, err)
	}
}

func listing(t *testing.T, s store.Store) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	day := func(n int) time.Time { return at.AddDate(0, 0, n) }
	begin(t, s,
		store.Session{ID: "a", Started: day(1)}, store.Session{ID: "a2", Parent: "a", Started: day(5)}, store.Session{ID: "a3", Parent: "a2", Source: "subagent", Started: day(7)},
		store.Session{ID: "b", Started: day(2)}, store.Session{ID: "c", Started: day(3), Archived: true}, store.Session{ID: "d", Started: day(4)})
	for i, id := range []string{"a", "b", "d"} {
		m := message(provider.User, "please\n do  "+id+" "+strings.Repeat("x", 200))
		m.Time = day(i + 1)
		no := message(provider.Assistant, "no")
		no.Time = day(1)
		_, err := s.Append(t.Context(), id, no, m)
		must(t, err)
	}
	for _, c := range []struct {
		f    store.Filter
		want string
	}{
		{store.Filter{}, "a3 a2 d b a"},
		{store.Filter{Archived: true, Limit: 4}, "a3 a2 d c"},
		{store.Filter{Lineages: true}, "a3 d b"},
		{store.Filter{Lineages: true, Hidden: []string{"subagent", "tool"}}, "a2 d b"},
		{store.Filter{Lineages: true, Without: "a3"}, "d b"},
		{store.Filter{Without: "no-such"}, "a3 a2 d b a"},
	} {
		got, err := s.List(t.Context(), c.f)
		must(t, err)
		ids := []string{}
		for i := range got {
			ids = append(ids, got[i].ID)
			if got[i].ID == "b" && (!strings.HasPrefix(got[i].Preview, "please do b xxx") || len([]rune(got[i].Preview)) > 81) {
				t.Errorf("the preview is %q", got[i].Preview)
			}
		}
		same(t, fmt.Sprintf("%+v", c.f), strings.Join(ids, " "), c.want)
	}
}

func look(t *testing.T, s store.Store) {
	begin(t, s, store.Session{ID: "a"}, store.Session{ID: "empty"})
	var ms []store.Message
	for i := range 30 {
		role := []provider.Role{provider.User, provider.Assistant, provider.Tool}[i%3]
		ms = append(ms, message(role, fmt.Sprint(i)))
	}
	ids, err := s.Append(t.Context(), "a", ms...)
	must(t, err)
	talk := []provider.Role{provider.User, provider.Assistant}
	for _, c := range []struct {
		v                  store.View
		start, around, end string
		before, after, all int
	}{
		{store.View{First: 2, Last: 2}, "0 1", "", "28 29", 0, 0, 30},
		{store.View{First: 20, Last: 20, Roles: talk}, "0 1 3 4 6 7 9 10 12 13 15 16 18 19 21 22 24 25 27 28", "", "", 0, 0, 20},
		{store.View{First: 15, Last: 10, Roles: talk}, "0 1 3 4 6 7 9 10 12 13 15 16 18 19 21", "", "22 24 25 27 28", 0, 0, 20},
		{store.View{Anchor: ids[10], Sides: 2}, "", "8 9 10 11 12", "", 8, 17, 30},
		{store.View{Anchor: ids[10], Sides: 2, First: 2, Last: 1}, "0 1", "8 9 10 11 12", "29", 8, 17, 30},
		{store.View{Anchor: ids[1], Sides: 3, First: 2, Last: 2, Roles: talk}, "", "0 1 3 4 6", "27 28", 0, 15, 20},
		{store.View{Anchor: ids[2], Sides: 1, First: 3, Roles: talk}, "0", "1 2 3", "", 1, 17, 20},
		{store.View{Anchor: ids[29], Sides: 1, Last: 3}, "", "28 29", "", 28, 0, 30},
		{store.View{Anchor: ids[5]}, "", "5", "", 5, 24, 30},
	} {
		x, err := s.Look(t.Context(), "a", c.v)
		must(t, err)
		join := func(ms []store.Message) string { return strings.Join(texts(ms), " ") }
		if join(x.Start) != c.start || join(x.Around) != c.around || join(x.End) != c.end || x.Before != c.before || x.After != c.after || x.Total != c.all {
			t.Errorf("%+v: %q, %q, %q, %d before, %d after, %d in all", c.v, join(x.Start), join(x.Around), join(x.End), x.Before, x.After, x.Total)
		}
	}
	if x, err := s.Look(t.Context(), "empty", store.View{First: 3, Last: 3}); err != nil || x.Total != 0 || len(x.Start)+len(x.End) != 0 {
		t.Errorf("an empty session: %+v, %v", x, err)
	}
}
