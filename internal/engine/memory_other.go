//go:build !linux

package engine

// MemoryMB is the size of the machine's memory, 0 where it isn't asked.
func MemoryMB() int { return 0 }
