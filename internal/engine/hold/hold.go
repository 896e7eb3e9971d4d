// Package hold is how runtimes tell each other which places they use: by locks on files, which a process lets go of however it ends.
package hold

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/gofrs/flock"
)

// Holds are the locks of one directory, a file a place.
type Holds struct{ dir string }

// Of gives those that the places of a backend have below a HERMES_HOME; "" = none is known, and the user's own are taken.
func Of(home, backend string) Holds {
	if home == "" {
		home = filepath.Join(os.TempDir(), "hermes-"+strconv.Itoa(os.Getuid()))
	}
	return At(filepath.Join(home, "run", backend))
}

// At gives those of a directory, which need not be there yet.
func At(dir string) Holds { return Holds{dir} }

func (h Holds) path(what string) string { return filepath.Join(h.dir, what+".lock") }

// Alone waits until nobody else makes what is asked for. It ends with ctx at the latest.
func (h Holds) Alone(ctx context.Context, what string) (release func(), err error) {
	if err := os.MkdirAll(h.dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory of locks: %w", err)
	}
	lock := flock.New(h.path("making-" + what))
	if ok, err := lock.TryLockContext(ctx, 20*time.Millisecond); !ok {
		_ = lock.Close()
		return nil, fmt.Errorf("wait for another process that makes the same: %w", err)
	}
	return func() { _ = lock.Close() }, nil
}

// Hold is one use of a place.
type Hold struct {
	lock *flock.Flock
	path string
}

// Share holds a place together with others. It fails if somebody is about to remove it.
func (h Holds) Share(place string) (*Hold, error) {
	if err := os.MkdirAll(h.dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory of locks: %w", err)
	}
	l := flock.New(h.path(place))
	if ok, err := l.TryRLock(); !ok {
		_ = l.Close()
		return nil, fmt.Errorf("%s is being removed by another process: %w", place, orLocked(err))
	}
	u := &Hold{l, h.path(place)}
	u.touch()
	return u, nil
}

func orLocked(err error) error {
	if err == nil {
		return os.ErrExist
	}
	return err
}

// touch notes when the place was used last.
func (u *Hold) touch() {
	now := time.Now()
	_ = os.Chtimes(u.path, now, now) // at worst it looks older than it is
}

// Release ends the use.
func (u *Hold) Release() {
	u.touch()
	_ = u.lock.Close()
}

// Forget removes what is known of a place that came to nothing. The use has ended.
func (u *Hold) Forget() { _ = os.Remove(u.path) }

// Seize takes a place that nobody uses, to stop or remove it. done gives it back; gone says that it was removed, and that its name won't be
// used again.
func (h Holds) Seize(place string) (done func(gone bool), ok bool) {
	if os.MkdirAll(h.dir, 0o700) != nil {
		return nil, false
	}
	at := h.path(place)
	_, before := os.Stat(at)
	l := flock.New(at)
	if ok, _ := l.TryLock(); !ok {
		_ = l.Close()
		return nil, false
	}
	return func(gone bool) {
		if gone || before != nil { // a lock that was made just now says nothing of when the place was used
			_ = os.Remove(at)
		}
		_ = l.Close()
	}, true
}

// Used tells when a place was used last, as far as is known here.
func (h Holds) Used(place string) (time.Time, bool) {
	i, err := os.Stat(h.path(place))
	if err != nil {
		return time.Time{}, false
	}
	return i.ModTime(), true
}
