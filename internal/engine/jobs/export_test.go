//go:build linux || darwin

package jobs

import "time"

// StopClocks has the windows of watching and the silence of a storm end when a test says so, and a storm be so many events in any time.
func (t *Table) StopClocks() {
	t.watchWindow, t.events.within, t.events.silence = 24*time.Hour, 24*time.Hour, 24*time.Hour
}

// EndWindow ends the window of a job's watching if more matched in it than an event shows, and reports whether it did.
func (t *Table) EndWindow(id string) bool {
	t.mu.Lock()
	w := t.jobs[id].watch
	t.mu.Unlock()
	w.mu.Lock()
	full := w.window != nil && w.held.n > eventLines && w.window.Stop()
	w.mu.Unlock()
	if full {
		w.closed()
	}
	return full
}

// EndSilence ends the silence of a storm.
func (t *Table) EndSilence() {
	t.events.mu.Lock()
	defer t.events.mu.Unlock()
	t.events.storm.Reset(0)
}
