//go:build unix

package python

import (
	"os/exec"
	"syscall"
)

// ownGroup ends with the candidate whatever it started: wrappers are shell scripts.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
