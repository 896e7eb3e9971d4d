package search

import (
	"errors"
	"io"
	"io/fs"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// noOpenat2 is set once the kernel, or a filter over it, has refused the call.
var noOpenat2 atomic.Bool

// openFile opens a regular file that the walk has seen, of whose path no part may have become a link since, and doesn't wait should
// it be something else by now.
func openFile(path string) (io.ReadCloser, error) {
	fd, err := openNoLinks(path)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil && st.Mode&unix.S_IFMT != unix.S_IFREG {
		err = errNotRegular
	}
	if err != nil {
		unix.Close(fd)
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	return descriptor(fd), nil
}

func openNoLinks(path string) (int, error) {
	const flags = unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC
	how := unix.OpenHow{Flags: flags, Resolve: unix.RESOLVE_NO_SYMLINKS}
	for {
		var fd int
		var err error
		if noOpenat2.Load() {
			fd, err = unix.Open(path, flags, 0)
		} else if fd, err = unix.Openat2(unix.AT_FDCWD, path, &how); errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) {
			noOpenat2.Store(true)
			continue
		}
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}

// descriptor is an open file without what os.File adds: over thousands of small files that is a good part of the time.
type descriptor int

func (d descriptor) Read(b []byte) (int, error) {
	for {
		n, err := unix.Read(int(d), b)
		switch {
		case err == nil && n > 0:
			return n, nil
		case err == nil:
			return 0, io.EOF
		case !errors.Is(err, unix.EINTR):
			return 0, err
		}
	}
}

func (d descriptor) Close() error { return unix.Close(int(d)) }
