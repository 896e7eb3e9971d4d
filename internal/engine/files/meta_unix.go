//go:build linux || darwin

package files

import (
	"bytes"
	"errors"
	"os"

	"golang.org/x/sys/unix"

	"github.com/hermes-runtime/hermes/environment"
)

// keepMetadata gives file the owner, mode, access lists and extended attributes of name in d. It reports false if the owner can't
// be kept; attributes that can't be are left out, since a file without them is better than no write.
func keepMetadata(file *os.File, d *dir, name string, old environment.FileInfo) (bool, error) {
	fd := int(file.Fd())
	own, err := statFD(fd)
	if err != nil {
		return false, err
	}
	if own.UID != old.UID || own.GID != old.GID {
		if err := unix.Fchown(fd, old.UID, old.GID); err != nil {
			if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EINVAL) { // EINVAL: an owner unknown in this user namespace
				return false, nil
			}
			return false, err
		}
	}
	copyAttributes(fd, d, name)
	// After the owner, since changing that clears the set-id bits.
	return true, unix.Fchmod(fd, modeBits(old.Mode))
}

// copyAttributes copies extended attributes, which is where access lists are kept too.
func copyAttributes(to int, d *dir, name string) {
	src, _, err := d.open(name, os.O_RDONLY)
	if err != nil {
		return // not readable by us: neither are its attributes
	}
	defer src.Close()
	from := int(src.Fd())
	size, err := unix.Flistxattr(from, nil)
	if err != nil || size == 0 {
		return
	}
	names := make([]byte, size)
	if size, err = unix.Flistxattr(from, names); err != nil {
		return
	}
	for attr := range bytes.SplitSeq(names[:size], []byte{0}) {
		if len(attr) > 0 {
			copyAttribute(to, from, string(attr))
		}
	}
}

func copyAttribute(to, from int, attr string) {
	size, err := unix.Fgetxattr(from, attr, nil)
	if err != nil {
		return
	}
	value := make([]byte, size)
	if size > 0 {
		if size, err = unix.Fgetxattr(from, attr, value); err != nil {
			return
		}
	}
	_ = unix.Fsetxattr(to, attr, value[:size], 0)
}

// syncFile waits until the content is on the disk. A file system that knows no such thing is no failure.
func syncFile(f *os.File) error {
	_, err := retry(func() (int, error) { return 0, unix.Fsync(int(f.Fd())) })
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOTSUP) {
		return nil
	}
	return err
}

// readyToRename has nothing to do here: an open file can be renamed.
func readyToRename(*os.File) error { return nil }
