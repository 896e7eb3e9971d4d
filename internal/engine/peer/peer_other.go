//go:build !linux && !darwin

package peer

import (
	"errors"
	"net"
)

// SameUser refuses everyone where it can't be known who is connected.
func SameUser(*net.UnixConn) error {
	return errors.New("peer credentials can't be read on this system")
}
