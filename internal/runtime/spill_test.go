//go:build linux || darwin

package runtime

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine/files"
)

// temp is an environment on this machine with a temp directory of its own.
type temp struct {
	environment.Environment
	dir string
	ns  environment.Namespace
	fs  environment.FS
}

func (p *temp) Files() environment.FS { return p.fs }
func (p *temp) Info() environment.Info {
	return environment.Info{Temp: environment.Path(p.dir), Namespace: p.ns}
}

// keeping is a place for spill files below two fresh directories, the environment's temp and the host's own.
func keeping(t *testing.T) (s *spills, p *temp) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p = &temp{dir: filepath.Join(dir, "tmp"), ns: environment.NamespaceHost, fs: files.New(files.Options{Home: dir, Temp: dir})}
	if err := os.Mkdir(p.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	sw := &sweeper{keep: time.Hour, total: 1 << 20}
	s = &spills{host: filepath.Join(dir, "host"), sweep: sw.sweep,
		place: func(context.Context) (environment.Place, error) { return environment.Place{Environment: p}, nil }}
	return s, p
}

func read(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestSpill_LiesPrivateInTheEnvironment_SIZ2(t *testing.T) {
	s, p := keeping(t)
	file, err := s.SpillText(t.Context(), "../../call:1", "whole")
	if err != nil || file != filepath.Join(p.dir, "hermes-results", "______call_1.txt") || read(t, file) != "whole" {
		t.Fatalf("%q, %v", file, err)
	}
	for path, mode := range map[string]os.FileMode{file: 0o600, filepath.Dir(file): 0o700} {
		if i, err := os.Stat(path); err != nil || i.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", path, i.Mode(), err)
		}
	}
}

func TestSpill_WithoutAnEnvironmentItLiesBelowHome_SIZ2(t *testing.T) {
	for name, place := range map[string]func(context.Context) (environment.Place, error){
		"none":  nil,
		"fails": func(context.Context) (environment.Place, error) { return environment.Place{}, errors.New("down") },
	} {
		s, _ := keeping(t)
		s.place = place
		file, err := s.SpillText(t.Context(), "c", "whole")
		if err != nil || filepath.Dir(file) != s.host || read(t, file) != "whole" {
			t.Errorf("%s: %q, %v", name, file, err)
		}
	}
}

// Ids come again, from other sessions and turns; what a result points to stays what it was.
func TestSpill_IdThatComesAgainGetsAFileOfItsOwn(t *testing.T) {
	for name, where := range map[string]func(s *spills){"environment": func(*spills) {}, "host": func(s *spills) { s.place = nil }} {
		s, _ := keeping(t)
		where(s)
		first, err := s.SpillText(t.Context(), "c", "one")
		must(t, err)
		second, err := s.SpillText(t.Context(), "c", "two")
		must(t, err)
		f, err := s.Open(t.Context(), "c")
		must(t, err)
		_, err = f.Write([]byte("three"))
		must(t, errors.Join(err, f.Close()))
		if read(t, first) != "one" || read(t, second) != "two" || read(t, f.Path()) != "three" || filepath.Base(first) != "c.txt" {
			t.Errorf("%s: %s, %s, %s", name, first, second, f.Path())
		}
	}
}

// In a temp directory anybody may have been first. What isn't ours is neither written to nor swept.
func TestSpill_ForeignDirectoryIsLeftAlone(t *testing.T) {
	for name, plant := range map[string]func(t *testing.T, dir, mine string){
		"a link to a directory of mine": func(t *testing.T, dir, mine string) { must(t, os.Symlink(mine, dir)) },
		"open to others":                func(t *testing.T, dir, _ string) { must(t, os.Mkdir(dir, 0o700)); must(t, os.Chmod(dir, 0o777)) },
		"a file":                        func(t *testing.T, dir, _ string) { must(t, os.WriteFile(dir, nil, 0o600)) },
	} {
		t.Run(name, func(t *testing.T) {
			s, p := keeping(t)
			mine := filepath.Join(t.TempDir(), "mine")
			must(t, os.Mkdir(mine, 0o700))
			old := filepath.Join(mine, "diary.txt")
			must(t, os.WriteFile(old, []byte("dear"), 0o600))
			must(t, os.Chtimes(old, time.Time{}, time.Now().Add(-48*time.Hour)))
			plant(t, filepath.Join(p.dir, spillDir), mine)
			file, err := s.SpillText(t.Context(), "c", "whole")
			if err != nil || filepath.Dir(file) != s.host {
				t.Errorf("%q, %v", file, err)
			}
			f, err := s.Open(t.Context(), "d")
			must(t, err)
			must(t, f.Close())
			if filepath.Dir(f.Path()) != s.host {
				t.Errorf("opened %s", f.Path())
			}
			if left, _ := os.ReadDir(mine); len(left) != 1 || read(t, old) != "dear" {
				t.Errorf("the other directory holds %v", left)
			}
		})
	}
}

// A file that is written while a command runs reaches an environment of its own when it is whole.
func TestSpill_OpenMovesIntoAnotherNamespace_SIZ2(t *testing.T) {
	s, p := keeping(t)
	p.ns = environment.NamespaceOwn
	f, err := s.Open(t.Context(), "c")
	must(t, err)
	_, err = f.Write([]byte("whole"))
	must(t, err)
	must(t, f.Close())
	if f.Path() != filepath.Join(p.dir, spillDir, "c.txt") || read(t, f.Path()) != "whole" {
		t.Errorf("%s", f.Path())
	}
	if left, _ := os.ReadDir(s.host); len(left) != 0 {
		t.Errorf("left on the host: %v", left)
	}
}

func TestSweeper_OldOnesAndTheOldestGo_SIZ10(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, size int, age time.Duration) {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(strings.Repeat("x", size)), 0o600))
		must(t, os.Chtimes(filepath.Join(dir, name), time.Time{}, time.Now().Add(-age)))
	}
	file("old.txt", 1, 2*time.Hour)
	file("new.txt", 60, time.Minute)
	file("second.txt", 30, 2*time.Minute)
	file("third.txt", 30, 3*time.Minute)
	file("other", 500, 48*time.Hour) // not ours
	s := &sweeper{keep: time.Hour, total: 100, every: time.Hour}
	s.sweep(dir)
	names := func() string {
		entries, err := os.ReadDir(dir)
		must(t, err)
		var out []string
		for _, e := range entries {
			out = append(out, e.Name())
		}
		return strings.Join(out, " ")
	}
	if got := names(); got != "new.txt other second.txt" {
		t.Errorf("left: %s", got)
	}
	file("old.txt", 1, 2*time.Hour)
	if s.sweep(dir); !strings.Contains(names(), "old.txt") {
		t.Error("a directory is looked through with every file")
	}
	s.looked[dir] = time.Now().Add(-2 * time.Hour)
	if s.sweep(dir); strings.Contains(names(), "old.txt") {
		t.Error("a long-lived process doesn't look again")
	}
}
