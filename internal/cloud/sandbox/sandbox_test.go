//go:build linux

package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/cloud"
	"github.com/hermes-runtime/hermes/internal/cloud/sandbox"
)

func TestOpen_ManyAtOnceShareTheOneThatIsKeptAndNoOther(t *testing.T) { // CLD-1, MGR-3
	for _, kept := range []bool{true, false} {
		t.Run(fmt.Sprint("kept ", kept), func(t *testing.T) {
			l := newLab(t)
			l.o.Kept = kept
			const n = 6
			for range 2 { // the second time it is there already, or made again
				places := make([]environment.Environment, n)
				var work sync.WaitGroup
				for i := range places {
					work.Go(func() {
						e, err := l.try(t)
						if err != nil {
							t.Error(err)
							return
						}
						places[i] = e
					})
				}
				work.Wait()
				want := map[bool]int{true: 1, false: n}[kept]
				if _, there, running := l.counts(); there != want || running != want {
					t.Errorf("%d there, %d running, want %d", there, running, want)
				}
				for _, e := range places {
					if e != nil {
						work.Go(func() { shut(t, e) })
					}
				}
				work.Wait()
			}
			if kept {
				l.is(t, 1, 1, 0)
			} else {
				l.is(t, 2*n, 0, 0)
			}
			if kept && len(l.ended) != 2 {
				t.Errorf("it was stopped %d times, want once by the last of each round", len(l.ended))
			}
		})
	}
}

func TestOpen_OneComesWhileTheLastGoes(t *testing.T) { // CLD-1: whoever comes has one that runs
	l := newLab(t)
	l.o.Kept = true
	e := l.open(t)
	for range 20 {
		var work sync.WaitGroup
		work.Go(func() { shut(t, e) })
		next := l.open(t)
		work.Wait()
		if _, _, running := l.counts(); running != 1 {
			t.Fatal("it was stopped under somebody who uses it")
		}
		e = next
	}
	shut(t, e)
	l.is(t, 1, 1, 0)
}

func TestOpen_NoMoreRunThanAreAllowedHoweverManyAskAtOnce(t *testing.T) { // CLD-3
	l := newLab(t)
	l.o.Max = 2
	var mu sync.Mutex
	var places []environment.Environment
	var work sync.WaitGroup
	for range 8 {
		work.Go(func() {
			e, err := l.try(t)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				places = append(places, e)
			case !errors.Is(err, environment.ErrUnavailable) || !strings.Contains(err.Error(), "max_sandboxes"):
				t.Error(err)
			}
		})
	}
	work.Wait()
	if len(places) != 2 {
		t.Errorf("%d run", len(places))
	}
	l.is(t, 2, 2, 2)
	for _, e := range places {
		shut(t, e)
	}
	l.is(t, 2, 0, 0)
}

func TestOpen_ThatFailsLeavesNothing(t *testing.T) { // CLD-1
	why := errors.New("no luck")
	for _, row := range []struct {
		name    string
		set     func(l *lab)
		removes bool
		late    bool
	}{
		{"refused", func(l *lab) { l.onMake = func(sandbox.Order) (bool, error) { return false, why } }, false, false},
		{"in doubt, and there is none", func(l *lab) { l.onMake = func(sandbox.Order) (bool, error) { return true, why } }, true, true},
		{"in doubt, and there is one", func(l *lab) {
			l.onMake = func(o sandbox.Order) (bool, error) {
				l.boxes[o.Name] = sandbox.Box{ID: "x", Name: o.Name, Use: o.Use, State: sandbox.Ready}
				return true, why
			}
		}, true, false},
		{"made, and it doesn't start", func(l *lab) { l.onUp = func(sandbox.Box) (bool, error) { return false, why } }, true, false},
	} {
		for _, kept := range []bool{true, false} {
			t.Run(fmt.Sprint(row.name, ", kept ", kept), func(t *testing.T) {
				l := newLab(t)
				l.o.Kept = kept
				row.set(l)
				if _, err := l.try(t); !errors.Is(err, environment.ErrUnavailable) || !errors.Is(err, why) {
					t.Errorf("%v", err)
				}
				if row.late { // it may still come
					if all, err := l.ledger(t).List(); err != nil || len(all) != 1 || all[0].ID != "" {
						t.Errorf("%+v, %v", all, err)
					}
					l.onMake = nil
					if !kept { // it comes under its name, and the next start ends it
						l.boxes[l.removed[0]] = sandbox.Box{ID: "late", Name: l.removed[0], State: sandbox.Ready}
						shut(t, l.open(t))
						l.is(t, 1, 0, 0)
					}
					return
				}
				l.is(t, l.made, 0, 0)
				if len(l.removed) > 0 != row.removes {
					t.Errorf("removed %q", l.removed)
				}
			})
		}
	}
}

func TestOpen_WhatCannotBeRemovedIsEndedByTheNext(t *testing.T) { // CLD-3
	l := newLab(t)
	l.onUp = func(sandbox.Box) (bool, error) { return false, errors.New("no luck") }
	l.onRemove = func(cloud.Record) error { return errors.New("not now") }
	if _, err := l.try(t); err == nil {
		t.Error("it opened")
	}
	l.is(t, 1, 1, 1)
	l.onUp, l.onRemove = nil, nil
	shut(t, l.open(t))
	l.is(t, 2, 0, 0)
}

func TestOpen_CalledOffWhileItStartsLeavesNothing(t *testing.T) { // close while opening
	l := newLab(t)
	l.block = make(chan struct{})
	ctx, cancel := context.WithCancelCause(t.Context())
	l.onMake = func(sandbox.Order) (bool, error) { cancel(errors.New("the user stopped it")); return false, nil }
	if _, err := sandbox.Open(ctx, l.o); err == nil || !strings.Contains(err.Error(), "the user stopped it") {
		t.Errorf("%v", err)
	}
	l.is(t, 1, 0, 0)
}

