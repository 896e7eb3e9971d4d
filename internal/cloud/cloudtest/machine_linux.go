// Package cloudtest has what the servers that stand in for clouds run their sandboxes on: namespaces of this machine, in real processes.
package cloudtest

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// The variables that make the program that runs the tests the first process of a machine, and tell it where that has its files.
const (
	varFirst = "HERMES_TEST_MACHINE"
	varDir   = "HERMES_TEST_MACHINE_DIR"
)

// Environ is what programs on a machine find in their environment.
var Environ = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LANG=C.UTF-8"}

// Able leaves the test out where machines can't be had: they need namespaces and nsenter.
func Able(t testing.TB) {
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

// Machine is what a sandbox runs on: a first process in namespaces of its own, with a home and a /tmp that outlive it.
type Machine struct {
	dir  string
	cmd  *exec.Cmd
	life io.Closer // the first process ends with it, so that nothing outlives the test
}

// NewMachine makes one that has its files below dir. It doesn't run yet.
func NewMachine(dir string) (*Machine, error) {
	for _, d := range []string{"root", "tmp"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			return nil, err
		}
	}
	return &Machine{dir: dir}, os.Chmod(filepath.Join(dir, "tmp"), 0o777) //nolint:gosec // as every /tmp
}

// Dir is where the machine has its files: root is its /root, tmp its /tmp.
func (m *Machine) Dir() string { return m.dir }

// Start has it run, until Stop or the end of the program that tests.
func (m *Machine) Start() error {
	if m.cmd != nil {
		return nil
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append([]string{varFirst + "=1", varDir + "=" + m.dir}, Environ...)
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

// Stop ends all that runs there.
func (m *Machine) Stop() {
	if m == nil || m.cmd == nil {
		return
	}
	_ = m.cmd.Process.Kill() // with the first process the kernel ends the others
	_ = m.cmd.Wait()
	_ = m.life.Close()
	m.cmd = nil
}

// Command is a program on the machine, in /root with Environ. The process that Start of the command starts is its parent, outside: see
// Signal.
func (m *Machine) Command(name string, args ...string) *exec.Cmd {
	enter := []string{"-t", strconv.Itoa(m.cmd.Process.Pid), "-m", "-p", "--wdns=/root"}
	if os.Getuid() != 0 {
		enter = append(enter, "-U", "--preserve-credentials")
	}
	cmd := exec.Command("nsenter", append(append(enter, name), args...)...)
	cmd.Env = Environ
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// Signal sends a signal to the program of a Command that was started.
func Signal(cmd *exec.Cmd, s syscall.Signal) {
	pid := cmd.Process.Pid
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	for _, f := range strings.Fields(string(b)) {
		if n, err := strconv.Atoi(f); err == nil {
			_ = syscall.Kill(n, s)
		}
	}
}

// Main makes the program the first process of a machine, if it was started as one. TestMain calls it first.
func Main() {
	_ = unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) // what whoever started the program left open is not for the machines
	if os.Getenv(varFirst) == "" {
		return
	}
	fmt.Fprintln(os.Stderr, "machine:", first(os.Getenv(varDir)))
	os.Exit(1)
}

// first is the first process of a machine: it makes the place and buries what nobody waits for.
func first(dir string) error {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(1)
	}()
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
	if err := exec.Command("sleep", "infinity").Start(); err != nil { // so that there is always somebody to wait for
		return err
	}
	_, _ = os.Stdout.Write([]byte("."))
	for {
		if _, err := syscall.Wait4(-1, nil, 0, nil); err != nil && !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
