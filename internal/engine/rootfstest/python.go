//go:build linux

package rootfstest

import (
	"archive/tar"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// whereabouts prints where an interpreter and its library are.
const whereabouts = "import os, sys, sysconfig; print(os.path.realpath(sys.executable)); print(sysconfig.get_path('stdlib'))"

// leftOut are the parts of the library that no test needs.
var leftOut = []string{"test", "tests", "idlelib", "tkinter", "turtledemo", "lib2to3", "ensurepip", "distutils", "pydoc_data", "site-packages", "dist-packages"}

// python adds the system's interpreter, which stands where no container mounts anything, with its library.
func (a *archive) python() error {
	out, err := exec.Command("/usr/bin/python3", "-I", "-c", whereabouts).Output()
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if err != nil || len(lines) != 2 {
		return fmt.Errorf("ask the system's python3 where it is: %w", err)
	}
	program, library := lines[0], lines[1]
	a.program(program, strings.TrimPrefix(program, "/"))
	a.link("usr/bin/python3", program)
	return filepath.WalkDir(library, func(p string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && (slices.Contains(leftOut, e.Name()) || strings.HasPrefix(e.Name(), "config-")):
			return filepath.SkipDir
		case !e.Type().IsRegular() || strings.Contains(e.Name(), ".opt-"):
		case strings.HasSuffix(p, ".so"):
			if _, err := libraries(p); err == nil { // one whose libraries aren't installed is of no use here either
				a.program(p, strings.TrimPrefix(p, "/"))
			}
		default:
			a.kept(p)
		}
		return nil
	})
}

// kept adds a file as it is: byte code counts by the time of its source.
func (a *archive) kept(p string) {
	b, err := os.ReadFile(p)
	a.fail(err)
	i, err := os.Stat(p)
	a.fail(err)
	if a.err == nil {
		a.add(&tar.Header{Typeflag: tar.TypeReg, Name: strings.TrimPrefix(p, "/"), Mode: 0o644, ModTime: i.ModTime()}, b)
	}
}
