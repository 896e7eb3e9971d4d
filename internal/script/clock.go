package script

import (
	"sync"
	"time"
)

// Clock is the time of a Runner. Now must be monotonic.
type Clock interface {
	Now() time.Time
	// AfterFunc calls f in its own goroutine after d; stop prevents it and reports whether it did.
	AfterFunc(d time.Duration, f func()) (stop func() bool)
}

type realClock struct{}

func (realClock) Now() time.Time { return time.Now() }

func (realClock) AfterFunc(d time.Duration, f func()) func() bool { return time.AfterFunc(d, f).Stop }

// deadline is the time that a script has. It stands still while a person is asked, for a bounded time in all (XA-6).
type deadline struct {
	clock  Clock
	expire func() // called once

	mu       sync.Mutex
	left     time.Duration // at since, while it runs
	since    time.Time
	standing bool
	stood    time.Duration // before since
	maxStand time.Duration
	stop     func() bool // of the timer of the present state
	turn     int         // of states: an old timer that still fires is ignored
	done     bool
}

func startDeadline(c Clock, limit, maxStand time.Duration, expire func()) *deadline {
	d := &deadline{clock: c, expire: expire, left: limit, since: c.Now(), maxStand: maxStand}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.arm(limit)
	return d
}

// arm sets the timer of the present state. d.mu is held.
func (d *deadline) arm(after time.Duration) {
	d.turn++
	turn := d.turn
	d.stop = d.clock.AfterFunc(max(after, 0), func() { d.fired(turn) })
}

func (d *deadline) fired(turn int) {
	d.mu.Lock()
	if d.done || turn != d.turn {
		d.mu.Unlock()
		return
	}
	if d.standing { // it has stood long enough
		d.change(false)
		d.mu.Unlock()
		return
	}
	d.done = true
	d.mu.Unlock()
	d.expire()
}

// change moves between running and standing. d.mu is held.
func (d *deadline) change(standing bool) {
	d.stop()
	now := d.clock.Now()
	passed := now.Sub(d.since)
	d.since = now
	if d.standing {
		d.stood += passed
	} else {
		d.left -= passed
	}
	if d.standing = standing; standing {
		d.arm(d.maxStand - d.stood)
	} else {
		d.arm(d.left)
	}
}

// wait tells how many questions are open.
func (d *deadline) wait(open int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	standing := open > 0 && d.stoodLocked() < d.maxStand
	if !d.done && standing != d.standing {
		d.change(standing)
	}
}

func (d *deadline) stoodLocked() time.Duration {
	if d.standing {
		return d.stood + d.clock.Now().Sub(d.since)
	}
	return d.stood
}

// end stops the clock and tells how long it stood.
func (d *deadline) end() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	stood := d.stoodLocked()
	d.done = true
	d.stop()
	return stood
}

func (d *deadline) isStanding() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.standing
}
