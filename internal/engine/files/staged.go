package files

import (
	"errors"
	"os"
	"syscall"
)

// staged is a file in the making, under a temporary name.
type staged struct {
	file *os.File
	dir  *dir
	name string
	sum  sum
	own  bool // dir was opened for it
}

// newStaged makes one in d, after its name was noted for Sweep.
func newStaged(d *dir, g *grip) (*staged, error) {
	s := &staged{dir: d, name: tempName()}
	if err := g.note(record{Temp: childOf(d.path, s.name)}); err != nil {
		return nil, err
	}
	file, err := d.create(s.name)
	if err != nil {
		g.forget()
		return nil, err
	}
	s.file = file
	return s, nil
}

// stageInTemp makes one in the temporary directory.
func (f *FS) stageInTemp(g *grip) (*staged, error) {
	temp, err := f.resolve(f.temp, f.home)
	if err != nil {
		return nil, err
	}
	d, err := openDir(temp)
	if err != nil {
		return nil, failure("open the temporary directory", temp, err)
	}
	s, err := newStaged(d, g)
	if err != nil {
		d.close()
		return nil, failure("write to the temporary directory", temp, err)
	}
	s.own = true
	return s, nil
}

// published says that the temporary name is gone.
func (s *staged) published() { s.name = "" }

// drop closes the file and removes what still has the temporary name.
func (s *staged) drop() {
	s.file.Close()
	if s.name != "" {
		_ = s.dir.remove(s.name)
	}
	if s.own {
		s.dir.close()
	}
}

// createErrors are what a directory answers that can't take a new file although a file in it may be writable.
var createErrors = []error{syscall.EACCES, syscall.EPERM, syscall.EROFS}

// renameErrors are what a rename over a file answers that could still be written: a mount point is busy, a sticky directory or an
// immutable one forbids it.
var renameErrors = []error{syscall.EBUSY, syscall.EACCES, syscall.EPERM}

func cantCreate(err error) bool { return isAny(err, createErrors) }

func renameBreaks(err error) bool { return isAny(err, renameErrors) }

func isAny(err error, list []error) bool {
	for _, e := range list {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
