package contact_test

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine/contact"
	"github.com/hermes-runtime/hermes/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// link is a contact that a test ends, and that counts.
type link struct {
	environment.FS
	number int
	ran    []environment.Command
	fails  error // what an operation gives from now on, at which contact is over
	over   chan struct{}
	news   chan struct{} // closed when there is some
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

var _ environment.Keeper = full{} // else the places made of it have no jobs

func (full) Environ(context.Context, *environment.State) (map[string]string, error) {
	return map[string]string{"THERE": "1", "OVER": "there"}, nil
}
func (full) Search(context.Context, environment.Query) (environment.Matches, error) {
	return environment.Matches{Total: 1}, nil
}

func (f full) Start(context.Context, environment.Job) (environment.Process, error) {
	return job{link: f.link}, nil
}
func (f full) Attach(context.Context, string) (environment.Process, error) {
	return job{link: f.link}, nil
}
func (full) Jobs(context.Context) ([]environment.JobInfo, error) {
	return make([]environment.JobInfo, 1), nil
}
func (f full) Adopt(context.Context, environment.Leftover) (environment.Process, error) {
	return job{link: f.link}, nil
}
func (full) Forget(context.Context, string) error { return nil }
func (full) Taken(context.Context, string) error  { return nil }
func (f full) Events(ctx context.Context, _ map[string]string) ([]environment.JobEvent, error) {
	select {
	case <-f.news:
		return make([]environment.JobEvent, 1), nil
	case <-f.over:
		return nil, &environment.Error{Kind: environment.ErrLost, Op: "wait for news"}
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// job is one over a contact.
type job struct {
	environment.Process
	link *link
}

func (j job) Info(context.Context, int) (environment.JobInfo, error) {
	return environment.JobInfo{ID: "proc_1"}, nil
}

func (j job) Wait(context.Context) error {
	if j.link.fails != nil {
		j.link.end()
	}
	return j.link.fails
}
func (j job) Kill(ctx context.Context, _ string) ([]environment.ProcessRef, error) {
	return nil, j.Wait(ctx)
}

// lab makes contacts.
type lab struct {
	links    []*link
	dials    []contact.Dialing
	fails    error
	asleep   bool // until somebody acts
	anew     bool
	plain    bool
	released int
	news     chan struct{}
	vars     func() map[string]string
}

func (l *lab) dial(_ context.Context, d contact.Dialing) (contact.Link, bool, error) {
	l.dials = append(l.dials, d)
	switch {
	case l.fails != nil:
		return nil, false, l.fails
	case l.asleep && d.Look:
		return nil, false, contact.ErrAsleep
	}
	l.asleep = false
	k := &link{number: d.Number, news: l.news, over: make(chan struct{})}
	l.links = append(l.links, k)
	if l.plain {
		return k, l.anew, nil
	}
	return full{k}, l.anew, nil
}

func (l *lab) open(t *testing.T) environment.Environment {
	t.Helper()
	e, err := contact.Open(t.Context(), contact.Options{
		What: "the lab", Dial: l.dial, Variables: l.vars, Release: func(context.Context) error { l.released++; return nil },
	})
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
	l.fails = errors.New("no route")
	if _, err := e.Files().Stat(t.Context(), "/x"); !errors.Is(err, environment.ErrUnavailable) || !strings.Contains(err.Error(), "no route") || !strings.Contains(err.Error(), "the lab") {
		t.Errorf("%v", err)
	}
	if isGone(e) {
		t.Error("it counts as gone")
	}
	l.fails = nil
	if _, err := e.Run(t.Context(), environment.Command{Script: "true"}); err != nil {
		t.Errorf("once it can be reached: %v", err)
	}
}

func isGone(e environment.Environment) bool { return e.(interface{ Gone() bool }).Gone() }

// CON-2, MGR-6: a place that was removed is told by every operation and is looked for no more.
func TestContact_GoneIsGone(t *testing.T) {
	l := &lab{}
	e := l.open(t)
	l.links[0].end()
	l.fails = &environment.Error{Kind: environment.ErrGone, Op: "look for it"}
	for range 2 {
		_, err := e.Run(t.Context(), environment.Command{Script: "true"})
		if !errors.Is(err, environment.ErrNotStarted) || !errors.Is(err, environment.ErrGone) || !strings.Contains(err.Error(), "the lab") {
			t.Errorf("%v", err)
		}
		l.fails = nil
	}
	if !isGone(e) || len(l.dials) != 2 {
		t.Errorf("gone %v, %d attempts", isGone(e), len(l.dials))
	}
	if list, err := e.(environment.Keeper).Jobs(t.Context()); err != nil || len(list) > 0 {
		t.Errorf("it has jobs: %v, %v", list, err)
	}
}

// Who waits for news doesn't set a place going, and hears of it when somebody else does.
func TestContact_NewsIsWaitedForAsleep(t *testing.T) {
	l := &lab{news: make(chan struct{})}
	e := l.open(t)
	l.links[0].end()
	l.asleep = true
	type answer struct {
		events []environment.JobEvent
		err    error
	}
	told := make(chan answer, 1)
	go func() {
		events, err := e.(environment.Keeper).Events(t.Context(), nil)
		told <- answer{events, err}
	}()
	if _, err := e.Run(t.Context(), environment.Command{Script: "true"}); err != nil {
		t.Fatal(err)
	}
	close(l.news)
	if a := <-told; a.err != nil || len(a.events) != 1 {
		t.Errorf("%+v", a)
	}
	ctx, cancel := context.WithCancel(t.Context())
	l.links[1].end()
	l.news = make(chan struct{})
	go func() {
		_, err := e.(environment.Keeper).Events(ctx, nil)
		told <- answer{err: err}
	}()
	cancel()
	if a := <-told; a.err == nil {
		t.Errorf("%+v", a)
	}
	if _, err := e.(environment.Keeper).Jobs(t.Context()); err != nil {
		t.Error(err)
	}
	go func() {
		_, err := e.(environment.Keeper).Events(t.Context(), nil)
		told <- answer{err: err}
	}()
	if err := e.Close(t.Context()); err != nil {
		t.Error(err)
	}
	l.links[2].end()
	if a := <-told; !errors.Is(a.err, environment.ErrUnavailable) {
		t.Errorf("%+v", a)
	}
}

// RMT-1: what waits for the end of a job goes on over the next contact; what acts doesn't.
func TestContact_WaitingGoesOnOverTheNextContact(t *testing.T) {
	l := &lab{}
	e := l.open(t)
	p, err := e.(environment.Starter).Start(t.Context(), environment.Job{Command: environment.Command{Script: "true"}})
	if err != nil {
		t.Fatal(err)
	}
	l.links[0].fails = &environment.Error{Kind: environment.ErrLost, Op: "wait"}
	if err := p.Wait(t.Context()); err != nil || len(l.links) != 2 {
		t.Errorf("%v, %d contacts", err, len(l.links))
	}
	l.links[1].fails = &environment.Error{Kind: environment.ErrLost, Op: "kill"}
	if _, err := p.Kill(t.Context(), "test"); !errors.Is(err, environment.ErrLost) || len(l.links) != 2 {
		t.Errorf("%v, %d contacts", err, len(l.links))
	}
}

// CON-9: a place that was closed makes no contact any more.
func TestContact_ClosedIsClosed(t *testing.T) {
	l := &lab{}
	e := l.open(t)
	for range 2 {
		if err := e.Close(t.Context()); err != nil || l.released != 1 {
			t.Fatal(err, l.released)
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
	if _, ok := (&lab{plain: true}).open(t).(environment.Starter); ok {
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
