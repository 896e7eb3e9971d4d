package dispatch

import (
	"context"
	"sync"
	"time"
)

// clock is the time limit of one call. It stands still while a person is waited for.
type clock struct {
	cancel context.CancelCauseFunc

	mu     sync.Mutex
	timer  *time.Timer
	left   time.Duration
	since  time.Time
	paused int
}

// startClock ends the context that cancel belongs to after limit; 0 = never.
func startClock(cancel context.CancelCauseFunc, limit time.Duration) *clock {
	c := &clock{cancel: cancel, left: limit, since: time.Now()}
	if limit > 0 {
		c.timer = time.AfterFunc(limit, func() { cancel(context.DeadlineExceeded) })
	}
	return c
}

// pause stops the clock until the function that it returns is called.
func (c *clock) pause() (resume func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.paused++; c.paused == 1 && c.timer != nil {
		if c.timer.Stop() {
			c.left -= time.Since(c.since)
		}
	}
	return sync.OnceFunc(c.resume)
}

func (c *clock) resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.paused--; c.paused == 0 && c.timer != nil {
		c.since = time.Now()
		c.timer.Reset(max(c.left, 0))
	}
}

func (c *clock) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil {
		c.timer.Stop()
	}
}
