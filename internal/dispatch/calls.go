package dispatch

import (
	"context"
	"sync"
)

// Calls knows the calls of a session that are under way. The zero value is ready.
type Calls struct {
	mu      sync.Mutex
	next    uint64
	cancels map[uint64]context.CancelCauseFunc
	closed  error
	empty   chan struct{} // closed when the last call has left; nil while nobody waits
}

// enter notes a call. If the session has ended the call is cancelled at once.
func (c *Calls) enter(cancel context.CancelCauseFunc) (leave func()) {
	if c == nil {
		return func() {}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed != nil {
		cancel(c.closed)
		return func() {}
	}
	if c.cancels == nil {
		c.cancels = map[uint64]context.CancelCauseFunc{}
	}
	id := c.next
	c.next++
	c.cancels[id] = cancel
	return func() { c.leave(id) }
}

func (c *Calls) leave(id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.cancels, id)
	if len(c.cancels) == 0 && c.empty != nil {
		close(c.empty)
		c.empty = nil
	}
}

// Interrupt ends the calls that are under way. Later ones are not affected.
func (c *Calls) Interrupt(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, cancel := range c.cancels {
		cancel(cause)
	}
}

// Close ends the calls under way, and every later one before it starts. It waits until none is left or ctx ends.
func (c *Calls) Close(ctx context.Context, cause error) error {
	c.mu.Lock()
	if c.closed == nil {
		c.closed = cause
	}
	for _, cancel := range c.cancels {
		cancel(cause)
	}
	var empty chan struct{}
	if len(c.cancels) > 0 {
		if c.empty == nil {
			c.empty = make(chan struct{})
		}
		empty = c.empty
	}
	c.mu.Unlock()
	if empty == nil {
		return nil
	}
	select {
	case <-empty:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
