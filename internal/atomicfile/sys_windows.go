package atomicfile

import (
	"io/fs"
	"os"
	"time"
)

// rename tries again for a short while: a virus scanner or an indexer that has the old file open makes it fail at
// first.
func rename(from, to string) error {
	var err error
	for wait := time.Millisecond; wait < 500*time.Millisecond; wait *= 2 {
		if err = os.Rename(from, to); err == nil {
			return nil
		}
		time.Sleep(wait)
	}
	return err
}

func syncDir(string) {} // Windows can't sync a directory

func keepOwner(*os.File, fs.FileInfo) bool { return true } // inherited from the directory
