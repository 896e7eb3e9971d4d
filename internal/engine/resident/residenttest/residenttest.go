// Package residenttest gives tests the hermes binary that is brought to other places.
package residenttest

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// Variable names a binary that is there already, so that a run of all tests builds one.
const Variable = "HERMES_TEST_RESIDENT"

var built struct {
	sync.Mutex
	dir, path string
}

// Binary gives a hermes that is linked statically, built once per process.
func Binary(tb testing.TB) string {
	tb.Helper()
	if b := os.Getenv(Variable); b != "" {
		return b
	}
	built.Lock()
	defer built.Unlock()
	if built.path != "" {
		return built.path
	}
	dir, err := os.MkdirTemp("", "hermes-resident")
	if err != nil {
		tb.Fatal(err)
	}
	built.dir = dir
	out := filepath.Join(dir, "hermes")
	cmd := exec.Command("go", "build", "-tags", "nopython", "-ldflags", "-s -w", "-o", out, "github.com/hermes-runtime/hermes/cmd/hermes")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false")
	if text, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("build hermes: %v\n%s", err, text)
	}
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // other users run it
		tb.Fatal(err)
	}
	built.path = out
	return out
}

// Done removes what Binary has built. TestMain calls it.
func Done() {
	built.Lock()
	defer built.Unlock()
	if built.dir != "" {
		_ = os.RemoveAll(built.dir)
	}
	built.dir, built.path = "", ""
}
