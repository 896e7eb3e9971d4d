//go:build linux || darwin

package resident_test

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine/jobs"
	"github.com/hermes-runtime/hermes/internal/engine/resident"
	"github.com/hermes-runtime/hermes/internal/engine/resident/wire"
)

// SUD-2: what answers a job's sudo is with its keeper, whoever of its starter is left, and stands in no file, argument or variable.
func TestKeeper_AnswersSudo(t *testing.T) {
	home := newHome(t, "30s")
	k := keeperOf(t, home)
	j := script(`[ "$("$SUDO_ASKPASS")" = "open sesame" ] && grep -c 'open [s]esame' /proc/$$/environ /proc/$PPID/environ /proc/$PPID/cmdline; true`)
	j.Shown = "one that asks"
	j.Command.SudoSecret = func(context.Context) (string, error) { return "open sesame", nil }
	i := endOf(t, startJob(t, k, j))
	if got := strings.Count(i.Preview, ":0\n"); got != 3 {
		t.Errorf("%q", i.Preview)
	}
	if out, err := exec.Command("grep", "-r", "open [s]esame", home).Output(); len(out) > 0 {
		t.Errorf("on the disk: %s, %v", out, err)
	}
	j.Command.SudoSecret = func(context.Context) (string, error) { return "", errors.New("nobody knows it") }
	if _, err := k.Start(t.Context(), jobs.Spec{Job: j}); !errors.Is(err, environment.ErrNotStarted) {
		t.Errorf("%v", err)
	}
}

// KPR-5: after an upgrade to another protocol the former keeper keeps its jobs until they end and new ones go to a new keeper; every list
// and every action of the new version sees both.
func TestKeeper_OfAnotherVersion(t *testing.T) {
	home := newHome(t, "100ms")
	former := keeperOf(t, home)
	gate := filepath.Join(t.TempDir(), "gate")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	j := script("echo old; read x <" + gate + "; exit 3")
	j.Notify, j.KeepStdin = true, true
	finishes := infoOf(t, startJob(t, former, j))
	killed := infoOf(t, startJob(t, former, script("exec sleep 600")))
	resident.SetMajor(wire.Version + 1)
	t.Cleanup(func() { resident.SetMajor(wire.Version) })
	argv := []string{os.Args[0], keeperRole, strconv.Itoa(wire.Version + 1)}
	k := resident.NewKeeper(resident.KeeperOptions{Home: home, Argv: argv, Scope: jobs.ScopeHost})
	t.Cleanup(func() { _ = k.Close(context.Background()) })
	young := startJob(t, k, script("exec sleep 600"))
	if n := len(keepers(home)); n != 2 {
		t.Fatalf("%d keepers", n)
	}
	list, err := k.Jobs(t.Context(), 100)
	if err != nil || len(list) != 3 {
		t.Fatalf("%+v, %v", list, err)
	}
	for _, i := range list {
		if i.Status != environment.JobRunning || i.Detached {
			t.Errorf("%+v", i)
		}
	}
	attach := func(id string) environment.Process {
		t.Helper()
		p, err := k.Attach(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	p := attach(finishes.ID)
	until(t, "its output is seen", func() bool { return infoOf(t, p).Preview == "old\n" })
	if _, err := p.Write(t.Context(), []byte("x")); !errors.Is(err, io.ErrClosedPipe) || !strings.Contains(err.Error(), "another version") {
		t.Errorf("%v", err)
	}
	other := attach(killed.ID)
	if left, err := other.Kill(t.Context(), "test"); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
	if i := endOf(t, other); i.Status != environment.JobExited || i.End != environment.EndKilled || i.Source != "test" || i.ExitCode == nil || *i.ExitCode != -15 {
		t.Errorf("%+v", i)
	}
	if err := former.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(gate, []byte("go\n"), 0); err != nil {
		t.Fatal(err)
	}
	if i := endOf(t, p); i.ExitCode == nil || *i.ExitCode != 3 || i.Preview != "old\n" {
		t.Errorf("%+v", i)
	}
	ctx, cancel := context.WithTimeout(t.Context(), waitTime) // its keeper goes, and what it had to tell is told by the other
	defer cancel()
	events, err := k.Events(ctx, nil)
	if err != nil || len(events) != 1 || events[0].Job != finishes.ID || events[0].ExitCode == nil || *events[0].ExitCode != 3 {
		t.Errorf("%+v, %v", events, err)
	}
	if left, err := young.Kill(t.Context(), "test"); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}
