package verceltest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// role makes the program that runs the tests the first process of a sandbox.
const role = "HERMES_TEST_VERCEL_ROLE"

// able leaves the test out where sandboxes can't have namespaces of their own.
func able(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("sandboxes take their time")
	}
	cmd := exec.Command("/bin/true")
	cmd.SysProcAttr = apart()
	err := cmd.Run()
	if err == nil {
		_, err = exec.LookPath("nsenter")
	}
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("sandboxes need namespaces: %v", err)
		}
		t.Skipf("sandboxes need namespaces: %v", err)
	}
}

// apart gives a process namespaces of its own.
func apart() *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS | syscall.CLONE_NEWPID}
	if os.Getuid() != 0 {
		a.Cloneflags |= syscall.CLONE_NEWUSER
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	return a
}

// machine is what a sandbox runs on: a first process in namespaces of its own, with a home and a /tmp that outlive it.
type machine struct {
	dir  string
	cmd  *exec.Cmd
	life io.Closer // the first process ends with it, so that nothing outlives the test
}

func newMachine(dir string) (*machine, error) {
	for _, d := range []string{"root", "tmp"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			return nil, err
		}
	}
	return &machine{dir: dir}, os.Chmod(filepath.Join(dir, "tmp"), 0o777) //nolint:gosec // as every /tmp
}

// environ is what programs there find in their environment.
var environ = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LANG=C.UTF-8"}

// start has it run.
func (m *machine) start() error {
	if m.cmd != nil {
		return nil
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append([]string{role + "=first", "HERMES_TEST_VERCEL_DIR=" + m.dir}, environ...)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = apart()
	var err error
	if m.life, err = cmd.StdinPipe(); err != nil {
		return err
	}
	said, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return err
	}
	m.cmd = cmd
	_, err = io.ReadFull(said, make([]byte, 1)) // that it stands
	return err
}

// stop ends all that runs there.
func (m *machine) stop() {
	if m == nil || m.cmd == nil {
		return
	}
	_ = m.cmd.Process.Kill() // with the first process the kernel ends the others
	_ = m.cmd.Wait()
	_ = m.life.Close()
	m.cmd = nil
}

// run starts a command there.
func (m *machine) run(c *command, input bool) error {
	args := []string{"-t", strconv.Itoa(m.cmd.Process.Pid), "-m", "-p", "--wd=/root"}
	if os.Getuid() != 0 {
		args = append(args, "-U", "--preserve-credentials")
	}
	cmd := exec.Command("nsenter", append(append(args, c.Name), c.Args...)...)
	cmd.Env = environ
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var err error
	if input {
		if c.stdin, err = cmd.StdinPipe(); err != nil {
			return err
		}
	}
	cmd.Stdout, cmd.Stderr = &recorder{c, "stdout"}, &recorder{c, "stderr"}
	if err := cmd.Start(); err != nil {
		return err
	}
	pid := cmd.Process.Pid
	c.kill = func(s syscall.Signal) {
		for _, child := range children(pid) {
			_ = syscall.Kill(child, s)
		}
	}
	go func() {
		_ = cmd.Wait()
		code := cmd.ProcessState.ExitCode()
		if code < 0 {
			code = 137
		}
		c.mu.Lock()
		c.Exit, c.done = &code, true
		c.more.Broadcast()
		c.mu.Unlock()
	}()
	return nil
}

// children are the processes that one started.
func children(pid int) (all []int) {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	for _, f := range strings.Fields(string(b)) {
		if n, err := strconv.Atoi(f); err == nil {
			all = append(all, n)
		}
	}
	return all
}

// recorder makes lines of the log of an output.
type recorder struct {
	c      *command
	stream string
}

func (r *recorder) Write(p []byte) (int, error) {
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	r.c.lines = append(r.c.lines, logLine{r.stream, string(p)})
	r.c.more.Broadcast()
	return len(p), nil
}

// contextWakes wakes who waits for a command when nobody listens any more.
func contextWakes(r *http.Request, c *command) func() {
	stop := context.AfterFunc(r.Context(), func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.more.Broadcast()
	})
	return func() { stop() }
}

// Main makes the program the first process of a sandbox, if it was started as one. TestMain calls it first.
func Main() {
	_ = unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) // what whoever started the tests left open is not the sandboxes'
	if os.Getenv(role) != "first" {
		return
	}
	fmt.Fprintln(os.Stderr, "sandbox:", first())
	os.Exit(1)
}

// first is the first process of a sandbox: it makes the place and buries what nobody waits for.
func first() error {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(1)
	}()
	dir := os.Getenv("HERMES_TEST_VERCEL_DIR")
	for _, m := range []struct {
		from, to, kind string
		flags          uintptr
	}{
		{"", "/", "", syscall.MS_REC | syscall.MS_PRIVATE}, {"proc", "/proc", "proc", 0},
		{filepath.Join(dir, "root"), "/root", "", syscall.MS_BIND}, {filepath.Join(dir, "tmp"), "/tmp", "", syscall.MS_BIND},
		{"none", "/sys/fs/cgroup", "tmpfs", syscall.MS_RDONLY}, // whose groups of processes belong to other machines, as their numbers do
	} {
		if err := syscall.Mount(m.from, m.to, m.kind, m.flags, ""); err != nil {
			return fmt.Errorf("mount %s: %w", m.to, err)
		}
	}
	idler := exec.Command("sleep", "infinity") // so that there is always somebody to wait for
	if err := idler.Start(); err != nil {
		return err
	}
	_, _ = os.Stdout.Write([]byte("."))
	for {
		var status syscall.WaitStatus
		if _, err := syscall.Wait4(-1, &status, 0, nil); err != nil && !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
