//go:build linux || darwin

package engine

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"syscall"

	"github.com/hermes-runtime/hermes/environment"
)

// limitRow is one limit: how a shell sets it, which signal tells that it struck, and what it is called.
type limitRow struct {
	name   string
	unit   string
	value  func(environment.Limits) int
	ulimit string // format for the value, run before the first instruction
	signal syscall.Signal
	weak   string // where it does not reach
}

// limitRows is the table of limits. CPU has a hard limit above the soft one: with both equal the kernel kills without the signal
// that names the reason.
var limitRows = []limitRow{
	{"memory_mb", " MB", func(l environment.Limits) int { return l.MemoryMB }, "ulimit -v $((%d*1024))", 0, "per process, address space; running out shows as the program's own error"},
	{"processes", "", func(l environment.Limits) int { return l.Processes }, "ulimit -u %d", 0, "per user, not per command; root is exempt"},
	{"cpu", " s", func(l environment.Limits) int { return l.CPUSeconds }, "ulimit -H -t $((%[1]d+2));ulimit -S -t %[1]d", syscall.SIGXCPU, "per process"},
	{"file_size_mb", " MB", func(l environment.Limits) int { return l.FileSizeMB }, "ulimit -f $((%d*1024))", syscall.SIGXFSZ, "per file"},
	{"open_files", "", func(l environment.Limits) int { return l.OpenFiles }, "ulimit -n %d", 0, "per process"},
}

// limitsOf fills what a command leaves open from the engine's defaults.
func limitsOf(c, d environment.Limits) environment.Limits {
	return environment.Limits{
		MemoryMB: cmp.Or(c.MemoryMB, d.MemoryMB), Processes: cmp.Or(c.Processes, d.Processes), CPUSeconds: cmp.Or(c.CPUSeconds, d.CPUSeconds),
		FileSizeMB: cmp.Or(c.FileSizeMB, d.FileSizeMB), OpenFiles: cmp.Or(c.OpenFiles, d.OpenFiles),
	}
}

// limits gives the shell text that sets them, "" for none. Cores are written by nobody who is limited.
func (r *run) limits() string {
	l := limitsOf(r.c.Limits, r.e.o.Limits)
	var s strings.Builder
	for _, row := range limitRows {
		v := row.value(l)
		if v <= 0 {
			continue
		}
		if s.Len() == 0 {
			s.WriteString("ulimit -c 0;")
		}
		text := fmt.Sprintf(row.ulimit, v)
		if row.name == "file_size_mb" && !r.e.bash {
			text = fmt.Sprintf("ulimit -f $((%d*2048))", v) // POSIX counts blocks of 512 bytes, bash of 1024
		}
		s.WriteString(text + ";")
	}
	return s.String()
}

// struck names the limit that ended the command, told by the signal that only this limit sends.
func (r *run) struck(res *environment.Result) {
	l := limitsOf(r.c.Limits, r.e.o.Limits)
	for _, row := range limitRows {
		v := row.value(l)
		if v > 0 && row.signal != 0 && res.ExitCode == 128+int(row.signal) {
			res.Reason, res.Signal, res.ExitCode = environment.LimitHit, "", 137
			res.Limit = fmt.Sprintf("%s: %d%s", row.name, v, row.unit)
			return
		}
	}
}

// describeLimits says which of the configured limits hold, and how far.
func (e *Engine) describeLimits() []string {
	var lines []string
	for _, row := range limitRows {
		if v := row.value(e.o.Limits); v > 0 {
			weak := row.weak
			if row.name == "processes" && os.Geteuid() == 0 {
				weak = "does not hold: commands run as root, who is exempt"
			}
			lines = append(lines, fmt.Sprintf("limit %s = %d%s: %s", row.name, v, row.unit, weak))
		}
	}
	return lines
}
