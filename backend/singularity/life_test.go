//go:build linux

package singularity_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/environment/envtest"
	"github.com/hermes-runtime/hermes/internal/envs"
	"github.com/hermes-runtime/hermes/internal/session"
)

// stubborn ignores TERM, leaves the session and holds the pipe; its sleep is found by its length.
const stubborn = `setsid sh -c 'trap "" TERM HUP INT; while :; do sleep 4242; done' & sh -c 'trap "" TERM; sleep 4242' & echo up; wait`

// started is an output that tells when up was printed.
type started struct {
	once sync.Once
	up   chan struct{}
}

func newStarted() *started { return &started{up: make(chan struct{})} }

func (s *started) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte("up\n")) {
		s.once.Do(func() { close(s.up) })
	}
	return len(b), nil
}

func TestEnd_OfACommandLeavesNothingInTheInstance(t *testing.T) { // ENG-14, ENG-16, RES-8
	for _, mode := range []string{"auto", "off"} {
		t.Run("resident "+mode, func(t *testing.T) {
			l := newLab(t)
			l.config.Resident = mode
			e := l.open(t)
			res, err := e.Run(t.Context(), environment.Command{Script: stubborn, Timeout: 300 * time.Millisecond, Grace: 50 * time.Millisecond})
			if err != nil || res.Reason != environment.TimedOut || len(res.Survivors) > 0 {
				t.Errorf("timeout: %+v, %v", res, err)
			}
			l.gone(t, e.Info().ID, "4242")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			up := newStarted()
			go func() { <-up.up; cancel() }()
			res, err = e.Run(ctx, environment.Command{Script: stubborn, Output: up, Grace: 50 * time.Millisecond})
			if err != nil || res.Reason != environment.Interrupted || len(res.Survivors) > 0 {
				t.Errorf("interruption: %+v, %v", res, err)
			}
			l.gone(t, e.Info().ID, "4242")
		})
	}
}

const callerRole = "HERMES_TEST_CALLER"

// caller is a process of its own that runs a command until it is killed. It is told where by variables.
func caller() {
	b, _ := environment.Lookup("singularity")
	l := &lab{config: *defaults(b)}
	l.config.Image, l.config.ResidentPath, l.config.Resident = os.Getenv("HERMES_TEST_IMAGE"), os.Getenv("HERMES_TEST_BINARY"), os.Getenv("HERMES_TEST_MODE")
	l.o = environment.OpenOptions{Key: "test", HermesHome: os.Getenv("HERMES_TEST_HOME"), Dir: "/", Getenv: os.Getenv}
	e, err := l.try(context.Background())
	if err == nil {
		_, err = e.Run(context.Background(), environment.Command{Script: stubborn, Output: os.Stdout})
	}
	if err != nil {
		_, _ = os.Stderr.WriteString(err.Error())
		os.Exit(1)
	}
}

