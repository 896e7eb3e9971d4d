//go:build linux

package plain_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine/plain"
	"github.com/hermes-runtime/hermes/internal/script/rpc"
	"github.com/hermes-runtime/hermes/internal/script/scripttest"
)

// away opens a place that is taken for another machine. Its home has a short path, as homes have.
func away(t *testing.T, exec func(plain.Exec) plain.Exec, environ ...string) (environment.Environment, string) {
	t.Helper()
	home, err := os.MkdirTemp("/tmp", "h")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	e := here("/bin/sh", append([]string{"HOME=" + home, "PATH=/usr/bin:/bin"}, environ...))
	if exec != nil {
		e = exec(e)
	}
	p, err := plain.Open(t.Context(), e, plain.Options{Info: environment.Info{Backend: "plain", ID: "away", Namespace: environment.NamespaceOwn}, Why: "this is a test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return p, home
}

func TestForward_ScriptsRunOverABridge(t *testing.T) { // XF-7
	scripttest.Conform(t, func(t *testing.T) environment.Environment {
		p, _ := away(t, nil)
		return p
	})
}

func TestForward_ABridgeTakesItsDirectoryAlong(t *testing.T) { // XF-5, XF-7, XS-1
	hang := make(chan context.CancelFunc, 100)
	p, home := away(t, func(e plain.Exec) plain.Exec {
		return func(ctx context.Context, script string, stdin io.Reader, stdout, stderr io.Writer) (int, error) {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			hang <- cancel
			return e(ctx, script, stdin, stdout, stderr)
		}
	})
	<-hang // looking around
	run := filepath.Join(home, ".cache", "hermes", "run")
	dead := filepath.Join(run, "hxdead")
	if err := errors.Join(os.MkdirAll(dead, 0o700), os.Chmod(run, 0o700), os.WriteFile(filepath.Join(dead, "owner.lock"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	f, err := p.(environment.Forwarder).Forward(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	cut := <-hang
	if _, err := os.Stat(string(f.Socket())); err != nil || !strings.HasPrefix(string(f.Dir()), run) {
		t.Errorf("%s: %v", f.Socket(), err)
	}
	if _, err := os.Stat(dead); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what a dead owner left is still there: %v", err)
	}
	cut() // contact is lost
	if _, err := f.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept gives %v", err)
	}
	if err := f.Close(); !errors.Is(err, environment.ErrLost) {
		t.Errorf("Close gives %v", err)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) { // nobody hears of it any more
		left, _ := filepath.Glob(filepath.Join(run, "*"))
		if len(left) == 0 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("left: %v", left)
		}
	}
}

func TestForward_WithoutPythonItIsDeclaredMissing(t *testing.T) { // XF-7, CON-2
	empty := t.TempDir()
	for _, name := range []string{"sh", "tr", "cat"} {
		if err := os.Symlink("/bin/"+name, filepath.Join(empty, name)); err != nil {
			t.Fatal(err)
		}
	}
	p, _ := away(t, nil, "PATH="+empty)
	_, err := p.(environment.Forwarder).Forward(t.Context(), nil)
	if !errors.Is(err, environment.ErrUnsupported) || !strings.Contains(p.Info().Lacking["forward"], "python3") {
		t.Errorf("%v, %q", err, p.Info().Lacking["forward"])
	}
}

func TestForward_BringsMoreConnectionsThanAParentKeeps(t *testing.T) { // XF-7, XR-4
	p, _ := away(t, nil)
	f, err := p.(environment.Forwarder).Forward(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var open []io.Closer
	for range rpc.DefaultConnections + 10 { // the parent learns that it is to close idle ones from the one too many
		there, err := net.Dial("unix", string(f.Socket()))
		if err != nil {
			t.Fatal(err)
		}
		here, err := f.Accept()
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, there, here)
	}
	for _, c := range open {
		_ = c.Close()
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}
