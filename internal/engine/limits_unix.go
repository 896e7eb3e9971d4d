//go:build linux || darwin

package engine

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"syscall"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine/group"
)

// The names of limits that are treated in a way of their own.
const (
	memoryLimit   = "memory_mb"
	processLimit  = "processes"
	fileSizeLimit = "file_size_mb"
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
	{memoryLimit, " MB", func(l environment.Limits) int { return l.MemoryMB }, "ulimit -v $((%d*1024))", 0, "per process, address space; running out shows as the program's own error"},
	{processLimit, "", func(l environment.Limits) int { return l.Processes }, "ulimit -u %d", 0, "per user, not per command; root is exempt"},
	{"cpu", " s", func(l environment.Limits) int { return l.CPUSeconds }, "ulimit -S -t %[1]d;ulimit -H -t $((%[1]d+2))", syscall.SIGXCPU, "per process"},
	{fileSizeLimit, " MB", func(l environment.Limits) int { return l.FileSizeMB }, "ulimit -f $((%d*1024))", syscall.SIGXFSZ, "per file"},
	{"open_files", "", func(l environment.Limits) int { return l.OpenFiles }, "ulimit -n %d", 0, "per process"},
}

// limitsOf fills what a command leaves open from the engine's defaults.
func limitsOf(c, d environment.Limits) environment.Limits {
	return environment.Limits{
		MemoryMB: cmp.Or(c.MemoryMB, d.MemoryMB), Processes: cmp.Or(c.Processes, d.Processes), CPUSeconds: cmp.Or(c.CPUSeconds, d.CPUSeconds),
		FileSizeMB: cmp.Or(c.FileSizeMB, d.FileSizeMB), OpenFiles: cmp.Or(c.OpenFiles, d.OpenFiles),
	}
}

// limits sets what cgroups hold, and gives the shell text that does the rest, "" for nothing. Cores are written by nobody who is
// limited.
func (r *run) limits() string {
	l := limitsOf(r.c.Limits, r.e.o.Limits)
	if l == (environment.Limits{}) {
		return ""
	}
	held := r.group.Limit(group.Limits{MemoryMB: l.MemoryMB, Processes: l.Processes})
	var s strings.Builder
	for _, file := range held.Join {
		s.WriteString("echo 0 >" + quote(file) + ";")
	}
	s.WriteString("ulimit -c 0;")
	for _, row := range limitRows {
		v := row.value(l)
		if v <= 0 || row.name == memoryLimit && held.Memory || row.name == processLimit && held.Processes {
			continue
		}
		text := fmt.Sprintf(row.ulimit, v)
		if row.name == fileSizeLimit && !r.e.bash {
			text = fmt.Sprintf("ulimit -f $((%d*2048))", v) // POSIX counts blocks of 512 bytes, bash of 1024
		}
		s.WriteString(text + ";")
	}
	return s.String()
}

// struck names the limit that ended the command: told by the signal that only this limit sends, or by the count of its cgroup where
// the command failed.
func (r *run) struck(res *environment.Result) {
	l := limitsOf(r.c.Limits, r.e.o.Limits)
	if l == (environment.Limits{}) || res.ExitCode == 0 {
		return
	}
	memory, processes := r.group.Struck()
	for _, row := range limitRows {
		v := row.value(l)
		bySignal := row.signal != 0 && res.ExitCode == 128+int(row.signal)
		if v > 0 && (bySignal || row.name == memoryLimit && memory || row.name == processLimit && processes) {
			res.Reason, res.Signal, res.ExitCode = environment.LimitHit, "", 137
			res.Limit = fmt.Sprintf("%s: %d%s", row.name, v, row.unit)
			return
		}
	}
}

// describeLimits says which of the configured limits hold, and how far.
func (e *Engine) describeLimits() []string {
	l := e.o.Limits
	if l == (environment.Limits{}) {
		return nil
	}
	trial := e.rung.Open()
	held := trial.Limit(group.Limits{MemoryMB: l.MemoryMB, Processes: l.Processes})
	trial.Close()
	var lines []string
	for _, row := range limitRows {
		v, reach := row.value(l), row.weak
		switch {
		case v <= 0:
			continue
		case row.name == memoryLimit && held.Memory, row.name == processLimit && held.Processes:
			reach = "for the command and all that it starts, by cgroup"
		case row.name == processLimit && os.Geteuid() == 0:
			reach = "does not hold: commands run as root, who is exempt"
		}
		lines = append(lines, fmt.Sprintf("limit %s = %d%s: %s", row.name, v, row.unit, reach))
	}
	return lines
}
