//go:build linux || darwin

package payload_test

import (
	"syscall"
	"time"
)

// spent is the processor time of this process so far: unlike the clock it doesn't count what other processes take.
func spent() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
