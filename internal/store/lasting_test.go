package store_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/hermes-runtime/hermes/internal/leaktest"
	"github.com/hermes-runtime/hermes/internal/store"
	"github.com/hermes-runtime/hermes/provider"
)

// said gives the texts of a session's active messages.
func said(t *testing.T, s store.Store, session string) string {
	t.Helper()
	ms, err := s.Messages(t.Context(), session)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for i := range ms {
		out = append(out, ms[i].Text)
	}
	return strings.Join(out, " ")
}

func add(t *testing.T, s store.Store, session string, texts ...string) []int64 {
	t.Helper()
	var ms []store.Message
	for _, x := range texts {
		ms = append(ms, text(provider.User, x))
	}
	ids, err := s.Append(t.Context(), session, ms...)
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

// warnings collects what is warned of.
type warnings []string

func (w *warnings) add(err error) { *w = append(*w, err.Error()) }

// STO-6: a conversation goes on in memory while the disk is full, with one warning, under the ids that its user has; when there is room
// again, all of it is on disk.
func TestLasting_GoesOnWhileTheDiskIsFull(t *testing.T) {
	ctx := t.Context()
	file := filepath.Join(t.TempDir(), "sessions.db")
	var warned warnings
	l := lasting(t, file, warned.add)
	if err := errors.Join(l.Begin(ctx, store.Session{ID: "a", Title: "one"}), l.Begin(ctx, store.Session{ID: "b"})); err != nil {
		t.Fatal(err)
	}
	ids := add(t, l, "a", "1", "2", "3")
	if err := l.Room(ctx, 0); err != nil {
		t.Fatal(err)
	}
	big := strings.Repeat("z", 100_000)
	ids = append(ids, add(t, l, "a", big, "5", "6")...)
	add(t, l, "b", big)
	if err := l.Begin(ctx, store.Session{ID: "c", Parent: "a"}); err != nil {
		t.Fatal(err)
	}
	add(t, l, "c", big)
	if len(warned) != 1 || !strings.Contains(warned[0], "go on in memory") || !strings.Contains(warned[0], "full") {
		t.Errorf("warned of %q", warned)
	}
	if err := errors.Join(
		l.Compact(ctx, "a", ids[1], []store.Message{text(provider.User, "S")}), l.Amend(ctx, "a", ids[2], "3!"), l.Amend(ctx, "a", ids[4], "5!"),
		l.SetTodos(ctx, "a", []store.Todo{{ID: "t"}}), l.Count(ctx, "a", provider.Usage{Input: 7}, 1), l.Post(ctx, "a", "k", []byte("1")),
	); err != nil {
		t.Fatal(err)
	}
	want := "S 3! " + big + " 5! 6"
	if got := said(t, l, "a"); got != want {
		t.Errorf("in memory: %.50s", got)
	}
	if s, err := l.Find(ctx, "a"); err != nil || s.Messages != 7 || s.Input != 7 {
		t.Errorf("in memory: %+v %v", s, err)
	}
	l.TryNow() // there is still no room
	add(t, l, "a", "7")
	if len(warned) != 1 {
		t.Errorf("warned of %q", warned)
	}
	if err := l.Room(ctx, -1); err != nil {
		t.Fatal(err)
	}
	l.TryNow()
	add(t, l, "a", "8")
	if err := l.Compact(ctx, "a", ids[4], []store.Message{text(provider.User, "T")}); err != nil { // by an id that was given in memory
		t.Errorf("on disk again: %v", err)
	}
	if err := l.Close(); err != nil { // brings b and c
		t.Fatal(err)
	}
	d := opened(t, file)
	for session, want := range map[string]string{"a": "T 6 7 8", "b": big, "c": big} {
		if got := said(t, d, session); got != want {
			t.Errorf("%s on disk: %.50s", session, got)
		}
	}
	todos, err := d.Todos(ctx, "a")
	events, err2 := d.Waiting(ctx, "a")
	s, err3 := d.Find(ctx, "one")
	if err := errors.Join(err, err2, err3, d.Check(ctx)); err != nil || len(todos) != 1 || len(events) != 1 || s.Input != 7 || s.Messages != 10 {
		t.Errorf("%v %v %+v %v", todos, events, s, err)
	}
	if x, err := d.Look(ctx, "a", store.Whole); err != nil || x.Total != 10 {
		t.Errorf("%d messages, %v", x.Total, err)
	}
}

// STO-6: a file that turns out to be damaged is set aside whole, and a new one begun; what was said since is in it.
func TestLasting_SetsADamagedFileAside(t *testing.T) {
	ctx := t.Context()
	file := filepath.Join(t.TempDir(), "sessions.db")
	d := opened(t, file)
	if err := d.Begin(ctx, store.Session{ID: "old"}); err != nil {
		t.Fatal(err)
	}
	for range 50 {
		add(t, d, "old", strings.Repeat("some text ", 200))
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	was, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	copy(was[8192:], bytes.Repeat([]byte{0xa5}, len(was)-8192)) // the first pages are whole: it opens
	if err := os.WriteFile(file, was, 0o600); err != nil {
		t.Fatal(err)
	}
	var warned warnings
	l := lasting(t, file, warned.add)
	if err := l.Begin(ctx, store.Session{ID: "new"}); err != nil {
		t.Fatal(err)
	}
	add(t, l, "new", "1")
	l.TryNow()
	add(t, l, "new", "2")
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	aside, err := filepath.Glob(file + ".damaged-*")
	if err != nil || len(aside) == 0 {
		t.Fatalf("%v %v; warned of %q", aside, err, warned)
	}
	if kept, err := os.ReadFile(aside[0]); err != nil || !bytes.Equal(kept, was) {
		t.Errorf("what was set aside has changed: %d of %d bytes, %v", len(kept), len(was), err)
	}
	if got := said(t, opened(t, file), "new"); got != "1 2" {
		t.Errorf("the new file holds %q; warned of %q", got, warned)
	}
}

// STO-6: whatever lies in the file's place, it is never overwritten.
func TestStore_SetsAsideWhatIsNoDatabase(t *testing.T) {
	for name, content := range map[string]string{"text": strings.Repeat("my diary\n", 500), "short": "x", "header": "SQLite format 3\x00" + strings.Repeat("\xff", 4080)} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "sessions.db")
			if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			var warned warnings
			d, err := store.Open(t.Context(), store.Options{File: file, Warn: warned.add})
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()
			if err := d.Begin(t.Context(), store.Session{ID: "a"}); err != nil {
				t.Error(err)
			}
			aside, _ := filepath.Glob(file + ".damaged-*")
			if len(aside) != 1 || len(warned) != 1 || !strings.Contains(warned[0], aside[0]) {
				t.Fatalf("%v, warned of %q", aside, warned)
			}
			if kept, err := os.ReadFile(aside[0]); err != nil || string(kept) != content {
				t.Errorf("it has changed: %v", err)
			}
		})
	}
}

