//go:build linux || darwin

package terminal_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	_ "github.com/hermes-runtime/hermes/backend/local"
	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/envs"
	"github.com/hermes-runtime/hermes/internal/session"
	"github.com/hermes-runtime/hermes/tool"
)

// here is a host whose tasks work on this machine, in a directory of their own.
func here(t testing.TB) *host {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	m := envs.New(envs.Options{Backend: "local", Cwd: dir, Settings: func(b environment.Backend, _ string, _ envs.Override) (environment.OpenOptions, error) {
		return environment.OpenOptions{Config: b.Config(), HermesHome: filepath.Join(dir, ".hermes"), Getenv: os.Getenv, Environ: os.Environ, KillGrace: 200 * time.Millisecond}, nil
	}})
	t.Cleanup(func() {
		if err := m.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return &host{dir: dir, services: []any{m, &session.Sudo{}}, place: func(ctx context.Context) (environment.Place, error) { return m.Place(ctx, "t1") }}
}

func TestHere_DirectoryAndVariablesStay_ENG8(t *testing.T) {
	h := here(t)
	if r := run(t, h, command(t, "mkdir sub && cd sub && export KEPT=1 LOST=2; unkept=3")); r.Cwd != filepath.Join(h.dir, "sub") {
		t.Fatalf("%s", r.text)
	}
	r := run(t, h, command(t, `echo "$KEPT/$unkept"; pwd; unset LOST`))
	if r.Output != "1/\n"+filepath.Join(h.dir, "sub") {
		t.Errorf("%s", r.text)
	}
	if r := run(t, h, args(t, map[string]any{"command": "pwd", "workdir": h.dir})); r.Output != h.dir {
		t.Errorf("workdir: %s", r.text)
	}
	if r := run(t, h, command(t, `pwd; echo "[$LOST]"`)); r.Output != filepath.Join(h.dir, "sub")+"\n[]" {
		t.Errorf("workdir is for one call only: %s", r.text)
	}
	p, err := h.place(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name := range p.State.Snapshot().Vars { // ENG-12
		if name != "KEPT" && name != "OLDPWD" {
			t.Errorf("%s is carried", name)
		}
	}
}

func TestHere_ExitCodes_EXC1(t *testing.T) {
	h := here(t)
	for text, code := range map[string]int{"exit 3": 3, "exit 124": 124, "no-such-program-here": 127, "kill -9 $$": 137, "if": 2, "true": 0} {
		if r := run(t, h, command(t, text)); r.ExitCode != code || r.outcome.Status != "" {
			t.Errorf("%q: %s", text, r.text)
		}
	}
	if r := run(t, h, `{"command": "true", "workdir": "nowhere"}`); r.ExitCode != 126 || !strings.Contains(r.text, "nowhere") {
		t.Errorf("%s", r.text)
	}
}

func TestHere_StdoutAndStderrInOrder(t *testing.T) {
	if r := run(t, here(t), command(t, "echo a; echo b >&2; echo c; cat")); r.Output != "a\nb\nc" {
		t.Errorf("%s", r.text)
	}
}

func TestHere_TimeoutEndsAllAndKeepsTheOutput_TRM4(t *testing.T) {
	h := here(t)
	r := run(t, h, `{"command": "trap '' TERM; printf begun; sh -c 'trap \"\" TERM; echo $$ > pid; sleep 60' | cat", "timeout": 1}`)
	if r.ExitCode != 124 || r.outcome.Status != tool.StatusTimeout {
		t.Errorf("%s", r.text)
	}
	lines := strings.Split(r.Output, "\n")
	if len(lines) != 2 || lines[0] != "begun" {
		t.Errorf("output %q", r.Output)
	}
	pid, err := os.ReadFile(filepath.Join(h.dir, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	if stat, err := os.ReadFile("/proc/" + strings.TrimSpace(string(pid)) + "/stat"); err == nil && !strings.Contains(string(stat), ") Z ") {
		t.Errorf("a member of the command is still alive: %s", stat)
	}
}

func TestHere_InterruptionEndsTheCommand_TRM4(t *testing.T) {
	h := here(t)
	begun := filepath.Join(h.dir, "begun")
	if err := syscall.Mkfifo(begun, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		_, _ = os.ReadFile(begun) // until the command has opened and closed it
		cancel(tool.NewMessage)
	})
	r := runCall(t, ctx, call(h, command(t, "echo so far; : >begun; sleep 60")))
	wg.Wait()
	if r.ExitCode != 130 || r.outcome.Status != tool.StatusCancelled || !strings.HasPrefix(r.Output, "so far\n[") {
		t.Errorf("%s, %+v", r.text, r.outcome)
	}
}

func TestHere_WhatIsLeftRunningIsNamed_ENG16(t *testing.T) {
	h := here(t)
	if err := os.WriteFile(filepath.Join(h.dir, "go.sh"), []byte("sleep 60 &\necho started\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if r := run(t, h, command(t, "bash go.sh")); r.Output != "started" || len(r.LeftRunning) != 1 || !strings.Contains(r.LeftRunning[0].Command, "sleep") {
		t.Errorf("%s", r.text)
	}
}

func TestHere_RemovedDirectoryIsSaid_ENG7(t *testing.T) {
	h := here(t)
	run(t, h, command(t, "mkdir -p a/b && cd a/b"))
	if err := os.RemoveAll(filepath.Join(h.dir, "a")); err != nil {
		t.Fatal(err)
	}
	r := run(t, h, command(t, "pwd"))
	if r.Output != h.dir {
		t.Errorf("%s", r.text)
	}
	mention(t, r.CwdNote, filepath.Join(h.dir, "a"))
}

func TestHere_ParallelCallsDontMixTheirOutput(t *testing.T) {
	h := here(t)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			want := fmt.Sprintf("call %d", i)
			if r := run(t, h, command(t, "echo "+want)); r.Output != want {
				t.Errorf("%s", r.text)
			}
		})
	}
	wg.Wait()
}

// labSudo takes one password, over its askpass only.
const labSudo = `#!/bin/bash
while [[ $1 == -* ]]; do
	case $1 in -n) exit 1;; -A) ask=1;; -v) check=1;; esac
	shift
done
[ "$ask" ] || { echo "sudo: no way to ask for the password" >&2; exit 1; }
for i in 1 2 3; do
	[ "$("$SUDO_ASKPASS" 'Password: ')" = "open sesame" ] && { [ "$check" ] && exit 0; exec "$@"; }
done
exit 1
`

func TestHere_SudoGetsThePasswordPastEverythingElse_SUD2(t *testing.T) {
	program(t, "sudo", labSudo)
	t.Setenv("TMPDIR", t.TempDir()) // what other tests have there meanwhile is none of this one's
	h := here(t)
	h.ask = types("wrong", "open sesame")
	r := run(t, h, command(t, `echo one | sudo tee f; for i in 1 2; do sudo sh -c "echo $i; cat f"; done; cat /proc/$$/environ "/proc/$$/cmdline" 2>/dev/null | tr '\0' '\n' | grep -c 'open [s]esame'`))
	if r.Output != "one\n1\none\n2\none\n0" || len(h.asked) != 2 {
		t.Errorf("%s after %d questions", r.text, len(h.asked))
	}
	if r := run(t, h, command(t, "cd / && sudo echo again")); r.Output != "again" || len(h.asked) != 2 {
		t.Errorf("%s after %d questions", r.text, len(h.asked))
	}
	left, err := filepath.Glob(filepath.Join(os.TempDir(), "hermes-ask-*"))
	if err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// SUD-1, SUD-2: a job's sudo is answered like that of any command, also when its call is long over.
func TestBackground_SudoGetsThePassword_SUD2(t *testing.T) {
	program(t, "sudo", labSudo)
	h := keeping(t)
	h.ask = types("open sesame")
	gate := filepath.Join(t.TempDir(), "gate")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	id := begin(t, h, map[string]any{"command": "read x <" + gate + "; sudo echo as root"})
	if err := os.WriteFile(gate, []byte("go\n"), 0); err != nil {
		t.Fatal(err)
	}
	m := manage(t, h, map[string]any{"action": "wait", "session_id": id})
	if m["output"] != "as root\n" && m["output"] != "as root" || m["exit_code"] != 0.0 {
		t.Errorf("%v", m)
	}
	if m := manage(t, h, map[string]any{"action": "poll", "session_id": id}); !strings.HasSuffix(m["command"].(string), "; sudo echo as root") {
		t.Errorf("%v", m)
	}
	h = keeping(t) // nobody can be asked
	if r := run(t, h, `{"command": "sudo true", "background": true}`); !strings.Contains(r.Note, "SUDO_PASSWORD") {
		t.Errorf("%s", r.text)
	}
}
