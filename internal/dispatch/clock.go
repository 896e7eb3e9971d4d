package dispatch

import (
	"context"
	"sync"
	"time"
)

// clock is a time limit of one call. It stands still while a person is waited for. A nil one limits nothing.
type clock struct {
	limit time.Duration

	mu      sync.Mutex
	timer   *time.Timer
	left    time.Duration
	since   time.Time
	paused  int
	stopped bool
}

// startClock ends the context that cancel belongs to when the limit of cause is over.
func startClock(cancel context.CancelCauseFunc, cause *limitError) *clock {
	c := &clock{limit: cause.limit, left: cause.limit, since: time.Now()}
	c.timer = time.AfterFunc(c.limit, func() { cancel(cause) })
	return c
}

// pause stops the clock until the function that it returns is called.
func (c *clock) pause() (resume func()) {
	if c == nil {
		return func() {}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.paused++; c.paused == 1 && c.timer.Stop() {
		c.left -= time.Since(c.since)
	}
	return sync.OnceFunc(c.resume)
}

func (c *clock) resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.paused--; c.paused == 0 {
		c.run()
	}
}

// restart gives the whole limit again.
func (c *clock) restart() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left = c.limit; c.paused == 0 && c.timer.Stop() {
		c.run()
	}
}

// run lets the timer go on. c.mu is held.
func (c *clock) run() {
	if !c.stopped {
		c.since = time.Now()
		c.timer.Reset(max(c.left, 0))
	}
}

func (c *clock) stop() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
	c.timer.Stop()
}
