package local

import (
	"io/fs"
	"path/filepath"
)

// most is how many entries of a tree are looked at: opening a place must not take as long as a walk over a disk.
const most = 20_000

// treeSize adds up the sizes of the files below dir, of the first most entries.
func treeSize(dir string) int64 {
	var size int64
	n := 0
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if n++; n > most {
			return filepath.SkipAll
		}
		if err != nil || !d.Type().IsRegular() {
			return nil // what can't be read isn't counted
		}
		if i, err := d.Info(); err == nil {
			size += i.Size()
		}
		return nil
	})
	return size
}
