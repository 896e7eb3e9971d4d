package store_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hermes-runtime/hermes/internal/store"
	"github.com/hermes-runtime/hermes/internal/store/storetest"
)

func opened(t *testing.T, file string) *store.Database {
	t.Helper()
	d, err := store.Open(t.Context(), store.Options{File: file, Redact: storetest.Redact, Warn: func(err error) { t.Error(err) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// STO-9.
func TestStore_Disk(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store {
		return opened(t, filepath.Join(t.TempDir(), "odd ?#% dir", "sessions.db"))
	})
}

// STO-9.
func TestStore_Memory(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store { return opened(t, "") })
}

// STO-9, STO-6: the store that goes on in memory passes while nothing fails, and while the disk does all the time.
func TestStore_Lasting(t *testing.T) {
	for name, file := range map[string]string{"good": "sessions.db", "bad": "a-file/sessions.db"} {
		t.Run(name, func(t *testing.T) {
			storetest.Run(t, func(t *testing.T) store.Store { return lasting(t, filepath.Join(dirWithFile(t), file), nil) })
		})
	}
}

// dirWithFile is a directory in which a-file can't be a directory.
func dirWithFile(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a-file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

func lasting(t *testing.T, file string, warn func(error)) *store.Lasting {
	t.Helper()
	l := store.New(store.Patient(store.Options{File: file, Redact: storetest.Redact, Warn: warn}))
	t.Cleanup(func() { _ = l.Close() })
	return l
}
