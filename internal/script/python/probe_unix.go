//go:build unix

package python

import (
	"io/fs"
	"os/exec"
	"syscall"
)

// ownGroup ends with the candidate whatever it started: wrappers are shell scripts.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// inode tells a file from another that was put in its place.
func inode(i fs.FileInfo) uint64 {
	st, ok := i.Sys().(*syscall.Stat_t)
	if !ok {
		return 0
	}
	return uint64(st.Ino)
}
