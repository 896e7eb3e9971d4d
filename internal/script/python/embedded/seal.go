package embedded

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// stamp is the time of every file of a sealed tree: another one means that something was changed.
var stamp = time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC)

// compile makes the byte code, which children never write, and notes it. Without it each import would compile anew. That the
// interpreter runs at all is proven by the way: not on every system, nor from every directory, it does. Byte code that it would
// write by itself meanwhile (-B) goes by the files' times, which change.
func compile(ctx context.Context, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(dir, filepath.FromSlash(Binary)),
		"-I", "-B", "-m", "compileall", "-q", "-f", "-j", "0", "--invalidation-mode", "unchecked-hash", "-s", dir, filepath.Join(dir, "lib"))
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, []string{"LC_ALL=C.UTF-8", "TMPDIR=" + os.TempDir()}, time.Second
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("compile its library: %w: %.500s", err, bytes.TrimSpace(said.Bytes()))
	}
	known, _, err := readManifest(filepath.Join(dir, manifestName))
	if err != nil {
		return err
	}
	made, err := list(dir, known)
	if err != nil {
		return err
	}
	return writeManifest(filepath.Join(dir, compiledName), made)
}

// seal makes the tree read-only and gives its files their time.
func seal(_ context.Context, dir string) error {
	err := walk(dir, func(name string, i fs.FileInfo) error {
		p := filepath.Join(dir, filepath.FromSlash(name))
		mode := fs.FileMode(0o400)
		if name == Binary {
			mode = 0o500
		}
		return errors.Join(os.Chmod(p, mode), os.Chtimes(p, stamp, stamp))
	})
	if err != nil {
		return err
	}
	return filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() || p == dir { // the top is moved first
			return err
		}
		return os.Chmod(p, 0o500) //nolint:gosec // a directory
	})
}

// check compares a tree with its manifest: names, sizes and times, and what differs by content. fs.ErrNotExist: there is none.
func (s *Store) check(dir string) error {
	if _, err := os.Lstat(dir); err != nil {
		return err
	}
	known, files, err := readManifest(filepath.Join(dir, manifestName))
	if err != nil {
		return damaged(err)
	}
	if Digest(files) != s.digest {
		return damaged(errors.New("its manifest was changed"))
	}
	made, _, err := readManifest(filepath.Join(dir, compiledName))
	if err != nil {
		return damaged(err)
	}
	seen := 0
	err = walk(dir, func(name string, i fs.FileInfo) error {
		if name == manifestName || name == compiledName {
			return nil
		}
		f, ok := known[name]
		if !ok {
			f, ok = made[name]
		}
		if !ok {
			return fmt.Errorf("%s doesn't belong there", name)
		}
		seen++
		if i.Size() == f.Size && i.ModTime().Equal(stamp) {
			return nil
		}
		if sum, err := hashFile(filepath.Join(dir, filepath.FromSlash(name))); err != nil || sum != f.Hash {
			return fmt.Errorf("%s was changed", name)
		}
		return nil
	})
	if err == nil && seen != len(known)+len(made) {
		err = fmt.Errorf("%d of its files are missing", len(known)+len(made)-seen)
	}
	if err != nil {
		return damaged(err)
	}
	return nil
}

// damaged keeps a missing file inside of a tree from reading as a missing tree.
func damaged(err error) error { return fmt.Errorf("the tree is damaged: %v", err) } //nolint:errorlint // on purpose
