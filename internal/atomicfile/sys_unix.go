//go:build unix

package atomicfile

import (
	"io/fs"
	"os"
	"syscall"
)

func rename(from, to string) error { return os.Rename(from, to) }

// syncDir makes the rename last through a power cut. File systems that can't are no reason to fail: the file itself
// is whole either way.
func syncDir(dir string) {
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync()
		d.Close()
	}
}

// keepOwner gives f the owner and group of old and reports whether both are right now.
func keepOwner(f *os.File, old fs.FileInfo) bool {
	want, ok := old.Sys().(*syscall.Stat_t)
	if !ok {
		return false
	}
	info, err := f.Stat()
	if err != nil {
		return false
	}
	have, ok := info.Sys().(*syscall.Stat_t)
	if ok && have.Uid == want.Uid && have.Gid == want.Gid {
		return true
	}
	if f.Chown(int(want.Uid), int(want.Gid)) == nil {
		return true
	}
	_ = f.Chown(-1, int(want.Gid)) // who may not give a file away may still keep its group
	return false
}
