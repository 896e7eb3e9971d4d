//go:build !nopython && (linux || darwin)

package embedded

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestStore_TheRealOneRunsAndStaysWhole(t *testing.T) { // XI-1, XI-2
	if testing.Short() {
		t.Skip("lays out the whole interpreter")
	}
	home := t.TempDir()
	t.Cleanup(func() { removeTree(home) }) //nolint:errcheck // the directory is the test's
	s := New(Options{Home: home})
	p := mustPath(t, s)
	out, err := exec.CommandContext(context.Background(), p, "-c",
		"import asyncio, ctypes, hashlib, json, linecache, lzma, multiprocessing, sqlite3, ssl, sys\nprint(sys.version.split()[0], sys.executable)").CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != Version+" "+p {
		t.Errorf("%v: %s", err, out)
	}
	if err := s.check(filepath.Dir(filepath.Dir(p))); err != nil {
		t.Error(err)
	}
}
