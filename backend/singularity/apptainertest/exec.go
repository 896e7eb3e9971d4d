//go:build linux

package apptainertest

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// order asks an instance to run a program, whose input and outputs come with it.
type order struct {
	Argv []string
	Env  []string
	Dir  string
}

// outcome is how the program ended.
type outcome struct {
	Code   int
	Signal int
	Wrong  string
}

func (a at) exec(args []string) (int, error) {
	p, err := parse(args, valued, plainFlags)
	switch {
	case err != nil:
		return 0, err
	case len(p.rest) < 2:
		return 0, usageError("requires at least 2 arg(s), only received fewer")
	}
	name, ok := strings.CutPrefix(p.rest[0], "instance://")
	if !ok {
		return 0, usageError("the stand-in runs programs in instances alone")
	}
	all := listed(a.dir, name)
	if len(all) != 1 {
		return 0, fatal("no instance found with name %s", name)
	}
	o := order{Argv: p.rest[1:], Dir: p.last("--pwd"), Env: []string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C", "APPTAINER_NAME=" + filepath.Base(all[0].Image), "APPTAINER_CONTAINER=" + all[0].Image,
		"APPTAINER_ENVIRONMENT=/.singularity.d/env/91-environment.sh",
	}}
	if d := p.last("--cwd"); d != "" {
		o.Dir = d
	}
	if !p.has("--cleanenv") && !p.has("--containall") {
		o.Env = append(os.Environ(), o.Env...)
	}
	for _, e := range os.Environ() {
		if given, ok := strings.CutPrefix(e, "APPTAINERENV_"); ok {
			o.Env = append(o.Env, given)
		}
	}
	out, err := o.send(all[0].dir)
	switch {
	case err != nil:
		return 0, fatal("exec failed: %v", err)
	case out.Wrong != "":
		return 0, fatal("%s", out.Wrong)
	case out.Signal == int(syscall.SIGKILL):
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL) // the command ends as what it ran did
	case out.Signal > 0:
		return 128 + out.Signal, nil
	}
	return out.Code, nil
}

// send has the order carried out, and waits for the end of it.
func (o order) send(dir string) (outcome, error) {
	var out outcome
	if err := os.Chdir(dir); err != nil {
		return out, err
	}
	c, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: "door", Net: "unix"})
	if err != nil {
		return out, err
	}
	defer c.Close()
	text, err := json.Marshal(o)
	if err != nil {
		return out, err
	}
	if _, _, err := c.WriteMsgUnix([]byte{'o'}, unix.UnixRights(0, 1, 2), nil); err != nil {
		return out, err
	}
	if _, err := c.Write(text); err != nil {
		return out, err
	}
	if err := c.CloseWrite(); err != nil {
		return out, err
	}
	if err := json.NewDecoder(c).Decode(&out); err != nil {
		return out, fmt.Errorf("the instance has ended: %w", err)
	}
	return out, nil
}

// inside is the first process of an instance at work.
type inside struct {
	spec
	changed chan os.Signal
	mu      sync.Mutex
	ended   map[int]chan syscall.WaitStatus
}

// reap collects what has ended: the first process is the parent of all orphans.
func (in *inside) reap() {
	for range in.changed {
		for {
			in.mu.Lock()
			var status syscall.WaitStatus
			pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
			if err == nil && pid > 0 && in.ended[pid] != nil {
				in.ended[pid] <- status
				delete(in.ended, pid)
			}
			in.mu.Unlock()
			if err != nil || pid <= 0 {
				break
			}
		}
	}
}

func (in *inside) serve(l *net.UnixListener) {
	for {
		c, err := l.AcceptUnix()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			out := in.obey(c)
			_ = json.NewEncoder(c).Encode(out)
		}()
	}
}

func (in *inside) obey(c *net.UnixConn) outcome {
	var o order
	head, rights := make([]byte, 1), make([]byte, 64)
	_, n, _, _, err := c.ReadMsgUnix(head, rights)
	if err != nil {
		return outcome{Wrong: err.Error()}
	}
	messages, err := unix.ParseSocketControlMessage(rights[:n])
	if err != nil || len(messages) != 1 {
		return outcome{Wrong: "no descriptors came along"}
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil {
		return outcome{Wrong: err.Error()}
	}
	text, err := io.ReadAll(c)
	if err == nil {
		err = json.Unmarshal(text, &o)
	}
	if err != nil {
		closeAll(fds)
		return outcome{Wrong: err.Error()}
	}
	end, err := in.begin(o, fds)
	closeAll(fds)
	if err != nil {
		return outcome{Wrong: err.Error()}
	}
	status := <-end
	if status.Signaled() {
		return outcome{Signal: int(status.Signal())}
	}
	return outcome{Code: status.ExitStatus()}
}

func closeAll(fds []int) {
	for _, fd := range fds {
		_ = syscall.Close(fd)
	}
}

// begin starts a program. It has what Apptainer leaves it: its thread gives up the rest, and ends with that.
func (in *inside) begin(o order, fds []int) (chan syscall.WaitStatus, error) {
	env := append(o.Env, "HOME="+in.Home)
	program, ok := lookUp(o.Argv[0], env)
	if !ok {
		return nil, fmt.Errorf("%q: executable file not found in $PATH", o.Argv[0])
	}
	files := make([]uintptr, len(fds))
	for i, fd := range fds {
		files[i] = uintptr(fd) //nolint:gosec // a descriptor
	}
	end := make(chan syscall.WaitStatus, 1)
	failed := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends here
		if err := in.giveUp(); err != nil {
			failed <- err
			return
		}
		in.mu.Lock()
		pid, err := syscall.ForkExec(program, o.Argv, &syscall.ProcAttr{Dir: o.Dir, Env: env, Files: files})
		if err == nil {
			in.ended[pid] = end
		}
		in.mu.Unlock()
		failed <- err
	}()
	return end, <-failed
}

// giveUp takes from the thread the privileges that programs don't get.
func (in *inside) giveUp() error {
	if in.User {
		if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
			return fmt.Errorf("give up capabilities: %w", err)
		}
	}
	if !in.NewPrivs {
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return fmt.Errorf("set no_new_privs: %w", err)
		}
	}
	if in.Caps == nil || in.User {
		return nil
	}
	keep := map[int]bool{}
	for _, c := range in.Caps {
		keep[c] = true
	}
	for c := 0; c <= unix.CAP_LAST_CAP; c++ {
		if !keep[c] {
			if err := unix.Prctl(unix.PR_CAPBSET_DROP, uintptr(c), 0, 0, 0); err != nil {
				return fmt.Errorf("drop capability %d: %w", c, err)
			}
		}
	}
	return nil
}
