package files

import (
	"io/fs"
	"sync"
	"syscall"
)

// umask is the process's file creation mask. It can only be asked for by setting it, so that is done once, to a strict one for the
// moment.
var umask = sync.OnceValue(func() fs.FileMode {
	mask := syscall.Umask(0o077)
	syscall.Umask(mask)
	return fs.FileMode(mask)
})
