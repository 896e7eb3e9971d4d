//go:build linux || darwin

package files

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hermes-runtime/hermes/environment"
)

// dir is a directory held open: what is done relative to it can't be led elsewhere by a name that changes meanwhile.
type dir struct {
	fd   int
	path string
}

// openDir opens path, in which no link may stand.
func openDir(path string) (*dir, error) {
	fd, err := openNoLinks(path)
	if err != nil {
		return nil, err
	}
	return &dir{fd: fd, path: path}, nil
}

// openParent opens the directory of path and gives the last name in it. The root is its own ".".
func openParent(p string) (*dir, string, error) {
	parent, base := path.Split(p)
	if base == "" {
		base = "."
	}
	d, err := openDir(path.Clean(parent))
	return d, base, err
}

// walkNoLinks opens path part by part, refusing links: for kernels that can't do it in one call.
func walkNoLinks(p string) (int, error) {
	fd, err := retry(func() (int, error) { return unix.Open("/", dirFlags, 0) })
	if err != nil {
		return -1, err
	}
	for part := range strings.SplitSeq(strings.Trim(p, "/"), "/") {
		if part == "" {
			continue
		}
		next, err := retry(func() (int, error) { return unix.Openat(fd, part, dirFlags|unix.O_NOFOLLOW, 0) })
		if err != nil {
			var st unix.Stat_t
			if unix.Fstatat(fd, part, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && st.Mode&unix.S_IFMT == unix.S_IFLNK {
				err = errSwapped
			}
		}
		unix.Close(fd)
		if err != nil {
			return -1, err
		}
		fd = next
	}
	return fd, nil
}

func retry(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}

func (d *dir) close() { unix.Close(d.fd) }

// stat tells of the name itself, not of what a link leads to.
func (d *dir) stat(name string) (environment.FileInfo, error) {
	var st unix.Stat_t
	_, err := retry(func() (int, error) { return 0, unix.Fstatat(d.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) })
	if err != nil {
		return environment.FileInfo{}, err
	}
	return infoOf(&st), nil
}

func (d *dir) self() (environment.FileInfo, error) { return d.stat(".") }

// open opens an existing name without following a link, waiting for a peer or becoming the controlling terminal.
func (d *dir) open(name string, flag int) (*os.File, environment.FileInfo, error) {
	const safe = unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC
	fd, err := retry(func() (int, error) { return unix.Openat(d.fd, name, flag|safe, 0) })
	if err != nil {
		return nil, environment.FileInfo{}, err
	}
	info, err := statFD(fd)
	if err == nil {
		err = unix.SetNonblock(fd, false) // a regular file has no use for the poller
	}
	if err != nil {
		unix.Close(fd)
		return nil, info, err
	}
	file := os.NewFile(uintptr(fd), childOf(d.path, name))
	if info.Size == 0 && info.Mode.IsRegular() && flag == os.O_RDONLY {
		// The kernel has files that look regular and empty and wait for what isn't written yet, such as /proc/kmsg. Set behind the
		// poller's back, so that a read with nothing to give fails instead of waiting in it.
		_ = unix.SetNonblock(fd, true)
	}
	return file, info, nil
}

// create makes a new file that only its owner can open.
func (d *dir) create(name string) (*os.File, error) {
	const flags = unix.O_RDWR | unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := retry(func() (int, error) { return unix.Openat(d.fd, name, flags, 0o600) })
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), childOf(d.path, name)), nil
}

func (d *dir) rename(from string, to *dir, name string) error {
	_, err := retry(func() (int, error) { return 0, unix.Renameat(d.fd, from, to.fd, name) })
	return err
}

// renameNew is rename that fails with EEXIST if there is a name already. Where the file system can't do it in one step, a hard
// link can.
func (d *dir) renameNew(from string, to *dir, name string) error {
	err := renameExclusive(d.fd, from, to.fd, name)
	if !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOTSUP) {
		return err
	}
	if err := unix.Linkat(d.fd, from, to.fd, name, 0); err == nil {
		return unix.Unlinkat(d.fd, from, 0)
	} else if errors.Is(err, unix.EEXIST) {
		return err
	}
	if _, err := to.stat(name); err == nil {
		return unix.EEXIST
	}
	return d.rename(from, to, name)
}

