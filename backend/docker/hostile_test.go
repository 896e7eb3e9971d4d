//go:build linux

package docker_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"github.com/hermes-runtime/hermes/backend/docker/dockertest"
	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/environment/envtest"
	"github.com/hermes-runtime/hermes/internal/envs"
	"github.com/hermes-runtime/hermes/internal/session"
)

// manager is one whose places are the lab's.
func (l *lab) manager(t *testing.T) *envs.Manager {
	t.Helper()
	m := envs.New(envs.Options{Backend: "docker", Cwd: "/", Settings: func(environment.Backend, string, envs.Override) (environment.OpenOptions, error) {
		o, c := l.o, l.config
		o.Config = &c
		return o, nil
	}})
	t.Cleanup(func() { _ = m.Close(context.Background()) })
	return m
}

// call runs a command as the terminal tool does.
func call(t *testing.T, m *envs.Manager, text string) (session.Answer, error) {
	t.Helper()
	place, err := m.Place(t.Context(), "task")
	if err != nil {
		t.Fatal(err)
	}
	return session.Run(t.Context(), session.Request{Place: place, Command: script(text), Renew: func(ctx context.Context, old environment.Environment) (environment.Place, error) {
		return m.Renew(ctx, "task", old)
	}})
}

func (l *lab) remove(t *testing.T, id string) {
	t.Helper()
	if _, err := l.api.ContainerRemove(context.Background(), id, client.ContainerRemoveOptions{Force: true}); err != nil {
		t.Fatal(err)
	}
}

// over waits until a place knows that contact has ended.
func over(t *testing.T, e environment.Environment) {
	t.Helper()
	envtest.Eventually(t, func() string {
		if _, err := e.Files().Stat(context.Background(), "/"); err != nil && !errors.Is(err, environment.ErrLost) {
			return ""
		}
		return "it still answers"
	})
}

func TestGone_IsMadeAnewOnceAndSaid(t *testing.T) { // MGR-6, CON-3, TRM-5
	l := newLab(t)
	m := l.manager(t)
	if a, err := call(t, m, "mkdir /root/d; cd /root/d; export A=kept; echo ran >>/root/runs"); err != nil || a.Recreated {
		t.Fatalf("%+v, %v", a, err)
	}
	place, err := m.Place(t.Context(), "task")
	if err != nil {
		t.Fatal(err)
	}
	l.remove(t, place.Info().ID)
	over(t, place) // a file operation finds it gone, and says so rather than that there is no such file
	for _, want := range []bool{true, false} {
		a, err := call(t, m, "pwd; echo $A; cat /root/runs")
		if err != nil || a.Recreated != want || a.Text.Head != "/root/d\nkept\nran\n" {
			t.Errorf("%v: %+v, %v", want, a, err)
		}
		if want {
			if anew, err := m.Place(t.Context(), "task"); err != nil || anew.Environment == place.Environment {
				t.Errorf("%v", err)
			}
		}
	}
	if n := len(l.containers(t)); n != 1 {
		t.Errorf("%d containers", n)
	}
	place, _ = m.Place(t.Context(), "task")
	l.remove(t, place.Info().ID)
	over(t, place)
	if next, err := m.Place(t.Context(), "task"); err != nil {
		t.Error(err)
	} else if i, err := next.Files().Stat(t.Context(), "/root/runs"); err != nil || i.Size != 4 {
		t.Errorf("files of the place that was made anew: %+v, %v", i, err)
	}
}

