// Package keys reads a terminal key by key. What programs print meanwhile looks as always: only the way in is changed.
package keys

import "time"

// Next returns the next byte. ok is false when none came within the time; err is io.EOF when the terminal is gone.
func (r *Reader) Next(wait time.Duration) (b byte, ok bool, err error) {
	var one [1]byte
	n, err := r.Read(one[:], wait)
	return one[0], n > 0, err
}
