package jobs

import (
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// waits says by the number of a system call how to find the descriptors that it waits for.
var waits = map[string]map[string]func(pid string, args []uint64) []uint64{
	"amd64": {"0": first, "19": first, "7": polled, "271": polled, "23": selected, "270": selected, "232": epolled, "281": epolled},
	"arm64": {"63": first, "65": first, "73": polled, "72": selected, "22": epolled},
}

// waiting reports whether the foreground group of a terminal sleeps until something is typed, nil where that can't be known.
func waiting(master *os.File) *bool {
	if master == nil {
		return nil
	}
	table := waits[runtime.GOARCH]
	raw, err := master.SyscallConn()
	if err != nil || table == nil {
		return nil
	}
	var front, number int
	var ferr, nerr error
	if raw.Control(func(fd uintptr) {
		front, ferr = unix.IoctlGetInt(int(fd), unix.TIOCGPGRP) //nolint:gosec // a descriptor
		number, nerr = unix.IoctlGetInt(int(fd), unix.TIOCGPTN) //nolint:gosec // a descriptor
	}) != nil || ferr != nil || nerr != nil || front <= 0 {
		return nil
	}
	tty := "/dev/pts/" + strconv.Itoa(number)
	known, yes := false, false
	for _, pid := range groupOf(front) {
		w, err := sleepsFor(pid, tty, table)
		if err != nil {
			continue
		}
		known = true
		yes = yes || w
	}
	if !known {
		return nil
	}
	return &yes
}

// groupOf lists the members of a process group.
func groupOf(group int) []string {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is well formed
	var pids []string
	for _, s := range stats {
		b, err := os.ReadFile(s)
		if err != nil {
			continue
		}
		f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
		if len(f) > 2 && f[2] == strconv.Itoa(group) {
			pids = append(pids, strings.Split(s, "/")[2])
		}
	}
	return pids
}

var errUnknown = errors.New("not known")

// sleepsFor reports whether a process sleeps in a system call that the terminal would end.
func sleepsFor(pid, tty string, table map[string]func(string, []uint64) []uint64) (bool, error) {
	b, err := os.ReadFile("/proc/" + pid + "/syscall")
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		return false, err
	}
	f := strings.Fields(string(b))
	if len(f) < 7 {
		return false, nil // running, or in no call
	}
	find := table[f[0]]
	if find == nil {
		return false, nil
	}
	args := make([]uint64, 6)
	for i := range args {
		if args[i], err = strconv.ParseUint(strings.TrimPrefix(f[i+1], "0x"), 16, 64); err != nil {
			return false, errUnknown
		}
	}
	for _, fd := range find(pid, args) {
		to, err := os.Readlink("/proc/" + pid + "/fd/" + strconv.FormatUint(fd, 10))
		if err == nil && (to == tty || to == "/dev/tty") {
			return true, nil
		}
	}
	return false, nil
}

func first(_ string, args []uint64) []uint64 { return args[:1] }

// memory reads what a process has at an address.
func memory(pid string, at uint64, n int) []byte {
	f, err := os.Open("/proc/" + pid + "/mem")
	if err != nil {
		return nil
	}
	defer f.Close()
	b := make([]byte, n)
	k, _ := f.ReadAt(b, int64(at)) //nolint:gosec // an address
	return b[:k]
}

// polled reads a list of struct pollfd.
func polled(pid string, args []uint64) []uint64 {
	const size = 8
	var fds []uint64
	for b := memory(pid, args[0], int(min(args[1], 1024))*size); len(b) >= size; b = b[size:] { //nolint:gosec // bounded
		if binary.NativeEndian.Uint16(b[4:])&unix.POLLIN != 0 {
			fds = append(fds, uint64(binary.NativeEndian.Uint32(b)))
		}
	}
	return fds
}

// selected reads a set of descriptors.
func selected(pid string, args []uint64) []uint64 {
	n := min(args[0], 1024)
	var fds []uint64
	b := memory(pid, args[1], int(n+7)/8) //nolint:gosec // bounded
	for fd := range n {
		if i := int(fd / 8); i < len(b) && b[i]&(1<<(fd%8)) != 0 { //nolint:gosec // bounded
			fds = append(fds, fd)
		}
	}
	return fds
}

// epolled reads what an epoll descriptor watches.
func epolled(pid string, args []uint64) []uint64 {
	b, err := os.ReadFile("/proc/" + pid + "/fdinfo/" + strconv.FormatUint(args[0], 10))
	if err != nil {
		return nil
	}
	var fds []uint64
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "tfd:" {
			if fd, err := strconv.ParseUint(f[1], 10, 64); err == nil {
				fds = append(fds, fd)
			}
		}
	}
	return fds
}
