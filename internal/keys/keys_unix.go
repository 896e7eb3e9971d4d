//go:build unix

package keys

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// Supported tells whether keys can be read on this system.
const Supported = true

// Reader reads a terminal whose lines are not put together by the system. It is for one goroutine.
type Reader struct {
	fd    int
	state *term.State
}

// Open takes a terminal over: keys come one by one, unseen, and Ctrl-C is one of them. Close gives it back as it was.
func Open(f *os.File) (*Reader, error) {
	fd := int(f.Fd())
	before, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return nil, fmt.Errorf("ask how the terminal is set: %w", err)
	}
	state, err := term.MakeRaw(fd)
	if err != nil {
		return nil, fmt.Errorf("switch the terminal to single keys: %w", err)
	}
	r := &Reader{fd, state}
	now, err := unix.IoctlGetTermios(fd, getTermios)
	if err == nil {
		now.Oflag = before.Oflag
		err = unix.IoctlSetTermios(fd, setTermios, now)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("let what is printed look as always: %w", err), r.Close())
	}
	return r, nil
}

// Discard throws away what was typed and not read.
func (r *Reader) Discard() error {
	if err := flushInput(r.fd); err != nil {
		return fmt.Errorf("discard earlier input: %w", err)
	}
	return nil
}

// Close gives the terminal back.
func (r *Reader) Close() error { return term.Restore(r.fd, r.state) }

// Read reads what has been typed, at least one byte unless none comes within the time: that is 0 and no error. It is io.EOF when the
// terminal is gone.
func (r *Reader) Read(p []byte, wait time.Duration) (int, error) {
	var set unix.FdSet
	set.Set(r.fd)
	tv := unix.NsecToTimeval(wait.Nanoseconds())
	n, err := unix.Select(r.fd+1, &set, nil, nil, &tv) // not poll: on macOS it doesn't work with terminals
	switch {
	case errors.Is(err, unix.EINTR):
		return 0, nil
	case err != nil:
		return 0, fmt.Errorf("wait for a key: %w", err)
	case n == 0:
		return 0, nil
	}
	n, err = unix.Read(r.fd, p)
	switch {
	case errors.Is(err, unix.EINTR) || errors.Is(err, unix.EAGAIN):
		return 0, nil
	case err != nil:
		return 0, fmt.Errorf("read a key: %w", err)
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}

// resumeTime is how long a stop may take to come into force. It never does where no shell could let the process go on.
const resumeTime = 200 * time.Millisecond

// Suspend stops the process, as Ctrl-Z does, and returns when it goes on. The terminal should have been given back.
func Suspend() {
	resumed := make(chan os.Signal, 1)
	signal.Notify(resumed, unix.SIGCONT)
	defer signal.Stop(resumed)
	if unix.Kill(0, unix.SIGTSTP) != nil {
		return
	}
	select {
	case <-resumed:
	case <-time.After(resumeTime):
	}
}
