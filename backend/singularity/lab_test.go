//go:build linux

package singularity_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hermes-runtime/hermes/backend/singularity"
	"github.com/hermes-runtime/hermes/backend/singularity/apptainertest"
	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/environment/envtest"
	"github.com/hermes-runtime/hermes/internal/engine/resident/residenttest"
)

func TestMain(m *testing.M) {
	if os.Getenv(callerRole) != "" {
		caller()
		return
	}
	code := m.Run()
	apptainertest.Done()
	residenttest.Done()
	os.Exit(code)
}

// lab is what a test opens places with.
type lab struct {
	a      *apptainertest.Apptainer
	config singularity.Config
	o      environment.OpenOptions
	vars   map[string]string
}

func newLab(t testing.TB) *lab {
	t.Helper()
	a := apptainertest.New(t)
	b, _ := environment.Lookup("singularity")
	l := &lab{a: a, config: *defaults(b), vars: a.Vars()}
	l.config.Image, l.config.ResidentPath = a.Provide(t, apptainertest.Bash), residenttest.Binary(t)
	l.vars["HOME"] = t.TempDir()
	l.o = environment.OpenOptions{Key: "test", HermesHome: room(t), Dir: "/", Getenv: func(n string) string { return l.vars[n] }}
	return l
}

// room is a directory that an overlay can be written in. It can't be on an overlay itself, which the files of containers are: there it is
// memory.
func room(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		t.Fatal(err)
	}
	if s.Type != unix.OVERLAYFS_SUPER_MAGIC {
		return dir
	}
	err := unix.Mount("tmpfs", dir, "tmpfs", 0, "mode=0700")
	switch {
	case err == nil:
		t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	case os.Getenv("CI") == "true":
		t.Fatalf("instances need a directory that is on no overlay; TMPDIR can name one: %v", err)
	default:
		t.Skipf("instances need a directory that is on no overlay; TMPDIR can name one: %v", err)
	}
	return dir
}

// open opens a place, which is closed after the test.
func (l *lab) open(t testing.TB) environment.Environment {
	t.Helper()
	e, err := l.try(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close(context.Background()) })
	return e
}

// anew opens a place that its test closes.
func (l *lab) anew(t *testing.T) environment.Environment {
	t.Helper()
	e, err := l.try(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// apart opens a place that shares its instance with no other.
func (l *lab) apart() func(t *testing.T) environment.Environment {
	var n atomic.Int64
	return func(t *testing.T) environment.Environment {
		other := *l
		other.o.Key = fmt.Sprint("test-", n.Add(1))
		return other.anew(t)
	}
}

func (l *lab) try(ctx context.Context) (environment.Environment, error) {
	b, _ := environment.Lookup("singularity")
	return b.Open(ctx, l.options())
}

func (l *lab) options() environment.OpenOptions {
	o, c := l.o, l.config
	o.Config = &c
	return o
}

// processes are the command lines of what runs in an instance.
func (l *lab) processes(t testing.TB, name string) string {
	t.Helper()
	pid := l.a.Running()[name]
	inside, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/ns/pid")
	if err != nil {
		return ""
	}
	all, _ := filepath.Glob("/proc/[0-9]*/ns/pid")
	var b strings.Builder
	for _, p := range all {
		if there, err := os.Readlink(p); err != nil || there != inside {
			continue
		}
		args, _ := os.ReadFile(strings.Replace(p, "ns/pid", "cmdline", 1))
		b.WriteString(strings.ReplaceAll(string(args), "\x00", " ") + "\n")
	}
	return b.String()
}

// gone waits, within bounds, until no process of an instance has a text in its command line.
func (l *lab) gone(t testing.TB, name, text string) {
	t.Helper()
	envtest.Eventually(t, func() string {
		if all := l.processes(t, name); strings.Contains(all, text) {
			return "still there:\n" + all
		}
		return ""
	})
}

// runs waits, within bounds, until a process of an instance has a text in its command line.
func (l *lab) runs(t testing.TB, name, text string) {
	t.Helper()
	envtest.Eventually(t, func() string {
		if all := l.processes(t, name); !strings.Contains(all, text) {
			return "it is not seen:\n" + all
		}
		return ""
	})
}

func run(t testing.TB, e environment.Environment, script string) string {
	t.Helper()
	return envtest.Output(t, e, script)
}

func shut(t testing.TB, e environment.Environment) {
	t.Helper()
	envtest.Shut(t, e)
}

func defaults(b environment.Backend) *singularity.Config { return b.Config().(*singularity.Config) }
