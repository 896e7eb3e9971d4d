//go:build linux || darwin

package resident_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine"
	"github.com/hermes-runtime/hermes/internal/engine/jobs"
	"github.com/hermes-runtime/hermes/internal/engine/resident"
)

const (
	keeperRole = "role-keeper"
	// waitTime bounds every wait of a test.
	waitTime = 2 * time.Minute
)

// keeperMain is a keeper process: the test binary in another role.
func keeperMain() {
	home := os.Getenv("HERMES_HOME")
	if len(os.Args) > 2 {
		major, _ := strconv.Atoi(os.Args[2])
		resident.SetMajor(major)
	}
	idle := 5 * time.Second
	if b, err := os.ReadFile(filepath.Join(home, "idle")); err == nil {
		idle, _ = time.ParseDuration(string(b))
	}
	log, err := os.OpenFile(filepath.Join(home, "keeper.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err == nil {
		err = resident.Detach()
	}
	if err == nil {
		_, _ = fmt.Fprintln(log, os.Getpid())
		err = resident.ServeKeeper(context.Background(), resident.KeeperServeOptions{
			Home: home, Idle: idle, Log: slog.New(slog.NewTextHandler(log, nil)),
			Jobs: jobs.Options{Engine: engine.Options{Grace: waitTime}}, // none of its jobs ignores TERM
		})
	}
	if err != nil && !errors.Is(err, resident.ErrKept) {
		_, _ = fmt.Fprintln(log, "ended:", err)
		os.Exit(1)
	}
}

// newHome makes a home whose keeper, if one is started, is gone at the end of the test.
func newHome(t testing.TB, idle string) string {
	t.Helper()
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "idle"), []byte(idle), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		k := client(home)
		ctx, cancel := context.WithTimeout(context.Background(), waitTime)
		defer cancel()
		list, err := k.Jobs(ctx, 0)
		if err != nil {
			t.Error(err)
		}
		for _, i := range list {
			if i.Status == environment.JobRunning || len(i.StillRunning) > 0 {
				p, err := k.Attach(ctx, i.ID)
				if err == nil {
					_, err = p.Kill(ctx, "test")
				}
				if err != nil {
					t.Error(err)
				}
			}
		}
		_ = k.Close(ctx)
		killKeepers(t, home)
	})
	return home
}

// keepers gives the keepers of a home that live.
func keepers(home string) []int {
	b, _ := os.ReadFile(filepath.Join(home, "keeper.log"))
	var pids []int
	for line := range strings.Lines(string(b)) {
		var pid int
		if _, err := fmt.Sscanf(line, "%d\n", &pid); err == nil && lives(pid) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// lives reports whether a process is there and no zombie.
func lives(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || !strings.Contains(string(b), ") Z ")
}

func killKeepers(t testing.TB, home string) {
	t.Helper()
	for _, pid := range keepers(home) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
		until(t, "the keeper is gone", func() bool { return !lives(pid) })
	}
}

func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(waitTime); !ok(); time.Sleep(3 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("never: " + what)
		}
	}
}

func client(home string) *resident.Keeper {
	return resident.NewKeeper(resident.KeeperOptions{Home: home, Argv: []string{os.Args[0], keeperRole}, Scope: jobs.ScopeHost})
}

func keeperOf(t testing.TB, home string) *resident.Keeper {
	t.Helper()
	k := client(home)
	t.Cleanup(func() { _ = k.Close(context.Background()) })
	return k
}

