package docker

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/gofrs/flock"
)

// holds are the locks by which processes tell each other which containers are in use. A process that dies lets go of its own.
type holds struct{ dir string }

func holdsOf(home string) holds {
	if home == "" {
		home = filepath.Join(os.TempDir(), "hermes-"+strconv.Itoa(os.Getuid()))
	}
	return holds{filepath.Join(home, "run", name)}
}

func (h holds) path(what string) string { return filepath.Join(h.dir, what+".lock") }

// alone waits until nobody else makes or looks for a container of the same labels.
func (h holds) alone(ctx context.Context, l labels) (release func(), err error) {
	if err := os.MkdirAll(h.dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory of locks: %w", err)
	}
	lock := flock.New(h.path("making-" + l.home + "-" + l.profile + "-" + l.task))
	if ok, err := lock.TryLockContext(ctx, 20*time.Millisecond); !ok {
		_ = lock.Close()
		return nil, fmt.Errorf("wait for another process that makes the container: %w", err)
	}
	return func() { _ = lock.Close() }, nil
}

// hold is one use of a container.
type hold struct {
	lock *flock.Flock
	path string
}

// share holds a container together with others. It fails if somebody is about to remove it.
func (h holds) share(container string) (*hold, error) {
	if err := os.MkdirAll(h.dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory of locks: %w", err)
	}
	l := flock.New(h.path(container))
	if ok, err := l.TryRLock(); !ok {
		_ = l.Close()
		return nil, fmt.Errorf("container %s is being removed by another process: %w", container, orLocked(err))
	}
	u := &hold{l, h.path(container)}
	u.touch()
	return u, nil
}

func orLocked(err error) error {
	if err == nil {
		return os.ErrExist
	}
	return err
}

// touch notes when the container was used last.
func (u *hold) touch() {
	now := time.Now()
	_ = os.Chtimes(u.path, now, now) // at worst it looks older than it is
}

// release ends the use.
func (u *hold) release() {
	u.touch()
	_ = u.lock.Close()
}

// seize takes a container that nobody uses, to stop or remove it. done gives it back; gone says that it was removed.
func (h holds) seize(container string) (done func(gone bool), ok bool) {
	if os.MkdirAll(h.dir, 0o700) != nil {
		return nil, false
	}
	at := h.path(container)
	_, before := os.Stat(at)
	l := flock.New(at)
	if ok, _ := l.TryLock(); !ok {
		_ = l.Close()
		return nil, false
	}
	return func(gone bool) {
		if gone || before != nil { // a lock that was made just now says nothing of when the container was used
			_ = os.Remove(at)
		}
		_ = l.Close()
	}, true
}

// used tells when a container was used last, as far as is known here.
func (h holds) used(container string) (time.Time, bool) {
	i, err := os.Stat(h.path(container))
	if err != nil {
		return time.Time{}, false
	}
	return i.ModTime(), true
}
