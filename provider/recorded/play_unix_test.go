//go:build unix

package recorded

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/hermes-runtime/hermes/provider"
)

// A tape is a regular file of some size: what never ends is refused at once.
func TestPlay_OnlyFilesAreTapes(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Skip(err)
	}
	for _, name := range []string{fifo, "/dev/zero", t.TempDir(), ""} {
		if _, err := play(name, provider.Options{}); err == nil || !strings.Contains(err.Error(), "file") {
			t.Errorf("%q: %v", name, err)
		}
	}
}
