package files

import (
	"errors"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// dirFlags open a directory to work relative to it; O_PATH asks for no permission to list it.
const dirFlags = unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC

// noOpenat2 is set once the kernel, or a seccomp filter over it, has refused the call.
var noOpenat2 atomic.Bool

// openNoLinks opens a directory if no part of its path is a link.
func openNoLinks(path string) (int, error) {
	if noOpenat2.Load() {
		return walkNoLinks(path)
	}
	how := unix.OpenHow{Flags: dirFlags, Resolve: unix.RESOLVE_NO_SYMLINKS}
	fd, err := retry(func() (int, error) { return unix.Openat2(unix.AT_FDCWD, path, &how) })
	switch {
	case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.EPERM):
		noOpenat2.Store(true)
		return walkNoLinks(path)
	case errors.Is(err, unix.ELOOP):
		return -1, errSwapped
	}
	return fd, err
}

func renameExclusive(fromDir int, from string, toDir int, to string) error {
	_, err := retry(func() (int, error) { return 0, unix.Renameat2(fromDir, from, toDir, to, unix.RENAME_NOREPLACE) })
	return err
}

// foldKey leaves a path as it is: names that differ by case are different files.
func foldKey(path string) string { return path }

// reserve asks for the space that a file will need to grow from one size to the other, so that a full disk is noticed before
// anything is overwritten. A file system that can't promise is no failure.
func reserve(fd int, from, to int64) error {
	if to <= from {
		return nil
	}
	err := unix.Fallocate(fd, unix.FALLOC_FL_KEEP_SIZE, from, to-from)
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.Is(err, unix.EFBIG) {
		return err
	}
	return nil
}
