//go:build unix

package review

import (
	"os/exec"
	"syscall"
)

// group has the end of a program be the end of what it started.
func group(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }
}
