// Package peer tells who is at the other end of a Unix socket.
package peer

import (
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// SameUser fails unless the peer runs as this process's user.
func SameUser(c *net.UnixConn) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return fmt.Errorf("ask who is connected: %w", err)
	}
	var cred *unix.Ucred
	var asked error
	if err := raw.Control(func(fd uintptr) { cred, asked = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); err != nil {
		return fmt.Errorf("ask who is connected: %w", err)
	}
	if asked != nil {
		return fmt.Errorf("ask who is connected: %w", asked)
	}
	if int64(cred.Uid) != int64(os.Geteuid()) {
		return fmt.Errorf("the process at the other end is user %d's", cred.Uid)
	}
	return nil
}
