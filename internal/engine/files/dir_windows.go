package files

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/hermes-runtime/hermes/environment"
)

// dir is a directory by name: this system has no calls relative to a descriptor, so a directory is kept from being replaced by
// checking that it is no link.
type dir struct{ path string }

func openDir(path string) (*dir, error) {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return nil, err
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, errSwapped
	case !info.IsDir():
		return nil, syscall.ENOTDIR
	}
	return &dir{path}, nil
}

func openParent(p string) (*dir, string, error) {
	parent, base := splitLast(p)
	if base == "" {
		base = "."
	}
	d, err := openDir(parent)
	return d, base, err
}

func (d *dir) join(name string) string { return filepath.Join(d.path, name) }

func (d *dir) close() {}

func (d *dir) stat(name string) (environment.FileInfo, error) {
	info, err := os.Lstat(d.join(name))
	if err != nil {
		return environment.FileInfo{}, err
	}
	out := infoOf(info)
	if !info.Mode().IsRegular() {
		return out, nil
	}
	f, err := os.Open(d.join(name))
	if err != nil {
		return out, nil //nolint:nilerr // it exists, and its identity stays unknown
	}
	defer f.Close()
	return statFile(f)
}

func (d *dir) self() (environment.FileInfo, error) { return d.stat(".") }

func (d *dir) open(name string, flag int) (*os.File, environment.FileInfo, error) {
	f, err := os.OpenFile(d.join(name), flag, 0)
	if err != nil {
		return nil, environment.FileInfo{}, err
	}
	info, err := statFile(f)
	if err != nil {
		f.Close()
		return nil, info, err
	}
	return f, info, nil
}

func (d *dir) create(name string) (*os.File, error) {
	return os.OpenFile(d.join(name), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
}

func (d *dir) rename(from string, to *dir, name string) error {
	return os.Rename(d.join(from), to.join(name))
}

func (d *dir) renameNew(from string, to *dir, name string) error {
	if _, err := os.Lstat(to.join(name)); err == nil {
		return fs.ErrExist
	}
	return d.rename(from, to, name)
}

func (d *dir) remove(name string) error { return os.Remove(d.join(name)) }

func (d *dir) removeDir(name string) error { return os.Remove(d.join(name)) }

func (d *dir) mkdir(name string, mode fs.FileMode) error { return os.Mkdir(d.join(name), mode) }

func (d *dir) into(name string) (*dir, error) { return openDir(d.join(name)) }

func (d *dir) entries() ([]fs.DirEntry, error) { return os.ReadDir(d.path) }

func (d *dir) sync() {}

func (d *dir) writable(name string) error {
	info, err := os.Lstat(d.join(name))
	if err == nil && info.Mode().Perm()&0o200 == 0 {
		err = fs.ErrPermission
	}
	return err
}

func statPath(path string) (environment.FileInfo, error) {
	f, err := os.Open(path)
	if err != nil {
		info, err := os.Stat(path)
		if err != nil {
			return environment.FileInfo{}, err
		}
		return infoOf(info), nil
	}
	defer f.Close()
	return statFile(f)
}

func statFile(f *os.File) (environment.FileInfo, error) {
	info, err := f.Stat()
	if err != nil {
		return environment.FileInfo{}, err
	}
	out := infoOf(info)
	var d syscall.ByHandleFileInformation
	if err := syscall.GetFileInformationByHandle(syscall.Handle(f.Fd()), &d); err == nil {
		out.Links = int(d.NumberOfLinks)
		out.Device = uint64(d.VolumeSerialNumber)
		out.Inode = uint64(d.FileIndexHigh)<<32 | uint64(d.FileIndexLow)
	}
	return out, nil
}

func infoOf(i fs.FileInfo) environment.FileInfo {
	return environment.FileInfo{Size: i.Size(), Mode: i.Mode(), UID: -1, GID: -1, ModTime: i.ModTime(), Links: 1}
}

func isNull(path string, info environment.FileInfo) bool { return false }

// keepMetadata keeps the mode; access lists come from the directory here.
func keepMetadata(file *os.File, d *dir, name string, old environment.FileInfo) (bool, error) {
	return true, file.Chmod(old.Mode.Perm())
}

func syncFile(f *os.File) error { return f.Sync() }

func reserve(fd int, from, to int64) error { return nil }

// umask is none: modes mean little here.
func umask() fs.FileMode { return 0 }

// readyToRename closes the file, since one that is open can't be renamed here.
func readyToRename(f *os.File) error { return f.Close() }
