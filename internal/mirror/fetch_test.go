package mirror_test

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/mirror"
)

func TestLeave_FetchesWhatChangedThereAndNothingElse(t *testing.T) { // SYN-3
	l := newLab(t)
	for _, name := range []string{"skills/a/same", "skills/a/changed", "skills/a/gone", "token.json"} {
		l.here(name, "ours")
	}
	l.pushed()
	l.there("skills/a/changed", "theirs")
	l.there("skills/new/run", "new")
	l.there("cache/images/2.png", "a picture of theirs")
	l.there("token.json", "refreshed there")
	l.there("unmapped", "x")
	l.there("skills2/x", "x") // a name that begins alike is another
	l.there("skills/__pycache__/x", "x")
	if err := os.Chmod(l.far.at("skills/new/run"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(l.far.at("skills/a/gone")); err != nil {
		t.Fatal(err)
	}
	l.leave()
	l.wantHere("cache/images/2.png=a picture of theirs", "skills/a/changed=theirs", "skills/a/gone=ours", "skills/a/same=ours", "skills/new/run=new", "token.json=ours")
	for name, mode := range map[string]fs.FileMode{"skills/a/changed": 0o644, "skills/new/run": 0o700, "cache/images/2.png": 0o600} {
		if i, err := os.Stat(filepath.Join(l.home, name)); err != nil || i.Mode().Perm() != mode {
			t.Errorf("%s: %v %v, want %v", name, i.Mode(), err, mode)
		}
	}
	if len(l.told) > 0 || strings.Contains(l.says(), "WARN") {
		t.Errorf("it tells %q", l.told)
	}

	l.far.done()
	l.here("token.json", "made anew here")
	l.pushed() // brings back what is missing there, and the file that isn't theirs to change; what was fetched is known
	if ops := replaced(l.far.done()); !slices.Equal(ops, []string{"replace .shared-me.json", "replace skills/a/gone", "replace token.json"}) {
		t.Errorf("%q", ops)
	}
	l.leave()
	l.quiet()
	l.wantThere("cache/images/2.png=a picture of theirs", "skills/__pycache__/x=x", "skills/a/changed=theirs", "skills/a/gone=ours", "skills/a/same=ours",
		"skills/new/run=new", "skills2/x=x", "token.json=made anew here", "unmapped=x")
}

func TestLeave_WhatChangedOnBothSidesLiesBeside(t *testing.T) { // SYN-3
	l := newLab(t)
	for _, name := range []string{"both", "deleted", "alike"} {
		l.here("skills/"+name, "ours")
	}
	l.pushed()
	for name, text := range map[string]string{"both": "here", "alike": "alike", "made": "here"} {
		l.here("skills/"+name, text)
	}
	for name, text := range map[string]string{"both": "there", "alike": "alike", "made": "there", "deleted": "there"} {
		l.there("skills/"+name, text)
	}
	if err := os.Remove(filepath.Join(l.home, "skills/deleted")); err != nil {
		t.Fatal(err)
	}
	l.leave()
	l.wantHere("skills/alike=alike", "skills/both=here", "skills/both.remote=there", "skills/deleted.remote=there", "skills/made=here", "skills/made.remote=there")
	if all := strings.Join(l.told, "\n"); len(l.told) != 3 || !strings.Contains(all, "skills/both was changed here and in far one") {
		t.Errorf("it tells %q", l.told)
	}
	if s := l.says(); strings.Count(s, "WARN") != 3 {
		t.Errorf("it says %q", s)
	}
}

func TestLeave_LinksAndOddFilesThereAreNotFollowed(t *testing.T) { // SYN-2, SYN-3
	l := newLab(t)
	write(t, filepath.Join(l.far.home, "private"), "private")
	l.here("skills/a", "ours")
	l.pushed()
	link(t, filepath.Join(l.far.home, "private"), l.far.at("skills/file"))
	link(t, l.far.home, l.far.at("skills/dir"))
	link(t, l.far.home, l.far.at("cache"))
	odd(t, l.far.at("skills/pipe"))
	l.leave()
	l.wantHere("skills/a=ours")
}

func TestLeave_LinksHereAreNotWrittenThrough(t *testing.T) { // SYN-2, SYN-3
	l := newLab(t)
	outside := filepath.Join(filepath.Dir(l.home), "outside")
	write(t, filepath.Join(outside, "file"), "x")
	l.here("skills/a", "ours")
	l.pushed()
	link(t, outside, filepath.Join(l.home, "skills/dir"))
	link(t, filepath.Join(outside, "file"), filepath.Join(l.home, "skills/file"))
	link(t, outside, filepath.Join(l.home, "cache/images"))
	for _, name := range []string{"skills/dir/new", "skills/file", "cache/images/new"} {
		l.there(name, "theirs")
	}
	l.leave()
	if got := holds(t, outside); !slices.Equal(got, []string{"file=x"}) {
		t.Errorf("outside: %q", got)
	}
	if s := l.says(); !strings.Contains(s, "could not all be fetched") || !strings.Contains(s, "skills/dir/new") {
		t.Errorf("it says %q", s)
	}
	if b, err := os.ReadFile(filepath.Join(l.home, "skills/file.remote")); err != nil || string(b) != "theirs" {
		t.Errorf("%q %v", b, err)
	}
}

func TestLeave_NamesThatLeadElsewhereAreDropped(t *testing.T) { // SYN-2
	l := newLab(t)
	l.here("skills/a", "ours")
	l.pushed()
	l.far.answers = map[environment.Path][]environment.DirEntry{}
	for _, dir := range []string{"skills", "skills/d"} {
		for _, name := range []string{"../x", "..", ".", "", "/etc/x", "a/b", `..\x`, "x\x00", "../../../x"} {
			for _, kind := range []fs.FileMode{0, fs.ModeDir} {
				l.far.answers[l.far.path(dir)] = append(l.far.answers[l.far.path(dir)], environment.DirEntry{Name: name, Type: kind})
			}
		}
	}
	l.far.answers[l.far.path("skills")] = append(l.far.answers[l.far.path("skills")], environment.DirEntry{Name: "d", Type: fs.ModeDir})
	write(t, filepath.Join(l.far.home, "x"), "x")
	l.there("x", "x")
	l.far.done()
	l.leave()
	l.quiet()
	l.wantHere("skills/a=ours")
	for _, op := range l.far.done() {
		if strings.Contains(op, "..") || strings.HasSuffix(op, "x") {
			t.Errorf("it asks for %q", op)
		}
	}
}

// endless is a file without end.
type endless struct{ read int64 }

func (e *endless) Read(b []byte) (int, error) { e.read += int64(len(b)); return len(b), nil }
func (e *endless) Close() error               { return nil }

// liar is a place that says of one file what it likes.
type liar struct {
	*far
	name environment.Path
	size int64
	file *endless
}

func (f *liar) Files() environment.FS { return f }
func (f *liar) Stat(ctx context.Context, p environment.Path) (environment.FileInfo, error) {
	i, err := f.far.Stat(ctx, p)
	if p == f.name {
		i.Size = f.size
	}
	return i, err
}
func (f *liar) Read(ctx context.Context, p environment.Path, off, n int64) (io.ReadCloser, error) {
	if p == f.name {
		return f.file, nil
	}
	return f.far.Read(ctx, p, off, n)
}

func TestLeave_IsBounded(t *testing.T) { // SYN-3
	l := newLab(t)
	l.o.MaxBytes = 100
	l.start()
	l.here("skills/a", "ours")
	l.pushed()
	f := &liar{far: l.far, name: l.far.path("skills/liar"), file: &endless{}}
	l.there("skills/liar", "x")
	l.there("skills/zero", "fits")
	for _, f.size = range []int64{1 << 50, 10} {
		l.m.Leave(t.Context(), "k", f)
	}
	if s := l.says(); !strings.Contains(s, "skills/liar is left there") {
		t.Errorf("it says %q", s)
	}
	l.wantHere("skills/a=ours", "skills/liar="+strings.Repeat("\x00", 10), "skills/zero=fits")
	if f.file.read > 1<<20 {
		t.Errorf("%d bytes were read", f.file.read)
	}
}

func TestLeave_IsTriedAgain(t *testing.T) { // SYN-3
	for _, row := range []struct {
		fails int
		kind  error
		tries int
		want  []string
	}{
		{3, environment.ErrLost, 4, []string{"skills/new=new"}}, {9, environment.ErrUnavailable, 4, nil}, {9, environment.ErrGone, 1, nil},
	} {
		l := newLab(t)
		l.there("skills/new", "new")
		tries := 0
		l.far.before = func(op string, p environment.Path) error {
			if op != "stat" || p != l.far.path("skills/new") {
				return nil
			}
			if tries++; tries <= row.fails {
				return &environment.Error{Kind: row.kind, Op: "reach it"}
			}
			return nil
		}
		l.leave()
		if tries != row.tries {
			t.Errorf("%v: %d tries", row.kind, tries)
		}
		l.wantHere(row.want...)
		if told := strings.Join(l.told, ""); (row.want == nil) != strings.Contains(told, "could not all be fetched") {
			t.Errorf("%v: it tells %q", row.kind, told)
		}
	}
}

func TestLeave_OneProcessAtATime(t *testing.T) { // SYN-3
	l := newLab(t)
	for _, name := range []string{"a", "b", "c"} {
		l.there("skills/"+name, strings.Repeat(name, 1000))
	}
	inside := make(chan bool, 1)
	l.far.before = func(op string, p environment.Path) error {
		if op != "read" || p != l.far.path(".shared-me.json") {
			return nil
		}
		select {
		case inside <- true:
		default:
			t.Error("two are at it")
		}
		return nil
	}
	done := make(chan bool)
	for range 4 {
		other := &wrapped{l.far, inside}
		m := mirror.New(l.o)
		go func() {
			m.Leave(context.Background(), "k", other)
			done <- true
		}()
	}
	for range 4 {
		<-done
	}
	l.wantHere("skills/a="+strings.Repeat("a", 1000), "skills/b="+strings.Repeat("b", 1000), "skills/c="+strings.Repeat("c", 1000))
}

// wrapped gives the token back with its last operation.
type wrapped struct {
	*far
	token chan bool
}

func (w *wrapped) Files() environment.FS { return w }
func (w *wrapped) Replace(ctx context.Context, p environment.Path, r io.Reader, o environment.ReplaceOptions) (environment.FileInfo, error) {
	i, err := w.far.Replace(ctx, p, r, o)
	if p == w.path(".shared-me.json") {
		<-w.token
	}
	return i, err
}

func TestLeave_TakesBackWhatIsHandedOverNoMore(t *testing.T) { // SYN-4
	l := newLab(t)
	l.here("token.json", "secret")
	l.here("skills/a", "ours")
	l.pushed()
	l.wantThere("skills/a=ours", "token.json=secret")
	handed := l.trees
	l.trees = slices.DeleteFunc(slices.Clone(handed), func(t mirror.Tree) bool { return t.File })
	l.leave()
	l.quiet()
	l.wantThere("skills/a=ours")

	l.trees = handed
	l.pushed()
	l.there("token.json", "refreshed") // it goes all the same
	l.trees = nil
	l.pushed()
	l.wantThere()
	if bytes.Contains([]byte(l.says()), []byte("secret")) {
		t.Error("the log holds what is in it")
	}
}

func TestLeave_NothingIsFetchedWhereThatIsTurnedOff(t *testing.T) { // SYN-3
	l := newLab(t)
	l.o.NoFetch = true
	l.start()
	l.there("skills/new", "new")
	l.leave()
	l.wantHere()
}

func TestLeave_EndsWithItsContext(t *testing.T) { // SYN-3
	l := newLab(t)
	l.o.Waits = []time.Duration{time.Hour}
	l.start()
	l.there("skills/new", "new")
	ctx, cancel := context.WithCancel(t.Context())
	l.far.before = func(op string, _ environment.Path) error {
		if op == "stat" {
			cancel()
			return &environment.Error{Kind: environment.ErrLost, Op: "reach it"}
		}
		return nil
	}
	l.m.Leave(ctx, "k", l.far)
	l.wantHere()
}
