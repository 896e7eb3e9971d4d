//go:build unix

package ssh_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/backend/ssh/sshtest"
	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine/resident/residenttest"
)

// brought lists what lies in a cellar.
func brought(t *testing.T, dir string) []string {
	t.Helper()
	found, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range found {
		names = append(names, f.Name())
		if i, err := f.Info(); err != nil || i.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s is open to others: %v, %v", f.Name(), i.Mode(), err)
		}
	}
	return names
}

// complete shows that the binary lies in a cellar, whole and alone.
func complete(t *testing.T, dir string) string {
	t.Helper()
	names := brought(t, dir)
	i := slices.IndexFunc(names, func(n string) bool { return strings.HasPrefix(n, "resident-") })
	if len(names) != 2 || i < 0 {
		t.Fatalf("there are %q", names)
	}
	if read(t, filepath.Join(dir, names[i])) != read(t, residenttest.Binary(t)) {
		t.Error("what was brought is not what is here")
	}
	return filepath.Join(dir, names[i])
}

func TestSSH_TheEngineIsBroughtOnceUnderItsHash(t *testing.T) { // RES-6, SSH-6
	t.Parallel()
	l := newLab(t, sshtest.Options{Home: t.TempDir()})
	l.works(t)
	f := complete(t, filepath.Join(l.server.Home, ".cache", "hermes"))
	before, err := os.Stat(f)
	if err != nil {
		t.Fatal(err)
	}
	l.works(t)
	if after, err := os.Stat(f); err != nil || !os.SameFile(before, after) {
		t.Errorf("it was brought again: %v", err)
	}
	if i, err := os.Stat(filepath.Dir(f)); err != nil || i.Mode().Perm() != 0o700 {
		t.Errorf("its directory is %v, %v", i.Mode(), err)
	}
}

func TestSSH_EnginesThatNobodyUsesAreRemoved(t *testing.T) { // RES-6
	t.Parallel()
	l := newLab(t, sshtest.Options{Home: t.TempDir()})
	dir := filepath.Join(l.server.Home, ".cache", "hermes")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, n := range []string{"used-old", "resident-old", "used-new", "resident-new"} {
		sshtest.Write(t, filepath.Join(dir, n), "")
	}
	if out, err := exec.Command("touch", "-d", "31 days ago", filepath.Join(dir, "used-old")).CombinedOutput(); err != nil {
		t.Skipf("touch can't set a time here: %s", out)
	}
	l.works(t)
	names := brought(t, dir)
	if slices.Contains(names, "resident-old") || slices.Contains(names, "used-old") || !slices.Contains(names, "resident-new") {
		t.Errorf("there are %q", names)
	}
}

func TestSSH_WithoutSFTPTheEngineIsBroughtByCat(t *testing.T) { // SSH-6
	t.Parallel()
	l := newLab(t, sshtest.Options{Home: t.TempDir(), NoSFTP: true})
	l.works(t)
	complete(t, filepath.Join(l.server.Home, ".cache", "hermes"))
}

func TestSSH_EveryLoginShellWillDo(t *testing.T) { // SSH-7
	t.Parallel()
	for _, shell := range []string{"sh", "bash", "rbash", "csh", "tcsh", "fish"} {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(shell); err != nil {
				if os.Getenv("CI") == "true" {
					t.Fatal(err)
				}
				t.Skip(shell + " isn't installed")
			}
			l := newLab(t, sshtest.Options{Home: t.TempDir(), Lines: []string{`ForceCommand echo chatter; ` + shell + ` -c "$SSH_ORIGINAL_COMMAND"`}})
			e := l.open(t)
			defer closed(t, e)
			if out := sh(t, e, `echo "$0" 'a b' "$((1+1))"`); !strings.HasSuffix(out, " a b 2\n") {
				t.Errorf("output %q", out)
			}
			complete(t, filepath.Join(l.server.Home, ".cache", "hermes"))
			l.config.Resident = "off" // RES-8
			p := l.open(t)
			defer closed(t, p)
			if out := sh(t, p, "echo 'it''s' \"a\\\\b\" !x '\\\\n' '\\n' $((1+1))\necho two"); !strings.HasSuffix(out, "its a\\b !x \\\\n \\n 2\ntwo\n") {
				t.Errorf("plainly: output %q", out)
			}
			f := p.Info().Home + "/odd ' !\\name"
			if _, err := p.Files().Replace(t.Context(), f, strings.NewReader("x"), environment.ReplaceOptions{}); err != nil {
				t.Error(err)
			}
			if got := read(t, string(f)); got != "x" {
				t.Errorf("the file holds %q", got)
			}
		})
	}
}

