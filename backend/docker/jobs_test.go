//go:build linux

package docker_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"github.com/hermes-runtime/hermes/backend/docker"
	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/environment/envtest"
	"github.com/hermes-runtime/hermes/internal/process"
)

func start(t *testing.T, e environment.Environment, j environment.Job) environment.Process {
	t.Helper()
	p, err := e.(environment.Starter).Start(t.Context(), j)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func script(s string) environment.Command { return environment.Command{Script: s} }

func infoOf(t *testing.T, p environment.Process) environment.JobInfo {
	t.Helper()
	i, err := p.Info(t.Context(), 2000)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// ended waits for the end of a job.
func ended(t *testing.T, p environment.Process) environment.JobInfo {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := p.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	return infoOf(t, p)
}

func attach(t *testing.T, e environment.Environment, id string) environment.Process {
	t.Helper()
	p, err := e.(environment.Keeper).Attach(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestJobs_RunInTheContainerOnPipesAndOnTerminals(t *testing.T) { // RMT-1, PTY-1, PTY-3, JOB-7, ENG-12
	l := newLab(t)
	l.vars["FORWARDED"] = "from here"
	l.config.ForwardEnv = []string{"FORWARDED"}
	e := l.open(t)
	p := start(t, e, environment.Job{Command: script(`echo "$FORWARDED"; read x; echo "got $x"; exit 7`), KeepStdin: true, Notify: true})
	if n, err := p.Write(t.Context(), []byte("a line\n")); n != 7 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if i := ended(t, p); *i.ExitCode != 7 || i.Preview != "from here\ngot a line\n" {
		t.Errorf("%+v", i)
	}
	if events, err := e.(environment.Keeper).Events(t.Context(), nil); err != nil || len(events) != 1 || events[0].Type != environment.EventCompletion {
		t.Errorf("%+v, %v", events, err)
	}
	if r, err := e.Files().Stat(t.Context(), infoOf(t, p).Log); err != nil || r.Size == 0 {
		t.Errorf("its log: %+v, %v", r, err)
	}
	p = start(t, e, environment.Job{Command: script(`stty size; read x; stty size; read x`), Terminal: &environment.Size{Rows: 11, Cols: 33}})
	envtest.Eventually(t, func() string { return lacks(t, p, "11 33") })
	if err := p.Resize(t.Context(), environment.Size{Rows: 22, Cols: 44}); err != nil {
		t.Error(err)
	}
	if err := p.Keys(t.Context(), []string{"enter"}); err != nil {
		t.Error(err)
	}
	envtest.Eventually(t, func() string { return lacks(t, p, "22 44") })
	if _, err := p.Kill(t.Context(), "test"); err != nil {
		t.Error(err)
	}
	if i := ended(t, p); i.End != environment.EndKilled {
		t.Errorf("%+v", i)
	}
}

// lacks says what stands on a screen, if a text doesn't.
func lacks(t *testing.T, p environment.Process, text string) string {
	t.Helper()
	s, err := p.Screen(t.Context())
	if err == nil && strings.Contains(s.Text, text) {
		return ""
	}
	return "the screen shows " + s.Text
}

func TestJobs_OutliveTheirRuntimeAndAreAdopted(t *testing.T) { // RMT-1, KPR-1, IDN-2, GRP-2, GRP-6
	l := newLab(t)
	id, kill := l.calling(t, "job")
	box := l.containers(t)[0].ID
	kill()
	l.gone(t, box, "4243") // its command in the foreground
	e := l.open(t)
	if list, err := e.(environment.Keeper).Jobs(t.Context()); err != nil || len(list) != 1 || list[0].ID != id || list[0].Status != environment.JobRunning || list[0].Detached {
		t.Fatalf("%+v, %v", list, err)
	}
	table := process.New(process.Options{})
	if !table.Busy(t.Context(), e) { // MGR-5
		t.Error("the place counts as idle")
	}
	if all := l.processes(t, box); !strings.Contains(all, "sleep 4242") || !strings.Contains(all, docker.Keeping) {
		t.Errorf("there run:\n%s", all)
	}
	p := attach(t, e, id)
	if left, err := p.Kill(t.Context(), "test"); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
	l.gone(t, box, "4242")
	if i := infoOf(t, p); i.Status != environment.JobExited || i.End != environment.EndKilled || len(i.StillRunning) > 0 || !strings.HasPrefix(i.Preview, "up\n") {
		t.Errorf("%+v", i)
	}
	if table.Busy(t.Context(), e) {
		t.Error("the place counts as busy")
	}
}

func TestJobs_EndWithTheirContainerAndAreLost(t *testing.T) { // IDN-5, KPR-6
	for name, end := range map[string]func(*lab, string) error{
		"stopped": func(l *lab, id string) error {
			zero := 0
			_, err := l.api.ContainerStop(context.Background(), id, client.ContainerStopOptions{Timeout: &zero})
			return err
		},
		"removed": func(l *lab, id string) error {
			_, err := l.api.ContainerRemove(context.Background(), id, client.ContainerRemoveOptions{Force: true})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			e := l.open(t)
			p := start(t, e, environment.Job{Command: script("echo here; sleep 4242")})
			id := infoOf(t, p).ID
			if err := end(l, e.Info().ID); err != nil {
				t.Fatal(err)
			}
			next := l.open(t)
			i := infoOf(t, attach(t, next, id))
			if i.Status != environment.JobExited || i.End != environment.EndLost || i.ExitCode != nil || i.Preview != "here\n" {
				t.Errorf("%+v", i)
			}
			if out := run(t, next, "ps"); strings.Contains(out, "4242") {
				t.Errorf("it was started again:\n%s", out)
			}
		})
	}
}

func TestJobs_OfAPlaceThatIsNotKeptEndWithItAndAreTold(t *testing.T) { // RMT-3
	l := newLab(t)
	var said bytes.Buffer
	l.config.Persist, l.o.Stderr = false, &said
	e := l.open(t)
	id := infoOf(t, start(t, e, environment.Job{Command: script("sleep 4242")})).ID
	ended(t, start(t, e, environment.Job{Command: script("exit 0")}))
	shut(t, e)
	if !strings.Contains(said.String(), id) || strings.Contains(said.String(), "exit 0") || len(l.containers(t)) > 0 {
		t.Errorf("said %q; %v", said.String(), l.containers(t))
	}
}

func TestJobs_OfTwoContainersWithOneHomeAreApart(t *testing.T) { // KPR-2
	for name, other := range map[string]func(l *lab){
		"another configuration": func(l *lab) { l.config.MemoryMB = 512 },
		"another HERMES_HOME":   func(l *lab) { l.o.HermesHome = t.TempDir() },
		"another task":          func(l *lab) { l.o.Key = "other" },
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t)
			l.config.Volumes = []string{t.TempDir() + ":/root"}
			apart(t, l, other)
		})
	}
}

