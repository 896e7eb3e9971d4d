//go:build unix

package staging

import (
	"os"
	"syscall"
)

// mine reports whether path is a private directory of this user, and no link.
func mine(path string) bool {
	i, err := os.Lstat(path)
	if err != nil || !i.IsDir() || i.Mode().Perm() != 0o700 {
		return false
	}
	st, ok := i.Sys().(*syscall.Stat_t)
	return ok && int64(st.Uid) == int64(os.Geteuid())
}
