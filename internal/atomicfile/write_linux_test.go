package atomicfile_test

import (
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hermes-runtime/hermes/internal/atomicfile"
)

func TestWrite_KeepsExtendedAttributes(t *testing.T) { // WRI-1
	path := filepath.Join(t.TempDir(), "f")
	writeFile(t, path, "old", 0o600)
	if err := unix.Setxattr(path, "user.origin", []byte("here"), 0); err != nil {
		t.Skip("no extended attributes here:", err)
	}
	if err := atomicfile.Write(path, []byte("new"), 0); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 16)
	if n, err := unix.Getxattr(path, "user.origin", got); err != nil || string(got[:n]) != "here" {
		t.Errorf("attribute %q, %v", got[:n], err)
	}
}
