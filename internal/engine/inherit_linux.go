package engine

import (
	"math"
	"os"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// hideInherited makes every descriptor that this process was born with close-on-exec: what a parent left open by mistake is not
// meant for the commands of a model. Descriptors opened by Go are close-on-exec anyway.
var hideInherited = sync.OnceFunc(func() {
	if unix.CloseRange(3, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) == nil { // Linux 5.11
		return
	}
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return
	}
	for _, d := range open {
		if fd, err := strconv.Atoi(d.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
})
