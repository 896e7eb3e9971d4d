//go:build linux

package docker_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"github.com/hermes-runtime/hermes/backend/docker/dockertest"
	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/environment/envtest"
)

// stubborn ignores TERM, leaves the session and holds the pipe; its sleep is found by its length.
const stubborn = `setsid sh -c 'trap "" TERM HUP INT; while :; do sleep 4242; done' & sh -c 'trap "" TERM; sleep 4242' & echo up; wait`

// started is an output that tells when something was printed.
type started struct {
	once sync.Once
	up   chan struct{}
}

func newStarted() *started { return &started{up: make(chan struct{})} }

func (s *started) Write(b []byte) (int, error) {
	s.once.Do(func() { close(s.up) })
	return len(b), nil
}

func TestEnd_OfACommandLeavesNothingInTheContainer(t *testing.T) { // DKR-10
	l := newLab(t)
	e := l.open(t)
	for name, run := range map[string]func(environment.Command) (environment.Result, error){
		"timeout": func(c environment.Command) (environment.Result, error) {
			c.Timeout = 300 * time.Millisecond
			return e.Run(context.Background(), c)
		},
		"interruption": func(c environment.Command) (environment.Result, error) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			up := newStarted()
			c.Output = up
			go func() { <-up.up; cancel() }()
			return e.Run(ctx, c)
		},
	} {
		res, err := run(environment.Command{Script: stubborn, Grace: 50 * time.Millisecond})
		if err != nil || res.Reason == environment.Exited {
			t.Errorf("%s: %+v, %v", name, res, err)
		}
		l.gone(t, e.Info().ID, "4242")
	}
}

func TestEnd_ByACloseLeavesNothingInTheContainer(t *testing.T) { // DKR-10, DKR-6
	l := newLab(t)
	e := l.open(t)
	up := newStarted()
	done := make(chan error, 1)
	go func() {
		_, err := e.Run(context.Background(), environment.Command{Script: stubborn, Output: up})
		done <- err
	}()
	<-up.up
	shut(t, e)
	if err := <-done; !errors.Is(err, environment.ErrUnavailable) && !errors.Is(err, environment.ErrLost) {
		t.Errorf("%v", err)
	}
	l.gone(t, e.Info().ID, "4242")
	l.gone(t, e.Info().ID, "resident")
}

const callerRole = "HERMES_TEST_CALLER"

// caller is a process of its own that runs a command until it is killed, and starts a job before where its role says so. It is told where
// by variables, and says the job's id.
func caller() {
	b, _ := environment.Lookup("docker")
	l := &lab{config: *defaults(b)}
	l.config.Image, l.config.ResidentPath, l.config.Reaper, l.config.CPU = dockertest.Bash, os.Getenv("HERMES_TEST_BINARY"), false, 0
	l.config.Resident = os.Getenv("HERMES_TEST_MODE")
	l.o = environment.OpenOptions{Key: "test", HermesHome: os.Getenv("HERMES_TEST_HOME"), Dir: "/", Getenv: os.Getenv}
	e, err := l.try(context.Background())
	command := stubborn
	if err == nil && os.Getenv(callerRole) == "job" {
		command = strings.ReplaceAll(stubborn, "4242", "4243")
		var p environment.Process
		var i environment.JobInfo
		if p, err = e.(environment.Starter).Start(context.Background(), environment.Job{Command: environment.Command{Script: stubborn}}); err == nil {
			i, err = p.Info(context.Background(), 0)
			fmt.Println(i.ID)
		}
	}
	if err == nil {
		_, err = e.Run(context.Background(), environment.Command{Script: command, Output: os.Stdout})
	}
	if err != nil {
		_, _ = os.Stderr.WriteString(err.Error())
		os.Exit(1)
	}
}

// calling starts a caller and waits until its command runs. kill ends it with the signal that nothing can be done about.
func (l *lab) calling(t *testing.T, role string) (said string, kill func()) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), callerRole+"="+role, "DOCKER_HOST="+l.d.Host, "HERMES_TEST_HOME="+l.o.HermesHome,
		"HERMES_TEST_BINARY="+l.config.ResidentPath, "HERMES_TEST_MODE="+l.config.Resident)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	kill = sync.OnceFunc(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	t.Cleanup(kill)
	lines := bufio.NewScanner(out)
	for lines.Scan() && lines.Text() != "up" {
		said = lines.Text()
	}
	if lines.Text() != "up" {
		t.Fatalf("the command does not run: %q, %v", said, lines.Err())
	}
	return said, kill
}

func TestEnd_OfTheCallerLeavesNothingInTheContainer(t *testing.T) { // DKR-10: kill -9
	l := newLab(t)
	_, kill := l.calling(t, "run")
	id := l.containers(t)[0].ID
	if all := l.processes(t, id); !strings.Contains(all, "sleep 4242") {
		t.Fatalf("it is not seen:\n%s", all)
	}
	kill()
	l.gone(t, id, "4242")
	l.gone(t, id, "resident")
}

