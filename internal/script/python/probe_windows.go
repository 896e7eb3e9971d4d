package python

import "os/exec"

func ownGroup(*exec.Cmd) {}
