//go:build unix

package embedded

import (
	"io/fs"
	"os"
	"syscall"
)

// ownedPrivately reports whether only this user can write to the directory.
func ownedPrivately(i fs.FileInfo) bool {
	st, ok := i.Sys().(*syscall.Stat_t)
	return ok && int64(st.Uid) == int64(os.Geteuid()) && i.Mode().Perm()&0o022 == 0
}