// STO-4: a file of a newer version is read, not written, and said to be so; conversations go on in memory.
func TestLasting_ReadsANewerFile(t *testing.T) {
	ctx := t.Context()
	file := filepath.Join(t.TempDir(), "sessions.db")
	d, err := store.OpenNewer(ctx, store.Options{File: file}, store.Step{SQL: "ALTER TABLE sessions ADD COLUMN mood TEXT"})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Begin(ctx, store.Session{ID: "a"}); err != nil {
		t.Fatal(err)
	}
	add(t, d, "a", "1")
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var warned warnings
	old, err := store.Open(ctx, store.Options{File: file, Warn: warned.add})
	if err != nil {
		t.Fatal(err)
	}
	if got := said(t, old, "a"); got != "1" || len(warned) != 1 || !strings.Contains(warned[0], "newer version") {
		t.Errorf("%q, warned of %q", got, warned)
	}
	if err := old.Begin(ctx, store.Session{ID: "b"}); !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("it was written: %v", err)
	}
	if err := old.Close(); err != nil {
		t.Error(err)
	}
	l := lasting(t, file, func(error) {})
	add(t, l, "a", "2")
	if got := said(t, l, "a"); got != "1 2" {
		t.Errorf("in memory it goes on as %q", got)
	}
	if err := l.Begin(ctx, store.Session{ID: "c"}); err != nil {
		t.Fatal(err)
	}
	err = l.Close()
	if !errors.Is(err, store.ErrReadOnly) {
		t.Errorf("a conversation that is lost is not told of: %v", err)
	}
	if lost := store.LostIn(fmt.Errorf("end: %w", err)); len(lost) != 2 || lost["a"] == nil || lost["a"].Whole || lost["c"] == nil || !lost["c"].Whole {
		t.Errorf("%v says that %v are lost, not all of c and the end of a", err, lost)
	}
	if after, err := os.ReadFile(file); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the file has changed: %v", err)
	}
}

