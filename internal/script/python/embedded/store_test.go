//go:build unix

package embedded

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// small is a tree whose interpreter only compiles.
var small = map[string]string{
	Binary:                     "#!/bin/sh\nmkdir -p lib/__pycache__ && echo code > lib/__pycache__/a.pyc\n",
	"lib/python3.14/a.py":      "a",
	"lib/python3.14/json/b.py": "b",
	"lib/libpython3.14.so":     "dropped",
	"bin/pip":                  "dropped",
}

func smallStore(t *testing.T, home string) (*Store, *atomic.Int32) {
	t.Helper()
	var made atomic.Int32
	s := New(Options{Home: home, Cache: filepath.Join(t.TempDir(), "cache"), Temp: t.TempDir()})
	var files []File
	dir := t.TempDir()
	write(t, dir, small)
	all, err := list(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range all {
		if Keep(f.Name) {
			files = append(files, f)
		}
	}
	s.digest = Digest(files)
	s.unpack = func(dir string) error {
		made.Add(1)
		write(t, dir, small)
		return nil
	}
	t.Cleanup(func() { removeTree(home) }) //nolint:errcheck // the directory is the test's
	return s, &made
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		p := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(p), 0o755), os.WriteFile(p, []byte(content), 0o755)); err != nil { //nolint:gosec // as a module unpacks
			t.Error(err)
		}
	}
}