// calling starts a caller and waits until its command runs. kill ends it with the signal that nothing can be done about.
func (l *lab) calling(t *testing.T) (kill func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = []string{callerRole + "=run", "HERMES_TEST_HOME=" + l.o.HermesHome, "HERMES_TEST_IMAGE=" + l.config.Image,
		"HERMES_TEST_BINARY=" + l.config.ResidentPath, "HERMES_TEST_MODE=" + l.config.Resident}
	for n, v := range l.vars {
		cmd.Env = append(cmd.Env, n+"="+v)
	}
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	kill = sync.OnceFunc(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	t.Cleanup(kill)
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "up\n" {
		t.Fatalf("the command does not run: %q, %v", line, err)
	}
	return kill
}

func TestEnd_OfTheRuntimeLeavesNothingThatRuns(t *testing.T) { // kill -9: RES-4, RES-8, SNG-2
	for _, mode := range []string{"auto", "off"} {
		t.Run("resident "+mode, func(t *testing.T) {
			l := newLab(t)
			l.config.Resident = mode
			kill := l.calling(t)
			name := ""
			for name = range l.a.Running() {
				l.runs(t, name, "sleep 4242")
			}
			if mode == "off" {
				l.runs(t, name, "read -r l") // the guard, which stands beside the first command
			}
			kill()
			l.gone(t, name, "4242")
			other := *l
			other.o.Key = "another" // the first use in this process stops what nobody holds any more
			other.open(t)
			envtest.Eventually(t, func() string {
				if _, runs := l.a.Running()[name]; runs {
					return name + " still runs"
				}
				return ""
			})
		})
	}
}

// manager is one whose places are the lab's.
func (l *lab) manager(t *testing.T) *envs.Manager {
	t.Helper()
	m := envs.New(envs.Options{Backend: "singularity", Cwd: "/", Settings: func(environment.Backend, string, envs.Override) (environment.OpenOptions, error) {
		return l.options(), nil
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
	return session.Run(t.Context(), session.Request{Place: place, Command: environment.Command{Script: text, Timeout: time.Minute}, Renew: func(ctx context.Context, old environment.Environment) (environment.Place, error) {
		return m.Renew(ctx, "task", old)
	}})
}

func TestGone_IsStartedAnewOnceAndSaid(t *testing.T) { // MGR-6, CON-2, CON-3
	for _, mode := range []string{"auto", "off"} {
		t.Run("resident "+mode, func(t *testing.T) {
			l := newLab(t)
			l.config.Resident = mode
			m := l.manager(t)
			if a, err := call(t, m, "mkdir ~/d; cd ~/d; export A=kept; echo ran >>~/runs"); err != nil || a.Recreated {
				t.Fatalf("%+v, %v", a, err)
			}
			place, err := m.Place(t.Context(), "task")
			if err != nil {
				t.Fatal(err)
			}
			l.a.Kill(place.Info().ID)
			envtest.Eventually(t, func() string { // a file operation finds it gone, and says so
				if _, err := place.Files().Stat(t.Context(), "/"); errors.Is(err, environment.ErrGone) {
					return ""
				}
				return "it is not said to be gone"
			})
			for _, want := range []bool{true, false} {
				a, err := call(t, m, `[ "$PWD" = ~/d ] && echo $A; cat ~/runs`)
				if err != nil || a.Recreated != want || a.Text.Head != "kept\nran\n" {
					t.Errorf("%v: %+v, %v", want, a, err)
				}
			}
			if n := len(l.a.Running()); n != 1 {
				t.Errorf("%d instances", n)
			}
		})
	}
}

func TestGone_UnderACommandLosesItAndRunsNothingTwice(t *testing.T) { // CON-2, CON-3
	for _, mode := range []string{"auto", "off"} {
		t.Run("resident "+mode, func(t *testing.T) {
			l := newLab(t)
			l.config.Resident = mode
			e := l.open(t)
			up := newStarted()
			done := make(chan error, 1)
			go func() {
				_, err := e.Run(context.Background(), environment.Command{Script: "echo ran >>~/runs; echo up; sleep 4242", Output: up})
				done <- err
			}()
			<-up.up
			l.a.Kill(e.Info().ID)
			if err := <-done; !errors.Is(err, environment.ErrLost) || errors.Is(err, environment.ErrNotStarted) {
				t.Errorf("%v, want ErrLost", err)
			}
			shut(t, e)
			if out := run(t, l.open(t), "cat ~/runs"); out != "ran\n" {
				t.Errorf("%q", out)
			}
		})
	}
}

func TestShared_TheLastToLeaveStopsIt(t *testing.T) { // SNG-2
	l := newLab(t)
	one, two := l.anew(t), l.anew(t)
	if one.Info().ID != two.Info().ID || len(l.a.Running()) != 1 {
		t.Errorf("%s and %s, %v", one.Info().ID, two.Info().ID, l.a.Running())
	}
	run(t, one, "echo x >~/f")
	shut(t, one)
	if out := run(t, two, "cat ~/f"); out != "x\n" {
		t.Errorf("%q", out)
	}
	shut(t, two)
	if len(l.a.Running()) > 0 {
		t.Errorf("left: %v", l.a.Running())
	}
	if out := run(t, l.open(t), "cat ~/f"); out != "x\n" {
		t.Errorf("files of a former instance: %q", out)
	}
}

func TestJobs_KeepTheirInstance(t *testing.T) { // KPR-1, SNG-2: the next one finds them
	l := newLab(t)
	e := l.anew(t)
	name := e.Info().ID
	p, err := e.(environment.Starter).Start(t.Context(), environment.Job{Command: environment.Command{Script: stubborn}})
	if err != nil {
		t.Fatal(err)
	}
	i, err := p.Info(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	shut(t, e)
	if l.a.Running()[name] == 0 {
		t.Fatal("it was stopped")
	}
	busy := *l
	busy.config.Network = false
	if _, err := busy.try(t.Context()); !errors.Is(err, environment.ErrUnavailable) || !strings.Contains(err.Error(), "instance stop "+name) {
		t.Errorf("another configuration meanwhile: %v", err)
	}
	looking := *l
	looking.o.Find = true
	found := looking.open(t)
	p, err = found.(environment.Keeper).Attach(t.Context(), i.ID)
	if err == nil {
		_, err = p.Kill(t.Context(), "test")
	}
	if err != nil {
		t.Fatal(err)
	}
	shut(t, found)
	e = l.anew(t)
	if err := e.(environment.Keeper).Forget(t.Context(), i.ID); err != nil {
		t.Error(err)
	}
	shut(t, e)
	if len(l.a.Running()) > 0 {
		t.Errorf("it is kept for a job that has ended: %v", l.a.Running())
	}
	e = l.anew(t)
	if _, err := e.(environment.Starter).Start(t.Context(), environment.Job{Command: environment.Command{Script: "sleep 4242"}}); err != nil {
		t.Error(err)
	}
	if err := e.(environment.Destroyer).Destroy(t.Context()); err != nil || len(l.a.Running()) > 0 {
		t.Errorf("%v, left: %v", err, l.a.Running())
	}
	if _, err := looking.try(t.Context()); !errors.Is(err, environment.ErrGone) || len(l.a.Running()) > 0 {
		t.Errorf("looking for one that isn't there: %v", err)
	}
}

func TestJobs_EndWithAnInstanceThatIsNotKeptAndThatIsSaid(t *testing.T) {
	l := newLab(t)
	l.config.Files = false
	var said bytes.Buffer
	l.o.Stderr = &said
	e := l.anew(t)
	other := l.open(t)
	if e.Info().ID == other.Info().ID {
		t.Error("two share an instance that isn't kept")
	}
	if _, err := e.(environment.Starter).Start(t.Context(), environment.Job{Command: environment.Command{Script: "sleep 4242"}}); err != nil {
		t.Fatal(err)
	}
	shut(t, e)
	if !strings.Contains(said.String(), "container_persistent): background process") || len(l.a.Running()) != 1 {
		t.Errorf("%q, %v", said.String(), l.a.Running())
	}
}
