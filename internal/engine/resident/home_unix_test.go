//go:build linux || darwin

package resident_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/hermes-runtime/hermes/internal/engine/resident"
)

func TestTempHome_IsNoDirectoryThatOthersMayHaveMade(t *testing.T) {
	for name, prepare := range map[string]func(own string) error{
		"written by others": func(own string) error { return errors.Join(os.Mkdir(own, 0o700), os.Chmod(own, 0o777)) },
		"a link":            func(own string) error { return os.Symlink(t.TempDir(), own) },
		"with a leaf that is a link": func(own string) error {
			return errors.Join(os.Mkdir(own, 0o700), os.Symlink(t.TempDir(), filepath.Join(own, "box")))
		},
		"with a leaf written by others": func(own string) error {
			return errors.Join(os.MkdirAll(filepath.Join(own, "box"), 0o700), os.Chmod(filepath.Join(own, "box"), 0o777))
		},
	} {
		temp := t.TempDir()
		if err := prepare(filepath.Join(temp, "hermes-"+strconv.Itoa(os.Getuid()))); err != nil {
			t.Fatal(err)
		}
		if home, err := resident.TempHome(temp, "box"); err == nil {
			t.Errorf("%s: %s is taken", name, home)
		}
	}
	temp := t.TempDir()
	for range 2 { // made, and found again
		home, err := resident.TempHome(temp, "box")
		if err != nil {
			t.Fatal(err)
		}
		if i, err := os.Lstat(home); err != nil || i.Mode().Perm() != 0o700 || filepath.Base(home) != "box" {
			t.Errorf("%s: %v, %v", home, i, err)
		}
	}
}
