package engine

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// awaitIdle is await for a process that may go on for days: no thread sits and waits for it.
func awaitIdle(p *os.Process) exit {
	fd, err := unix.PidfdOpen(p.Pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return await(p)
	}
	f := os.NewFile(uintptr(fd), "pidfd") //nolint:gosec // a descriptor
	defer f.Close()
	raw, err := f.SyscallConn()
	if err != nil {
		return await(p)
	}
	var (
		status syscall.WaitStatus
		usage  syscall.Rusage
		failed error
	)
	err = raw.Read(func(uintptr) bool { // called again when the process has ended
		pid, err := syscall.Wait4(p.Pid, &status, syscall.WNOHANG, &usage)
		for err == syscall.EINTR {
			pid, err = syscall.Wait4(p.Pid, &status, syscall.WNOHANG, &usage)
		}
		failed = err
		return err != nil || pid == p.Pid
	})
	if err != nil { // the poller can't watch it
		return await(p)
	}
	_ = p.Release()
	if failed != nil {
		return exit{code: -1, err: failed}
	}
	return exitOf(status, &usage)
}