func mustPath(t *testing.T, s *Store) string {
	t.Helper()
	p, err := s.Path(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestStore_LaysOutOnceReadOnlyAndPruned(t *testing.T) { // XI-2
	home := t.TempDir()
	s, made := smallStore(t, home)
	p := mustPath(t, s)
	dir := filepath.Dir(filepath.Dir(p))
	if want := filepath.Join(home, "cache", "python", Version+"-"+s.digest[:16]); dir != want {
		t.Errorf("laid out in %s, want %s", dir, want)
	}
	for name, mode := range map[string]os.FileMode{"": 0o500, "lib": 0o500, "lib/python3.14/a.py": 0o400, Binary: 0o500, "lib/__pycache__/a.pyc": 0o400} {
		if i, err := os.Stat(filepath.Join(dir, name)); err != nil || i.Mode().Perm() != mode {
			t.Errorf("%q: %v, %v", name, i, err)
		}
	}
	for _, gone := range []string{"bin/pip", "lib/libpython3.14.so"} {
		if _, err := os.Stat(filepath.Join(dir, gone)); err == nil {
			t.Errorf("%s is there", gone)
		}
	}
	again := New(s.o) // as another process has it
	again.digest, again.unpack = s.digest, s.unpack
	if mustPath(t, again) != p || made.Load() != 1 {
		t.Errorf("made %d times", made.Load())
	}
}

func TestStore_ManyAtOnceMakeOneCopy(t *testing.T) { // XI-2
	home := t.TempDir()
	first, made := smallStore(t, home)
	var wg sync.WaitGroup
	for range 10 {
		s := New(first.o)
		s.digest, s.unpack = first.digest, first.unpack
		wg.Go(func() {
			if p, err := s.Path(context.Background(), nil); err != nil || !strings.HasPrefix(p, home) {
				t.Errorf("%s, %v", p, err)
			}
		})
	}
	wg.Wait()
	if made.Load() != 1 {
		t.Errorf("made %d times", made.Load())
	}
}

func TestStore_WhatDiedHalfWayIsClearedAway(t *testing.T) { // XI-2
	home := t.TempDir()
	s, _ := smallStore(t, home)
	base := filepath.Join(home, "cache", "python")
	half := filepath.Join(base, "."+Version+"-"+s.digest[:16]+".tmp1")
	write(t, half, map[string]string{"lib/python3.14/a.py": "half"})
	if err := os.Chmod(base, 0o700); err != nil { //nolint:gosec // a directory
		t.Fatal(err)
	}
	mustPath(t, s)
	if _, err := os.Stat(half); err == nil {
		t.Error("it is still there")
	}
}

func TestStore_DamageIsFoundAndMended(t *testing.T) { // XI-3
	for name, c := range map[string]struct {
		harm func(dir string) error
		made int32
	}{
		"changed": {func(d string) error { return os.WriteFile(filepath.Join(d, "lib/python3.14/a.py"), []byte("x"), 0o600) }, 2},
		"code": {func(d string) error {
			return os.WriteFile(filepath.Join(d, "lib/__pycache__/a.pyc"), []byte("evil\n"), 0o600)
		}, 2},
		"missing": {func(d string) error { return os.Remove(filepath.Join(d, "lib/python3.14/json/b.py")) }, 2},
		"added": {func(d string) error {
			return os.WriteFile(filepath.Join(d, "lib/python3.14/sitecustomize.py"), nil, 0o600)
		}, 2},
		"manifest": {func(d string) error { return os.WriteFile(filepath.Join(d, manifestName), nil, 0o600) }, 2},
		"touched": {func(d string) error {
			p := filepath.Join(d, "lib/python3.14/a.py")
			return os.Chtimes(p, stamp.AddDate(1, 0, 0), stamp.AddDate(1, 0, 0))
		}, 1},
	} {
		s, made := smallStore(t, t.TempDir())
		dir := filepath.Dir(filepath.Dir(mustPath(t, s)))
		for _, d := range []string{"lib", "lib/python3.14", "lib/python3.14/json", "lib/__pycache__", ""} {
			os.Chmod(filepath.Join(dir, d), 0o700) //nolint:errcheck,gosec // the harm below tells
		}
		for _, f := range []string{manifestName, "lib/python3.14/a.py", "lib/__pycache__/a.pyc"} {
			os.Chmod(filepath.Join(dir, f), 0o600) //nolint:errcheck // likewise
		}
		if err := c.harm(dir); err != nil {
			t.Fatal(err)
		}
		s.path = "" // as another process finds it
		mustPath(t, s)
		if made.Load() != c.made {
			t.Errorf("%s: made %d times, want %d", name, made.Load(), c.made)
		}
		if err := s.check(dir); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestStore_FallsBackWithReasons(t *testing.T) { // XI-3
	home := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(home, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s, _ := smallStore(t, home)
	if p := mustPath(t, s); !strings.HasPrefix(p, s.o.Cache) || len(s.Notes()) != 1 || !strings.Contains(s.Notes()[0], home) {
		t.Errorf("%s, notes %v", p, s.Notes())
	}
}

func TestStore_WrongContentIsNeverUsed(t *testing.T) { // XI-2
	s, _ := smallStore(t, t.TempDir())
	s.unpack = func(dir string) error {
		write(t, dir, small)
		write(t, dir, map[string]string{"lib/python3.14/a.py": "other"})
		return nil
	}
	if p, err := s.Path(context.Background(), nil); err == nil || !strings.Contains(err.Error(), "digest") || len(s.Notes()) != 3 {
		t.Errorf("%s, %v", p, err)
	}
	left, _ := filepath.Glob(filepath.Join(s.o.Home, "cache", "python", ".*tmp*"))
	if len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestStore_InterpreterThatCannotRunIsNeverUsed(t *testing.T) { // XI-1
	s, _ := smallStore(t, t.TempDir())
	broken := map[string]string{Binary: "#!/bin/sh\nexit 1\n", "lib/python3.14/a.py": "a"}
	dir := t.TempDir()
	write(t, dir, broken)
	files, err := list(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.digest, s.unpack = Digest(files), func(dir string) error { write(t, dir, broken); return nil }
	if p, err := s.Path(context.Background(), nil); err == nil {
		t.Errorf("got %s", p)
	}
}

func TestKeep_Table(t *testing.T) {
	for name, want := range map[string]bool{
		Binary: true, "bin/python3": false, "bin/idle3": false, "lib/python3.14/os.py": true, "lib/python3.14/lib-dynload/_ssl.cpython-314-x86_64-linux-gnu.so": true,
		"lib/libpython3.14.so.1.0": false, "lib/libtcl9.0.so": false, "lib/libpython3.14.dylib": true, "lib/itcl4.3.5/x": false, "lib/python3.14/tkinter/__init__.py": false,
		"lib/python3.14/__pycache__/os.pyc": false, "share/x": false, "lib/python3.14/lib-dynload/_tkinter.so": false,
	} {
		if Keep(name) != want {
			t.Errorf("Keep(%q) is %v", name, !want)
		}
	}
}

func FuzzParseManifest(f *testing.F) {
	f.Add(File{Name: "a b", Size: 3, Hash: strings.Repeat("0", 64)}.Line())
	f.Fuzz(func(t *testing.T, text string) {
		files, err := parseManifest(text)
		if err != nil {
			return
		}
		for _, x := range files {
			if !filepath.IsLocal(x.Name) {
				t.Errorf("%q names a file elsewhere", x.Name)
			}
		}
	})
}
