package mirror_test

import (
	"context"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine/files"
	"github.com/hermes-runtime/hermes/internal/mirror"
)

// far is a place with a real file system, whose operations a test counts, hinders and answers itself.
type far struct {
	environment.Environment
	environment.FS
	home string
	info environment.Info

	mu      sync.Mutex
	ops     []string
	before  func(op string, p environment.Path) error
	answers map[environment.Path][]environment.DirEntry
}

func newFar(t testing.TB, home string) *far {
	t.Helper()
	return &far{FS: files.New(files.Options{Home: home, Temp: t.TempDir()}), home: home,
		info: environment.Info{Backend: "far", ID: "one", Namespace: environment.NamespaceOwn, Home: environment.Path(home)}}
}

func (f *far) Info() environment.Info            { return f.info }
func (f *far) Files() environment.FS             { return f }
func (f *far) at(name string) string             { return filepath.Join(f.home, ".hermes", name) }
func (f *far) path(name string) environment.Path { return environment.Path(f.at(name)) }

func (f *far) op(ctx context.Context, name string, p environment.Path) error {
	f.mu.Lock()
	f.ops = append(f.ops, name+" "+strings.TrimPrefix(string(p), f.home+"/.hermes/"))
	before := f.before
	f.mu.Unlock()
	if before != nil {
		if err := before(name, p); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// done are the operations since the last time.
func (f *far) done() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	ops := f.ops
	f.ops = nil
	slices.Sort(ops)
	return ops
}

func (f *far) Resolve(ctx context.Context, name string, dir environment.Path) (environment.Path, error) {
	if err := f.op(ctx, "resolve", environment.Path(name)); err != nil {
		return "", err
	}
	return f.FS.Resolve(ctx, name, dir)
}

func (f *far) Stat(ctx context.Context, p environment.Path) (environment.FileInfo, error) {
	if err := f.op(ctx, "stat", p); err != nil {
		return environment.FileInfo{}, err
	}
	return f.FS.Stat(ctx, p)
}

func (f *far) Read(ctx context.Context, p environment.Path, off, n int64) (io.ReadCloser, error) {
	if err := f.op(ctx, "read", p); err != nil {
		return nil, err
	}
	return f.FS.Read(ctx, p, off, n)
}

func (f *far) Replace(ctx context.Context, p environment.Path, r io.Reader, o environment.ReplaceOptions) (environment.FileInfo, error) {
	if err := f.op(ctx, "replace", p); err != nil {
		return environment.FileInfo{}, err
	}
	return f.FS.Replace(ctx, p, r, o)
}

func (f *far) Rename(ctx context.Context, from, to environment.Path) error {
	if err := f.op(ctx, "rename", from); err != nil {
		return err
	}
	return f.FS.Rename(ctx, from, to)
}

func (f *far) Remove(ctx context.Context, p environment.Path) error {
	if err := f.op(ctx, "remove", p); err != nil {
		return err
	}
	return f.FS.Remove(ctx, p)
}

func (f *far) MkdirAll(ctx context.Context, p environment.Path, m fs.FileMode) error {
	if err := f.op(ctx, "mkdir", p); err != nil {
		return err
	}
	return f.FS.MkdirAll(ctx, p, m)
}

func (f *far) ReadDir(ctx context.Context, p environment.Path) ([]environment.DirEntry, error) {
	if err := f.op(ctx, "readdir", p); err != nil {
		return nil, err
	}
	if a, ok := f.answers[p]; ok {
		return a, nil
	}
	return f.FS.ReadDir(ctx, p)
}

// lab is a HERMES_HOME, a place, and a clock that a test moves.
type lab struct {
	t     testing.TB
	home  string
	far   *far
	trees []mirror.Tree
	now   time.Time
	o     mirror.Options
	log   strings.Builder
	told  []string
	m     *mirror.Mirror
}

func newLab(t testing.TB) *lab {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{t: t, home: filepath.Join(root, "hermes"), now: time.Now().Add(time.Hour)}
	for _, d := range []string{"hermes/skills", "far"} {
		if err := os.MkdirAll(filepath.Join(root, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	l.far = newFar(t, filepath.Join(root, "far"))
	l.trees = []mirror.Tree{
		{Base: l.home, Path: "skills", Name: "skills"}, {Base: l.home, Path: "token.json", Name: "token.json", File: true}, {Base: l.home, Path: "cache/images", Name: "cache/images"},
	}
	l.o = mirror.Options{
		Home: l.home, Owner: "me", Trees: func(string) []mirror.Tree { return slices.Clone(l.trees) }, Now: func() time.Time { return l.now },
		Waits: []time.Duration{0, 0, 0}, Log: slog.New(slog.NewTextHandler(&l.log, nil)), Tell: func(s string) { l.told = append(l.told, s) },
	}
	l.start()
	return l
}

// start begins a new process.
func (l *lab) start() { l.m = mirror.New(l.o) }

// push lets time pass and pushes.
func (l *lab) push() {
	l.t.Helper()
	l.now = l.now.Add(time.Hour)
	l.m.Push(l.t.Context(), "k", l.far)
}

// pushed pushes, which must go well.
func (l *lab) pushed() {
	l.t.Helper()
	l.push()
	l.quiet()
}

func (l *lab) quiet() {
	l.t.Helper()
	if l.log.Len() > 0 {
		l.t.Errorf("it says %s", l.log.String())
		l.log.Reset()
	}
}

// says is what was logged since the last time.
func (l *lab) says() string {
	s := l.log.String()
	l.log.Reset()
	return s
}

func (l *lab) leave() { l.m.Leave(l.t.Context(), "k", l.far); l.start() }

func write(t testing.TB, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (l *lab) here(name, text string)  { l.t.Helper(); write(l.t, filepath.Join(l.home, name), text) }
func (l *lab) there(name, text string) { l.t.Helper(); write(l.t, l.far.at(name), text) }

func link(t testing.TB, to, from string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(from), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(to, from); err != nil {
		t.Skip(err)
	}
}

// holds gives what the files below a directory hold, as "name=text", without our own records.
func holds(t testing.TB, dir string) []string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil
		}
		if err != nil || e.IsDir() || strings.HasPrefix(e.Name(), ".shared-") {
			return err
		}
		rel, _ := filepath.Rel(dir, p)
		text := "(" + e.Type().String() + ")"
		if e.Type().IsRegular() {
			b, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			text = string(b)
		}
		out = append(out, filepath.ToSlash(rel)+"="+text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func (l *lab) wantThere(want ...string) {
	l.t.Helper()
	if got := holds(l.t, l.far.at("")); !slices.Equal(got, want) {
		l.t.Errorf("there it holds\n%q, want\n%q", got, want)
	}
}

func (l *lab) wantHere(want ...string) {
	l.t.Helper()
	got := slices.DeleteFunc(holds(l.t, l.home), func(s string) bool { return strings.HasPrefix(s, "run/") })
	if !slices.Equal(got, want) {
		l.t.Errorf("here it holds\n%q, want\n%q", got, want)
	}
}
