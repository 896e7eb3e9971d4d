package engine

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strings"
)

// place is the directory that a command starts in.
type place struct {
	dir  string
	note string // the carried directory was gone: what is used instead
}

// errDir is a directory that was asked for and can't be entered.
type errDir struct {
	dir string
	err error
}

func (e *errDir) Error() string { return fmt.Sprintf("cannot enter directory %s: %v", e.dir, e.err) }
func (e *errDir) Unwrap() error { return e.err }

// startDir finds the directory: dir relative to carried, or carried, or home. A carried one that is gone is replaced by its nearest
// ancestor, home, or temp; one that was asked for isn't.
func startDir(dir, carried string, b Base) (place, error) {
	p := place{dir: carried}
	if p.dir == "" {
		p.dir = b.Home
	}
	if dir == "" || !filepath.IsAbs(expandHome(dir, b.Home)) {
		p = existing(p.dir, b)
	}
	if dir == "" {
		return p, nil
	}
	want := expandHome(dir, b.Home)
	if !filepath.IsAbs(want) {
		want = filepath.Join(p.dir, want)
	}
	if err := enterable(want); err != nil {
		return place{}, &errDir{want, err}
	}
	return place{dir: filepath.Clean(want)}, nil
}

func existing(dir string, b Base) place {
	err := enterable(dir)
	if err == nil {
		return place{dir: dir}
	}
	tries := []string{}
	for up := filepath.Dir(filepath.Clean(dir)); dir != "" && filepath.IsAbs(dir); up = filepath.Dir(up) {
		if up == filepath.Dir(up) { // the root is an ancestor of everything and never what was meant
			break
		}
		tries = append(tries, up)
	}
	for _, t := range append(tries, b.Home, b.Temp, os.TempDir(), string(filepath.Separator)) {
		if t != "" && enterable(t) == nil {
			return place{dir: t, note: fmt.Sprintf("directory %s can no longer be entered (%v); using %s", dir, err, t)}
		}
	}
	return place{dir: dir}
}

// enterable says why dir can't be a working directory.
func enterable(dir string) error {
	if dir == "" {
		return os.ErrNotExist
	}
	i, err := os.Stat(dir)
	if err != nil {
		return cause(err)
	}
	if !i.IsDir() {
		return errNotDir
	}
	return searchable(dir)
}

// expandHome replaces ~ and ~user at the start. A user who doesn't exist leaves the name as it is, as shells do.
func expandHome(name, home string) string {
	if !strings.HasPrefix(name, "~") {
		return name
	}
	who, rest, _ := strings.Cut(name[1:], "/")
	if who == "" {
		if home == "" {
			return name
		}
		return filepath.Join(home, rest)
	}
	u, err := user.Lookup(who)
	if err != nil || u.HomeDir == "" {
		return name
	}
	return filepath.Join(u.HomeDir, rest)
}
