//go:build unix

package ssh_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/backend/ssh"
	"github.com/hermes-runtime/hermes/backend/ssh/sshtest"
	"github.com/hermes-runtime/hermes/environment"
)

// endTime is how long what runs there may take to be gone, once contact is lost: the ladder, the guard, and a slow machine.
const endTime = time.Minute

// stubborn starts processes that ignore TERM, leave the session, and hold the output, and writes their numbers to files.
const stubborn = `trap "" TERM HUP INT
setsid sh -c 'trap "" TERM HUP; echo $$ >away; while :; do sleep 1; done' &
sh -c 'trap "" TERM HUP; echo $$ >near; while :; do sleep 1; done' &
while ! test -s away || ! test -s near; do sleep 0.01; done
echo $$ >self; echo ready
while :; do sleep 1; done`

// started waits until the processes of stubborn are there and gives their numbers.
func started(t *testing.T, dir string) []int {
	t.Helper()
	var all []int
	for _, name := range []string{"self", "near", "away"} {
		var text string
		for end := time.Now().Add(endTime); text == ""; time.Sleep(10 * time.Millisecond) {
			b, _ := os.ReadFile(filepath.Join(dir, name))
			text = strings.TrimSpace(string(b))
			if time.Now().After(end) {
				t.Fatalf("%s doesn't start", name)
			}
		}
		pid, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, pid)
	}
	return all
}

// gone shows that processes end in time.
func gone(t *testing.T, pids []int) {
	t.Helper()
	for end := time.Now().Add(endTime); ; time.Sleep(20 * time.Millisecond) {
		var left []int
		for _, pid := range pids {
			if lives(pid) {
				left = append(left, pid)
			}
		}
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			t.Errorf("processes %v are still there", left)
			for _, pid := range left {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
			return
		}
	}
}

func lives(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || !strings.Contains(string(b), ") Z ")
}

// relayed has the place be reached over a relay.
func (l *lab) relayed(t *testing.T, more ...string) *sshtest.Relay {
	t.Helper()
	r := sshtest.NewRelay(t, l.server.Address())
	l.lines = nil
	l.alias("there", r.Port, l.server.User.File, more...)
	return r
}

// running is a command that is under way.
type running struct {
	res environment.Result
	err error
}

func background(e environment.Environment, c environment.Command) chan running {
	done := make(chan running, 1)
	go func() {
		res, err := e.Run(context.Background(), c)
		done <- running{res, err}
	}()
	return done
}

func within(t *testing.T, done chan running) running {
	t.Helper()
	select {
	case r := <-done:
		return r
	case <-time.After(2 * endTime):
		t.Fatal("the command doesn't come back")
		return running{}
	}
}

func TestSSH_ALinkThatDropsIsLostAndTheNextCallConnectsAnew(t *testing.T) { // SSH-5, SSH-6, RES-4
	t.Parallel()
	for name, cut := range map[string]func(*sshtest.Relay){"both ends hear of it": (*sshtest.Relay).Cut, "this end doesn't": (*sshtest.Relay).CutFar} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, sshtest.Options{})
			r := l.relayed(t, "ServerAliveInterval 1", "ServerAliveCountMax 5")
			e := l.open(t)
			defer closed(t, e)
			dir := t.TempDir()
			done := background(e, environment.Command{Script: stubborn, Dir: dir, Output: io.Discard})
			pids := started(t, dir)
			cut(r)
			if got := within(t, done); !errors.Is(got.err, environment.ErrLost) {
				t.Errorf("the command ends with %+v, want ErrLost", got)
			}
			gone(t, pids)
			if out := sh(t, e, "echo again"); out != "again\n" {
				t.Errorf("output %q", out)
			}
		})
	}
}

func TestSSH_NothingOfACallStaysWhereItEnds(t *testing.T) { // SSH-6, ENG-14
	t.Parallel()
	l := newLab(t, sshtest.Options{})
	e := l.open(t)
	defer closed(t, e)
	for name, end := range map[string]func(c *environment.Command, after time.Duration) context.Context{
		"timeout": func(c *environment.Command, after time.Duration) context.Context {
			c.Timeout = after
			return t.Context()
		},
		"interruption": func(_ *environment.Command, after time.Duration) context.Context {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(after, func() { cancel(errors.New("the user stopped it")) })
			return ctx
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for after := time.Second; ; after *= 4 { // once more where the machine had no time for all of it
				c := environment.Command{Script: stubborn, Dir: dir, Output: io.Discard, Grace: 100 * time.Millisecond}
				res, err := e.Run(end(&c, after), c)
				if err != nil || res.Reason != environment.TimedOut && res.Reason != environment.Interrupted {
					t.Fatalf("%+v, %v", res, err)
				}
				if _, err := os.Stat(filepath.Join(dir, "self")); err == nil || after > endTime {
					break
				}
			}
			gone(t, started(t, dir))
		})
	}
}

