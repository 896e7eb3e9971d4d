//go:build linux || darwin

package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine/group"
)

// Starting says how a command is started that goes on by itself. The zero value gives it no input and no terminal.
type Starting struct {
	Terminal  *environment.Size
	KeepStdin bool // standard input is a pipe that stays open
	// Ready is told of the command before it runs. What it returns ends the command before it has begun.
	Ready func(b Begun) error
	// Ended is called once the command has ended, by the goroutine that saw it: nobody has to wait for that. It may take its time.
	Ended func()
}

// Begun is a command that waits for its go.
type Begun struct {
	PID   int
	Dir   environment.Path
	Group group.Record
}

// Started is a command that goes on by itself. Its owner calls Release when it is over.
type Started struct {
	Begun
	r     *run
	in    *os.File // write end of standard input, or the terminal's master; nil = none
	tty   bool
	over  chan struct{}
	ended Ended
}

// Ended is how a started command ended.
type Ended struct {
	ExitCode int
	Signal   string // name, where a signal ended it
	Limit    string // the limit that struck, and its value
	CPU      time.Duration
	PeakKB   int64 // of the command itself
}

// gateClosed is the exit code of a command that never got its go.
const gateClosed = 125

// Start starts a command that goes on by itself and returns once it runs. Its output goes to c.Output until the last writer is gone or
// Release is called. The error matches environment.ErrNotStarted where the command provably did not begin.
func (e *Engine) Start(ctx context.Context, c environment.Command, b Base, s Starting) (*Started, error) {
	if err := e.begin(); err != nil {
		return nil, err
	}
	c.Stdin, c.Stderr = nil, nil
	r := &run{e: e, c: c, b: b, job: &s, began: time.Now()}
	st, err := r.launch(ctx)
	if err != nil {
		r.release()
		e.calls.Done()
		return nil, err
	}
	return st, nil
}

func (r *run) launch(ctx context.Context) (*Started, error) {
	res, err := r.prepare()
	switch {
	case err != nil:
		return nil, err
	case res != nil:
		return nil, notStarted("start the command", errors.New(r.said))
	case ctx.Err() != nil:
		return nil, notStarted("start the command", context.Cause(ctx))
	}
	if err := r.start(); err != nil {
		return nil, notStarted("start "+r.argv[0], cause(err))
	}
	st := &Started{Begun: Begun{PID: r.pid, Dir: environment.Path(r.place.dir), Group: r.group.Record()}, r: r, in: r.input2, tty: r.job.Terminal != nil, over: make(chan struct{})}
	if r.job.Ready != nil {
		if err := r.job.Ready(st.Begun); err != nil {
			_ = r.gate.Close() // the shell reads the end of the file, and leaves
			r.group.End(0)
			<-r.exited
			return nil, notStarted("start the command", err)
		}
	}
	if _, err := r.gate.Write([]byte("go\n")); err != nil {
		r.group.End(0)
		<-r.exited
		return nil, notStarted("let the command begin", err)
	}
	_ = r.gate.Close()
	r.gate = nil
	go st.watch()
	return st, nil
}

// watch takes the command's end.
func (s *Started) watch() {
	x := <-s.r.exited
	s.ended = Ended{ExitCode: x.code, CPU: x.cpu, PeakKB: x.peak}
	if x.signal != 0 {
		s.ended.Signal = unix.SignalName(x.signal)
	}
	res := environment.Result{ExitCode: x.code, Signal: s.ended.Signal, Reason: environment.Exited}
	if x.signal != 0 {
		res.Reason = environment.Signaled
	}
	s.r.struck(&res)
	s.ended.Limit = res.Limit
	close(s.over)
	if s.r.job.Ended != nil {
		s.r.job.Ended()
	}
}

// Over is closed when the command has ended. Others of its group may go on.
func (s *Started) Over() <-chan struct{} { return s.over }

// End is how it ended; meaningful after Over.
func (s *Started) End() Ended { return s.ended }

// OutputOver is closed when the last writer of its output is gone.
func (s *Started) OutputOver() <-chan struct{} { return s.r.out.ended() }

// Unread tells how many bytes of output lie there that nobody has read yet.
func (s *Started) Unread() int {
	raw, err := s.r.out.r.SyscallConn()
	if err != nil {
		return 0
	}
	n := 0
	_ = raw.Control(func(fd uintptr) { n, _ = unix.IoctlGetInt(int(fd), unreadRequest) })
	return n
}

// Drain reads what the command left in its pipe, for a bounded time: others may hold it for ever.
func (s *Started) Drain() { s.r.drain() }

