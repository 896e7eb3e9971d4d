package contact_test

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine/contact"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// link is a contact that a test ends, and that counts.
type link struct {
	environment.FS
	number int
	ran    []environment.Command
	fails  error // what an operation gives from now on, at which contact is over
	over   chan struct{}
	shut   int
}

func (l *link) Done() <-chan struct{} { return l.over }
func (l *link) Info() environment.Info {
	return environment.Info{Backend: "lab", Notes: []string{strings.Repeat("i", l.number+1)}}
}
func (l *link) Files() environment.FS       { return l }
func (l *link) Close(context.Context) error { l.shut++; return nil }
func (l *link) end() {
	select {
	case <-l.over:
	default:
		close(l.over)
	}
}

func (l *link) Run(_ context.Context, c environment.Command) (environment.Result, error) {
	l.ran = append(l.ran, c)
	if l.fails != nil {
		l.end()
	}
	return environment.Result{}, l.fails
}

func (l *link) Remove(context.Context, environment.Path) error { return fs.ErrNotExist }

// full is a contact with an engine at its end.
type full struct{ *link }

func (full) Environ(context.Context, *environment.State) (map[string]string, error) {
	return map[string]string{"THERE": "1", "OVER": "there"}, nil
}
func (full) Search(context.Context, environment.Query) (environment.Matches, error) {
	return environment.Matches{Total: 1}, nil
}

// lab makes contacts.
type lab struct {
	links []*link
	fails error
	anew  bool
	plain bool
	vars  func() map[string]string
}

func (l *lab) dial(_ context.Context, number int) (contact.Link, bool, error) {
	if l.fails != nil {
		return nil, false, l.fails
	}
	k := &link{number: number, over: make(chan struct{})}
	l.links = append(l.links, k)
	if l.plain {
		return k, l.anew, nil
	}
	return full{k}, l.anew, nil
}

func (l *lab) open(t *testing.T) environment.Environment {
	t.Helper()
	e, err := contact.Open(t.Context(), contact.Options{What: "the lab", Dial: l.dial, Variables: l.vars})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close(context.Background()) })
	return e
}

// CON-3: what provably didn't begin is done again over a new contact, once; nothing else is.
func TestContact_OnlyWhatDidNotBeginIsDoneAgain(t *testing.T) {
	for name, c := range map[string]struct {
		fails error
		links int
	}{
		"lost":        {environment.ErrLost, 1},
		"not started": {environment.ErrNotStarted, 2},
		"unavailable": {environment.ErrUnavailable, 2},
		"gone":        {environment.ErrGone, 1},
	} {
		t.Run(name, func(t *testing.T) {
			l := &lab{}
			e := l.open(t)
			l.links[0].fails = &environment.Error{Kind: c.fails, Op: "run it"}
			_, err := e.Run(t.Context(), environment.Command{Script: "true"})
			if len(l.links) != c.links || (c.links == 1) != errors.Is(err, c.fails) || c.links == 2 && err != nil {
				t.Errorf("%d contacts, %v", len(l.links), err)
			}
			if _, err := e.Run(t.Context(), environment.Command{Script: "true"}); err != nil || len(l.links) != 2 || l.links[0].shut != 1 {
				t.Errorf("the next one: %d contacts, the first closed %d times, %v", len(l.links), l.links[0].shut, err)
			}
			if e.Info().Notes[0] != "ii" {
				t.Errorf("what is known is that of the former contact: %v", e.Info())
			}
		})
	}
}

// CON-2: without contact nothing has started, and why there is none is told.
func TestContact_WithoutContactNothingStarts(t *testing.T) {
	l := &lab{}
	e := l.open(t)
	l.links[0].end()
	l.fails = &environment.Error{Kind: environment.ErrGone, Op: "look for it"}
	_, err := e.Run(t.Context(), environment.Command{Script: "true"})
	if !errors.Is(err, environment.ErrNotStarted) || !errors.Is(err, environment.ErrGone) || !strings.Contains(err.Error(), "the lab") {
		t.Errorf("%v", err)
	}
	l.fails = errors.New("no route")
	if _, err := e.Files().Stat(t.Context(), "/x"); !errors.Is(err, environment.ErrUnavailable) || !strings.Contains(err.Error(), "no route") {
		t.Errorf("%v", err)
	}
}

// CON-9: a place that was closed makes no contact any more.
func TestContact_ClosedIsClosed(t *testing.T) {
	l := &lab{}
	e := l.open(t)
	for range 2 {
		if err := e.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	l.links[0].end()
	if _, err := e.Run(t.Context(), environment.Command{Script: "true"}); !errors.Is(err, environment.ErrUnavailable) || len(l.links) != 1 || l.links[0].shut != 1 {
		t.Errorf("%v, %d contacts", err, len(l.links))
	}
}

// MGR-6: that what was in the place is gone is said once.
func TestContact_APlaceThatWasMadeAnewSaysSoOnce(t *testing.T) {
	l := &lab{anew: true}
	e := l.open(t)
	for i, want := range []bool{true, false} {
		if res, err := e.Run(t.Context(), environment.Command{Script: "true"}); err != nil || res.Recreated != want {
			t.Errorf("command %d: %v, %v", i, res.Recreated, err)
		}
	}
}

// The abilities of a place are those of its contacts, and a guard that can't be kept is no guard.
func TestContact_AbilitiesAreThoseOfTheContact(t *testing.T) {
	e := (&lab{plain: true}).open(t)
	if _, ok := e.(environment.Searcher); ok {
		t.Error("it can search")
	}
	err := e.Files().(environment.Guarder).Guarded(func(environment.Path, *environment.FileInfo, environment.Operation) error { return nil }).Remove(t.Context(), "/x")
	if !errors.Is(err, environment.ErrUnsupported) {
		t.Errorf("%v, want a refusal", err)
	}
	e = (&lab{}).open(t)
	if m, err := e.(environment.Searcher).Search(t.Context(), environment.Query{}); err != nil || m.Total != 1 {
		t.Errorf("%+v, %v", m, err)
	}
	if _, ok := e.(environment.Starter); ok {
		t.Error("it starts jobs that its contacts can't")
	}
}

// ENG-12: variables go with each command, under those that the session or the command sets.
func TestContact_VariablesGoWithEachCommand(t *testing.T) {
	l := &lab{vars: func() map[string]string { return map[string]string{"A": "a", "OVER": "here", "SET": "x"} }}
	e := l.open(t)
	st := environment.NewState("/")
	mine := "mine"
	st.Merge(environment.Snapshot{}, environment.Snapshot{Vars: map[string]*string{"SET": &mine}})
	if _, err := e.Run(t.Context(), environment.Command{Script: "true", State: st, Env: map[string]string{"OVER": "once"}}); err != nil {
		t.Fatal(err)
	}
	got := l.links[0].ran[0].Env
	if len(got) != 2 || got["A"] != "a" || got["OVER"] != "once" {
		t.Errorf("the command has %q", got)
	}
	if v, err := e.(environment.Environer).Environ(t.Context(), nil); err != nil || v["OVER"] != "here" || v["THERE"] != "1" {
		t.Errorf("%q, %v", v, err)
	}
}
