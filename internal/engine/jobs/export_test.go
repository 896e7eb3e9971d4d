//go:build linux || darwin

package jobs

import "time"

// SetTimes makes the windows of watching short.
func (t *Table) SetTimes(window, silence time.Duration) {
	t.watchWindow, t.events.silence = window, silence
}