func startJob(t testing.TB, k resident.JobHost, j environment.Job) environment.Process {
	t.Helper()
	p, err := k.Start(context.Background(), jobs.Spec{Job: j, Base: engine.Base{Environ: os.Environ(), Home: os.TempDir(), Temp: os.TempDir()}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func script(text string) environment.Job {
	return environment.Job{Command: environment.Command{Script: text}}
}

func infoOf(t testing.TB, p environment.Process) environment.JobInfo {
	t.Helper()
	i, err := p.Info(context.Background(), 2000)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func endOf(t testing.TB, p environment.Process) environment.JobInfo {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), waitTime)
	defer cancel()
	if err := p.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	return infoOf(t, p)
}

// KPR-1, KPR-2: the first job starts the keeper, in its own session; its socket is ours alone; it goes when nobody needs it.
func TestKeeper_ComesAndGoes(t *testing.T) {
	home := newHome(t, "100ms")
	k := keeperOf(t, home)
	if list, err := k.Jobs(t.Context(), 0); err != nil || len(list) > 0 || len(keepers(home)) > 0 {
		t.Fatalf("without a job: %v, %v, keepers %v", list, err, keepers(home))
	}
	p := startJob(t, k, script("sleep 0.3; echo done; exit 5"))
	pids := keepers(home)
	if len(pids) != 1 {
		t.Fatalf("keepers: %v", pids)
	}
	if sid, err := syscall.Getpgid(pids[0]); err != nil || sid != pids[0] {
		t.Errorf("process group %d of %d, %v", sid, pids[0], err)
	}
	sockets, _ := filepath.Glob(filepath.Join(home, "run", "keeper-*.sock"))
	if len(sockets) == 1 {
		if st, err := os.Stat(sockets[0]); err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("socket %v, %v", st, err)
		}
	}
	if i := endOf(t, p); i.ExitCode == nil || *i.ExitCode != 5 || i.Preview != "done\n" {
		t.Errorf("%+v", i)
	}
	if err := k.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	until(t, "the keeper goes", func() bool { return len(keepers(home)) == 0 })
	k = keeperOf(t, home)
	again, err := k.Attach(t.Context(), infoOf(t, onlyJob(t, k)).ID)
	if err != nil || infoOf(t, again).Preview != "done\n" {
		t.Errorf("after it came back: %v", err)
	}
}

// onlyJob is the only job of a home.
func onlyJob(t *testing.T, k *resident.Keeper) environment.Process {
	t.Helper()
	list, err := k.Jobs(t.Context(), 0)
	if err != nil || len(list) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	p, err := k.Attach(t.Context(), list[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// KPR-3: of many starters one keeper results, and a socket that nobody answers is replaced.
func TestKeeper_Race(t *testing.T) {
	home := newHome(t, "5s")
	if err := os.MkdirAll(filepath.Join(home, "run"), 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(home, "run", "keeper-1.sock"), Net: "unix"})
	if err == nil { // where the path is short enough for one
		l.SetUnlinkOnClose(false)
		_ = l.Close()
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { startJob(t, keeperOf(t, home), script("sleep 60")) })
	}
	wg.Wait()
	list, err := keeperOf(t, home).Jobs(t.Context(), 0)
	if err != nil || len(list) != 8 {
		t.Errorf("%d jobs, %v", len(list), err)
	}
	until(t, "one keeper is left", func() bool { return len(keepers(home)) == 1 })
}

// JOB-7, PRT-4, PRT-6, PTY: every operation through the socket.
func TestKeeper_Operations(t *testing.T) {
	home := newHome(t, "5s")
	k := keeperOf(t, home)
	j := script("cat; exit 2")
	j.KeepStdin, j.Notify, j.Labels = true, true, map[string]string{"session_key": "s1"}
	p := startJob(t, k, j)
	if n, err := p.Write(t.Context(), []byte("a\nb\nc\n")); n != 6 || err != nil {
		t.Errorf("write %d, %v", n, err)
	}
	until(t, "it is echoed", func() bool { return infoOf(t, p).Lines == 3 })
	if l, err := p.Log(t.Context(), 1, 1); err != nil || l.Text != "b\n" || l.Total != 3 {
		t.Errorf("log %+v, %v", l, err)
	}
	if _, err := p.Screen(t.Context()); !errors.Is(err, environment.ErrUnsupported) {
		t.Errorf("screen: %v", err)
	}
	if err := p.CloseInput(t.Context()); err != nil {
		t.Error(err)
	}
	i := endOf(t, p)
	if *i.ExitCode != 2 || i.Labels["session_key"] != "s1" {
		t.Errorf("%+v", i)
	}
	if _, err := p.Write(t.Context(), []byte("x")); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("write after the end: %v", err)
	}
	events, err := k.Events(t.Context(), nil)
	if err != nil || len(events) != 1 || events[0].Job != i.ID || events[0].Output != "a\nb\nc\n" || *events[0].ExitCode != 2 {
		t.Fatalf("%+v, %v", events, err)
	}
	if err := k.Taken(t.Context(), events[0].ID); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if events, err = k.Events(ctx, nil); err == nil {
		t.Errorf("taken, and given again: %+v", events)
	}
	if _, err := k.Attach(t.Context(), "proc_ffffffffffff"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("unknown: %v", err)
	}
	screen := script("printf 'hello\\r\\n'; read x; echo got $x; sleep 60")
	screen.Terminal = &environment.Size{Rows: 24, Cols: 80}
	p = startJob(t, k, screen)
	until(t, "the screen shows it", func() bool { s, err := p.Screen(t.Context()); return err == nil && strings.HasPrefix(s.Text, "hello") })
	if err := p.Keys(t.Context(), []string{"x", "enter"}); err == nil {
		t.Error("a key that there isn't is pressed")
	}
	if _, err := p.Write(t.Context(), []byte("you")); err != nil {
		t.Error(err)
	}
	if err := p.Keys(t.Context(), []string{"enter"}); err != nil {
		t.Error(err)
	}
	until(t, "it answers", func() bool { s, err := p.Screen(t.Context()); return err == nil && strings.Contains(s.Text, "got you") })
	if err := p.Resize(t.Context(), environment.Size{Rows: 30, Cols: 100}); err != nil || infoOf(t, p).Terminal.Cols != 100 {
		t.Errorf("resize: %v", err)
	}
	if left, err := p.Kill(t.Context(), "process.kill"); err != nil || len(left) > 0 || infoOf(t, p).Source != "process.kill" {
		t.Errorf("kill: %v, %v", left, err)
	}
}

// KPR-6, IDN-2: a keeper that is killed is followed by one that adopts what lives and writes receipts for what doesn't.
func TestKeeper_Killed(t *testing.T) {
	home := newHome(t, "5s")
	k := keeperOf(t, home)
	quiet := startJob(t, k, script("sleep 60"))
	loud := startJob(t, k, script("while echo x; do sleep 0.01; done"))
	done := startJob(t, k, script("exit 3"))
	j := script("sleep 60")
	j.Notify = true
	told := startJob(t, k, j)
	endOf(t, done)
	killKeepers(t, home)
	if err := syscall.Kill(-infoOf(t, told).PID, syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	if i := infoOf(t, quiet); i.Status != environment.JobRunning || !i.Detached || !strings.Contains(i.Note, "missing") {
		t.Errorf("adopted: %+v", i)
	}
	if i := endOf(t, loud); i.ExitCode != nil || i.End != environment.EndLost && i.End != environment.EndExited || !strings.Contains(i.Note, "missing") {
		t.Errorf("one that wrote into a closed pipe: %+v", i)
	}
	if i := infoOf(t, done); *i.ExitCode != 3 || i.Detached {
		t.Errorf("finished: %+v", i)
	}
	i := endOf(t, told)
	events, err := k.Events(t.Context(), nil)
	if err != nil || len(events) != 1 || events[0].Job != i.ID || events[0].ExitCode != nil {
		t.Errorf("%+v, %v", events, err)
	}
	if left, err := quiet.Kill(t.Context(), "process.kill"); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
	if i := infoOf(t, quiet); i.Status != environment.JobExited || i.End != environment.EndKilled || i.ExitCode != nil {
		t.Errorf("killed: %+v", i)
	}
}
