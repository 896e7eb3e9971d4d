//go:build !linux

package script

// machineMemoryMB is the size of the machine's memory, 0 where it isn't asked.
func machineMemoryMB() int { return 0 }
