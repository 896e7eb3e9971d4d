package files

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/gofrs/flock"
)

// Sweep clears up after writers that died: their temporary files are removed, and a file that was being overwritten in place gets
// its old content back. Writers that are alive hold their lock and are left alone. It is meant for the start of a process; what
// can't be cleared up is reported and tried again next time.
func (f *FS) Sweep(ctx context.Context) error {
	if f.locks.dir == "" {
		return nil
	}
	entries, err := os.ReadDir(f.locks.dir)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return fmt.Errorf("look for what writers left: %w", err)
	}
	var failed []error
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return errors.Join(append(failed, err)...)
		}
		if name, ok := strings.CutSuffix(e.Name(), ".record"); ok {
			failed = append(failed, f.sweepRecord(name))
		}
	}
	return errors.Join(failed...)
}

func (f *FS) sweepRecord(name string) error {
	file := filepath.Join(f.locks.dir, name+".record")
	if info, err := os.Lstat(file); err != nil || info.Size() == 0 {
		return nil
	}
	lock := flock.New(filepath.Join(f.locks.dir, name+".lock"))
	if ok, err := lock.TryLock(); err != nil || !ok {
		return err
	}
	defer lock.Close()
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read what a writer left: %w", err)
	}
	var r record                                                  // behind it the rest of a longer one may stand
	if json.NewDecoder(bytes.NewReader(text)).Decode(&r) == nil { // one cut off by the crash was written before anything was done
		if err := f.clearUp(r); err != nil {
			return err
		}
	}
	return os.Truncate(file, 0)
}

// clearUp puts an interrupted file back first: its copy is removed only afterwards.
func (f *FS) clearUp(r record) error {
	if r.Restore != "" {
		if err := restore(r); err != nil {
			return fmt.Errorf("put back %s, kept in %s: %w", Display(r.Restore), Display(r.Copy), err)
		}
	}
	for _, temp := range []string{r.Copy, r.Temp} {
		if temp == "" || !IsTemp(filepath.Base(temp)) {
			continue
		}
		if err := os.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove a file in the making: %w", err)
		}
	}
	return nil
}

// restore copies the kept content back, if the name still leads to the file that was being overwritten.
func restore(r record) error {
	if !IsTemp(filepath.Base(r.Copy)) {
		return nil
	}
	src, err := os.Open(r.Copy)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer src.Close()
	d, base, err := openParent(r.Restore)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer d.close()
	target, now, err := d.open(base, os.O_RDWR)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer target.Close()
	if now.Device != r.Device || now.Inode != r.Inode {
		return nil
	}
	info, err := src.Stat()
	if err != nil {
		return err
	}
	return rewrite(target, src, info.Size())
}
