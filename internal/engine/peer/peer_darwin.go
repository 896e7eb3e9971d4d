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
	var cred *unix.Xucred
	var asked error
	if err := raw.Control(func(fd uintptr) { cred, asked = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED) }); err != nil {
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
