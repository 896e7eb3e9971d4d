package files

import (
	"bufio"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// umask is the process's file creation mask, read without changing it, since other threads may be making files.
func umask() fs.FileMode {
	f, err := os.Open("/proc/thread-self/status")
	if err != nil {
		return setUmask()
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if value, ok := strings.CutPrefix(lines.Text(), "Umask:"); ok {
			if mask, err := strconv.ParseUint(strings.TrimSpace(value), 8, 32); err == nil {
				return fs.FileMode(mask)
			}
		}
	}
	return setUmask()
}

// setUmask asks the only way there is without /proc: by setting it for a moment, to a strict one.
func setUmask() fs.FileMode {
	mask := syscall.Umask(0o077)
	syscall.Umask(mask)
	return fs.FileMode(mask)
}
