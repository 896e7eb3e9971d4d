//go:build linux

package docker_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/environment"
)

// shared gives a lab a directory and a file of this machine.
func shared(t *testing.T, l *lab) (dir, file string) {
	t.Helper()
	dir, file = filepath.Join(l.o.HermesHome, "skills"), filepath.Join(l.o.HermesHome, "token.json")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{file: "t0ken", filepath.Join(dir, "SKILL.md"): "a skill"} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	l.o.Share = []environment.Share{{Host: dir, Name: "skills"}, {Host: file, Name: "auth/token.json"}}
	return dir, file
}

func TestShare_IsBoundForReadingAndIsNoMountThatHarmGoesThrough(t *testing.T) { // SYN-1, CON-8
	l := newLab(t)
	dir, file := shared(t, l)
	e := l.open(t)
	if got := run(t, e, "cat ~/.hermes/skills/SKILL.md ~/.hermes/auth/token.json"); got != "a skillt0ken" {
		t.Errorf("there it reads %q", got)
	}
	for _, script := range []string{"echo x >~/.hermes/skills/SKILL.md", "rm -f ~/.hermes/skills/SKILL.md", "echo x >~/.hermes/auth/token.json", "echo x >~/.hermes/skills/new"} {
		if got := run(t, e, script+" 2>&1"); !strings.Contains(got, "Read-only file system") {
			t.Errorf("%s: %q", script, got)
		}
	}
	if got := run(t, e, "echo mine >~/.hermes/new && cat ~/.hermes/new"); got != "mine\n" {
		t.Errorf("beside what is shared: %q", got)
	}
	info := e.Info()
	want := []environment.Mount{{Host: dir, Inside: "/root/.hermes/skills"}, {Host: file, Inside: "/root/.hermes/auth/token.json"}}
	if !slices.Equal(sorted(info.Shows), sorted(want)) {
		t.Errorf("it shows %v, want %v", info.Shows, want)
	}
	for _, m := range info.Traits.Mounts {
		if slices.Contains(want, m) {
			t.Errorf("%v counts as a way to the host", m)
		}
	}
	if p, ok := info.Shown(filepath.Join(dir, "SKILL.md")); !ok || p != "/root/.hermes/skills/SKILL.md" {
		t.Errorf("the skill is said to be at %q, %v", p, ok)
	}
	if p, ok := info.Shown(dir + "x"); ok {
		t.Errorf("what isn't shared is said to be at %q", p)
	}
}

func sorted(m []environment.Mount) []environment.Mount {
	return slices.SortedFunc(slices.Values(m), func(a, b environment.Mount) int { return strings.Compare(a.Host, b.Host) })
}

func TestShare_ThatIsTakenBackIsInNoContainer(t *testing.T) { // SYN-4, DKR-5
	l := newLab(t)
	shared(t, l)
	shut(t, l.anew(t))
	l.o.Share = l.o.Share[:1]
	e := l.open(t)
	if got := run(t, e, "cat ~/.hermes/auth/token.json 2>&1; cat ~/.hermes/skills/SKILL.md"); strings.Contains(got, "t0ken") || !strings.HasSuffix(got, "a skill") {
		t.Errorf("%q", got)
	}
	if n := len(l.containers(t)); n != 1 {
		t.Errorf("there are %d containers", n)
	}
}

func TestShare_AVolumeOfTheUserAtTheSamePathWins(t *testing.T) { // SYN-1, DKR-7
	l := newLab(t)
	shared(t, l)
	own := t.TempDir()
	l.config.Volumes = []string{own + ":/root/.hermes/skills"}
	e := l.open(t)
	if got := run(t, e, "ls ~/.hermes/skills; cat ~/.hermes/auth/token.json"); got != "t0ken" {
		t.Errorf("%q", got)
	}
	if n := len(e.Info().Shows); n != 1 {
		t.Errorf("it shows %v", e.Info().Shows)
	}
}

func TestShare_LinksThatAContainerLeftInItsHomeLeadNowhere(t *testing.T) { // SYN-2, DKR-8
	l := newLab(t)
	l.config.AsHostUser = true
	outside := t.TempDir()
	home := filepath.Join(l.o.HermesHome, "sandboxes", "docker", "test", "home")
	if err := os.MkdirAll(home, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(home, ".hermes")); err != nil {
		t.Fatal(err)
	}
	shared(t, l)
	e, err := l.try(t.Context())
	if err == nil { // the daemon looks at the link inside the container
		shut(t, e)
	}
	left, err := os.ReadDir(outside)
	if err != nil || len(left) > 0 {
		t.Errorf("this machine's directory holds %v (%v)", left, err)
	}
}
