//go:build unix

package chat

import (
	"os"
	"syscall"
)

// resizes are the signals that tell of a new size of the terminal.
var resizes = []os.Signal{syscall.SIGWINCH}
