//go:build linux || darwin

package engine

import (
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// hearInterrupts has commands hear SIGINT where this process was born ignoring it, as one is that a shell put into the background: a
// program on a terminal could not be interrupted, and no shell could trap it. A handler is reset in children, unlike "ignore".
var hearInterrupts = sync.OnceFunc(func() {
	if signal.Ignored(syscall.SIGINT) {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGINT) // dropped: here it goes on to do nothing
	}
})
