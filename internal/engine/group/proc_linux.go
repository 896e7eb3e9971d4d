package group

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

const scanName = "session, process group, descendants and a marker variable"

// bootID tells apart what numbers of processes mean: those of an earlier start of the machine are others, and so are those of another
// namespace, as a container has that shows this machine's cgroups all the same.
var bootID = sync.OnceValue(func() string {
	b, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	namespace, _ := os.Readlink("/proc/self/ns/pid")
	return string(bytes.TrimSpace(b)) + namespace
})

func becomeSubreaper() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// readProcess reads one row of the process table.
func readProcess(pid int) (process, error) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return process{}, err
	}
	return parseStat(b)
}

// parseStat reads /proc/PID/stat. The name in parentheses may hold anything, parentheses too.
func parseStat(b []byte) (process, error) {
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 1 || end < open {
		return process{}, fmt.Errorf("process table: no name in %q", b)
	}
	pid, err := strconv.Atoi(string(bytes.TrimSpace(b[:open])))
	f := strings.Fields(string(b[end+1:])) // from field 3, the state
	if err != nil || len(f) < 20 || len(f[0]) != 1 {
		return process{}, fmt.Errorf("process table: unreadable row %q", b)
	}
	p := process{pid: pid, state: f[0][0], name: string(b[open+1 : end])}
	for i, to := range []*int{&p.parent, &p.group, &p.session} {
		if *to, err = strconv.Atoi(f[1+i]); err != nil {
			return process{}, fmt.Errorf("process table: row of %d: %w", pid, err)
		}
	}
	if p.start, err = strconv.ParseUint(f[19], 10, 64); err != nil { // field 22
		return process{}, fmt.Errorf("process table: row of %d: %w", pid, err)
	}
	return p, nil
}

// listProcesses reads the table from pid low up: pids are handed out in order, so what a process starts stands behind it unless
// the numbers began anew since.
func listProcesses(low int) ([]process, error) {
	if low > 0 && lastPID() < low {
		low = 0
	}
	d, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(-1)
	if err != nil {
		return nil, err
	}
	var ps []process
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil || pid < low {
			continue
		}
		if p, err := readProcess(pid); err == nil {
			ps = append(ps, p)
		}
	}
	return ps, nil
}

func lastPID() int {
	b, err := os.ReadFile("/proc/loadavg")
	f := bytes.Fields(b)
	if err != nil || len(f) < 5 {
		return 0
	}
	n, _ := strconv.Atoi(string(f[4]))
	return n
}

func marked(pid int, id string) bool {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	return err == nil && carries(b, id)
}

// commandOf gives the command line of p for people, shortened.
func commandOf(p process) string {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(p.pid) + "/cmdline")
	s := strings.TrimSpace(strings.ReplaceAll(string(b), "\x00", " "))
	if err != nil || s == "" {
		return p.name
	}
	return shorten(s)
}

// send signals p and nobody else: the pidfd is opened first, and the row is compared after that.
func send(p process, sigs ...syscall.Signal) {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM) || errors.Is(err, unix.EINVAL) {
		if now, err := readProcess(p.pid); err == nil && now.start == p.start {
			for _, sig := range sigs {
				_ = syscall.Kill(p.pid, sig) // who can't be signalled is named as a survivor
			}
		}
		return
	}
	if err != nil {
		return
	}
	defer unix.Close(fd)
	if now, err := readProcess(p.pid); err == nil && now.start == p.start {
		for _, sig := range sigs {
			_ = unix.PidfdSendSignal(fd, sig, nil, 0)
		}
	}
}

// marksOf finds the marks with prefix that any process of ours carries.
func marksOf(prefix string) []string {
	d, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer d.Close()
	names, _ := d.Readdirnames(-1) // what was read until an error is looked at
	var ids []string
	for _, name := range names {
		if _, err := strconv.Atoi(name); err != nil {
			continue
		}
		if b, err := os.ReadFile("/proc/" + name + "/environ"); err == nil {
			ids = append(ids, marks(b, prefix)...)
		}
	}
	return ids
}
