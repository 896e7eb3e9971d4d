package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/internal/store"
)

// STO-6: of a damaged file what can be read is brought back, once, with its place in its session; the file stays as it is.
func TestDatabase_Recover(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	whole := filepath.Join(dir, "whole.db")
	d := opened(t, whole)
	for n := range 20 {
		id := fmt.Sprint("s", n)
		if err := d.Begin(ctx, store.Session{ID: id, Title: "title of " + id}); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			add(t, d, id, id+strings.Repeat(" words", 150))
		}
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	was, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	hit := bytes.LastIndex(was, []byte("s7 words"))
	copy(was[hit/4096*4096:], bytes.Repeat([]byte{0xa5}, 4096)) // one page of messages
	broken := filepath.Join(dir, "broken.db")
	if err := os.WriteFile(broken, was, 0o400); err != nil {
		t.Fatal(err)
	}
	to := opened(t, filepath.Join(dir, "sessions.db"))
	if err := to.Begin(ctx, store.Session{ID: "s3", Title: "title of s4"}); err != nil {
		t.Fatal(err)
	}
	r, err := to.Recover(ctx, broken)
	if err != nil || r.There != 1 || r.Part < 1 || r.Whole < 10 || r.Whole+r.Part != 19 {
		t.Errorf("%+v %v", r, err)
	}
	if got := said(t, to, "s0"); strings.Count(got, "s0 words") != 3 {
		t.Errorf("s0: %.80s", got)
	}
	if s, err := to.Find(ctx, "title of s9"); err != nil || s.ID != "s9" || s.Messages != 3 {
		t.Errorf("%+v %v", s, err)
	}
	if s, err := to.Find(ctx, "s4"); err != nil || s.Title != "" {
		t.Errorf("a title that is taken: %+v %v", s, err)
	}
	again, err := to.Recover(ctx, broken)
	if err != nil || again != (store.Recovered{There: 20}) {
		t.Errorf("again: %+v %v", again, err)
	}
	if now, err := os.ReadFile(broken); err != nil || !bytes.Equal(now, was) {
		t.Errorf("the file has changed: %v", err)
	}
	if err := to.Check(ctx); err != nil {
		t.Error(err)
	}
	if _, err := to.Recover(ctx, filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that isn't there: %v", err)
	}
}
