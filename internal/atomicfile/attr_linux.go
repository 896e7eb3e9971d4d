package atomicfile

import (
	"bytes"
	"os"

	"golang.org/x/sys/unix"
)

// keepAttributes copies the extended attributes of the file at from to f, among them its access control list
// (system.posix_acl_access). What isn't allowed is left out.
func keepAttributes(f *os.File, from string) {
	size, err := unix.Listxattr(from, nil)
	if err != nil || size == 0 {
		return
	}
	names := make([]byte, size)
	if size, err = unix.Listxattr(from, names); err != nil {
		return
	}
	for name := range bytes.SplitSeq(bytes.TrimRight(names[:size], "\x00"), []byte{0}) {
		size, err := unix.Getxattr(from, string(name), nil)
		if err != nil {
			continue
		}
		value := make([]byte, size)
		if size, err = unix.Getxattr(from, string(name), value); err != nil {
			continue
		}
		_ = unix.Fsetxattr(int(f.Fd()), string(name), value[:size], 0)
	}
}
