// Package keystest is a person at a terminal, for tests: it sees what is shown, and types.
package keystest

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Screen is the far end of a terminal.
type Screen struct {
	TTY *os.File // the program's end

	master  *os.File
	mu      sync.Mutex
	seen    bytes.Buffer
	changed chan struct{}
	done    chan struct{}
}

// patience is how long a text may take to appear on a busy machine.
const patience = 30 * time.Second

// Open makes a terminal of 80 columns and 24 rows that lasts as long as the test. The test is skipped where there are none.
func Open(t *testing.T) *Screen {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skipf("no pseudo terminals here: %v", err)
	}
	fd := int(master.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	s := &Screen{TTY: tty, master: master, changed: make(chan struct{}, 1), done: make(chan struct{})}
	s.Resize(t, 80, 24)
	go s.watch()
	t.Cleanup(func() {
		_ = tty.Close()
		<-s.done // the master's read ends when the last user of the terminal is gone
		_ = master.Close()
	})
	return s
}

// Resize changes the size of the terminal.
func (s *Screen) Resize(t *testing.T, cols, rows uint16) {
	t.Helper()
	if err := unix.IoctlSetWinsize(int(s.master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: cols}); err != nil {
		t.Fatal(err)
	}
}

// Settings are how the terminal is set, to be compared.
func (s *Screen) Settings(t *testing.T) unix.Termios {
	t.Helper()
	now, err := unix.IoctlGetTermios(int(s.TTY.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return *now
}

func (s *Screen) watch() {
	defer close(s.done)
	buf := make([]byte, 4096)
	for {
		n, err := s.master.Read(buf)
		s.mu.Lock()
		s.seen.Write(buf[:n])
		s.mu.Unlock()
		select {
		case s.changed <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

// Text is all that was shown, as it was sent to the terminal.
func (s *Screen) Text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen.String()
}

// WaitFor returns when text was shown n times.
func (s *Screen) WaitFor(t *testing.T, text string, n int) {
	t.Helper()
	s.Until(t, fmt.Sprintf("%q was not shown %d times", text, n), func(shown string) bool { return strings.Count(shown, text) >= n })
}

// Until returns when what was shown is as it should be; wrong says what is the case if it never is.
func (s *Screen) Until(t *testing.T, wrong string, right func(shown string) bool) {
	t.Helper()
	end := time.NewTimer(patience)
	defer end.Stop()
	for !right(s.Text()) {
		select {
		case <-s.changed:
		case <-end.C:
			t.Fatalf("%s:\n%s", wrong, s.Text())
		}
	}
}

// Type presses keys.
func (s *Screen) Type(t *testing.T, keys string) {
	t.Helper()
	if _, err := s.master.WriteString(keys); err != nil {
		t.Fatal(err)
	}
}
