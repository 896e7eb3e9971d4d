//go:build !unix

package singularity

import "os/exec"

func detach(*exec.Cmd) {}

func kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

func signalOf(*exec.Cmd) int { return 0 }
