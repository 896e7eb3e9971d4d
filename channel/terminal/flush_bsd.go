//go:build unix && !linux

package terminal

import "golang.org/x/sys/unix"

// fread is FREAD of <sys/fcntl.h>: the input queue.
const fread = 1

func flushInput(fd int) error { return unix.IoctlSetPointerInt(fd, unix.TIOCFLUSH, fread) }
