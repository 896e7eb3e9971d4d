//go:build unix

package singularity

import (
	"os/exec"
	"syscall"

	"github.com/hermes-runtime/hermes/internal/engine"
)

// detach has a program run in a process group of its own, without what this process was started with open.
func detach(cmd *exec.Cmd) {
	engine.HideInherited()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// kill ends a program and what is in its group.
func kill(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// signalOf gives the signal that ended a program, 0 for none.
func signalOf(cmd *exec.Cmd) int {
	if s, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && s.Signaled() {
		return int(s.Signal())
	}
	return 0
}
