package cloud_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/cloud"
	"github.com/hermes-runtime/hermes/internal/leaktest"
)

// userRole makes this program a process that uses a place until it is killed: the value is the HERMES_HOME.
const userRole = "HERMES_TEST_CLOUD_USER"

func TestMain(m *testing.M) {
	if home := os.Getenv(userRole); home != "" {
		l, err := cloud.OpenLedger(home, "me")
		if err == nil {
			r := place(os.Getenv(userRole+"_NAME"), os.Getenv(userRole+"_KEPT") != "")
			r.ID = os.Getenv(userRole + "_ID")
			_, err = l.Enter(context.Background(), r, 0)
		}
		fmt.Println(err)
		select {}
	}
	leaktest.Main(m)
}

func place(name string, kept bool) cloud.Record {
	return cloud.Record{Backend: "lab", Name: name, At: "https://lab.example", Account: "a", Task: "t", Idle: 900, Lifetime: 3600, Kept: kept}
}

var lab = cloud.Sweeping{Backend: "lab", At: "https://lab.example", Account: "a"}

func ledger(t *testing.T) (*cloud.Ledger, string) {
	t.Helper()
	home := t.TempDir()
	l, err := cloud.OpenLedger(home, "me")
	if err != nil {
		t.Fatal(err)
	}
	return l, home
}

