package engine

import (
	"os"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// hideInherited makes every descriptor that this process was born with close-on-exec: what a parent left open by mistake is not
// meant for the commands of a model.
var hideInherited = sync.OnceFunc(func() {
	open, err := os.ReadDir("/dev/fd")
	if err != nil {
		return
	}
	for _, d := range open {
		if fd, err := strconv.Atoi(d.Name()); err == nil && fd > 2 {
			unix.CloseOnExec(fd)
		}
	}
})
