package dispatch

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// reporter hands on the progress of one call.
type reporter struct {
	mu    sync.Mutex
	done  float64
	last  time.Time
	ended bool
}

func (r *reporter) report(f *flight, done, total float64, text string) {
	f.limits.alive()
	sink := f.session.Progress
	if sink == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done = max(r.done, done)
	now := time.Now()
	if r.ended || now.Sub(r.last) < reportEvery {
		return
	}
	r.last = now
	p := Progress{Call: f.call.ID, Tool: f.call.Name, Done: r.done, Total: total, Message: text}
	if f.door.redactor != nil {
		p.Message = f.door.redactor.All(text)
	}
	defer func() {
		if v := recover(); v != nil {
			f.door.log.Warn("a progress sink panicked", "call", f.call.ID, "panic", v)
		}
	}()
	sink(p)
}

// end stops reports: none comes behind the result.
func (r *reporter) end() {
	r.mu.Lock()
	r.ended = true
	r.mu.Unlock()
}

// asyncLimits ends an async handler that shows no progress, or takes too long. Zero watches nothing.
type asyncLimits struct {
	mu   sync.Mutex
	idle *clock
	all  *clock
}

var (
	errIdle = errors.New("no progress")
	errLong = errors.New("too long in all")
	errLate = errors.New("not ready in time")
)

// limitError is the cause of a context that a limit of ours ended. It is a timeout.
type limitError struct {
	err   error
	limit time.Duration
	key   string
}

func (l *limitError) Error() string {
	return fmt.Sprintf("%v: the limit is %v (%s)", l.err, l.limit, l.key)
}

func (l *limitError) Unwrap() []error { return []error{l.err, context.DeadlineExceeded} }

func (a *asyncLimits) watch(cancel context.CancelCauseFunc, c Config) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.idle = startClock(cancel, &limitError{errIdle, c.AsyncIdle, "runtime.async_idle_timeout"})
	a.all = startClock(cancel, &limitError{errLong, c.AsyncMax, "runtime.async_max"})
}

func (a *asyncLimits) clocks() (idle, all *clock) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.idle, a.all
}

// alive says that there was progress.
func (a *asyncLimits) alive() {
	idle, _ := a.clocks()
	idle.restart()
}

// pause stops both clocks until the function that it returns is called.
func (a *asyncLimits) pause() (resume func()) {
	idle, all := a.clocks()
	goOn, goOnAll := idle.pause(), all.pause()
	return func() { goOn(); goOnAll() }
}

func (a *asyncLimits) stop() {
	idle, all := a.clocks()
	idle.stop()
	all.stop()
}
