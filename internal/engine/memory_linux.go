package engine

import "golang.org/x/sys/unix"

// MemoryMB is the size of the machine's memory, 0 if it can't be known.
func MemoryMB() int {
	var i unix.Sysinfo_t
	if unix.Sysinfo(&i) != nil {
		return 0
	}
	return int(uint64(i.Totalram) * uint64(i.Unit) / 1e6) //nolint:unconvert,gosec // the types differ by architecture
}
