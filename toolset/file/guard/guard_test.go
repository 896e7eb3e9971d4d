package guard

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine/files"
)

// shown is a path that a pattern of a row guards.
var shown = map[string]string{
	"/dev/fd/[0-2]": "/dev/fd/1", "/proc/*/fd/[0-2]": "/proc/12/fd/0", "/proc/*/environ": "/proc/1/environ", "/proc/*/cmdline": "/proc/self/cmdline",
	"/proc/*/maps": "/proc/1/maps", "/proc/*/mem": "/proc/1/mem", "/proc/*/task/*/fd/[0-2]": "/proc/1/task/2/fd/2",
	"/proc/*/task/*/environ": "/proc/1/task/1/environ", "/proc/*/task/*/cmdline": "/proc/1/task/1/cmdline", "/proc/*/task/*/maps": "/proc/1/task/1/maps",
	"/proc/*/task/*/mem": "/proc/1/task/1/mem", "jobs/*/job.json": "jobs/7/job.json", ".env[!a-zA-Z]*": ".env.local",
}

func testGuard(t *testing.T, o Options) *Guard {
	t.Helper()
	o.FS = files.New(files.Options{})
	return New(context.Background(), o)
}

func TestRows_EachPatternIsHeld(t *testing.T) { // GRD-6
	g := testGuard(t, Options{Home: "/home/u", Hermes: []environment.Path{"/home/u/.hermes"}, Root: "/home/u/.hermes"})
	prefix := map[anchor]string{absolute: "", anywhere: "/w/sub/", home: "/home/u/", hermes: "/home/u/.hermes/"}
	for _, r := range rows {
		for _, p := range r.patterns {
			example := p
			if s := shown[p]; s != "" {
				example = s
			}
			path := prefix[r.at] + example
			if path[len(path)-1] == '/' {
				path += "below/file"
			}
			for op, refused := range map[environment.Operation]bool{environment.OpRead: r.read, environment.OpWrite: r.write} {
				err := g.Judge(environment.Path(path), nil, op)
				if op == environment.OpRead && g.Hidden(environment.Path(path)) != refused {
					t.Errorf("a search passes over %s: %v", path, !refused)
				}
				if refused != (err != nil) || refused && !errors.Is(err, environment.ErrGuarded) {
					t.Errorf("%s of %s: %v", op, path, err)
				}
			}
		}
	}
}

func TestRows_WhatIsNotMeantPasses(t *testing.T) { // GRD-6
	g := testGuard(t, Options{Home: "/home/u", Hermes: []environment.Path{"/home/u/.hermes"}, Root: "/home/u/.hermes"})
	for _, p := range []string{
		"/w/.env.example", "/w/.env.local.sample", "/w/.env.template", "/w/.environment", "/w/env", "/w/.env/lib/x.py", "/home/u/.sshx/f", "/home/u/x/.ssh/f",
		"/home/u/.hermes/skills/a/SKILL.md", "/home/u/.hermes/cache/results/x.txt", "/etcetera/x", "/dev/null", "/private/var/folders/x", "/private/var/tmp/x",
		"/w/config.yaml", "/home/u/.docker.md", "/home/u/.hermes/run/12/3/t/made/by/a/script.txt",
	} {
		for _, op := range []environment.Operation{environment.OpRead, environment.OpWrite} {
			if err := g.Judge(environment.Path(p), nil, op); err != nil {
				t.Errorf("%s of %s: %v", op, p, err)
			}
		}
	}
}