// STO-4: steps are taken once, each whole or not at all; before one that drops something the file is copied.
func TestStore_Migrates(t *testing.T) {
	ctx := t.Context()
	file := filepath.Join(t.TempDir(), "sessions.db")
	d := opened(t, file)
	if err := d.Begin(ctx, store.Session{ID: "a", Title: "kept"}); err != nil {
		t.Fatal(err)
	}
	base, err := d.Version(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	o := store.Options{File: file}
	good := store.Step{SQL: "UPDATE sessions SET title = 'dropped'; CREATE TABLE moods (x)", Destructive: true}
	if d, err := store.OpenNewer(ctx, o, good, store.Step{SQL: "CREATE TABLE others (x); SELECT nonsense"}); err == nil {
		d.Close()
		t.Fatal("a step that fails is taken")
	}
	d, err = store.OpenNewer(ctx, o, good, store.Step{SQL: "CREATE TABLE others (x)"}) // fails if the first was taken twice, or the second in part
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if v, err := d.Version(ctx); err != nil || v != base+2 {
		t.Errorf("version %d, %v", v, err)
	}
	copied := opened(t, fmt.Sprintf("%s.schema%d", file, base))
	if s, err := copied.Find(ctx, "a"); err != nil || s.Title != "kept" {
		t.Errorf("the copy: %+v %v", s, err)
	}
	if info, err := os.Stat(fmt.Sprintf("%s.schema%d", file, base)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
}

// STO-1: where there can be no write-ahead log it works all the same, and says so.
func TestStore_WithoutWriteAheadLog(t *testing.T) {
	file := filepath.Join(t.TempDir(), "sessions.db")
	if err := os.MkdirAll(filepath.Join(file+"-shm", "x"), 0o700); err != nil { // no memory can be shared there
		t.Fatal(err)
	}
	var warned warnings
	d, err := store.Open(t.Context(), store.Options{File: file, Warn: warned.add})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := d.Begin(t.Context(), store.Session{ID: "a"}); err != nil {
		t.Fatal(err)
	}
	add(t, d, "a", "1")
	if got := said(t, d, "a"); got != "1" || len(warned) != 1 || !strings.Contains(warned[0], "rollback journal") {
		t.Errorf("%q, warned of %q", got, warned)
	}
}

// A store that is closed has ended: no goroutine is left, and it says so.
func TestLasting_CloseEnds(t *testing.T) {
	defer leaktest.None(t, goleak.IgnoreCurrent())
	l := store.New(store.Options{File: filepath.Join(t.TempDir(), "sessions.db")})
	if list, err := l.List(t.Context(), store.Filter{}); err != nil || len(list) != 0 {
		t.Errorf("%v %v", list, err)
	}
	if err := errors.Join(l.Begin(t.Context(), store.Session{ID: "a"}), l.Close(), l.Close()); err != nil {
		t.Error(err)
	}
	if err := l.Begin(context.Background(), store.Session{ID: "b"}); err == nil || !strings.Contains(err.Error(), "closed") {
		t.Errorf("after the end: %v", err)
	}
}
