//go:build linux

package engine_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/internal/engine"
)

// stubborn is a tree that ignores TERM, with members that got away; each writes its process id below HOME.
const stubborn = `cd "$D"; trap '' TERM; setsid sh -c 'trap "" TERM; echo $$ >a; sleep 600' & ( (sh -c 'trap "" TERM; echo $$ >b; sleep 600') & ); echo $$ >c; sleep 600`

// ranAndDied starts a runtime that runs scripts, waits until the tree of the last one stands, and kills the runtime alone.
func ranAndDied(t *testing.T, home, guarded string, scripts ...string) (pids []int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	d := t.TempDir()
	c := exec.Command(self, append([]string{"role-runtime", home, guarded}, append(scripts, stubborn)...)...)
	c.Env = append(os.Environ(), "D="+d)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b", "c"} {
		pids = append(pids, readPID(t, filepath.Join(d, name)))
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait() // it was killed
	return pids
}

func readPID(t *testing.T, file string) int {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		b, _ := os.ReadFile(file)
		if pid, err := strconv.Atoi(strings.TrimSpace(string(b))); err == nil {
			return pid
		}
	}
	t.Fatalf("%s was not written", file)
	return 0
}

func alive(pid int) bool {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && !strings.Contains(string(b), ") Z ")
}

func mustGo(t *testing.T, pids []int) {
	t.Helper()
	for _, pid := range pids {
		for end := time.Now().Add(patience); alive(pid); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) {
				t.Errorf("process %d lives on", pid)
				_ = syscall.Kill(pid, syscall.SIGKILL)
				break
			}
		}
	}
}

func TestGuard_EndsWhatAKilledRuntimeHeld(t *testing.T) { // ENG-22, KPR-8
	mustGo(t, ranAndDied(t, t.TempDir(), "guarded"))
}

func TestGuard_LeavesAlonAfterAGoodbye(t *testing.T) { // ENG-22, ENG-16
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "pid")
	out, err := exec.Command(self, "role-runtime", t.TempDir(), "guarded", "sleep 600 >/dev/null 2>&1 & echo $! >"+file).CombinedOutput()
	if err != nil || string(out) != "0 <nil>\n" {
		t.Fatalf("%q, %v", out, err)
	}
	pid := readPID(t, file)
	if !alive(pid) {
		t.Error("what a command left running in order was ended")
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

// A command hears what its parent was born ignoring, as everything is that a shell puts into the background.
func TestRun_HearsInterruptsThatItsParentIgnores(t *testing.T) { // ENG-3, PTY-4
	file := filepath.Join(t.TempDir(), "heard")
	c := exec.Command("sh", "-c", `trap "" INT; exec "$@"`, "sh", os.Args[0], "role-runtime", t.TempDir(), "unguarded", "trap 'echo heard >"+file+"' INT; kill -INT $$")
	if out, err := c.CombinedOutput(); err != nil || string(out) != "0 <nil>\n" {
		t.Fatalf("%s, %v", out, err)
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "heard\n" {
		t.Errorf("%q, %v", b, err)
	}
}

func TestSweep_EndsWhatADeadRuntimeLeftAndNothingElse(t *testing.T) { // LOC-5
	home, other := t.TempDir(), t.TempDir()
	file := filepath.Join(t.TempDir(), "pid")
	pids := ranAndDied(t, home, "unguarded", "sleep 600 >/dev/null 2>&1 & echo $! >"+file)
	left := readPID(t, file)
	foreign := ranAndDied(t, other, "unguarded")
	sweep := func(home string) {
		e := engine.New(engine.Options{Home: home})
		e.Sweep()
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}
	sweep(home)
	mustGo(t, pids)
	if !alive(left) {
		t.Error("what had been left running in order was ended")
	}
	for _, pid := range foreign {
		if !alive(pid) {
			t.Error("another home's process was ended")
		}
	}
	if names, err := os.ReadDir(filepath.Join(home, "run")); err != nil || len(names) != 0 {
		t.Errorf("records are left: %v, %v", names, err)
	}
	sweep(other)
	mustGo(t, foreign)
	_ = syscall.Kill(left, syscall.SIGKILL)
}

func TestRecord_GoesWithItsRuntime(t *testing.T) { // LOC-5
	home := t.TempDir()
	e := engine.New(engine.Options{Home: home})
	call(t, e, command("true"))
	if err := e.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if names, err := os.ReadDir(filepath.Join(home, "run")); err != nil && !errors.Is(err, os.ErrNotExist) || len(names) > 0 {
		t.Errorf("%v, %v", names, err)
	}
}
