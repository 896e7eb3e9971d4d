package engine

import (
	"os"

	"golang.org/x/sys/unix"
)

// widen enlarges a pipe. Failing that it stays as it is: users have a quota of pipe pages.
func widen(f *os.File) {
	if raw, err := f.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { _, _ = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, 256<<10) })
	}
}
