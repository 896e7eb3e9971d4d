package files

import (
	"strings"

	"golang.org/x/sys/unix"
)

// dirFlags open a directory to work relative to it.
const dirFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC

func openNoLinks(path string) (int, error) { return walkNoLinks(path) }

func renameExclusive(fromDir int, from string, toDir int, to string) error {
	return unix.RenameatxNp(fromDir, from, toDir, to, unix.RENAME_EXCL)
}

// foldKey lets names meet that differ by case only: on most disks here they are one file, and on the others waiting for each
// other is harmless.
func foldKey(path string) string { return strings.ToLower(path) }

// reserve promises nothing here; a full disk is noticed while writing and undone from the copy.
func reserve(fd int, from, to int64) error { return nil }
