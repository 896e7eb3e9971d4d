//go:build linux || darwin

// Package peer tells who is at the other end of a Unix socket.
package peer

import (
	"fmt"
	"net"
	"os"
)

// SameUser fails unless the peer runs as this process's user.
func SameUser(c *net.UnixConn) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return fmt.Errorf("ask who is connected: %w", err)
	}
	var user uint32
	var asked error
	if err := raw.Control(func(fd uintptr) { user, asked = userOf(int(fd)) }); err != nil {
		return fmt.Errorf("ask who is connected: %w", err)
	}
	if asked != nil {
		return fmt.Errorf("ask who is connected: %w", asked)
	}
	if int64(user) != int64(os.Geteuid()) {
		return fmt.Errorf("the process at the other end is user %d's", user)
	}
	return nil
}
