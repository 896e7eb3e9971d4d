//go:build linux

package vercel_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/envs"
	"github.com/hermes-runtime/hermes/internal/mirror"
)

// manager has the sandboxes of one runtime.
func (l *lab) manager(o envs.Options) *envs.Manager {
	o.Backend = "vercel_sandbox"
	o.Settings = func(environment.Backend, string, envs.Override) (environment.OpenOptions, error) {
		open, c := l.o, l.config
		open.Config = &c
		return open, nil
	}
	return envs.New(o)
}

func place(t *testing.T, m *envs.Manager, task string) environment.Environment {
	t.Helper()
	p, err := m.Place(t.Context(), task)
	if err != nil {
		t.Fatal(err)
	}
	return p.Environment
}

func TestTasks_ShareASandboxUnlessTheyAskForTheirOwn(t *testing.T) { // MGR-1, MGR-4
	l := newLab(t)
	m := l.manager(envs.Options{})
	run(t, place(t, m, "a"), "echo shared >~/f")
	if out := run(t, place(t, m, "b"), "cat ~/f"); out != "shared\n" || l.s.Made() != 1 {
		t.Errorf("%q, %d made", out, l.s.Made())
	}
	for task, o := range map[string]envs.Override{"c": {envs.KeyBackend: "vercel_sandbox"}, "d": {"daytona_image": "debian:12"}} { // Vercel has no images
		if err := m.Override(task, o); err != nil {
			t.Fatal(err)
		}
		if out := run(t, place(t, m, task), "[ -e ~/f ] || echo apart"); out != "apart\n" {
			t.Errorf("%s: %q", task, out)
		}
	}
	l.agree(t, 3)
	if err := m.Override("c", nil); err != nil {
		t.Fatal(err)
	}
	if out := run(t, place(t, m, "c"), "cat ~/f"); out != "shared\n" || l.s.Made() != 3 {
		t.Errorf("taken back: %q, %d made", out, l.s.Made())
	}
	if err := m.Override("e", envs.Override{envs.KeyBackend: "nowhere"}); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Place(t.Context(), "e"); err == nil {
		t.Error("another backend did for one that isn't there")
	}
	if err := m.Close(context.Background()); err != nil {
		t.Error(err)
	}
	l.agree(t, 0)
	if n := len(l.s.Sandboxes()); n != 0 {
		t.Errorf("%d are there", n)
	}
}

func TestTasks_SkillsCachesAndCredentialsAreBroughtAndFetchedBack(t *testing.T) { // SYN-1, SYN-2, SYN-3, SYN-4
	for _, mode := range []string{"plain", "engine"} {
		t.Run(mode, func(t *testing.T) {
			l := newLab(t)
			if mode == "engine" {
				l.engine(t)
			}
			home := l.o.HermesHome
			write := func(name, text string) {
				t.Helper()
				file := filepath.Join(home, name)
				if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
					t.Fatal(err)
				}
			}
			write("skills/demo/show", "#!/bin/sh\necho shown\n")
			write("cache/images/1.png", "picture")
			write("credentials/google.json", "handed")
			write("auth/others.json", "hidden")
			if err := os.Symlink(filepath.Join(home, "auth"), filepath.Join(home, "skills/demo/way-out")); err != nil {
				t.Fatal(err)
			}
			trees := []mirror.Tree{{Base: home, Path: "skills", Name: "skills"}, {Base: home, Path: "cache/images", Name: "cache/images"},
				{Base: home, Path: "credentials/google.json", Name: "credentials/google.json", File: true}, {Base: home, Path: "missing.json", Name: "missing.json", File: true}}
			m := l.manager(envs.Options{Mirror: mirror.New(mirror.Options{Home: home, Owner: "me", Always: true, Trees: func(string) []mirror.Tree { return trees }})})
			e := place(t, m, "a")
			if out := run(t, e, "cd ~/.hermes && skills/demo/show && cat cache/images/1.png credentials/google.json; stat -c %a credentials/google.json"); out != "shown\npicturehanded700\n" {
				t.Errorf("%q", out)
			}
			if out := run(t, e, "grep -rl hidden ~/.hermes; ls ~/.hermes/auth ~/.hermes/skills/demo/way-out 2>&1 | grep -c others"); out != "0\n" {
				t.Errorf("what nobody hands over: %q", out)
			}
			run(t, e, "echo new >~/.hermes/skills/demo/new; echo changed >~/.hermes/credentials/google.json")
			write("cache/images/2.png", "another")
			if out := run(t, place(t, m, "a"), "cat ~/.hermes/cache/images/2.png"); out != "another" {
				t.Errorf("one that came later: %q", out)
			}
			if err := m.Close(context.Background()); err != nil {
				t.Error(err)
			}
			for name, want := range map[string]string{"skills/demo/new": "new\n", "credentials/google.json": "handed", "auth/others.json": "hidden"} {
				if b, err := os.ReadFile(filepath.Join(home, name)); string(b) != want {
					t.Errorf("%s here is %q, %v, want %q", name, b, err, want)
				}
			}
			l.agree(t, 0)
		})
	}
}
