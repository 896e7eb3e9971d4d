//go:build linux || darwin

package guard

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/hermes-runtime/hermes/internal/engine/group"
)

// Serve is the guard: it follows r and, when that ends without a goodbye, ends the groups that are held. It returns when they are
// gone, at most 2 s later, or when ctx ends.
func Serve(ctx context.Context, r io.Reader) error {
	type end struct {
		held map[string]json.RawMessage
		err  error
	}
	read := make(chan end, 1)
	go func() {
		held, err := follow(r)
		read <- end{held, err}
	}()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case e := <-read:
		return endAll(e.held, e.err)
	}
}

func endAll(held map[string]json.RawMessage, err error) error {
	var all sync.WaitGroup
	for _, raw := range held {
		var rec group.Record
		if json.Unmarshal(raw, &rec) != nil {
			continue
		}
		all.Go(func() {
			g := group.Find(rec)
			g.End(grace)
			g.Close()
		})
	}
	all.Wait()
	return err
}

// Client is the runtime's side. It is safe for concurrent use; a nil one does nothing.
type Client struct {
	argv []string

	mu     sync.Mutex
	w      *os.File
	began  bool
	closed bool
	err    error
	ready  chan struct{} // closed when the start was attempted
	proc   *os.Process
}

// New makes a client for the guard that argv starts. It is started beside the first Add.
func New(argv []string) *Client { return &Client{argv: argv, ready: make(chan struct{})} }

// Add tells that a group is in use. A second time replaces what was known of it.
func (c *Client) Add(r group.Record) {
	if c == nil {
		return
	}
	raw, err := json.Marshal(r)
	if err != nil { // a struct of strings and numbers
		return
	}
	c.send(message{Add: raw})
}

// Remove tells that a group's command has ended.
func (c *Client) Remove(id string) {
	if c != nil {
		c.send(message{Remove: id})
	}
}

// Err says why there is no guard, nil while there is one or none was needed yet.
func (c *Client) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// send writes one line. The pipe is there before the guard is, so nothing is lost while it starts.
func (c *Client) send(m message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.err != nil {
		return
	}
	if !c.began {
		if c.err = c.begin(); c.err != nil {
			return
		}
	}
	line, err := json.Marshal(m)
	if err != nil {
		return
	}
	_ = c.w.SetWriteDeadline(time.Now().Add(time.Second)) // a guard that doesn't read must not hold commands up
	if _, err := c.w.Write(append(line, '\n')); err != nil {
		c.err = fmt.Errorf("the guard is gone: %w", err)
	}
}

func (c *Client) begin() error {
	r, w, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("make the guard's pipe: %w", err)
	}
	c.w, c.began = w, true
	go c.start(r)
	return nil
}

// start starts the process, off the path of the command that needs it.
func (c *Client) start(r *os.File) {
	defer close(c.ready)
	defer r.Close()
	proc, err := launch(c.argv, r)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.proc = proc
	if err != nil && c.err == nil {
		c.err = fmt.Errorf("start the guard %q: %w", c.argv[0], err)
	}
}

func launch(argv []string, stdin *os.File) (*os.Process, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer null.Close()
	// Its session is its own: a Ctrl-C in the terminal is for the runtime.
	return os.StartProcess(argv[0], argv, &os.ProcAttr{
		Dir: "/", Env: []string{}, Files: []*os.File{stdin, null, null}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
}

// Close says goodbye and waits for the guard to end, at most until ctx does.
func (c *Client) Close(ctx context.Context) error {
	if c == nil {
		return nil
	}
	c.send(message{Bye: true})
	c.mu.Lock()
	began := c.began && !c.closed
	c.closed = true
	if c.w != nil {
		c.w.Close()
	}
	c.mu.Unlock()
	if !began {
		return nil
	}
	select {
	case <-c.ready:
	case <-ctx.Done():
		return fmt.Errorf("start of the guard: %w", context.Cause(ctx))
	}
	c.mu.Lock()
	proc := c.proc
	c.mu.Unlock()
	if proc == nil {
		return nil
	}
	done := make(chan struct{})
	go func() { _, _ = proc.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("end of the guard: %w", context.Cause(ctx))
	}
}