func TestGone_UnderACommandLosesItAndRunsNothingTwice(t *testing.T) { // CON-2, CON-3
	l := newLab(t)
	m := l.manager(t)
	place, err := m.Place(t.Context(), "task")
	if err != nil {
		t.Fatal(err)
	}
	up := newStarted()
	done := make(chan error, 1)
	go func() {
		_, err := place.Run(context.Background(), environment.Command{Script: "echo ran >>/root/runs; echo up; sleep 4242", Output: up})
		done <- err
	}()
	<-up.up
	l.remove(t, place.Info().ID)
	if err := <-done; !errors.Is(err, environment.ErrLost) || errors.Is(err, environment.ErrNotStarted) {
		t.Errorf("%v, want ErrLost", err)
	}
	if a, err := call(t, m, "cat /root/runs"); err != nil || a.Text.Head != "ran\n" || !a.Recreated {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestPaused_TheDeadlineCountsAllTheSame(t *testing.T) { // CON-5, DKR-10
	t.Parallel()
	l := newLab(t)
	e := l.open(t)
	id := e.Info().ID
	type end struct {
		res environment.Result
		err error
	}
	ctx, interrupt := context.WithCancel(context.Background())
	ends := map[environment.Reason]chan end{}
	for _, reason := range []environment.Reason{environment.Interrupted, environment.TimedOut} {
		done, up := make(chan end, 1), newStarted()
		ends[reason] = done
		c := environment.Command{Script: stubborn, Output: up, Grace: 50 * time.Millisecond}
		of := ctx
		if reason == environment.TimedOut {
			of, c.Timeout = context.Background(), 10*time.Second // it is paused by then
		}
		go func() {
			res, err := e.Run(of, c)
			done <- end{res, err}
		}()
		<-up.up
	}
	if _, err := l.api.ContainerPause(t.Context(), id, client.ContainerPauseOptions{}); err != nil {
		t.Fatal(err)
	}
	interrupt()
	short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := e.Files().Stat(short, "/"); !errors.Is(err, environment.ErrLost) && !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a file meanwhile: %v", err)
	}
	for reason, done := range ends {
		if got := <-done; got.err != nil || got.res.Reason != reason || len(got.res.Survivors) == 0 {
			t.Errorf("%s: %+v", reason, got)
		}
	}
	if _, err := l.api.ContainerUnpause(t.Context(), id, client.ContainerUnpauseOptions{}); err != nil {
		t.Fatal(err)
	}
	l.gone(t, id, "4242")
	if out := run(t, e, "echo on"); out != "on\n" {
		t.Errorf("%q", out)
	}
}

func TestPaused_AContainerIsUnpausedWhenItIsNeeded(t *testing.T) {
	l := newLab(t)
	e := l.open(t)
	id := e.Info().ID
	shut(t, e)
	if _, err := l.api.ContainerPause(t.Context(), id, client.ContainerPauseOptions{}); err != nil {
		t.Fatal(err)
	}
	if out := run(t, l.open(t), "echo on"); out != "on\n" || !l.inspect(t, id).State.Running {
		t.Errorf("%q", out)
	}
}

func TestDisk_ThatIsFullIsSaid(t *testing.T) { // LOG-7, JOB-3
	l := newLab(t)
	l.config.Files, l.config.ExtraArgs = false, []string{"--tmpfs", "/root:rw,exec,size=2m"}
	envtest.FullDisk(t, l.open(t))
}

// hog takes the processes that a container may have, says so, and goes on until its input ends.
const hog = `sh -c 'while :; do sleep 4242 & done' 2>/dev/null; echo up; read x`

func TestProcesses_ThatAreAllTakenAreSaidAndGivenBack(t *testing.T) { // CON-1, CON-2, DKR-10
	l := newLab(t)
	l.config.ExtraArgs = []string{"--pids-limit", "100"}
	e := l.open(t)
	envtest.FullProcesses(t, e)
	l.gone(t, e.Info().ID, "4242")
}

func TestProcesses_ThatAreAllTakenByAnotherRuntimeAreEnded(t *testing.T) { // DKR-10: what can't be reached is restarted, and that is said
	l := newLab(t)
	l.config.ExtraArgs = []string{"--pids-limit", "100"}
	e := l.open(t)
	r, w := io.Pipe()
	defer w.Close()
	up := newStarted()
	done := make(chan error, 1)
	go func() {
		_, err := e.Run(context.Background(), environment.Command{Script: hog, Output: up, Stdin: r})
		done <- err
	}()
	<-up.up
	other := l.open(t)
	res, err := other.Run(context.Background(), script("true"))
	if err != nil || !res.Recreated || res.ExitCode != 0 {
		t.Errorf("%+v, %v", res, err)
	}
	if err := <-done; !errors.Is(err, environment.ErrLost) {
		t.Errorf("what ran before: %v", err)
	}
	l.gone(t, other.Info().ID, "4242")
}

func TestImage_WithHardlyAnythingInItWorks(t *testing.T) { // ENG-1, ENG-21, RMT-1: no bash, no /tmp, no home, no list of users
	l := newLab(t)
	l.config.Image, l.config.Files = dockertest.Bare, false
	for name, args := range map[string][]string{"writable": nil, "read-only": {"--read-only"}} {
		t.Run(name, func(t *testing.T) {
			l.config.ExtraArgs = args
			e := l.open(t)
			i := e.Info()
			if out := run(t, e, "echo $0; echo x >"+string(i.Temp)+"/f && cat "+string(i.Temp)+"/f"); !strings.HasSuffix(out, "x\n") || i.Home == "" || i.Lacking["bash"] == "" {
				t.Errorf("%q, %+v", out, i)
			}
			dir := i.Temp + "/d"
			at := dir + "/written"
			if err := e.Files().MkdirAll(t.Context(), dir, 0o755); err != nil {
				t.Error(err)
			}
			if _, err := e.Files().Replace(t.Context(), at, strings.NewReader("needle\n"), environment.ReplaceOptions{}); err != nil {
				t.Error(err)
			}
			if m, err := e.(environment.Searcher).Search(t.Context(), environment.Query{Pattern: "needle", Root: dir}); err != nil || m.Total != 1 {
				t.Errorf("%+v, %v", m, err)
			}
			p := start(t, e, environment.Job{Command: script("echo there; exit 3"), Terminal: &environment.Size{Rows: 10, Cols: 40}})
			if j := ended(t, p); j.ExitCode == nil || *j.ExitCode != 3 {
				t.Errorf("%+v", j)
			}
		})
	}
}
