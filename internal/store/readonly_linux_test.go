package store_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/hermes-runtime/hermes/internal/store"
)

// STO-6: a file that can't be written is read, also where nothing can be made beside it; a conversation goes on in memory until it can be.
func TestLasting_ReadsWhatItCantWrite(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=4m"); err != nil {
		t.Skip("a disk of its own can't be mounted here: ", err)
	}
	defer func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	}()
	remount := func(flags uintptr) {
		t.Helper()
		if err := syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT|flags, "size=4m"); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(dir, "sessions.db")
	l, _ := written(t, store.Options{File: file})
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	remount(syscall.MS_RDONLY)
	var warned warnings
	l = store.New(store.Patient(store.Options{File: file, Warn: warned.add}))
	defer l.Close()
	if got := said(t, l, "a"); got != "1 2" || len(warned) > 0 {
		t.Errorf("%q, warned of %q", got, warned)
	}
	add(t, l, "a", "3")
	if got := said(t, l, "a"); got != "1 2 3" || len(warned) != 1 {
		t.Errorf("%q, warned of %q", got, warned)
	}
	remount(0)
	l.TryNow()
	add(t, l, "a", "4")
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	d, err := store.Open(ctx, store.Options{File: file})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if got := said(t, d, "a"); got != "1 2 3 4" {
		t.Errorf("on disk: %q", got)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 4 {
		t.Errorf("%v %v", left, err)
	}
}