func (d *dir) remove(name string) error {
	_, err := retry(func() (int, error) { return 0, unix.Unlinkat(d.fd, name, 0) })
	if errors.Is(err, unix.EISDIR) || errors.Is(err, unix.EPERM) {
		if info, serr := d.stat(name); serr == nil && info.Mode.IsDir() {
			return d.removeDir(name)
		}
	}
	return err
}

func (d *dir) removeDir(name string) error {
	_, err := retry(func() (int, error) { return 0, unix.Unlinkat(d.fd, name, unix.AT_REMOVEDIR) })
	return err
}

func (d *dir) mkdir(name string, mode fs.FileMode) error {
	_, err := retry(func() (int, error) { return 0, unix.Mkdirat(d.fd, name, modeBits(mode)) })
	return err
}

// into opens a directory in d, no link.
func (d *dir) into(name string) (*dir, error) {
	fd, err := retry(func() (int, error) { return unix.Openat(d.fd, name, dirFlags|unix.O_NOFOLLOW, 0) })
	if err != nil {
		return nil, err
	}
	return &dir{fd: fd, path: childOf(d.path, name)}, nil
}

// readable gives a descriptor of d that can be listed and synced, which the one it is held by can't.
func (d *dir) readable() (*os.File, error) {
	fd, err := retry(func() (int, error) {
		return unix.Openat(d.fd, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), d.path), nil
}

func (d *dir) entries() ([]fs.DirEntry, error) {
	f, err := d.readable()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	list, err := f.ReadDir(-1)
	sortEntries(list)
	return list, err
}

// sync makes the names in d last. A directory that can't be read, and a file system that knows no such thing, are no failure: the
// rename has happened.
func (d *dir) sync() {
	f, err := d.readable()
	if err != nil {
		return
	}
	defer f.Close()
	_ = unix.Fsync(int(f.Fd()))
}

// writable reports whether the file could be opened for writing by this process.
func (d *dir) writable(name string) error {
	return unix.Faccessat(d.fd, name, unix.W_OK, unix.AT_EACCESS)
}

func statPath(path string) (environment.FileInfo, error) {
	var st unix.Stat_t
	if _, err := retry(func() (int, error) { return 0, unix.Stat(path, &st) }); err != nil {
		return environment.FileInfo{}, err
	}
	return infoOf(&st), nil
}

func statFD(fd int) (environment.FileInfo, error) {
	var st unix.Stat_t
	if _, err := retry(func() (int, error) { return 0, unix.Fstat(fd, &st) }); err != nil {
		return environment.FileInfo{}, err
	}
	return infoOf(&st), nil
}

func infoOf(st *unix.Stat_t) environment.FileInfo {
	return environment.FileInfo{
		Size: st.Size, Mode: fileMode(uint32(st.Mode)), UID: int(st.Uid), GID: int(st.Gid),
		ModTime: time.Unix(st.Mtim.Unix()), Links: int(st.Nlink), Device: uint64(st.Dev), Inode: st.Ino,
	}
}

// kindBits are the kinds of files as the kernel and package fs write them.
var kindBits = map[uint32]fs.FileMode{
	unix.S_IFREG: 0, unix.S_IFDIR: fs.ModeDir, unix.S_IFLNK: fs.ModeSymlink, unix.S_IFIFO: fs.ModeNamedPipe,
	unix.S_IFSOCK: fs.ModeSocket, unix.S_IFBLK: fs.ModeDevice, unix.S_IFCHR: fs.ModeDevice | fs.ModeCharDevice,
}

// extraBits are those beside the nine permissions.
var extraBits = []struct {
	unix uint32
	mode fs.FileMode
}{{unix.S_ISUID, fs.ModeSetuid}, {unix.S_ISGID, fs.ModeSetgid}, {unix.S_ISVTX, fs.ModeSticky}}

func fileMode(bits uint32) fs.FileMode {
	kind, known := kindBits[bits&unix.S_IFMT]
	if !known {
		kind = fs.ModeIrregular
	}
	m := kind | fs.FileMode(bits&0o777)
	for _, e := range extraBits {
		if bits&e.unix != 0 {
			m |= e.mode
		}
	}
	return m
}

func modeBits(m fs.FileMode) uint32 {
	bits := uint32(m.Perm())
	for _, e := range extraBits {
		if m&e.mode != 0 {
			bits |= e.unix
		}
	}
	return bits
}

// isNull reports whether info is the null device, which may be read as an empty file.
func isNull(path string, info environment.FileInfo) bool {
	return path == os.DevNull && info.Mode&fs.ModeCharDevice != 0
}
