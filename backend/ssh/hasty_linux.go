package ssh

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// hastyReads is how many reads are confirmed at once: those of a login and the start of the first program take some thirty.
const hastyReads = 64

// hasty is a connection whose first reads are confirmed at once. An SSH server holds small packets back until the one before is
// confirmed, and this side would wait 40 ms for something to send along with that: once in every login.
type hasty struct {
	net.Conn
	raw   syscall.RawConn
	reads int
}

func hurry(c net.Conn) net.Conn {
	t, ok := c.(*net.TCPConn)
	if !ok {
		return c
	}
	raw, err := t.SyscallConn()
	if err != nil {
		return c
	}
	return &hasty{Conn: c, raw: raw}
}

// Read is called by one goroutine at a time.
func (h *hasty) Read(b []byte) (int, error) {
	if h.reads < hastyReads {
		h.reads++
		_ = h.raw.Control(func(fd uintptr) { _ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_QUICKACK, 1) }) //nolint:gosec // a descriptor
	}
	return h.Conn.Read(b)
}
