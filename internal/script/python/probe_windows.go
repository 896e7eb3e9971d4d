package python

import (
	"io/fs"
	"os/exec"
)

func ownGroup(*exec.Cmd) {}

func inode(fs.FileInfo) uint64 { return 0 }
