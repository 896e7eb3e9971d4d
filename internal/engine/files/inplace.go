package files

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/hermes-runtime/hermes/environment"
)

// overwrite writes the staged content over the file itself. Before that, what the file holds is copied and synced, and put back if
// anything fails; Sweep puts it back after a crash.
func (r *replacement) overwrite(ctx context.Context, s *staged) error {
	if err := r.fs.locks.extend(ctx, r.grip, fileShard(r.old.Device, r.old.Inode)); err != nil {
		return err
	}
	target, now, err := r.dir.open(r.base, os.O_RDWR)
	if err != nil {
		return err
	}
	defer target.Close()
	if !unchanged(r.old, now) {
		return fmt.Errorf("%w while the new content was being written", environment.ErrChanged)
	}
	backup, err := r.backup(ctx, s, target)
	if err != nil {
		return fmt.Errorf("copying the old content: %w", err)
	}
	if err := r.pour(s, target); err != nil {
		return r.putBack(backup, target, err)
	}
	backup.drop()
	return nil
}

// backup copies the target to the temporary directory, and notes that it is about to be overwritten.
func (r *replacement) backup(ctx context.Context, s *staged, target *os.File) (*staged, error) {
	b, err := r.fs.stageInTemp(r.grip)
	if err != nil {
		return nil, err
	}
	b.sum, err = copySum(ctx, b.file, target)
	if err == nil {
		err = syncFile(b.file)
	}
	if err == nil {
		b.dir.sync()
		err = r.grip.note(record{
			Temp: childOf(s.dir.path, s.name), Restore: r.path, Copy: childOf(b.dir.path, b.name),
			Device: r.old.Device, Inode: r.old.Inode,
		})
	}
	if err != nil {
		b.drop()
		return nil, err
	}
	return b, nil
}

// pour overwrites the target with the staged content.
func (r *replacement) pour(s *staged, target *os.File) error {
	if err := reserve(int(target.Fd()), r.old.Size, s.sum.size); err != nil {
		return err
	}
	return rewrite(target, s.file, s.sum.size)
}

// putBack undoes a failed pour. If even that fails the copy stays, and the error says where.
func (r *replacement) putBack(b *staged, target *os.File, cause error) error {
	err := rewrite(target, b.file, b.sum.size)
	if err == nil {
		b.drop()
		return cause
	}
	kept := childOf(b.dir.path, b.name)
	b.published()
	b.drop()
	r.grip.keep()
	return fmt.Errorf("%w; putting the old content back failed too (%w): it is kept in %s", cause, err, Display(kept))
}

// rewrite makes target hold what src holds, size bytes, and syncs it.
func rewrite(target, src *os.File, size int64) error {
	if _, err := src.Seek(0, io.SeekStart); err != nil {
		return err
	}
	if _, err := target.Seek(0, io.SeekStart); err != nil {
		return err
	}
	n, err := io.CopyBuffer(struct{ io.Writer }{target}, struct{ io.Reader }{src}, make([]byte, copyBuffer))
	if err != nil {
		return err
	}
	if n != size {
		return errors.New("the copy changed meanwhile")
	}
	if err := target.Truncate(size); err != nil {
		return err
	}
	return syncFile(target)
}