func TestSSH_ARefusedPlaceIsFollowedByTheNext(t *testing.T) { // RES-7. Not beside others: they would find what it leaves in memory
	sum := sha256.Sum256([]byte(read(t, residenttest.Binary(t))))
	t.Cleanup(func() {
		for _, n := range []string{"resident-", "used-"} {
			_ = os.Remove(filepath.Join("/dev/shm", "hermes-"+uid(), n+hex.EncodeToString(sum[:])))
		}
		_ = os.Remove(filepath.Join("/dev/shm", "hermes-"+uid()))
	})
	t.Run("a home that can't be written to", func(t *testing.T) {
		home, temp := t.TempDir(), t.TempDir()
		sshtest.Write(t, filepath.Join(home, ".cache"), "in the way")
		l := newLab(t, sshtest.Options{Home: home, Env: []string{"TMPDIR=" + temp}})
		l.works(t)
		complete(t, filepath.Join(temp, "hermes-"+uid()))
	})
	t.Run("a home that runs nothing", func(t *testing.T) {
		home, temp := t.TempDir(), t.TempDir()
		noExec(t, home)
		l := newLab(t, sshtest.Options{Home: home, Env: []string{"TMPDIR=" + temp}})
		e := l.open(t)
		defer closed(t, e)
		sh(t, e, "true")
		complete(t, filepath.Join(temp, "hermes-"+uid()))
	})
	t.Run("a directory that somebody else has made", func(t *testing.T) {
		home, temp, trap := t.TempDir(), t.TempDir(), t.TempDir()
		sshtest.Write(t, filepath.Join(home, ".cache"), "in the way")
		if err := os.Symlink(trap, filepath.Join(temp, "hermes-"+uid())); err != nil {
			t.Fatal(err)
		}
		l := newLab(t, sshtest.Options{Home: home, Env: []string{"TMPDIR=" + temp}})
		l.works(t) // in the last place there is
		if names := brought(t, trap); len(names) > 0 {
			t.Errorf("a link was followed: %q", names)
		}
	})
}

// noExec has nothing below a directory be run.
func noExec(t *testing.T, dir string) {
	t.Helper()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "noexec", "none", dir).CombinedOutput(); err != nil {
		t.Skipf("nothing can be mounted here: %s", out)
	}
	t.Cleanup(func() { _ = exec.Command("umount", "-l", dir).Run() })
}

// tools makes a directory of the programs that a host has, and gives it as PATH.
func tools(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, n := range names {
		p, err := exec.LookPath(n)
		if err != nil {
			t.Skip(err)
		}
		if err := os.Symlink(p, filepath.Join(dir, n)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

var bare = []string{"sh", "mkdir", "cat", "id", "uname", "chmod", "mv", "rm"}

func TestSSH_AHostThatCantHashGivesTheEngineBack(t *testing.T) { // RES-6
	t.Parallel()
	l := newLab(t, sshtest.Options{Home: t.TempDir(), Env: []string{"PATH=" + tools(t, bare...)}})
	l.works(t)
	complete(t, filepath.Join(l.server.Home, ".cache", "hermes"))
}

func TestSSH_AnEngineThatArrivesDamagedIsNotRun(t *testing.T) { // RES-6
	t.Parallel()
	path := tools(t, bare...)
	sshtest.Write(t, filepath.Join(path, "sha256sum"), "#!/bin/sh\necho 0000 $1\n")
	if err := os.Chmod(filepath.Join(path, "sha256sum"), 0o700); err != nil {
		t.Fatal(err)
	}
	l := newLab(t, sshtest.Options{Home: t.TempDir(), Env: []string{"PATH=" + path, "TMPDIR=" + t.TempDir()}})
	l.config.Resident = "require"
	l.refused(t, "not what was sent")
	if names := brought(t, filepath.Join(l.server.Home, ".cache", "hermes")); len(names) > 0 {
		t.Errorf("%q are left", names)
	}
}

func TestSSH_SecretsStayHere(t *testing.T) { // RES-5
	t.Parallel()
	l := newLab(t, sshtest.Options{Home: t.TempDir()})
	const planted = "planted-1f7c93"
	l.o.Environ = func() []string {
		return []string{"OPENAI_API_KEY=" + planted, "HOME=/" + planted, "LET_THROUGH=wanted"}
	}
	l.o.Secrets = func() map[string]string { return map[string]string{"OTHER_TOKEN": planted} }
	l.o.Passthrough = []string{"LET_THROUGH", "NOT_SET"}
	e := l.open(t)
	defer closed(t, e)
	st := environment.NewState(e.Info().Home)
	res, err := e.Run(t.Context(), environment.Command{Script: "export MINE=1", Env: map[string]string{"ONCE": planted}, State: st})
	if err != nil || res.ExitCode != 0 {
		t.Fatal(res, err)
	}
	out := sh(t, e, `env; tr '\0' '\n' </proc/$PPID/environ; tr '\0' '\n' </proc/$PPID/cmdline; grep -rl `+planted[:7]+`-`+planted[8:]+` "$HOME" 2>/dev/null; true`)
	if strings.Contains(out, planted) {
		t.Errorf("a secret is there:\n%s", out)
	}
	if !strings.Contains(out, "LET_THROUGH=wanted\n") {
		t.Errorf("what is let through isn't there:\n%s", out)
	}
	if args := sh(t, e, `tr '\0' '|' </proc/$PPID/cmdline`); !strings.HasSuffix(args, "|resident|") || strings.Count(args, "|") != 2 {
		t.Errorf("the engine's arguments are %q", args)
	}
	if v, err := e.(environment.Environer).Environ(t.Context(), st); err != nil || v["LET_THROUGH"] != "wanted" || v["MINE"] != "1" {
		t.Errorf("the variables are %q, %v", v, err)
	}
	for _, dir := range []string{l.server.Dir, l.server.Home} { // logs of the server, files of the user
		found, err := exec.Command("grep", "-rl", planted, dir).Output()
		if len(found) > 0 {
			t.Errorf("a secret lies in %s (%v)", found, err)
		}
	}
}
