package daytonatest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// role makes the program that runs the tests a part of a sandbox.
const role = "HERMES_TEST_DAYTONA_ROLE"

// able leaves the test out where sandboxes can't have namespaces of their own.
func able(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("sandboxes take their time")
	}
	cmd := exec.Command("/bin/true")
	cmd.SysProcAttr = apart()
	if err := cmd.Run(); err != nil {
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
	dir   string
	cmd   *exec.Cmd
	proxy *httputil.ReverseProxy
	life  io.Closer // the first process ends with it, so that nothing outlives the test
}

func newMachine(dir string) (*machine, error) {
	for _, d := range []string{"root", "tmp"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			return nil, err
		}
	}
	return &machine{dir: dir}, os.Chmod(filepath.Join(dir, "tmp"), 0o777) //nolint:gosec // as every /tmp
}

// start has it run, with the service of the toolbox in it.
func (m *machine) start() error {
	if m.cmd != nil {
		return nil
	}
	at := filepath.Join(m.dir, "toolbox")
	_ = os.Remove(at)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: at, Net: "unix"})
	if err != nil {
		return err
	}
	l.SetUnlinkOnClose(false)
	f, err := l.File()
	_ = l.Close()
	if err != nil {
		return err
	}
	defer f.Close()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = []string{role + "=first", "HERMES_TEST_DAYTONA_DIR=" + m.dir, "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LANG=C.UTF-8"}
	cmd.ExtraFiles = []*os.File{f}
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = apart()
	if m.life, err = cmd.StdinPipe(); err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	m.cmd = cmd
	m.proxy = httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: "toolbox"})
	m.proxy.Transport = &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", at)
	}}
	m.proxy.FlushInterval = -1
	m.proxy.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }
	m.proxy.ErrorLog = quiet
	return nil
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

// Main makes the program a part of a sandbox, if it was started as one. TestMain calls it first.
func Main() {
	switch os.Getenv(role) {
	case "first":
		fail(first())
	case "toolbox":
		fail(serveToolbox())
	default:
		return
	}
	os.Exit(0)
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "sandbox:", err)
		os.Exit(1)
	}
}

// first is the first process of a sandbox: it makes the place, starts the toolbox and buries what nobody waits for.
func first() error {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(1)
	}()
	if err := unix.CloseRange(4, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC); err != nil { // what whoever started the tests left open
		return err
	}
	dir := os.Getenv("HERMES_TEST_DAYTONA_DIR")
	mounts := []struct {
		from, to, kind string
		flags          uintptr
	}{
		{"", "/", "", syscall.MS_REC | syscall.MS_PRIVATE}, {"proc", "/proc", "proc", 0},
		{filepath.Join(dir, "root"), "/root", "", syscall.MS_BIND}, {filepath.Join(dir, "tmp"), "/tmp", "", syscall.MS_BIND},
		{"none", "/sys/fs/cgroup", "tmpfs", syscall.MS_RDONLY}, // whose groups of processes belong to other machines, as their numbers do
	}
	exe, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	defer exe.Close()
	for _, m := range mounts {
		if err := syscall.Mount(m.from, m.to, m.kind, m.flags, ""); err != nil {
			return fmt.Errorf("mount %s: %w", m.to, err)
		}
	}
	env := slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, "HERMES_TEST_") })
	p, err := os.StartProcess("/proc/self/fd/"+fmt.Sprint(exe.Fd()), []string{"daytona"}, &os.ProcAttr{
		Dir: "/root", Env: append(env, role+"=toolbox"), Files: []*os.File{nil, nil, os.Stderr, os.NewFile(3, "listener")},
	})
	if err != nil {
		return err
	}
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return err
		case pid == p.Pid:
			return errors.New("the toolbox ended")
		}
	}
}
