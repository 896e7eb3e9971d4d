package dispatch

import "sync"

// waits knows which calls wait for a person. A wait of a call counts for the call that it is made in too.
type waits struct {
	mu       sync.Mutex
	open     map[string]int
	watchers map[string]map[*func(int)]bool
}

// begin notes that a call waits, until the function it returns is called.
func (w *waits) begin(ids ...string) (end func()) {
	w.add(1, ids)
	return sync.OnceFunc(func() { w.add(-1, ids) })
}

func (w *waits) add(n int, ids []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.open == nil {
		w.open = map[string]int{}
	}
	for _, id := range ids {
		if id == "" {
			continue
		}
		if w.open[id] += n; w.open[id] == 0 {
			delete(w.open, id)
		}
		for f := range w.watchers[id] {
			(*f)(w.open[id])
		}
	}
}

// WatchWaiting calls changed with the number of open questions of a call and of calls made in it, now and whenever it changes,
// until stop is called. changed must not block.
func (d *Door) WatchWaiting(callID string, changed func(open int)) (stop func()) {
	w := &d.waits
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.watchers == nil {
		w.watchers = map[string]map[*func(int)]bool{}
	}
	if w.watchers[callID] == nil {
		w.watchers[callID] = map[*func(int)]bool{}
	}
	key := &changed
	w.watchers[callID][key] = true
	changed(w.open[callID])
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if delete(w.watchers[callID], key); len(w.watchers[callID]) == 0 {
			delete(w.watchers, callID)
		}
	}
}
