//go:build !nopython && ((linux && (amd64 || arm64)) || (darwin && (amd64 || arm64)))

package embedded

import (
	"errors"
	"io/fs"
	"os"

	"github.com/kluctl/go-embed-python/python"
)

// original writes the interpreter's files as its module holds them.
var original = func(dir string) error {
	_, err := python.NewEmbeddedPythonWithTmpDir(dir, false)
	if rm := os.Remove(dir + ".lock"); rm != nil && !errors.Is(rm, fs.ErrNotExist) { // the module's own, of no use beside ours
		err = errors.Join(err, rm)
	}
	return err
}