// Members lists who lives of the group.
func (s *Started) Members() []environment.ProcessRef { return s.r.group.Members() }

// Kill ends the group by the ladder and says who is left.
func (s *Started) Kill(grace time.Duration) []environment.ProcessRef {
	if grace <= 0 {
		grace = s.r.e.o.Grace
	}
	return s.r.group.EndWith(grace, s.over)
}

// ErrNoInput is why nothing can be written to a command.
var ErrNoInput = fmt.Errorf("the command has no input to write to: %w", io.ErrClosedPipe)

// Write sends bytes to the command, for at most patience, and tells how many were taken.
func (s *Started) Write(b []byte, patience time.Duration) (int, error) {
	if s.in == nil {
		return 0, ErrNoInput
	}
	_ = s.in.SetWriteDeadline(time.Now().Add(patience))
	n, err := s.in.Write(b)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = nil // the count says how far it came
	}
	if errors.Is(err, os.ErrClosed) || errors.Is(err, syscall.EPIPE) {
		err = ErrNoInput
	}
	return n, err
}

// endOfFile is what a terminal takes for the end of its input, unless the program has changed that.
const endOfFile = 4

// CloseInput ends standard input. A terminal is typed the end-of-file character, and stays.
func (s *Started) CloseInput() error {
	switch {
	case s.in == nil:
		return ErrNoInput
	case s.tty:
		_, err := s.in.Write([]byte{endOfFile})
		return err
	}
	return s.in.Close()
}

// Resize changes the terminal's size; the program is told by a signal.
func (s *Started) Resize(z environment.Size) error {
	if !s.tty {
		return environment.ErrUnsupported
	}
	return setSize(s.in, z)
}

// Terminal is the master of the terminal, nil without one.
func (s *Started) Terminal() *os.File {
	if !s.tty {
		return nil
	}
	return s.in
}

// Release lets go of pipes and terminal. What still runs goes on.
func (s *Started) Release() {
	if s.in != nil {
		_ = s.in.Close()
	}
	s.r.release()
	s.r.e.guard.Remove(s.r.group.ID())
	s.r.e.calls.Done()
}

// Bounds gives c with what it doesn't say taken from d.
func Bounds(c, d environment.Limits) environment.Limits { return limitsOf(c, d) }

// HideInherited makes every descriptor that this process was born with close-on-exec.
func HideInherited() { hideInherited() }

// setSize changes the size of a terminal, without making reads of it occupy a thread as asking for its descriptor would.
func setSize(f *os.File, z environment.Size) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		failed = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(z.Rows), Col: uint16(z.Cols)}) //nolint:gosec // bounded by who asks
	})
	return errors.Join(err, failed)
}

// pollable gives the same file for the poller: whoever opened it has made its reads occupy threads.
func pollable(f *os.File) (*os.File, error) {
	defer f.Close()
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		return nil, errors.Join(err, unix.Close(fd))
	}
	return os.NewFile(uintptr(fd), f.Name()), nil //nolint:gosec // a descriptor
}

// console gives the command a terminal of its own.
func (r *run) console(files []*os.File) error {
	master, slave, err := pty.Open()
	if err != nil {
		return fmt.Errorf("open a terminal (the system allows kernel.pty.max of them): %w", err)
	}
	if master, err = pollable(master); err != nil {
		return errors.Join(err, slave.Close())
	}
	if err := setSize(master, *r.job.Terminal); err != nil {
		return errors.Join(err, master.Close(), slave.Close())
	}
	r.input2 = master
	r.out = &pump{r: master, w: writerOr(r.c.Output), shared: true, idle: true}
	files[0], files[1], files[2] = slave, slave, slave
	r.child = append(r.child, slave)
	return nil
}

// keptInput gives the command a pipe that stays open.
func (r *run) keptInput(files []*os.File) error {
	in, w, err := os.Pipe()
	if err != nil {
		return err
	}
	r.input2, files[0] = w, in
	r.child = append(r.child, in)
	return nil
}

// gated has the command wait for its go at a descriptor, and gives the shell text for it.
func (r *run) gated(files *[]*os.File) (string, error) {
	in, w, err := os.Pipe()
	if err != nil {
		return "", err
	}
	r.gate, *files = w, append(*files, in)
	r.child = append(r.child, in)
	fd := strconv.Itoa(len(*files) - 1)
	return `read -r _ <&` + fd + ` || exit ` + strconv.Itoa(gateClosed) + `; exec ` + fd + `<&-; unset _;`, nil
}
