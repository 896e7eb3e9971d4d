package group

import (
	"bytes"
	"errors"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

const scanName = "session, process group and descendants"

var bootID = sync.OnceValue(func() string {
	t, err := unix.SysctlTimeval("kern.boottime")
	if err != nil {
		return ""
	}
	return strconv.FormatInt(t.Sec, 10)
})

func becomeSubreaper() error { return errors.ErrUnsupported }

func readProcess(pid int) (process, error) {
	k, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return process{}, err
	}
	if int(k.Proc.P_pid) != pid {
		return process{}, syscall.ESRCH
	}
	return fromKinfo(k), nil
}

func listProcesses(int) ([]process, error) {
	ks, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil, err
	}
	ps := make([]process, 0, len(ks))
	for i := range ks {
		ps = append(ps, fromKinfo(&ks[i]))
	}
	return ps, nil
}

func fromKinfo(k *unix.KinfoProc) process {
	name, _, _ := bytes.Cut(k.Proc.P_comm[:], []byte{0})
	p := process{
		pid: int(k.Proc.P_pid), parent: int(k.Eproc.Ppid), group: int(k.Eproc.Pgid), name: string(name),
		start: uint64(k.Proc.P_starttime.Sec)*1_000_000 + uint64(k.Proc.P_starttime.Usec), state: 'S',
	}
	if k.Proc.P_stat == 5 { // SZOMB of sys/proc.h
		p.state = 'Z'
	}
	p.session, _ = unix.Getsid(p.pid)
	return p
}

// marked is false: the environment of another process isn't to be had reliably here.
func marked(int, string) bool { return false }

func commandOf(p process) string { return shorten(p.name) }

func send(p process, sigs ...syscall.Signal) {
	if now, err := readProcess(p.pid); err == nil && now.start == p.start {
		for _, sig := range sigs {
			_ = syscall.Kill(p.pid, sig) // who can't be signalled is named as a survivor
		}
	}
}

// marksOf finds nothing: see marked.
func marksOf(string) []string { return nil }
