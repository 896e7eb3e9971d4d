package store

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/hermes-runtime/hermes/internal/atomicfile"
)

// claims are the sessions that are in use here: a lock of the system each, so that they end with the process; without a directory they
// hold within this one.
type claims struct {
	dir string

	mu   sync.Mutex
	held map[string]*atomicfile.Held // nil = within this process
}

// claimsBeside is where the locks of a store's sessions lie.
func claimsBeside(file string) string { return filepath.Join(filepath.Dir(file), "run", "sessions") }

// claimWait bounds the wait for somebody who is just leaving, or was killed: a child that such a one was about to start holds the lock until
// it runs a program of its own.
const claimWait = 2 * time.Second

const lockSuffix = ".lock"

// Claim implements Store.
func (d *Database) Claim(ctx context.Context, session string) (func(), error) {
	return d.claims.take(ctx, session)
}

func (c *claims) take(ctx context.Context, session string) (func(), error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, mine := c.held[session]; mine {
		return nil, fmt.Errorf("use session %s: %w", session, ErrInUse)
	}
	var lock *atomicfile.Held
	if c.dir != "" {
		if err := os.MkdirAll(c.dir, 0o700); err != nil {
			return nil, fmt.Errorf("use session %s: %w", session, err)
		}
		waiting, cancel := context.WithTimeout(ctx, claimWait)
		defer cancel()
		var err error
		lock, err = atomicfile.Lock(waiting, filepath.Join(c.dir, url.PathEscape(session)+lockSuffix))
		if errors.Is(err, atomicfile.ErrLocked) {
			if err = context.Cause(ctx); err == nil {
				err = ErrInUse
			}
		}
		if err != nil {
			return nil, fmt.Errorf("use session %s: %w", session, err)
		}
	}
	if c.held == nil {
		c.held = map[string]*atomicfile.Held{}
	}
	c.held[session] = lock
	return sync.OnceFunc(func() { c.free(session) }), nil
}

func (c *claims) free(session string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if lock := c.held[session]; lock != nil {
		_ = lock.UnlockAndRemove()
	}
	delete(c.held, session)
}

// sweep removes the files of those that were killed.
func (c *claims) sweep() {
	entries, _ := os.ReadDir(c.dir)
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), lockSuffix) {
			continue
		}
		if lock, ok, _ := atomicfile.TryLock(filepath.Join(c.dir, e.Name())); ok {
			_ = lock.UnlockAndRemove()
		}
	}
}

func (c *claims) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for session, lock := range c.held {
		if lock != nil {
			_ = lock.UnlockAndRemove()
		}
		delete(c.held, session)
	}
}
