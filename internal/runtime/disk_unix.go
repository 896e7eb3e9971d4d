//go:build unix

package runtime

import (
	"os"
	"syscall"
)

// number is what a file is told from others by.
func number(info os.FileInfo) (device, inode uint64) {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Dev), s.Ino
	}
	return 0, 0
}