func TestSSH_ClosingOnePlaceLeavesTheOther(t *testing.T) { // SSH-5
	t.Parallel()
	l := newLab(t, sshtest.Options{})
	one, two := l.open(t), l.open(t)
	defer closed(t, two)
	dir := t.TempDir()
	done := background(two, environment.Command{Script: "echo $$ >self; while ! test -e stop; do sleep 0.02; done; echo over", Dir: dir, Output: io.Discard})
	for end := time.Now().Add(endTime); ; time.Sleep(10 * time.Millisecond) {
		if b, _ := os.ReadFile(filepath.Join(dir, "self")); len(b) > 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the command doesn't start")
		}
	}
	closed(t, one)
	sshtest.Write(t, filepath.Join(dir, "stop"), "")
	if got := within(t, done); got.err != nil || got.res.ExitCode != 0 {
		t.Errorf("the command of the other place ends with %+v", got)
	}
	if out := sh(t, two, "echo hi"); out != "hi\n" {
		t.Errorf("output %q", out)
	}
}

// callerVariable has this test binary be the caller that is killed. It holds what the lab knows.
const callerVariable = "HERMES_SSHTEST_CALLER"

type call struct {
	Config ssh.Config
	Dir    string
}

// caller runs a command until it is killed.
func caller() {
	var c call
	if err := json.Unmarshal([]byte(os.Getenv(callerVariable)), &c); err != nil {
		panic(err)
	}
	b, _ := environment.Lookup("ssh")
	e, err := b.Open(context.Background(), environment.OpenOptions{Key: "test", Config: &c.Config})
	if err != nil {
		panic(err)
	}
	_, err = e.Run(context.Background(), environment.Command{Script: stubborn, Dir: c.Dir, Output: io.Discard})
	panic(fmt.Sprint("the command came back: ", err))
}

func TestSSH_AKilledCallerLeavesNothing(t *testing.T) { // SSH-6, ENG-22
	t.Parallel()
	l := newLab(t, sshtest.Options{})
	closed(t, l.open(t)) // writes the files
	dir := t.TempDir()
	text, err := json.Marshal(call{l.config, dir})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), callerVariable+"="+string(text))
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pids := started(t, dir)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	gone(t, pids)
}

func TestSSH_AKilledEngineThereLeavesNothing(t *testing.T) { // SSH-6, ENG-22
	t.Parallel()
	l := newLab(t, sshtest.Options{})
	e := l.open(t)
	defer closed(t, e)
	dir := t.TempDir()
	done := background(e, environment.Command{Script: "echo $PPID >parent; " + stubborn, Dir: dir, Output: io.Discard})
	pids := started(t, dir)
	parent, err := strconv.Atoi(strings.TrimSpace(read(t, filepath.Join(dir, "parent"))))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(parent, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if got := within(t, done); !errors.Is(got.err, environment.ErrLost) {
		t.Errorf("the command ends with %+v, want ErrLost", got)
	}
	gone(t, pids)
	if out := sh(t, e, "echo again"); out != "again\n" {
		t.Errorf("output %q", out)
	}
}

func TestSSH_AJobGoesOnWhileThereIsNoContact(t *testing.T) { // SSH-5, RES-4
	t.Parallel()
	l := newLab(t, sshtest.Options{})
	r := l.relayed(t)
	e := l.open(t)
	defer closed(t, e)
	dir := t.TempDir()
	job, err := e.(environment.Starter).Start(t.Context(), environment.Job{Command: environment.Command{
		Script: "echo begun; while ! test -e stop; do sleep 0.05; done; echo over; exit 3", Dir: dir}})
	if err != nil {
		t.Fatal(err)
	}
	r.Cut()
	sshtest.Write(t, filepath.Join(dir, "stop"), "")
	ctx, cancel := context.WithTimeout(t.Context(), 2*endTime)
	defer cancel()
	if err := job.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	i, err := job.Info(ctx, 100)
	if err != nil || i.ExitCode == nil || *i.ExitCode != 3 || i.Preview != "begun\nover\n" && i.Preview != "begun\nover" {
		t.Errorf("%+v, %v", i, err)
	}
	all, err := e.(environment.Keeper).Jobs(ctx)
	if err != nil || len(all) == 0 {
		t.Errorf("%v, %v", all, err)
	}
}

func TestSSH_JobsBelongToTheirHome(t *testing.T) { // KPR-1, PRT-8: of two HERMES_HOMEs with one user there each sees its own
	t.Parallel()
	l := newLab(t, sshtest.Options{Home: t.TempDir()})
	var ids []string
	homes := []string{t.TempDir(), t.TempDir()}
	for _, l.o.HermesHome = range homes {
		e := l.open(t)
		p, err := e.(environment.Starter).Start(t.Context(), environment.Job{Command: environment.Command{Script: "while :; do sleep 1; done"}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = p.Kill(context.Background(), "test"); closed(t, e) })
		i, err := p.Info(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, i.ID)
	}
	for n, home := range homes {
		l.o.HermesHome = home
		e := l.open(t) // as the next process with this home would
		all, err := e.(environment.Keeper).Jobs(t.Context())
		if err != nil || len(all) != 1 || all[0].ID != ids[n] {
			t.Errorf("home %d: %+v, %v, want %s", n, all, err, ids[n])
		}
		closed(t, e)
	}
	b, _ := environment.Lookup("ssh")
	if said := strings.Join(b.Probe(t.Context(), environment.OpenOptions{Config: &l.config}), "\n"); !strings.Contains(said, "background processes that may go on there: 2,") {
		t.Errorf("doctor says %q", said)
	}
}
