package store_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/hermes-runtime/hermes/internal/store"
)

// STO-6: a disk that is really full, from before there is a file and after it.
func TestLasting_GoesOnWhileARealDiskIsFull(t *testing.T) {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skip("a disk of its own can't be mounted here: ", err)
	}
	defer func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	}()
	ballast := filepath.Join(dir, "ballast")
	fill := func() {
		t.Helper()
		if err := os.WriteFile(ballast, make([]byte, 2<<20), 0o600); !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("the disk isn't full: %v", err)
		}
	}
	fill()
	file := filepath.Join(dir, "sessions.db")
	var warned warnings
	l := store.New(store.Patient(store.Options{File: file, Warn: warned.add}))
	defer l.Close()
	if err := l.Begin(t.Context(), store.Session{ID: "a"}); err != nil {
		t.Fatal(err)
	}
	for n := range 2 {
		add(t, l, "a", "full", big)
		if len(warned) != n+1 {
			t.Errorf("warned of %q", warned)
		} else if !strings.Contains(warned[n], file+": no space is left there") {
			t.Errorf("warned without the reason: %s", warned[n])
		}
		if err := os.Remove(ballast); err != nil {
			t.Fatal(err)
		}
		l.TryNow()
		add(t, l, "a", "room")
		fill()
	}
	want := strings.Repeat("full "+big+" room ", 2)
	if got := said(t, l, "a") + " "; got != want {
		t.Errorf("%d characters, not %d", len(got), len(want))
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	d, err := store.Open(t.Context(), store.Options{File: file})
	if err != nil {
		t.Fatal(err)
	}
	if got := said(t, d, "a") + " "; got != want {
		t.Errorf("on disk: %d characters, not %d", len(got), len(want))
	}
	if err := errors.Join(d.Check(t.Context()), d.Close()); err != nil {
		t.Error(err)
	}
}
