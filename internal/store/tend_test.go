package store_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/internal/store"
	"github.com/hermes-runtime/hermes/provider"
)

// filledWith makes sessions with some text, in which nothing happened since.
func filledWith(t *testing.T, d store.Store, since time.Time, sessions ...string) {
	t.Helper()
	for _, id := range sessions {
		if err := d.Begin(t.Context(), store.Session{ID: id, Started: since, Archived: strings.HasPrefix(id, "archived")}); err != nil {
			t.Fatal(err)
		}
		var ms []store.Message
		for i := range 60 {
			ms = append(ms, store.Message{Message: provider.Message{Role: provider.User, Text: fmt.Sprint(id, i, strings.Repeat(" some words", 5))}, Time: since})
		}
		if _, err := d.Append(t.Context(), id, ms...); err != nil {
			t.Fatal(err)
		}
	}
}

func listed(t *testing.T, d store.Store) string {
	t.Helper()
	list, err := d.List(t.Context(), store.Filter{Archived: true})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for i := range list {
		ids = append(ids, list[i].ID)
	}
	return strings.Join(ids, " ")
}

// STO-5: once a day what is older than it is kept goes, with the room that it took, and what killed processes have left.
func TestDatabase_Tend(t *testing.T) {
	ctx := t.Context()
	file := filepath.Join(t.TempDir(), "sessions.db")
	d, err := store.Open(ctx, store.Options{File: file, Keep: time.Hour, Warn: func(err error) { t.Error(err) }})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	old := time.Now().Add(-2 * time.Hour)
	filledWith(t, d, time.Now(), "new")
	filledWith(t, d, old, "archived", "old", "used")
	release, err := d.Claim(ctx, "used")
	if err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(filepath.Dir(file), "run", "sessions", "killed.lock")
	if err := os.WriteFile(left, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := d.Tend(ctx); err != nil {
		t.Fatal(err)
	}
	free, err := d.Free(ctx)
	if got := listed(t, d); got != "new used archived" || free > 0 || err != nil {
		t.Errorf("there are %s, %d free pages, %v", got, free, err)
	}
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the lock of a process that was killed: %v", err)
	}
	if _, err := d.Claim(ctx, "used"); !errors.Is(err, store.ErrInUse) {
		t.Errorf("the lock of a session that is in use: %v", err)
	}
	release()
	if err := errors.Join(d.Tend(ctx), d.Check(ctx)); err != nil {
		t.Error(err)
	}
	if got := listed(t, d); got != "new used archived" {
		t.Errorf("a second time within a day there are %s", got)
	}
}

// STO-5: whoever writes meanwhile never fails, and nothing of it is lost; ended in the middle, all is well.
func TestDatabase_TendFailsNoWriter(t *testing.T) {
	ctx := t.Context()
	file := filepath.Join(t.TempDir(), "sessions.db")
	d, err := store.Open(ctx, store.Options{File: file, Keep: time.Hour, Warn: func(err error) { t.Error(err) }})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	filledWith(t, d, time.Now().Add(-2*time.Hour), "1", "2", "3", "4")
	other := opened(t, file)
	if err := other.Begin(ctx, store.Session{ID: "w"}); err != nil {
		t.Fatal(err)
	}
	tended := make(chan error, 1)
	tending, cancel := context.WithCancel(ctx)
	go func() { tended <- d.Tend(tending) }()
	for n := range 30 {
		add(t, other, "w", "x")
		if n == 20 {
			cancel()
		}
	}
	cancel()
	if err := <-tended; err != nil && !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if got := said(t, other, "w"); got != strings.TrimSpace(strings.Repeat("x ", 30)) {
		t.Errorf("kept: %s", got)
	}
	if err := errors.Join(d.Tend(ctx), d.Check(ctx)); err != nil || listed(t, d) != "w" {
		t.Errorf("%s %v", listed(t, d), err)
	}
}

// STO-5: a process that stays does so by itself.
func TestLasting_Tends(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	file := filepath.Join(t.TempDir(), "sessions.db")
	filledWith(t, opened(t, file), time.Now().Add(-2*time.Hour), "old")
	l := store.New(store.Soon(store.Options{File: file, Keep: time.Hour}))
	defer l.Close()
	for listed(t, l) != "" {
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			t.Fatal("nothing is done")
		}
	}
}
