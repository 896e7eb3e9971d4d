//go:build linux || darwin

package resident_test

import (
	"context"
	"io"
	"os"
	"os/exec"
	"testing"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/environment/envtest"
	"github.com/hermes-runtime/hermes/internal/engine/resident"
)

const role = "HERMES_TEST_ROLE"

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == keeperRole {
		keeperMain()
		return
	}
	if len(os.Args) > 1 && os.Args[1] == clientRole {
		clientMain(os.Args[2])
		return
	}
	if os.Getenv(role) == "" {
		os.Exit(m.Run())
	}
	_ = os.Unsetenv(role)
	if err := resident.Serve(context.Background(), resident.Stdio(), resident.ServeOptions{}); err != nil {
		os.Exit(1)
	}
}

// child is a process of its own at the other end of its standard input and output.
type child struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out io.ReadCloser
}

func (c child) Read(b []byte) (int, error)  { return c.out.Read(b) }
func (c child) Write(b []byte) (int, error) { return c.in.Write(b) }

// Close says goodbye and waits: the engine there ends what runs.
func (c child) Close() error { _ = c.in.Close(); return c.out.Close() }

func apart(t *testing.T) environment.Environment {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), role+"=1", "HOME="+t.TempDir())
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cmd.Wait(); err != nil {
			t.Errorf("the resident ended with %v", err)
		}
	})
	p, err := resident.Connect(t.Context(), child{cmd, in, out}, environment.Info{Backend: "apart", ID: "t", Namespace: environment.NamespaceHost}, resident.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// RES-1: the same in a process of its own.
func TestResident_ConformsAsAProcess(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds, and the engine in process shows the same")
	}
	envtest.Run(t, apart, envtest.Abilities{Place: "resident, a process", Lacking: []envtest.Ability{envtest.Descriptor}})
}
