package atomicfile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

const (
	// MaxLockWait bounds the wait for a lock, however long the context allows (MEM-3).
	MaxLockWait = 10 * time.Second

	lockRetry  = 5 * time.Millisecond
	lockSuffix = ".lock"
)

// ErrLocked is wrapped by the error of Lock when somebody else has held the lock all the time.
var ErrLocked = errors.New("it is held by another process or another part of this one")

// Held is a lock that is held.
type Held struct{ lock *flock.Flock }

// Lock takes the exclusive lock that the file at path stands for, waiting for it until ctx ends, MaxLockWait at most; it is tried
// once in any case.
// The file is created if need be (its directory must exist), is empty, and stays unless its holder removes it.
// The lock holds between processes and between goroutines, and ends with its process, so a dead owner's is free.
func Lock(ctx context.Context, path string) (*Held, error) {
	ctx, cancel := context.WithTimeout(ctx, MaxLockWait)
	defer cancel()
	for {
		if h, ok, err := TryLock(path); ok || err != nil { // in front of ctx: a short time may be over before a busy machine gets here
			return h, err
		}
		select {
		case <-time.After(lockRetry):
		case <-ctx.Done():
			return nil, fmt.Errorf("lock %s: %w: %w", path, ErrLocked, context.Cause(ctx))
		}
	}
}

// TryLock takes the lock that the file at path stands for if nobody has it, and waits for nobody. ok is false where somebody has.
func TryLock(path string) (held *Held, ok bool, err error) {
	lock := flock.New(path, flock.SetPermissions(DefaultPerm))
	ok, err = lock.TryLock()
	if ok && stands(lock, path) { // else who held it has removed it: the next one locks another file
		return &Held{lock}, true, nil
	}
	_ = lock.Close()
	if err != nil {
		return nil, false, fmt.Errorf("lock %s: %w", path, err)
	}
	return nil, false, nil
}

// stands tells that a lock is on the file that lies at its path.
func stands(lock *flock.Flock, path string) bool {
	now, err := os.Stat(path)
	if err != nil {
		return false
	}
	held, err := lock.Stat()
	return err == nil && os.SameFile(held, now)
}

// Unlock gives the lock back.
func (h *Held) Unlock() error { return h.lock.Close() }

// UnlockAndRemove gives the lock back and removes its file, where a file that is open can be removed.
func (h *Held) UnlockAndRemove() error {
	_ = os.Remove(h.lock.Path())
	return h.lock.Close()
}

// Update replaces the file at path by what edit makes of it, under a lock (path with ".lock" added), so that of many
// who do so at once nobody's change is lost. edit gets nil if there is no file yet. If it returns an error or what it
// was given, nothing is written. perm is the mode of a new file; the directory must exist.
func Update(ctx context.Context, path string, perm fs.FileMode, edit func(old []byte) ([]byte, error)) error {
	return update(ctx, path, Options{Perm: perm}, edit)
}

// UpdatePrivate is Update for a file that holds secrets: it is its owner's alone afterwards, whatever its mode was.
func UpdatePrivate(ctx context.Context, path string, edit func(old []byte) ([]byte, error)) error {
	return update(ctx, path, Options{ForcePerm: true}, edit)
}

func update(ctx context.Context, path string, o Options, edit func(old []byte) ([]byte, error)) (err error) {
	target, err := resolve(path) // so that all ways to one file share a lock
	if err != nil {
		return fmt.Errorf("update %s: %w", path, err)
	}
	held, err := Lock(ctx, filepath.Clean(target)+lockSuffix)
	if err != nil {
		return fmt.Errorf("update %s: %w", path, err)
	}
	defer func() { err = errors.Join(err, held.Unlock()) }()
	old, err := os.ReadFile(target)
	exists := err == nil
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("update %s: %w", path, err)
	}
	edited, err := edit(bytes.Clone(old))
	if err != nil {
		return fmt.Errorf("update %s: %w", path, err)
	}
	if exists && bytes.Equal(old, edited) && !o.ForcePerm {
		return nil
	}
	return Replace(target, bytes.NewReader(edited), o)
}
