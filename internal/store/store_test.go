package store_test

import (
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