// relay stands between a client and the engine, and can be cut.
type relay struct {
	l     net.Listener
	mu    sync.Mutex
	conns []net.Conn
	work  sync.WaitGroup
}

func newRelay(t *testing.T, host string) (r *relay, address string) {
	t.Helper()
	at := filepath.Join(t.TempDir(), "r")
	l, err := net.Listen("unix", at)
	if err != nil {
		t.Fatal(err)
	}
	r = &relay{l: l}
	r.work.Go(func() {
		for {
			here, err := l.Accept()
			if err != nil {
				return
			}
			there, err := net.Dial("unix", strings.TrimPrefix(host, "unix://"))
			if err != nil {
				here.Close()
				continue
			}
			r.mu.Lock()
			r.conns = append(r.conns, here, there)
			r.mu.Unlock()
			r.join(here.(*net.UnixConn), there.(*net.UnixConn))
			r.join(there.(*net.UnixConn), here.(*net.UnixConn))
		}
	})
	t.Cleanup(func() { l.Close(); r.cut(); r.work.Wait() })
	return r, "unix://" + at
}

func (r *relay) join(to, from *net.UnixConn) {
	r.work.Go(func() { _, _ = io.Copy(to, from); _ = to.CloseWrite() })
}

func (r *relay) cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.conns {
		c.Close()
	}
	r.conns = nil
}

func TestLink_ThatIsCutLosesTheCommandAndNothingElse(t *testing.T) { // DKR-10, CON-2
	l := newLab(t)
	r, address := newRelay(t, l.d.Host)
	l.vars["DOCKER_HOST"] = address
	e := l.open(t)
	id := e.Info().ID
	run(t, e, "echo kept >/root/kept")
	up := newStarted()
	done := make(chan error, 1)
	go func() {
		_, err := e.Run(context.Background(), environment.Command{Script: stubborn, Output: up})
		done <- err
	}()
	<-up.up
	r.cut()
	if err := <-done; !errors.Is(err, environment.ErrLost) || errors.Is(err, environment.ErrNotStarted) {
		t.Errorf("the command that was under way: %v, want ErrLost", err)
	}
	l.gone(t, id, "4242")
	var out bytes.Buffer
	res, err := e.Run(context.Background(), environment.Command{Script: "cat /root/kept", Output: &out})
	if err != nil || out.String() != "kept\n" || res.Recreated {
		t.Errorf("the next command: %+v, %v, %q", res, err, out.String())
	}
}

func TestGone_AContainerThatWasRemovedIsSaid(t *testing.T) { // DKR-10, CON-2, MGR-6
	l := newLab(t)
	e := l.open(t)
	run(t, e, "true")
	if _, err := l.api.ContainerRemove(t.Context(), e.Info().ID, client.ContainerRemoveOptions{Force: true}); err != nil {
		t.Fatal(err)
	}
	envtest.Eventually(t, func() string { // the end of the contact may be noticed a moment later
		_, err := e.Run(context.Background(), environment.Command{Script: "true"})
		if errors.Is(err, environment.ErrLost) {
			return err.Error()
		}
		if !errors.Is(err, environment.ErrGone) || !errors.Is(err, environment.ErrNotStarted) {
			t.Errorf("%v, want ErrGone, not started", err)
		}
		return ""
	})
	if _, err := e.Files().Stat(t.Context(), "/"); !errors.Is(err, environment.ErrGone) {
		t.Errorf("files: %v", err)
	}
	shut(t, e)
	if got := run(t, l.open(t), "echo anew"); got != "anew\n" {
		t.Errorf("%q", got)
	}
}

func TestStopped_AContainerThatWasStoppedIsStartedAgain(t *testing.T) { // DKR-10
	l := newLab(t)
	e := l.open(t)
	run(t, e, "echo 1 >/root/f")
	zero := 0
	if _, err := l.api.ContainerStop(t.Context(), e.Info().ID, client.ContainerStopOptions{Timeout: &zero}); err != nil {
		t.Fatal(err)
	}
	again := func() (environment.Result, string, error) {
		var out bytes.Buffer
		res, err := e.Run(context.Background(), environment.Command{Script: "cat /root/f", Output: &out})
		return res, out.String(), err
	}
	envtest.Eventually(t, func() string {
		res, out, err := again()
		switch {
		case errors.Is(err, environment.ErrLost):
			return err.Error()
		case err != nil || !res.Recreated || out != "1\n":
			t.Errorf("%+v, %q, %v; want it to work and be said", res, out, err)
		}
		return ""
	})
	if res, _, err := again(); err != nil || res.Recreated {
		t.Errorf("said again: %+v, %v", res, err)
	}
}

