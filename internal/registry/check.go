package registry

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hermes-runtime/hermes/tool"
)

// availability is what is known about one Check, shared by all tools that share its pointer.
type availability struct {
	check *tool.Check
	last  atomic.Pointer[string] // reason of the last answer, "" = passed; nil = never asked

	mu      sync.Mutex
	probe   *probe // the last one begun
	running int    // probes whose Check hasn't returned, answered or not
}

// probe is one run of a Check that starts a process or uses the network.
type probe struct {
	done  chan struct{}
	epoch uint64
	// Written before done is closed.
	reason string
	ended  time.Time
}

func (p *probe) finished() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// lastReason is the reason of the last answer; "" if the Check passed or wasn't asked yet.
func (a *availability) lastReason() string {
	if a == nil {
		return ""
	}
	if last := a.last.Load(); last != nil {
		return *last
	}
	return ""
}

// note keeps an answer and reports it if it changes what is known.
func (r *Registry) note(a *availability, reason string) {
	old := a.last.Load()
	if old != nil && *old == reason {
		return
	}
	kept := reason // so that only what is kept costs memory
	old = a.last.Swap(&kept)
	switch was, is := old != nil && *old != "", reason != ""; {
	case is && !was:
		r.log.Info("check fails: its tools are hidden", slog.String("check", a.check.Name), slog.String("reason", reason))
	case was && !is:
		r.log.Info("check passes again", slog.String("check", a.check.Name))
	}
}

// ask runs each of the checks once and gives the set of those that failed. An error means that the caller gave up.
func (r *Registry) ask(ctx context.Context, s *Settings, checks []*availability) (bits, error) {
	failed := newBits(len(checks))
	if len(checks) == 0 {
		return failed, ctx.Err()
	}
	var waiting []*probe // by position in checks; nil while no probe is among them
	for i, a := range checks {
		if a.check.Probe {
			if waiting == nil {
				waiting = make([]*probe, len(checks))
			}
			waiting[i] = r.begin(a, s)
		}
	}
	if err := r.askInline(ctx, s, checks, failed); err != nil {
		return nil, err
	}
	for i, p := range waiting {
		if p == nil {
			continue
		}
		select {
		case <-p.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if p.reason != "" {
			failed.set(i)
		}
	}
	return failed, nil
}

// askInline runs the checks that are no probe, one after the other: they look something up and return.
func (r *Registry) askInline(ctx context.Context, s *Settings, checks []*availability, failed bits) error {
	d := deadline{parent: ctx, timeout: s.checkTimeout()}
	defer d.end()
	for i, a := range checks {
		if a.check.Probe {
			continue
		}
		limited := d.renew()
		reason := r.run(limited, a.check)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if limited.Err() != nil {
			reason = noAnswer(d.timeout)
		}
		r.note(a, reason)
		if reason != "" {
			failed.set(i)
		}
	}
	return nil
}

// deadline gives checks that follow each other their time. They share one context as long as they are as quick as they should be.
type deadline struct {
	parent  context.Context
	timeout time.Duration
	current context.Context
	cancel  context.CancelFunc
	began   time.Time
}

func (d *deadline) renew() context.Context {
	now := time.Now()
	if d.current == nil || now.Sub(d.began) > d.timeout/100 {
		d.end()
		d.current, d.cancel = context.WithTimeout(d.parent, d.timeout)
		d.began = now
	}
	return d.current
}

func (d *deadline) end() {
	if d.cancel != nil {
		d.cancel()
	}
}

func noAnswer(timeout time.Duration) string {
	return fmt.Sprintf("no answer within %s (registry.check_timeout)", timeout)
}

// run asks a Check and turns whatever comes of it into a reason.
func (r *Registry) run(ctx context.Context, c *tool.Check) (reason string) {
	defer func() {
		if p := recover(); p != nil {
			reason = fmt.Sprintf("the check panicked: %v", p)
		}
	}()
	if r.checked != nil {
		began := time.Now()
		defer func() { r.checked(c.Name, time.Since(began)) }()
	}
	err := c.Run(ctx, r.services)
	if err == nil {
		return ""
	}
	if reason = err.Error(); reason == "" {
		reason = "the check failed without a reason"
	}
	return reason
}

// begin gives the probe whose answer holds now: one that ended lately, one that runs, or a new one.
func (r *Registry) begin(a *availability, s *Settings) *probe {
	a.mu.Lock()
	defer a.mu.Unlock()
	if p := a.probe; p != nil && p.epoch == r.epoch.Load() {
		// One that didn't answer in time and still hangs isn't joined by others that would hang too.
		if !p.finished() || a.running > 0 || time.Since(p.ended) < s.checkTTL() {
			return p
		}
	}
	p := &probe{done: make(chan struct{}), epoch: r.epoch.Load()}
	if !r.tasks.add() {
		p.reason, p.ended = "the registry is closed", time.Now()
		close(p.done)
		return p
	}
	a.probe = p
	a.running++
	timeout := s.checkTimeout()
	ctx, cancel := context.WithTimeout(r.base, timeout)
	overdue := time.AfterFunc(timeout, func() { r.finish(a, p, noAnswer(timeout)) })
	go func() {
		defer r.tasks.done()
		defer cancel()
		reason := r.run(ctx, a.check)
		overdue.Stop()
		if ctx.Err() == context.DeadlineExceeded {
			reason = noAnswer(timeout)
		}
		r.finish(a, p, reason)
		a.mu.Lock()
		a.running--
		a.mu.Unlock()
	}()
	return p
}

// finish gives a probe its answer; the first answer counts.
func (r *Registry) finish(a *availability, p *probe, reason string) {
	a.mu.Lock()
	first, latest := !p.finished(), a.probe == p
	if first {
		p.reason, p.ended = reason, time.Now()
		close(p.done)
	}
	a.mu.Unlock()
	if first && latest && r.base.Err() == nil {
		r.note(a, reason)
	}
}

// Invalidate makes every probe run again at the next question. Call it when what checks look at has changed: the configuration,
// the environment file.
func (r *Registry) Invalidate() { r.epoch.Add(1) }

// tasks counts goroutines and admits no more once closed.
type tasks struct {
	mu     sync.Mutex
	n      int
	closed bool
	idle   chan struct{} // closed when closed and n is 0
}

func (t *tasks) add() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return false
	}
	t.n++
	return true
}

func (t *tasks) done() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n--; t.n == 0 && t.closed {
		close(t.idle)
	}
}

// close ends admission and gives a channel that is closed when nothing runs any more.
func (t *tasks) close() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		t.closed, t.idle = true, make(chan struct{})
		if t.n == 0 {
			close(t.idle)
		}
	}
	return t.idle
}

// bits is a set of small numbers.
type bits []uint64

func newBits(n int) bits      { return make(bits, (n+63)/64) }
func (b bits) set(i int)      { b[i/64] |= 1 << (i % 64) }
func (b bits) has(i int) bool { return b[i/64]&(1<<(i%64)) != 0 }

// noServices is what checks get where nothing is held.
type noServices struct{}

func (noServices) Service(reflect.Type) any { return nil }
func (noServices) Getenv(string) string     { return "" }
