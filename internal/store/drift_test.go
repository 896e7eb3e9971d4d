package store_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/internal/store"
	"github.com/hermes-runtime/hermes/provider"
)

// written is a store with a session "a", that holds something of everything, and "b".
func written(t *testing.T, o store.Options) (*store.Lasting, []int64) {
	t.Helper()
	l := store.New(store.Patient(o))
	t.Cleanup(func() { _ = l.Close() })
	if err := errors.Join(l.Begin(t.Context(), store.Session{ID: "a", Title: "one", Model: "m"}), l.Begin(t.Context(), store.Session{ID: "b"})); err != nil {
		t.Fatal(err)
	}
	ids := add(t, l, "a", "1", "2")
	if err := errors.Join(
		l.SetTodos(t.Context(), "a", []store.Todo{{ID: "t"}}), l.Count(t.Context(), "a", provider.Usage{Input: 5}, 1), l.Post(t.Context(), "a", "first", []byte("1")),
	); err != nil {
		t.Fatal(err)
	}
	return l, ids
}

func stored(t *testing.T, file, want string) {
	t.Helper()
	d := opened(t, file)
	if got := said(t, d, "a"); got != want {
		t.Errorf("on disk: %.60q", got)
	}
	s, err := d.Find(t.Context(), "one")
	todos, err2 := d.Todos(t.Context(), "a")
	events, err3 := d.Waiting(t.Context(), "a")
	if err := errors.Join(err, err2, err3, d.Check(t.Context())); err != nil || s.Model != "m" || s.Input != 12 || s.Calls != 2 || len(todos) != 1 {
		t.Errorf("%+v %v %v", s, todos, err)
	}
	var kinds []string
	for _, e := range events {
		kinds = append(kinds, e.Kind)
	}
	if got := strings.Join(kinds, " "); got != "first other mine" {
		t.Errorf("events: %s", got)
	}
}

// big doesn't fit into what is left of a full disk.
var big = strings.Repeat("z", 20_000)

// STO-6: of a session that can be neither written nor read nothing is lost: what came meanwhile stands behind what there was.
func TestLasting_WhatCantBeReadStays(t *testing.T) {
	ctx := t.Context()
	file := filepath.Join(t.TempDir(), "sessions.db")
	l, ids := written(t, store.Options{File: file})
	if err := l.Room(ctx, 0); err != nil {
		t.Fatal(err)
	}
	see, err := l.Blind()
	if err != nil {
		t.Fatal(err)
	}
	more := add(t, l, "a", big)
	l.TryLater()
	more = append(more, add(t, l, "a", "4")...)
	if err := errors.Join(l.Post(ctx, "a", "other", []byte("2")), l.Count(ctx, "a", provider.Usage{Input: 7}, 1), l.Amend(ctx, "a", more[1], "4!")); err != nil {
		t.Fatal(err)
	}
	if got := said(t, l, "a"); got != big+" 4!" {
		t.Errorf("in memory: %.60q", got)
	}
	if err := l.Amend(ctx, "a", ids[0], "1!"); !errors.Is(err, store.ErrNoMessage) {
		t.Errorf("what isn't in memory is changed there: %v", err)
	}
	see()
	if err := l.Room(ctx, -1); err != nil {
		t.Fatal(err)
	}
	l.TryNow()
	if err := errors.Join(l.Amend(ctx, "a", ids[0], "1!"), l.Amend(ctx, "a", more[0], "3"), l.Post(ctx, "a", "mine", []byte("3")), l.Close()); err != nil {
		t.Fatal(err)
	}
	stored(t, file, "1! 2 3 4!")
}

// STO-6: what another process did to a session while it was in memory here stays.
func TestLasting_WhatOthersDidMeanwhileStays(t *testing.T) {
	ctx := t.Context()
	file := filepath.Join(t.TempDir(), "sessions.db")
	l, ids := written(t, store.Options{File: file})
	if err := l.Room(ctx, 0); err != nil {
		t.Fatal(err)
	}
	more := add(t, l, "a", big, "5")
	l.TryLater()
	other := opened(t, file)
	add(t, other, "a", "3")
	if err := errors.Join(
		other.Post(ctx, "a", "other", []byte("2")), l.Post(ctx, "a", "told", []byte("0")), l.Post(ctx, "a", "mine", []byte("3")),
		l.Count(ctx, "a", provider.Usage{Input: 7}, 1),
	); err != nil {
		t.Fatal(err)
	}
	waiting, err := l.Waiting(ctx, "a")
	if err != nil || len(waiting) != 3 || waiting[1].Kind != "told" {
		t.Fatalf("%v %v", waiting, err)
	}
	if err := errors.Join(l.Delivered(ctx, "a", waiting[1].ID), l.Room(ctx, -1)); err != nil {
		t.Fatal(err)
	}
	l.TryNow()
	if err := errors.Join(l.Amend(ctx, "a", more[0], "4"), l.Amend(ctx, "a", ids[1], "2!"), l.Close()); err != nil {
		t.Fatal(err)
	}
	stored(t, file, "1 2! 3 4 5")
}

// STO-6: while one session waits for the disk, the others go on.
func TestLasting_OneThatWaitsHoldsUpNoOther(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	file := filepath.Join(t.TempDir(), "sessions.db")
	l, _ := written(t, store.Options{File: file})
	if err := l.Room(ctx, 0); err != nil {
		t.Fatal(err)
	}
	add(t, l, "a", big)
	add(t, l, "b", big)
	release, err := opened(t, file).Hold(ctx)
	if err != nil {
		t.Fatal(err)
	}
	l.TryNow()
	waits, cancelled := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- l.Count(waits, "a", provider.Usage{}, 1) }()
	for !l.Changing("a") {
		if ctx.Err() != nil {
			t.Fatal("it isn't being changed")
		}
	}
	got, err := l.Messages(ctx, "b")
	list, err2 := l.List(ctx, store.Filter{})
	if err := errors.Join(err, err2, ctx.Err()); err != nil || len(got) != 1 || len(list) != 2 {
		t.Errorf("%d messages, %d sessions, %v", len(got), len(list), err)
	}
	cancelled()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("who waited: %v", err)
	}
	if err := release(); err != nil {
		t.Error(err)
	}
}
