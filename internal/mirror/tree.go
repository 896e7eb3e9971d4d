package mirror

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/hermes-runtime/hermes/environment"
)

// Tree is a directory or one file of this machine that places elsewhere are to have.
type Tree struct {
	Base string // a directory that nothing is followed out of on the way to Path
	Path string // below Base, slash-separated; "." = Base
	Name string // in the place, below environment.SharedDir; slash-separated
	File bool   // it is one file, which is handed over and never fetched back
}

// omitted are directories that tell nothing to whoever works in the place.
var omitted = []string{".git", ".hub", "__pycache__"}

// aside ends the name of what was found beside a file of ours, or fetched beside one that changed here too.
const aside = ".remote"

// errNotThere is why a tree has nothing to bring. It is no failure.
var errNotThere = errors.New("it is not there")

// open opens the directory that the tree's files are read from: nothing is followed out of it. rest is the tree below it.
func (t Tree) open() (root *os.Root, rest string, err error) {
	base, err := os.OpenRoot(t.Base)
	if err != nil {
		return nil, "", missing(err)
	}
	if t.File || t.Path == "." {
		return base, filepath.FromSlash(t.Path), nil
	}
	defer base.Close()
	root, err = base.OpenRoot(filepath.FromSlash(t.Path))
	if err != nil {
		return nil, "", missing(err)
	}
	return root, ".", nil
}

func missing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return errNotThere
	}
	return err
}

// where is the tree's absolute path, links followed.
func (t Tree) where() (string, error) {
	root, rest, err := t.open()
	if err != nil {
		return "", err
	}
	defer root.Close()
	i, err := root.Stat(rest)
	switch {
	case err != nil:
		return "", missing(err)
	case t.File != i.Mode().IsRegular() || !t.File && !i.IsDir():
		return "", fmt.Errorf("%s is of another kind than it should be", t.Path)
	}
	return filepath.EvalSymlinks(filepath.Join(t.Base, filepath.FromSlash(t.Path)))
}

// CheckFile says why a name can't be that of a file which is handed over: it has to lie below home, links followed. The error matches
// fs.ErrNotExist where there is none.
func CheckFile(home, name string) error {
	if !filepath.IsLocal(filepath.FromSlash(name)) || strings.ContainsRune(name, 0) || path.Clean(filepath.ToSlash(name)) == "." {
		return fmt.Errorf("%q leads out of HERMES_HOME; a path below it is wanted, without dot segments", name)
	}
	root, err := os.OpenRoot(home)
	if err != nil {
		return err
	}
	defer root.Close()
	i, err := root.Stat(filepath.FromSlash(name))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%q is not there: %w", name, fs.ErrNotExist)
	case err != nil:
		return fmt.Errorf("%q is not below HERMES_HOME, or can't be read: %w", name, err)
	case !i.Mode().IsRegular():
		return fmt.Errorf("%q is no regular file", name)
	}
	return nil
}

// file is one that the place is to have, as it lies here.
type file struct {
	tree Tree
	rel  string // below the root that tree.open gives, in this system's form
	size int64
	time time.Time
	mode fs.FileMode
}

// scan finds what a tree holds, by name in the place. It reads no file.
func (t Tree) scan() (map[string]file, error) {
	root, rest, err := t.open()
	if errors.Is(err, errNotThere) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("look at %s: %w", t.Path, err)
	}
	defer root.Close()
	found := map[string]file{}
	add := func(name, rel string) {
		i, err := root.Stat(rel)                // follows links as far as they stay below the root
		if err == nil && i.Mode().IsRegular() { // else it vanished, leads out, or is nothing that can be carried
			found[name] = file{t, rel, i.Size(), i.ModTime(), carried(i.Mode())}
		}
	}
	if t.File {
		add(t.Name, rest)
		return found, nil
	}
	err = fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return fmt.Errorf("look at %s: %w", path.Join(t.Path, name), err)
		case e.IsDir() && (slices.Contains(omitted, e.Name()) || strings.Count(name, "/") >= deepest):
			return fs.SkipDir
		case e.IsDir() || e.Type()&^fs.ModeSymlink != 0 || isTemp(e.Name()):
			return nil
		}
		if add(path.Join(t.Name, name), filepath.FromSlash(name)); len(found) > mostFiles { // which is told of
			return fs.SkipAll
		}
		return nil
	})
	return found, err
}

// carried is the mode of a file there: its owner's alone, and a program if it is one.
func carried(m fs.FileMode) fs.FileMode {
	if m&0o111 != 0 {
		return 0o700
	}
	return 0o600
}

// isTemp tells files in the making.
func isTemp(name string) bool {
	return strings.HasSuffix(name, ".hermes-tmp") || strings.HasPrefix(name, ".hermes-") && strings.HasSuffix(name, ".tmp")
}

// open opens the file for reading, if it is still one, without waiting for a pipe that took its place.
func (f file) open() (*os.File, fs.FileInfo, error) {
	root, _, err := f.tree.open()
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	h, err := root.OpenFile(f.rel, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	i, err := h.Stat()
	if err == nil && !i.Mode().IsRegular() {
		err = fs.ErrNotExist
	}
	if err != nil {
		_ = h.Close()
		return nil, nil, err
	}
	return h, i, nil
}

// shown tells whether a place shows a tree itself.
func (t Tree) shown(i environment.Info) bool {
	host, err := t.where()
	if err != nil {
		return false
	}
	_, ok := i.Shown(host)
	return ok
}