func apart(t *testing.T, l *lab, change func(l *lab)) {
	t.Helper()
	one := l.open(t)
	p := start(t, one, environment.Job{Command: script("sleep 4242")})
	id := infoOf(t, p).ID
	home := l.o.HermesHome
	change(l)
	two := l.open(t)
	t.Cleanup(func() { // those of both homes are removed
		l.remove(t, two.Info().ID)
		l.o.HermesHome = home
	})
	if _, err := two.(environment.Keeper).Attach(t.Context(), id); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	other := start(t, two, environment.Job{Command: script("sleep 4243")})
	if all := l.processes(t, two.Info().ID); !strings.Contains(all, "4243") || strings.Contains(all, "4242") {
		t.Errorf("there run:\n%s", all)
	}
	if i := infoOf(t, p); i.Status != environment.JobRunning {
		t.Errorf("%+v", i)
	}
	for _, p := range []environment.Process{p, other} {
		if _, err := p.Kill(t.Context(), "test"); err != nil {
			t.Error(err)
		}
	}
}

func TestJobs_KeepTheirContainer(t *testing.T) { // RMT-3, OWN-3, DKR-6
	l := newLab(t)
	e := l.open(t)
	start(t, e, environment.Job{Command: script("sleep 4242")})
	id := e.Info().ID
	shut(t, e)
	getenv := func(n string) string { return l.vars[n] }
	docker.SweepAt(t, getenv, &l.config, l.o.HermesHome, 240*time.Hour)
	l.config.MemoryMB = 512 // another configuration
	other := l.open(t)
	if !slices.ContainsFunc(other.Info().Notes, func(n string) bool { return strings.Contains(n, id) }) {
		t.Errorf("nothing is said of it: %q", other.Info().Notes)
	}
	shut(t, other)
	if c := l.inspect(t, id); !c.State.Running || !strings.Contains(l.processes(t, id), "4242") {
		t.Errorf("%+v", c.State)
	}
	l.config.MemoryMB = 5120
	again := l.open(t)
	list, err := again.(environment.Keeper).Jobs(t.Context())
	if err != nil || len(list) != 1 || list[0].Status != environment.JobRunning {
		t.Errorf("%+v, %v", list, err)
	}
}
