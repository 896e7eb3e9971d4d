package dispatch

import (
	"context"
	"sync"
)

// maxIdle is how many goroutines wait for calls: enough for the calls of a turn, or of a script's threads.
const maxIdle = 64

// crew runs calls on goroutines that are used again. A fresh one starts with a small stack, and growing it costs more than all
// the rest of a small call.
type crew struct {
	mu     sync.Mutex
	idle   []chan task
	closed bool
}

type task struct {
	ctx      context.Context
	flight   *flight
	finished chan struct{}
}

// run performs a call on a goroutine of the crew. The channel it returns is closed when the call is performed.
func (c *crew) run(ctx context.Context, f *flight) <-chan struct{} {
	t := task{ctx, f, make(chan struct{})}
	c.mu.Lock()
	if n := len(c.idle); n > 0 {
		hand := c.idle[n-1]
		c.idle = c.idle[:n-1]
		c.mu.Unlock()
		hand <- t
		return t.finished
	}
	c.mu.Unlock()
	hand := make(chan task, 1)
	hand <- t
	go c.work(hand)
	return t.finished
}

func (c *crew) work(hand chan task) {
	for t := range hand {
		t.flight.through(t.ctx, performing)
		close(t.finished)
		if !c.rest(hand) {
			return
		}
	}
}

// rest puts a goroutine among those that wait, if there is room.
func (c *crew) rest(hand chan task) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || len(c.idle) >= maxIdle {
		return false
	}
	c.idle = append(c.idle, hand)
	return true
}

// close ends those that wait; the others end with their calls.
func (c *crew) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	for _, hand := range c.idle {
		close(hand)
	}
	c.idle = nil
}
