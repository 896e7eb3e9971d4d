package engine

import "golang.org/x/sys/unix"

// runsPrograms reports whether programs can be run from dir.
func runsPrograms(dir string) bool {
	var s unix.Statfs_t
	return unix.Statfs(dir, &s) == nil && s.Flags&unix.MNT_NOEXEC == 0
}
