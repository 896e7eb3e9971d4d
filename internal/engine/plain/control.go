package plain

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/hermes-runtime/hermes/environment"
)

// maxRecord bounds the last record, which holds an environment.
const maxRecord = 16 << 20

// maxEarly bounds what is kept of what is said before the shell is there.
const maxEarly = 64 << 10

// control takes the second output apart: what the command prints there, and what our program says between. A record of ours is a zero
// byte, the mark, a letter, a text, and a zero byte; the last one, e, goes on to the end.
type control struct {
	begun chan struct{} // the shell is there
	ended chan struct{} // the shell has said its last words
	hung  bool          // the contact was ended before the outputs did

	mu      sync.Mutex
	mark    []byte
	errs    io.Writer // for what isn't ours
	early   []byte    // what was said before the shell was there: the command's if it comes to be, else why it doesn't
	held    []byte    // may be the beginning of a record
	last    []byte    // the record e, after its status
	status  int
	has     bool // there is a status
	pid     string
	dir     string
	gone    string // the directory that is used because the carried one is gone
	isBegun bool
	isEnded bool
}

func newControl(mark string, errs io.Writer, out *tap) *control {
	if errs == nil {
		errs = out // what a shell says before it can be told where to
	}
	return &control{mark: append([]byte{0}, mark...), errs: errs, begun: make(chan struct{}), ended: make(chan struct{})}
}

func (c *control) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held = append(c.held, b...)
	for c.step() {
	}
	return len(b), nil
}

// step takes one thing from the front of what is held, and reports whether there may be more.
func (c *control) step() bool {
	if c.isEnded && c.has {
		if i := bytes.Index(c.held, c.mark); i < 0 { // a second one counts where a trap of the script's came between
			n := len(c.held) - partial(c.held, c.mark)
			c.last = append(c.last, c.held[:min(n, max(0, maxRecord-len(c.last)))]...)
			c.held = append([]byte(nil), c.held[n:]...)
			if bytes.HasSuffix(c.whole(), []byte("\x00.\x00")) {
				c.finish()
			}
			return false
		} else if i > 0 {
			c.last, c.held = append(c.last, c.held[:i]...), c.held[i:]
		}
	}
	i := bytes.Index(c.held, c.mark)
	if i < 0 {
		keep := partial(c.held, c.mark)
		c.pass(len(c.held) - keep)
		return false
	}
	if i > 0 {
		c.pass(i)
	}
	rest := c.held[len(c.mark):]
	end := bytes.IndexByte(rest, 0)
	if end < 1 {
		return false // there is more to come
	}
	kind, text := rest[0], string(rest[1:end])
	c.held = rest[end+1:]
	c.record(kind, text)
	return true
}

func (c *control) record(kind byte, text string) {
	switch kind {
	case 'b':
		c.pid = text
		if !c.isBegun {
			c.isBegun = true
			_, _ = c.errs.Write(c.early)
			c.early = nil
			close(c.begun)
		}
	case 'd':
		c.dir = text
	case 'g':
		c.gone = text
	case 'e':
		if n, err := strconv.Atoi(text); err == nil && !c.has {
			c.status, c.has, c.isEnded = n, true, true
		}
		c.last = nil
	}
}

// whole is the last record with what may be the beginning of another.
func (c *control) whole() []byte { return append(c.last[:len(c.last):len(c.last)], c.held...) }

// finish tells that the last record is whole.
func (c *control) finish() {
	select {
	case <-c.ended:
	default:
		close(c.ended)
	}
}

// pass hands on the first n bytes that are held: they aren't ours.
func (c *control) pass(n int) {
	if n > 0 {
		if c.isBegun {
			_, _ = c.errs.Write(c.held[:n]) // a reader who went away must not hold the command up
		} else {
			c.early = append(c.early, c.held[:min(n, max(0, maxEarly-len(c.early)))]...)
		}
		c.held = append([]byte(nil), c.held[n:]...)
	}
}

// partial is how many bytes at the end of b may be the beginning of mark.
func partial(b, mark []byte) int {
	for n := min(len(b), len(mark)-1); n > 0; n-- {
		if bytes.HasPrefix(mark, b[len(b)-n:]) {
			return n
		}
	}
	return 0
}

func (c *control) hasBegun() bool { c.mu.Lock(); defer c.mu.Unlock(); return c.isBegun }

// unbegun is why the shell didn't come to its first word: how it ended, and what was said.
func (c *control) unbegun(exit int, err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err == nil {
		err = fmt.Errorf("the shell there ended with %d before it began", exit)
	}
	if said := strings.TrimSpace(string(c.early) + string(c.held)); said != "" {
		err = fmt.Errorf("%w; it says: %s", err, said)
	}
	return err
}

// session is the process id of the shell, which leads its session; "" before it has begun.
func (c *control) session() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if strings.Trim(c.pid, "0123456789") != "" {
		return ""
	}
	return c.pid
}

// end gives the status and the state that the shell has printed, false where it hasn't.
func (c *control) end() (status int, record []byte, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.status, c.whole(), c.has
}

// directory is where the command started.
func (c *control) directory(otherwise environment.Path) environment.Path {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dir != "" {
		return environment.Path(c.dir)
	}
	return otherwise
}

// note says that the carried directory was gone.
func (c *control) note(carried environment.Path) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone == "" {
		return ""
	}
	return fmt.Sprintf("directory %s can no longer be entered; using %s", carried, c.gone)
}
