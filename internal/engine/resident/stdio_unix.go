//go:build unix

package resident

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// Stdio is standard input and output as one stream. Closing it ends a read that is under way, which it doesn't with the process's own
// files.
func Stdio() io.ReadWriteCloser { return stdio{pollable(0, os.Stdin), pollable(1, os.Stdout)} }

func pollable(fd int, plain *os.File) *os.File {
	if unix.SetNonblock(fd, true) != nil {
		return plain
	}
	return os.NewFile(uintptr(fd), plain.Name()) //nolint:gosec // 0 or 1
}