func TestDaemon_ThatIsRestartedIsFoundAgain(t *testing.T) { // DKR-10, CON-3
	d := dockertest.Own(t)
	l := labOn(t, d)
	e := l.open(t)
	run(t, e, "echo 1 >/root/f")
	up := newStarted()
	done := make(chan error, 1)
	go func() {
		_, err := e.Run(context.Background(), environment.Command{Script: "echo ran >>/root/runs; echo up; sleep 4242", Output: up})
		done <- err
	}()
	<-up.up
	job := infoOf(t, start(t, e, environment.Job{Command: script("sleep 4242")})).ID
	if err := d.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; !errors.Is(err, environment.ErrLost) || errors.Is(err, environment.ErrNotStarted) {
		t.Errorf("the command that was under way: %v, want ErrLost", err)
	}
	envtest.Eventually(t, func() string {
		_, err := e.Run(context.Background(), environment.Command{Script: "true"})
		if errors.Is(err, environment.ErrLost) {
			return err.Error()
		}
		if !errors.Is(err, environment.ErrNotStarted) || errors.Is(err, environment.ErrGone) {
			t.Errorf("while it is away: %v, want ErrNotStarted", err)
		}
		return ""
	})
	if err := d.Start(); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	res, err := e.Run(context.Background(), environment.Command{Script: "cat /root/f /root/runs", Output: &out})
	if err != nil || !res.Recreated || out.String() != "1\nran\n" {
		t.Errorf("%+v, %v, %q", res, err, out.String())
	}
	if i := infoOf(t, attach(t, e, job)); i.End != environment.EndLost {
		t.Errorf("the job: %+v", i)
	}
}

func TestOpen_OfManyAtOnceMakesOneContainer(t *testing.T) { // DKR-5, MGR-3
	l := newLab(t)
	var all sync.WaitGroup
	ids := make([]string, 4)
	for i := range ids {
		all.Go(func() {
			e, err := l.try(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			ids[i] = e.Info().ID
			shut(t, e)
		})
	}
	all.Wait()
	for _, id := range ids {
		if id != ids[0] {
			t.Errorf("%v", ids)
		}
	}
	if n := len(l.containers(t)); n != 1 {
		t.Errorf("%d containers", n)
	}
}

func TestOpen_ThatIsGivenUpLeavesNoContainer(t *testing.T) { // DKR-2
	l := newLab(t)
	shut(t, l.open(t)) // so that nothing is slow for the first time
	l.o.Key = "other"
	for _, after := range []time.Duration{time.Millisecond, 5 * time.Millisecond, 30 * time.Millisecond, 80 * time.Millisecond, 150 * time.Millisecond, 250 * time.Millisecond, 400 * time.Millisecond} {
		ctx, cancel := context.WithTimeout(t.Context(), after)
		e, err := l.try(ctx)
		cancel()
		if err == nil {
			shut(t, e)
			for _, c := range l.containers(t) {
				_, _ = l.api.ContainerRemove(t.Context(), c.ID, client.ContainerRemoveOptions{Force: true})
			}
			continue
		}
		if !errors.Is(err, environment.ErrUnavailable) {
			t.Errorf("after %v: %v", after, err)
		}
		for _, c := range l.containers(t) {
			if c.Labels["hermes-task-id"] == "other" {
				t.Errorf("after %v %s is left: %s", after, c.Names, c.State)
			}
		}
	}
}

func TestClose_KeepsOrRemoves(t *testing.T) { // DKR-5, DKR-6
	l := newLab(t)
	e := l.open(t)
	run(t, e, "echo 1 >/etc/mark")
	shut(t, e)
	if c := l.containers(t); len(c) != 1 || c[0].State != "running" {
		t.Fatalf("%+v", c)
	}
	again := l.open(t)
	if again.Info().ID != e.Info().ID || run(t, again, "cat /etc/mark") != "1\n" {
		t.Errorf("%s is not used again: %s", e.Info().ID, again.Info().ID)
	}
	shut(t, again)
	l.config.MemoryMB = 512 // another configuration
	other := l.open(t)
	if other.Info().ID == e.Info().ID || len(l.containers(t)) != 1 {
		t.Errorf("%+v", l.containers(t))
	}
	held := l.open(t)
	shut(t, held)
	l.config.MemoryMB = 600
	third := l.open(t)
	if len(l.containers(t)) != 2 {
		t.Errorf("one that is in use was removed: %+v", l.containers(t))
	}
	shut(t, third)
	shut(t, other)
	l.config.Persist = false
	l.o.Key = "passing"
	passing := l.open(t)
	if n := len(l.containers(t)); n != 3 {
		t.Errorf("%d", n)
	}
	shut(t, passing)
	if n := len(l.containers(t)); n != 2 {
		t.Errorf("%d containers after the close of one that isn't kept", n)
	}
}
