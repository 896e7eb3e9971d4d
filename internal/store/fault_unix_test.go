//go:build unix

package store

import (
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// STO-6: what is behind an error of the disk is found out by writing beside the file.
func TestReason_SaysWhatIsBehindIt(t *testing.T) {
	there := filepath.Join(t.TempDir(), "none.db")
	for want, beside := range map[string]error{
		"no space is left there":                            &fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC},
		"it can't be written, permission denied: give":      &fs.PathError{Op: "open", Path: "x", Err: syscall.EACCES},
		"it can't be written, no such file or directory: g": nil, // beside it all is well
	} {
		if got := reason(beside, there); !strings.HasPrefix(got, want) {
			t.Errorf("%v: %q, want %q", beside, got, want)
		}
	}
	if got := reason(errQuota, there); got != saysFull {
		t.Errorf("a quota: %q", got)
	}
}