func TestJudge_AnotherNameOfAGuardedFileIsGuarded(t *testing.T) { // GRD-1
	home := t.TempDir()
	hermesHome := filepath.Join(home, ".hermes")
	must(t, os.MkdirAll(filepath.Join(home, ".ssh"), 0o700))
	must(t, os.MkdirAll(hermesHome, 0o700))
	must(t, os.MkdirAll(filepath.Join(home, "w"), 0o700))
	for name, twin := range map[string]string{".ssh/id": "w/a", ".hermes/auth.json": "w/b", "w/.env": "w/c"} {
		must(t, os.WriteFile(filepath.Join(home, name), []byte(name), 0o600))
		if err := os.Link(filepath.Join(home, name), filepath.Join(home, twin)); err != nil {
			t.Skip(err)
		}
	}
	must(t, os.WriteFile(filepath.Join(home, "w/d"), nil, 0o600))
	must(t, os.Link(filepath.Join(home, "w/d"), filepath.Join(home, "w/e")))
	g := testGuard(t, Options{Home: environment.Path(home), Hermes: []environment.Path{environment.Path(hermesHome)}})
	for name, want := range map[string][2]bool{"w/a": {false, true}, "w/b": {true, true}, "w/c": {true, false}, "w/d": {}} {
		p := environment.Path(filepath.Join(home, name))
		info, err := g.FS.Stat(context.Background(), p)
		must(t, err)
		info.Path = p
		got := [2]bool{g.Judge(p, &info, environment.OpRead) != nil, g.Judge(p, &info, environment.OpWrite) != nil}
		if got != want {
			t.Errorf("%s: read, write refused %v, want %v", name, got, want)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestJudge_WritesStayInTheSafeRoot(t *testing.T) { // GRD-3
	root, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	g := testGuard(t, Options{Home: "/nowhere", WriteRoot: root})
	for p, refused := range map[string]bool{root: false, root + "/a/b": false, root + "x/a": true, "/tmp/x": true, root + "/.env": false, "/etc/x": true} {
		if err := g.Judge(environment.Path(p), nil, environment.OpWrite); (err != nil) != refused {
			t.Errorf("%s: %v", p, err)
		}
	}
	if err := g.Judge("/tmp/x", nil, environment.OpRead); err != nil {
		t.Errorf("reading: %v", err)
	}
}

func TestJudge_OtherProfilesKeepTheirOwn(t *testing.T) { // GRD-4
	o := Options{Home: "/h", Hermes: []environment.Path{"/h/.hermes/profiles/a", "/h/.hermes"}, Root: "/h/.hermes", Profile: "a"}
	for p, refused := range map[string]bool{
		"/h/.hermes/profiles/a/skills/x": false, "/h/.hermes/profiles/b/skills/x": true, "/h/.hermes/skills/x": true,
		"/h/.hermes/profiles/b/notes": false, "/h/.hermes/profiles/b/memories": true,
	} {
		err := testGuard(t, o).Judge(environment.Path(p), nil, environment.OpWrite)
		if (err != nil) != refused {
			t.Errorf("%s: %v", p, err)
		}
		crossing := o
		crossing.CrossProfile = true
		if err := testGuard(t, crossing).Judge(environment.Path(p), nil, environment.OpWrite); err != nil {
			t.Errorf("%s across profiles: %v", p, err)
		}
	}
}

func TestByName_RefusesWithoutLooking(t *testing.T) { // GRD-7
	for _, c := range []struct {
		name, dir string
		op        environment.Operation
		refused   bool
	}{
		{"/etc/passwd", "", environment.OpWrite, true}, {"/etc/passwd", "", environment.OpRead, false}, {"//etc//x", "", environment.OpWrite, true},
		{"/dev/zero", "", environment.OpRead, true}, {"../dev/zero", "/w", environment.OpRead, false}, {".env", "/w", environment.OpRead, true},
		{"~/.ssh/id", "", environment.OpWrite, true}, {"passwd", "/etc", environment.OpWrite, true}, {"a.txt", "/w", environment.OpWrite, false},
	} {
		if err := ByName(c.name, c.dir, c.op); (err != nil) != c.refused {
			t.Errorf("%s of %s in %q: %v", c.op, c.name, c.dir, err)
		}
	}
}

func BenchmarkHidden(b *testing.B) { // a search asks it about each of its files
	g := New(context.Background(), Options{Home: "/home/u", Hermes: []environment.Path{"/home/u/.hermes"}, Root: "/home/u/.hermes"})
	for b.Loop() {
		if g.Hidden("/home/u/project/src/deep/down/module/file_name.go") {
			b.Fatal("hidden")
		}
	}
}
