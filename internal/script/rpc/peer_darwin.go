package rpc

import (
	"errors"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

var errOtherUser = errors.New("the process at the other end is another user's")

// sameUser fails unless the peer runs as this process's user.
func sameUser(c *net.UnixConn) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return fmt.Errorf("ask who is connected: %w", err)
	}
	var cred *unix.Xucred
	var asked error
	if err := raw.Control(func(fd uintptr) { cred, asked = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED) }); err != nil {
		return fmt.Errorf("ask who is connected: %w", err)
	}
	if asked != nil {
		return fmt.Errorf("ask who is connected: %w", asked)
	}
	if int64(cred.Uid) != int64(os.Geteuid()) {
		return errOtherUser
	}
	return nil
}
