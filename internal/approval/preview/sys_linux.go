package preview

import (
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// niceness lets everything else go first.
const niceness = 10

// yield gives the calling goroutine a thread of its own with low priority, which git inherits. The thread ends with the goroutine, since
// it is never unlocked.
func yield() {
	runtime.LockOSThread()
	_ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), niceness) // at the usual priority it is as right
}

// openDir opens a directory that has not become a link meanwhile.
func openDir(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
}
