//go:build unix

package bench

import (
	"os"
	"runtime"
	"syscall"
)

// maxResident is the most memory that a child had resident, in kB.
func maxResident(p *os.ProcessState) (float64, bool) {
	u, ok := p.SysUsage().(*syscall.Rusage)
	if !ok {
		return 0, false
	}
	if runtime.GOOS == "darwin" { // bytes there
		return float64(u.Maxrss) / 1000, true
	}
	return float64(u.Maxrss), true
}
