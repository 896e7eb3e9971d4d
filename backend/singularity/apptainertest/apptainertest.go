//go:build linux

// Package apptainertest stands in for Apptainer in tests, where it isn't installed: a command that takes the flags of the real one and no
// others, fails as it does, and runs instances in user, mount, process, IPC and network namespaces of their own, over an overlay.
//
// What it does is taken from Apptainer's documentation (apptainer.org/docs/user: "Running Services", "Persistent Overlays", "Bind Paths
// and Mounts", "Environment and Metadata") and the manual pages of apptainer-instance-start, -list, -stop, apptainer-exec and -build.
package apptainertest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/hermes-runtime/hermes/internal/engine/rootfstest"
)

// The images that are there to be fetched.
const (
	Bash    = "docker://hermes-test/bash"
	Busybox = "docker://hermes-test/busybox"
	Bare    = "docker://hermes-test/bare"
	Python  = "docker://hermes-test/python"
)

// Behaviour is how the command behaves in other ways than it does where all is well.
type Behaviour struct {
	NoBounds bool // it can't use cgroups
	NoBuild  bool // it makes no files of images
	NoStart  bool // it starts no instance
	Deaf     bool // instance list fails
}

// Call is one run of the command.
type Call struct {
	Argv []string
	Env  []string
}

// Apptainer is an installation of its own.
type Apptainer struct {
	Bin string // directory for PATH
	dir string
}

var built struct {
	sync.Mutex
	dir string
}

// program gives the command, built once per process.
func program(tb testing.TB) string {
	tb.Helper()
	built.Lock()
	defer built.Unlock()
	if built.dir == "" {
		dir, err := os.MkdirTemp("", "hermes-apptainer")
		if err != nil {
			tb.Fatal(err)
		}
		built.dir = dir
		cmd := exec.Command("go", "build", "-ldflags", "-s -w", "-o", dir, "github.com/hermes-runtime/hermes/backend/singularity/apptainertest/apptainer")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false")
		if text, err := cmd.CombinedOutput(); err != nil {
			tb.Fatalf("build the stand-in: %v\n%s", err, text)
		}
		if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // other users run it
			tb.Fatal(err)
		}
	}
	return filepath.Join(built.dir, "apptainer")
}

// Done removes what New has built. TestMain calls it.
func Done() {
	built.Lock()
	defer built.Unlock()
	if built.dir != "" {
		_ = os.RemoveAll(built.dir)
	}
	built.dir = ""
}

// New installs the command for one test. The test is left out where the machine lets no namespaces be made, which is a failure where CI is
// true.
func New(tb testing.TB) *Apptainer {
	tb.Helper()
	p := program(tb)
	if why := missing(p); why != "" {
		if os.Getenv("CI") == "true" {
			tb.Fatal(why)
		}
		tb.Skip(why)
	}
	dir, err := os.MkdirTemp("", "hermes-apptainer")
	if err != nil {
		tb.Fatal(err)
	}
	a, err := install(dir, p)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		a.StopAll()
		_ = os.RemoveAll(dir)
	})
	return a
}

// missing says why no instance can be started here, "" if one can.
func missing(program string) string {
	flags := uintptr(syscall.CLONE_NEWNS | syscall.CLONE_NEWPID | syscall.CLONE_NEWIPC)
	if os.Getuid() != 0 {
		flags |= syscall.CLONE_NEWUSER
	}
	p, err := os.StartProcess(program, []string{roleProbe}, &os.ProcAttr{Sys: &syscall.SysProcAttr{Cloneflags: flags}})
	if err != nil {
		return "this machine lets no namespaces be made: " + err.Error()
	}
	_, _ = p.Wait()
	return ""
}

func install(dir, program string) (*Apptainer, error) {
	a := &Apptainer{Bin: filepath.Join(dir, "bin"), dir: filepath.Join(dir, "config")}
	for _, d := range []string{a.Bin, filepath.Join(a.dir, "registry")} {
		if err := os.MkdirAll(d, 0o755); err != nil { //nolint:gosec // other users run it
			return nil, err
		}
	}
	return a, os.Symlink(program, filepath.Join(a.Bin, "apptainer"))
}

// Vars are the variables with which the command finds this installation.
func (a *Apptainer) Vars() map[string]string {
	return map[string]string{"PATH": a.Bin + ":/usr/bin:/bin", "APPTAINER_CONFIGDIR": a.dir, "APPTAINER_CACHEDIR": filepath.Join(a.dir, "cache")}
}

// Behave sets how the command behaves from now on.
func (a *Apptainer) Behave(tb testing.TB, b Behaviour) {
	tb.Helper()
	text, err := json.Marshal(b)
	if err == nil {
		err = os.WriteFile(filepath.Join(a.dir, "behaviour"), text, 0o600)
	}
	if err != nil {
		tb.Fatal(err)
	}
}

// Provide puts an image where it can be fetched.
func (a *Apptainer) Provide(tb testing.TB, image string) string {
	tb.Helper()
	kinds := map[string]rootfstest.Kind{Bash: rootfstest.Bash, Busybox: rootfstest.Busybox, Bare: rootfstest.Bare, Python: rootfstest.Python}
	text, err := rootfstest.Tar(kinds[image])
	if err == nil {
		err = os.WriteFile(a.registry(image), text, 0o600)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return image
}

func (a *Apptainer) registry(image string) string { return inRegistry(a.dir, image) }

func inRegistry(dir, image string) string {
	return filepath.Join(dir, "registry", strings.NewReplacer("/", "_", ":", "_").Replace(strings.TrimPrefix(image, "docker://")))
}

// Calls are the runs of the command so far.
func (a *Apptainer) Calls(tb testing.TB) []Call {
	tb.Helper()
	b, err := os.ReadFile(filepath.Join(a.dir, "calls"))
	if err != nil {
		tb.Fatal(err)
	}
	var all []Call
	for line := range strings.Lines(string(b)) {
		var c Call
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			tb.Fatal(err)
		}
		all = append(all, c)
	}
	return all
}

// Running gives the instances that run, and the number of each one's first process.
func (a *Apptainer) Running() map[string]int {
	all := map[string]int{}
	for _, i := range listed(a.dir, "*") {
		all[i.Name] = i.PID
	}
	return all
}

// Kill ends an instance as a machine that runs out of memory does.
func (a *Apptainer) Kill(name string) {
	for _, i := range listed(a.dir, name) {
		_ = syscall.Kill(i.PID, syscall.SIGKILL)
		i.wait()
	}
}

// StopAll ends all instances.
func (a *Apptainer) StopAll() { a.Kill("*") }
