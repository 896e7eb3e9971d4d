package dispatch

import (
	"context"
	"sync"
)

// Calls knows the calls of a session that are under way. The zero value is ready.
type Calls struct {
	mu     sync.Mutex
	first  *ticket
	closed error
	empty  chan struct{} // closed when the last call has left; nil while nobody waits
}

// ticket is the place of one call in the list of those under way.
type ticket struct {
	cancel     context.CancelCauseFunc
	next, prev *ticket
}

// enter notes a call. If the session has ended the call is cancelled at once.
func (c *Calls) enter(t *ticket) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed != nil {
		t.cancel(c.closed)
	}
	if t.next = c.first; t.next != nil {
		t.next.prev = t
	}
	c.first = t
}

func (c *Calls) leave(t *ticket) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.next != nil {
		t.next.prev = t.prev
	}
	if t.prev != nil {
		t.prev.next = t.next
	} else {
		c.first = t.next
	}
	if c.first == nil && c.empty != nil {
		close(c.empty)
		c.empty = nil
	}
}

func (c *Calls) cancelAll(cause error) {
	for t := c.first; t != nil; t = t.next {
		t.cancel(cause)
	}
}

// Interrupt ends the calls that are under way. Later ones are not affected.
func (c *Calls) Interrupt(cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cancelAll(cause)
}

// Close ends the calls under way, and every later one before it starts. It waits until none is left or ctx ends.
func (c *Calls) Close(ctx context.Context, cause error) error {
	c.mu.Lock()
	if c.closed == nil {
		c.closed = cause
	}
	c.cancelAll(cause)
	var empty chan struct{}
	if c.first != nil {
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
