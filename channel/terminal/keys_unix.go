//go:build unix

package terminal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

const supported = true

// terminalKeys reads a terminal in raw mode.
type terminalKeys struct {
	fd    int
	state *term.State
}

// openKeys puts a terminal into raw mode and discards what was typed before, which can't have been meant as an answer.
func openKeys(f *os.File) (keys, error) {
	fd := int(f.Fd())
	state, err := term.MakeRaw(fd)
	if err != nil {
		return nil, fmt.Errorf("switch the terminal to single keys: %w", err)
	}
	k := &terminalKeys{fd, state}
	if err := flushInput(fd); err != nil {
		return nil, errors.Join(fmt.Errorf("discard earlier input: %w", err), k.close())
	}
	return k, nil
}

func (k *terminalKeys) close() error { return term.Restore(k.fd, k.state) }

func (k *terminalKeys) next(wait time.Duration) (byte, bool, error) {
	var set unix.FdSet
	set.Set(k.fd)
	tv := unix.NsecToTimeval(wait.Nanoseconds())
	n, err := unix.Select(k.fd+1, &set, nil, nil, &tv) // not poll: on macOS it doesn't work with terminals
	switch {
	case errors.Is(err, unix.EINTR):
		return 0, false, nil
	case err != nil:
		return 0, false, fmt.Errorf("wait for a key: %w", err)
	case n == 0:
		return 0, false, nil
	}
	var b [1]byte
	n, err = unix.Read(k.fd, b[:])
	switch {
	case errors.Is(err, unix.EINTR) || errors.Is(err, unix.EAGAIN):
		return 0, false, nil
	case err != nil:
		return 0, false, fmt.Errorf("read a key: %w", err)
	case n == 0:
		return 0, false, io.EOF
	}
	return b[0], true, nil
}