func TestOpen_WithoutALedgerMakesNothing(t *testing.T) { // CLD-1
	l := newLab(t)
	l.spoilLedger(t)
	if _, err := l.try(t); !errors.Is(err, environment.ErrUnavailable) || !strings.Contains(err.Error(), "ledger") {
		t.Errorf("%v", err)
	}
	if made, _, _ := l.counts(); made != 0 {
		t.Errorf("%d made", made)
	}
}

func TestClose_EndsTheSandboxWhereTheLedgerCannotBeWritten(t *testing.T) { // CLD-1
	l := newLab(t)
	e := l.open(t)
	l.spoilLedger(t)
	if err := e.Close(context.Background()); err == nil || !strings.Contains(err.Error(), "ledger") {
		t.Errorf("%v", err)
	}
	if _, there, _ := l.counts(); there != 0 {
		t.Error("it goes on, and is paid for")
	}
}

func TestContact_OneThatSleptIsStartedAnewAndSaysSoOnce(t *testing.T) { // MGR-6
	l := newLab(t)
	l.o.Kept = true
	e := l.open(t)
	for range 2 {
		l.sleeps()
		for _, anew := range []bool{true, false} {
			if res, err := e.Run(t.Context(), environment.Command{Script: "true"}); err != nil || res.Recreated != anew {
				t.Errorf("%+v, %v, want recreated %v", res, err, anew)
			}
		}
	}
	l.sleeps()
	l.onUp = func(sandbox.Box) (bool, error) { return false, nil } // it was only paused
	if res, err := e.Run(t.Context(), environment.Command{Script: "true"}); err != nil || res.Recreated {
		t.Errorf("%+v, %v", res, err)
	}
	l.onUp = func(b sandbox.Box) (bool, error) {
		if b.State == sandbox.Asleep {
			return false, sandbox.ErrSpoiled
		}
		return false, nil
	}
	l.sleeps()
	if _, err := e.Run(t.Context(), environment.Command{Script: "true"}); !errors.Is(err, environment.ErrGone) {
		t.Errorf("what was kept is of no use: %v", err)
	}
	shut(t, e)
	next := l.open(t) // makes another, and says so
	if notes := strings.Join(next.Info().Notes, "\n"); !strings.Contains(notes, "lost") {
		t.Errorf("%q", notes)
	}
	shut(t, next)
}

func TestContact_OneThatIsGoneIsNotMadeUnderACommand(t *testing.T) { // MGR-6, CON-2
	for _, kept := range []bool{true, false} {
		l := newLab(t)
		l.o.Kept = kept
		e := l.open(t)
		l.vanishes()
		for range 2 {
			if _, err := e.Run(t.Context(), environment.Command{Script: "true"}); !errors.Is(err, environment.ErrGone) {
				t.Errorf("kept %v: %v", kept, err)
			}
		}
		shut(t, e)
		l.is(t, 1, 0, 0)
	}
}

func TestSweep_EndsWhatDeadUsersLeftAndNothingOfOthers(t *testing.T) { // CLD-3
	l := newLab(t)
	leave := func(owner string, change func(*cloud.Record)) string {
		other := *l
		other.o.Owner = owner
		name := fmt.Sprint("left-", len(l.boxes))
		r := cloud.Record{Backend: l.o.Backend, Name: name, At: l.o.At, Account: l.o.Account}
		if change != nil {
			change(&r)
		}
		u, err := other.ledger(t).Enter(t.Context(), r, 100)
		if err != nil {
			t.Fatal(err)
		}
		// Its users are dead: the lock of its use is let go of, and the record stays.
		if err := u.Leave(t.Context(), func(context.Context, cloud.Record) error { return errors.New("it was killed") }); err == nil {
			t.Fatal("it was ended")
		}
		l.boxes[name] = sandbox.Box{ID: name, Name: name, State: sandbox.Ready, Says: "ready"}
		return name
	}
	mine := leave("me", nil)
	others := []string{
		leave("another machine", nil),
		leave("me", func(r *cloud.Record) { r.Account = "somebody's" }),
		leave("me", func(r *cloud.Record) { r.At = "https://elsewhere.example" }),
		leave("me", func(r *cloud.Record) { r.Backend = "another" }),
	}
	l.o.Max = 100
	shut(t, l.open(t))
	if slices.ContainsFunc(others, func(n string) bool { return slices.Contains(l.removed, n) }) || !slices.Contains(l.removed, mine) {
		t.Errorf("removed %q, want %s and none of %q", l.removed, mine, others)
	}
	l.is(t, 1, len(others), len(others))
}

func TestProbe_TellsWhatBoundsTheCostsWhetherTheCloudAnswersOrNot(t *testing.T) { // CLD-3: doctor
	l := newLab(t)
	e := l.open(t)
	lines := strings.Join(sandbox.Probe(t.Context(), l.o), "\n")
	for _, want := range []string{"bounded", "deleted when it is let go of", "at most 8 run at once", "sandboxes.jsonl", "in use", "there: 1"} {
		if !strings.Contains(lines, want) {
			t.Errorf("it doesn't say %q:\n%s", want, lines)
		}
	}
	shut(t, e)
	o := l.o
	o.Cloud = mute{l.memory}
	if lines := strings.Join(sandbox.Probe(t.Context(), o), "\n"); !strings.Contains(lines, "bounded") || !strings.Contains(lines, "no answer") {
		t.Errorf("%s", lines)
	}
}

// mute is a cloud that can't be asked.
type mute struct{ *memory }

func (mute) List(context.Context, string) ([]sandbox.Box, error) { return nil, errors.New("no answer") }
