//go:build linux || darwin

package engine

import (
	"bytes"
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// buffers are shared by all pumps; 64 KiB is what a pipe holds at first.
var buffers = sync.Pool{New: func() any { b := make([]byte, 64<<10); return &b }}

// pump copies one pipe into a writer. Its reading can be ended at any time, whoever still holds the other end. A nil pump does
// nothing.
type pump struct {
	r    *os.File
	w    io.Writer
	last atomic.Int64  // when something came last, in ns since the epoch
	done chan struct{} // closed when reading has ended; nil before start

	shared bool // the file is somebody else's too, and closed by them
	idle   bool // may be silent for days: no buffer waits with it
}

// newPump makes the pipe and gives the end that is written to.
func newPump(w io.Writer) (*pump, *os.File, error) {
	r, in, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	return &pump{r: r, w: w}, in, nil
}

func (p *pump) start() {
	if p == nil {
		return
	}
	p.done = make(chan struct{})
	p.last.Store(time.Now().UnixNano())
	if p.idle {
		go p.trickle()
		return
	}
	go p.copy()
}

// trickle is copy for a pipe that is mostly silent: a buffer is taken once there is something to read.
func (p *pump) trickle() {
	defer close(p.done)
	raw, err := p.r.SyscallConn()
	if err != nil {
		return
	}
	for {
		n := 0
		err := raw.Read(func(fd uintptr) bool {
			b := buffers.Get().(*[]byte)
			defer buffers.Put(b)
			var rerr error
			if n, rerr = readOnce(int(fd), *b); rerr == unix.EAGAIN {
				return false
			}
			if n > 0 {
				p.last.Store(time.Now().UnixNano())
				if p.w != nil {
					if _, werr := p.w.Write((*b)[:n]); werr != nil {
						p.w = nil
					}
				}
			}
			return true
		})
		if err != nil || n <= 0 {
			return
		}
	}
}

func (p *pump) copy() {
	defer close(p.done)
	b := buffers.Get().(*[]byte)
	defer buffers.Put(b)
	full := 0
	for {
		n, err := p.r.Read(*b)
		if n > 0 {
			p.last.Store(time.Now().UnixNano())
			if p.w != nil {
				if _, werr := p.w.Write((*b)[:n]); werr != nil {
					p.w = nil // nobody listens: the command is still read, so that it doesn't block
				}
			}
		}
		if n == len(*b) {
			if full++; full == 2 {
				widen(p.r) // much is coming: fewer switches
			}
		}
		if err != nil {
			return // end-of-file, or the deadline that stop sets
		}
	}
}

// stop ends the reading and waits for it. Bytes that are in the pipe by now may be left there.
func (p *pump) stop() {
	if p == nil || p.done == nil {
		return
	}
	_ = p.r.SetReadDeadline(time.Unix(1, 0)) // fails only when closed
	<-p.done
}

// mostInPipe is more than a pipe holds, in bytes: an unprivileged one has at most 1 MiB.
const mostInPipe = 2 << 20

// rest reads what is in the pipe without waiting, after stop. What somebody goes on writing meanwhile is not waited for.
func (p *pump) rest() {
	if p == nil || p.done == nil {
		return
	}
	raw, err := p.r.SyscallConn()
	if err != nil {
		return
	}
	_ = p.r.SetReadDeadline(time.Time{})
	b := make([]byte, 64<<10)
	for got := 0; got < mostInPipe; {
		n := 0
		if err := raw.Read(func(fd uintptr) bool { n = readNow(int(fd), b); return true }); err != nil || n <= 0 {
			return
		}
		got += n
		if p.w != nil {
			_, _ = p.w.Write(b[:n])
		}
	}
}

// collected gives the collector of a pump that was made with one, after stop.
func (p *pump) collected() *collector {
	c, _ := p.w.(*collector)
	return c
}

// readNow reads what is there without waiting; 0 and less mean that nothing is.
func readNow(fd int, b []byte) int {
	n, _ := readOnce(fd, b)
	return n
}

func readOnce(fd int, b []byte) (int, error) {
	for {
		n, err := unix.Read(fd, b)
		if err != unix.EINTR {
			return n, err
		}
	}
}

func (p *pump) close() {
	if p == nil {
		return
	}
	p.stop()
	if !p.shared {
		p.r.Close()
	}
}

// ended gives the channel that closes with the reading; nil pumps have ended.
func (p *pump) ended() <-chan struct{} {
	if p == nil || p.done == nil {
		return closedChannel
	}
	return p.done
}

var closedChannel = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

// silent is the time since something came.
func (p *pump) silent(now time.Time) time.Duration {
	if p == nil {
		return drainTotal
	}
	return now.Sub(time.Unix(0, p.last.Load()))
}

// collector keeps up to most bytes and drops the rest, which it reports.
type collector struct {
	bytes.Buffer
	most int
	over bool
}

func (c *collector) Write(b []byte) (int, error) {
	if c.Len()+len(b) > c.most {
		c.over = true
		return len(b), nil
	}
	return c.Buffer.Write(b)
}

// feeder writes a reader into a pipe and closes it after the last byte. A nil feeder does nothing.
type feeder struct {
	r    io.Reader
	w    *os.File
	done chan struct{}
}

func newFeeder(r io.Reader) (*feeder, *os.File, error) {
	out, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	return &feeder{r: r, w: w}, out, nil
}

func (f *feeder) start() {
	if f == nil {
		return
	}
	f.done = make(chan struct{})
	go func() {
		defer close(f.done)
		_, _ = io.Copy(f.w, f.r) // a reader that stops early is its right
		f.w.Close()
	}()
}

// feederPatience is how long the end of a call waits for a source of input that doesn't answer; the source is its caller's.
const feederPatience = 100 * time.Millisecond

func (f *feeder) close() {
	if f == nil {
		return
	}
	if err := f.w.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return
	}
	if f.done == nil {
		return
	}
	select {
	case <-f.done:
	case <-time.After(feederPatience):
	}
}