func enter(t *testing.T, l *cloud.Ledger, r cloud.Record) *cloud.Use {
	t.Helper()
	u, err := l.Enter(t.Context(), r, 0)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func list(t *testing.T, l *cloud.Ledger) []cloud.Record {
	t.Helper()
	all, err := l.List()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// ends counts what is asked to end.
type ends struct {
	mu    sync.Mutex
	names []string
	fails error
}

func (e *ends) end(_ context.Context, r cloud.Record) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.names = append(e.names, r.Name)
	return e.fails
}

// dead has a process of its own use a place, and kills it: one whose name begins with unseen before it knows that the place was made.
func dead(t *testing.T, home, name, kept string) {
	t.Helper()
	id := "id-" + name
	if strings.HasPrefix(name, "unseen") {
		id = ""
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), userRole+"="+home, userRole+"_NAME="+name, userRole+"_KEPT="+kept, userRole+"_ID="+id)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "<nil>\n" {
		t.Errorf("it can't use the place: %q, %v", line, err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

func TestLedger_APlaceIsRecordedFromBeforeItIsMadeUntilItIsGone(t *testing.T) { // CLD-1
	l, _ := ledger(t)
	u := enter(t, l, place("one", false))
	if all := list(t, l); len(all) != 1 || all[0].ID != "" || all[0].Owner != "me" || all[0].Created.IsZero() {
		t.Fatalf("before it is made: %+v", all)
	}
	if err := u.Made(t.Context(), "id-1"); err != nil {
		t.Fatal(err)
	}
	if all := list(t, l); all[0].ID != "id-1" {
		t.Errorf("%+v", all)
	}
	e := &ends{fails: errors.New("no answer")}
	if err := u.Leave(t.Context(), e.end); err == nil || len(list(t, l)) != 1 {
		t.Errorf("it couldn't be ended and is recorded no more: %v", err)
	}
	e.fails = nil
	s := lab
	s.End = e.end
	if ended, errs := l.Sweep(t.Context(), s); len(ended) != 1 || len(errs) > 0 || len(list(t, l)) != 0 {
		t.Errorf("the next sweep: %v, %v, %v", ended, errs, list(t, l))
	}
}

func TestLedger_TheLastUserEndsAPlaceThatIsShared(t *testing.T) { // CLD-1
	l, _ := ledger(t)
	e := &ends{}
	one, two := enter(t, l, place("kept", true)), enter(t, l, place("kept", true))
	if err := one.Leave(t.Context(), e.end); err != nil || len(e.names) != 0 {
		t.Errorf("somebody uses it still: %v, ended %v", err, e.names)
	}
	if err := two.Leave(t.Context(), e.end); err != nil || len(e.names) != 1 {
		t.Errorf("%v, ended %v", err, e.names)
	}
	if all := list(t, l); len(all) != 1 || all[0].Stopped.IsZero() || len(all[0].Uses) != 0 {
		t.Errorf("a place that is kept stays recorded as stopped: %+v", all)
	}
	again := enter(t, l, place("kept", true))
	if all := list(t, l); len(all) != 1 || !all[0].Stopped.IsZero() {
		t.Errorf("used again: %+v", all)
	}
	if err := again.Throw(t.Context(), e.end); err != nil || len(list(t, l)) != 0 {
		t.Errorf("thrown away: %v, %v", err, list(t, l))
	}
}

func TestLedger_PlacesOfDeadUsersAreEnded(t *testing.T) { // CLD-3
	l, home := ledger(t)
	dead(t, home, "left", "")
	dead(t, home, "left-kept", "yes")
	alive := enter(t, l, place("alive", false))
	other := place("other-account", false)
	other.Account = "b"
	gone := enter(t, l, other)
	defer func() { _ = gone.Gone(context.Background()) }()
	e := &ends{}
	s := lab
	s.End = e.end
	ended, errs := l.Sweep(t.Context(), s)
	if len(ended) != 2 || len(errs) > 0 || !slices.Contains(e.names, "left") || !slices.Contains(e.names, "left-kept") {
		t.Fatalf("ended %v, %v", e.names, errs)
	}
	var names []string
	for _, r := range list(t, l) {
		names = append(names, r.Name)
		if r.Name == "left-kept" && r.Stopped.IsZero() {
			t.Error("a place that is kept isn't recorded as stopped")
		}
	}
	if slices.Contains(names, "left") || !slices.Contains(names, "alive") || !slices.Contains(names, "left-kept") {
		t.Errorf("recorded: %v", names)
	}
	if ended, _ := l.Sweep(t.Context(), s); len(ended) > 0 {
		t.Errorf("ended twice: %v", ended)
	}
	if err := alive.Leave(t.Context(), e.end); err != nil {
		t.Error(err)
	}
}

func TestLedger_OneThatCannotBeEndedStopsNothing(t *testing.T) { // CLD-3
	l, home := ledger(t)
	dead(t, home, "stubborn", "")
	dead(t, home, "easy", "")
	s := lab
	s.End = func(_ context.Context, r cloud.Record) error {
		if r.Name == "stubborn" {
			return errors.New("the cloud is ill")
		}
		return &environment.Error{Kind: environment.ErrGone, Op: "end it"} // it ended by itself
	}
	ended, errs := l.Sweep(t.Context(), s)
	if len(ended) != 1 || len(errs) != 1 || !strings.Contains(errs[0].Error(), "stubborn") {
		t.Errorf("ended %v, %v", ended, errs)
	}
	if all := list(t, l); len(all) != 1 || all[0].Name != "stubborn" {
		t.Errorf("recorded: %v", all)
	}
}

func TestLedger_OneThatMayStillBeMadeStaysForTheNextSweep(t *testing.T) { // CLD-1, CLD-3: a request is heard after its sender is dead
	l, home := ledger(t)
	dead(t, home, "unseen", "")
	dead(t, home, "seen", "")
	e := &ends{fails: &environment.Error{Kind: environment.ErrGone, Op: "end it", Err: errors.New("there is none")}}
	lab := lab
	lab.End = e.end
	if _, errs := l.Sweep(t.Context(), lab); len(errs) > 0 {
		t.Error(errs)
	}
	if all := list(t, l); len(all) != 1 || all[0].Name != "unseen" {
		t.Errorf("%+v", all)
	}
	e.fails = nil // it is there by now
	if _, errs := l.Sweep(t.Context(), lab); len(errs) > 0 || len(list(t, l)) > 0 {
		t.Errorf("%v, %+v", errs, list(t, l))
	}
}

func TestLedger_OthersAreListedAndLeftAlone(t *testing.T) { // CLD-3
	l, home := ledger(t)
	elsewhere, err := cloud.OpenLedger(home, "another machine")
	if err != nil {
		t.Fatal(err)
	}
	u, err := elsewhere.Enter(t.Context(), place("theirs", false), 0)
	if err != nil {
		t.Fatal(err)
	}
	_ = u.Leave(t.Context(), func(context.Context, cloud.Record) error { return errors.New("can't") })
	e := &ends{}
	s := lab
	s.End = e.end
	if ended, errs := l.Sweep(t.Context(), s); len(ended)+len(errs)+len(e.names) > 0 {
		t.Errorf("%v, %v", ended, errs)
	}
	lines := strings.Join(l.Lines(lab, "delete it by hand"), "\n")
	if !strings.Contains(lines, "theirs") || !strings.Contains(lines, "delete it by hand") || !strings.Contains(lines, "minutes") {
		t.Errorf("%s", lines)
	}
}

func TestLedger_MoreThanAllowedIsRefused(t *testing.T) { // CLD-3
	l, _ := ledger(t)
	e := &ends{}
	one, err := l.Enter(t.Context(), place("one", true), 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Enter(t.Context(), place("one", true), 1); err != nil {
		t.Errorf("the same place once more: %v", err)
	}
	_, err = l.Enter(t.Context(), place("two", false), 1)
	if !errors.Is(err, environment.ErrUnavailable) || !strings.Contains(err.Error(), "max_sandboxes") || !strings.Contains(err.Error(), "one") {
		t.Errorf("%v", err)
	}
	if all := list(t, l); len(all) != 1 {
		t.Errorf("a place that was refused is recorded: %v", all)
	}
	if err := one.Throw(t.Context(), e.end); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Enter(t.Context(), place("two", false), 1); err != nil {
		t.Errorf("after the end of the first: %v", err)
	}
}

func TestLedger_ManyAtOnceLoseNothing(t *testing.T) {
	l, _ := ledger(t)
	e := &ends{}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			u, err := l.Enter(t.Context(), place(fmt.Sprint("p", i%2), true), 0)
			if err != nil {
				t.Error(err)
				return
			}
			if err := u.Leave(t.Context(), e.end); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, r := range list(t, l) {
		if r.Stopped.IsZero() || len(r.Uses) > 0 {
			t.Errorf("nobody uses it, and it wasn't stopped: %+v", r)
		}
	}
}

func TestLedger_WhatItCannotReadStays(t *testing.T) {
	l, _ := ledger(t)
	if err := os.WriteFile(l.Path(), []byte("{half a line\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	u := enter(t, l, place("one", false))
	if lines := l.Lines(lab, "x"); len(lines) != 2 || !strings.Contains(lines[0], "can't be read: 1") {
		t.Errorf("doctor says %q", lines)
	}
	if err := u.Gone(t.Context()); err != nil {
		t.Error(err)
	}
	if b, err := os.ReadFile(l.Path()); err != nil || string(b) != "{half a line\n" {
		t.Errorf("%q, %v", b, err)
	}
}

func TestLedger_OneMakesAndTheOtherWaits(t *testing.T) {
	l, _ := ledger(t)
	release, err := l.Alone(t.Context(), "p")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeoutCause(t.Context(), 30*time.Millisecond, errors.New("time is up"))
	defer cancel()
	if _, err := l.Alone(ctx, "p"); err == nil || !strings.Contains(err.Error(), "time is up") {
		t.Errorf("%v", err)
	}
	release()
	again, err := l.Alone(t.Context(), "p")
	if err != nil {
		t.Fatal(err)
	}
	again()
}

func TestSnapshots_AReferenceIsReplacedByAGoodOneOnly(t *testing.T) { // CLD-6
	s := cloud.OpenSnapshots(t.TempDir(), "lab_snapshots.json")
	if ref, err := s.Get("k"); ref != "" || err != nil {
		t.Errorf("%q, %v", ref, err)
	}
	if old, err := s.Put(t.Context(), "k", "one"); old != "" || err != nil {
		t.Errorf("%q, %v", old, err)
	}
	if old, err := s.Put(t.Context(), "k", "two"); old != "one" || err != nil {
		t.Errorf("what may be deleted is %q, %v", old, err)
	}
	if err := s.Drop(t.Context(), "k", "one"); err != nil {
		t.Error(err)
	}
	if ref, _ := s.Get("k"); ref != "two" {
		t.Errorf("another one was forgotten: %q", ref)
	}
	if err := s.Drop(t.Context(), "k", "two"); err != nil {
		t.Error(err)
	}
	if ref, _ := s.Get("k"); ref != "" {
		t.Errorf("%q", ref)
	}
}
