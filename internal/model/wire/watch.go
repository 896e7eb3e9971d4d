package wire

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/hermes-runtime/hermes/provider"
)

// bounded is the cause of a request that passed one of its bounds.
type bounded struct{ text string }

func (b *bounded) Error() string { return b.text }

func withDefaults(b provider.Bounds) provider.Bounds {
	return provider.Bounds{
		Connect:    cmp.Or(b.Connect, 15*time.Second),
		FirstEvent: cmp.Or(b.FirstEvent, 180*time.Second),
		Idle:       cmp.Or(b.Idle, 60*time.Second),
		Stall:      cmp.Or(b.Stall, 300*time.Second),
	}
}

// watch ends a request that keeps its reader waiting too long. Only the time spent waiting for the other side counts, never what the
// reader does between.
type watch struct {
	cancel context.CancelCauseFunc
	bounds provider.Bounds
	events int           // that have come
	waited time.Duration // for the first event, later for content
	ending time.Duration // what may still be waited, all told, once the reply is known to be complete; 0 = it isn't
}

// during runs f, which waits for the other side.
func (w *watch) during(f func()) {
	left, why := w.left()
	t := time.AfterFunc(left, func() { w.cancel(why) })
	start := time.Now()
	f()
	took := time.Since(start)
	t.Stop()
	w.waited += took
	if w.ending > 0 {
		w.ending = max(w.ending-took, 1)
	}
}

// left is how long may be waited now, and what is wrong after it.
func (w *watch) left() (time.Duration, *bounded) {
	switch {
	case w.ending > 0:
		return w.ending, &bounded{"the end of the reply did not come"}
	case w.events == 0:
		return w.bounds.FirstEvent - w.waited, &bounded{fmt.Sprintf("no reply began within %v (model.first_event_timeout)", w.bounds.FirstEvent)}
	case w.bounds.Stall-w.waited < w.bounds.Idle:
		return w.bounds.Stall - w.waited, &bounded{fmt.Sprintf("nothing but signs of life for %v (model.stall_timeout)", w.bounds.Stall)}
	}
	return w.bounds.Idle, &bounded{fmt.Sprintf("silent for %v (model.idle_timeout)", w.bounds.Idle)}
}

// event notes one that has come.
func (w *watch) event() {
	if w.events++; w.events == 1 {
		w.waited = 0
	}
}

// content notes that what came carried some.
func (w *watch) content() { w.waited = 0 }
