package memory

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/hermes-runtime/hermes/environment"
)

// turn lets one edit of a path go after the other.
type turn struct {
	free  chan struct{} // holds a token while nobody edits
	users int           // who has it or waits for it
}

// Turns are the paths that a call may edit now. A nil Turns holds none.
type Turns struct {
	release func()
}

// Take waits until nobody else edits the paths. An edit is made of reading, changing and replacing: side by side, all but one would
// find the file changed. Files that several names lead to, and other processes, are left to the check before the replacing. The
// only error is that of ctx.
func (b *Book) Take(ctx context.Context, paths ...environment.Path) (*Turns, error) {
	if b == nil {
		return nil, nil //nolint:nilnil // nothing is held
	}
	keys := make([]string, len(paths))
	for i, p := range paths {
		keys[i] = b.key(p)
	}
	slices.Sort(keys) // one order for everybody: no two wait for each other
	var held []func()
	t := &Turns{release: sync.OnceFunc(func() {
		for _, free := range held {
			free()
		}
	})}
	for _, k := range slices.Compact(keys) {
		free, err := b.shared.take(ctx, k)
		if err != nil {
			t.release()
			return nil, fmt.Errorf("wait for another edit of the file: %w", err)
		}
		held = append(held, free)
	}
	return t, nil
}

// Release lets the next go on. It may be called again.
func (t *Turns) Release() {
	if t != nil {
		t.release()
	}
}

func (s *shared) take(ctx context.Context, key string) (free func(), err error) {
	s.mu.Lock()
	t := s.turns[key]
	if t == nil {
		t = &turn{free: make(chan struct{}, 1)}
		t.free <- struct{}{}
		s.turns[key] = t
	}
	t.users++
	s.mu.Unlock()
	leave := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if t.users--; t.users == 0 {
			delete(s.turns, key)
		}
	}
	select {
	case <-t.free:
		return func() { t.free <- struct{}{}; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, context.Cause(ctx)
	}
}
