// Package atomicfile changes files so that nobody ever finds half of a change: whole replacement, locks between
// processes, and logs that many processes append to.
package atomicfile

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// DefaultPerm is the mode of a new file where none is given.
const DefaultPerm fs.FileMode = 0o600

// tempSuffix ends the name of each temporary file, so that Sweep knows what a crash has left.
const tempSuffix = ".hermes-tmp"

// Options says how Replace makes the new file.
type Options struct {
	Perm fs.FileMode // of a file that doesn't exist yet; 0: DefaultPerm
	// ForcePerm gives Perm to a file that exists, too. Without it that keeps its mode. Owner, access control list
	// and extended attributes are kept either way, as far as the system allows.
	ForcePerm bool
}

// Write replaces the content of path by data: see Replace. perm is the mode of a new file.
func Write(path string, data []byte, perm fs.FileMode) error {
	return Replace(path, bytes.NewReader(data), Options{Perm: perm})
}

// WriteFrom replaces the content of path by all that r gives: see Replace. perm is the mode of a new file.
func WriteFrom(path string, r io.Reader, perm fs.FileMode) error {
	return Replace(path, r, Options{Perm: perm})
}

// Replace replaces the content of path by all that r gives, whole or not at all (WRI-1): a temporary file beside it is
// written, synced and renamed over it. On any error, one of r included, the old file is as it was and the temporary is
// gone. A symbolic link stays and its target is replaced; other hard links keep the old content. Only a regular file
// can be replaced. The directory must exist.
func Replace(path string, r io.Reader, opts Options) (err error) {
	if opts.Perm == 0 {
		opts.Perm = DefaultPerm
	}
	target, err := resolve(path)
	if err != nil {
		return fmt.Errorf("replace %s: %w", path, err)
	}
	old, err := os.Lstat(target)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		old = nil
	case err != nil:
		return fmt.Errorf("replace %s: %w", path, err)
	case !old.Mode().IsRegular():
		return fmt.Errorf("replace %s: it is not a regular file (%s)", path, old.Mode().Type())
	}
	f, err := createTemp(target)
	if err != nil {
		return fmt.Errorf("replace %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
			err = fmt.Errorf("replace %s: %w", path, err)
		}
	}()
	if _, err = io.Copy(f, r); err != nil {
		return err
	}
	if err = dress(f, target, old, opts); err != nil {
		return err
	}
	if err = f.Sync(); err != nil {
		return err
	}
	if err = f.Close(); err != nil {
		return err
	}
	if err = rename(f.Name(), target); err != nil {
		return err
	}
	syncDir(filepath.Dir(target))
	return nil
}

// dress gives the temporary file what the old one has, or the mode of a new one.
func dress(f *os.File, target string, old fs.FileInfo, opts Options) error {
	if old == nil {
		return f.Chmod(opts.Perm)
	}
	mode := old.Mode().Perm() | old.Mode()&(fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky)
	if !keepOwner(f, old) {
		mode &^= fs.ModeSetuid | fs.ModeSetgid // they would now speak for another user
	}
	if opts.ForcePerm {
		mode = opts.Perm
	}
	if err := f.Chmod(mode); err != nil {
		return err
	}
	if !opts.ForcePerm { // a list that allows more than Perm must not come back
		keepAttributes(f, target)
	}
	return nil
}

// maxLinks is how many symbolic links are followed, as many as Linux does.
const maxLinks = 40

// resolve follows the symbolic links that path ends in, also to a target that doesn't exist.
func resolve(path string) (string, error) {
	for range maxLinks {
		info, err := os.Lstat(path)
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			return path, nil // an error shows itself again to who opens it
		}
		to, err := os.Readlink(path)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(to) {
			// Not cleaned lexically: the directory may itself be a link.
			to = filepath.Dir(path) + string(filepath.Separator) + to
		}
		path = to
	}
	return "", errors.New("too many symbolic links")
}

// maxTempBase keeps the temporary's name under the 255 bytes that file systems allow.
const maxTempBase = 200

func createTemp(target string) (*os.File, error) {
	base := filepath.Base(target)
	if len(base) > maxTempBase {
		base = strings.ToValidUTF8(base[:maxTempBase], "")
	}
	name := filepath.Dir(target) + string(filepath.Separator) + "." + base + "." + rand.Text() + tempSuffix
	return os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, DefaultPerm)
}

// Sweep removes from dir, not from below it, the temporary files that a crash has left and that are older than age. It
// returns the paths removed and the errors of those that couldn't be.
func Sweep(dir string, age time.Duration) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("sweep %s: %w", dir, err)
	}
	var removed []string
	var failed []error
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") || !strings.HasSuffix(e.Name(), tempSuffix) || !e.Type().IsRegular() {
			continue
		}
		info, err := e.Info()
		if err != nil || time.Since(info.ModTime()) < age {
			continue
		}
		path := filepath.Join(dir, e.Name())
		if err := os.Remove(path); err != nil {
			failed = append(failed, fmt.Errorf("sweep: %w", err))
			continue
		}
		removed = append(removed, path)
	}
	return removed, errors.Join(failed...)
}
