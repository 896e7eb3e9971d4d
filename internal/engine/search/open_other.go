//go:build !linux

package search

import (
	"io"
	"io/fs"
	"os"
)

// openFile opens a regular file that the walk has seen, of whose path no part may have become a link since, and doesn't wait should
// it be something else by now.
func openFile(path string) (io.ReadCloser, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|noLinks, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: errNotRegular}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
