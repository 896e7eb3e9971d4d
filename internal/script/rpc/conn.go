package rpc

import (
	"bufio"
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/hermes-runtime/hermes/tool"
)

// conn is one connection.
type conn struct {
	s      *Server
	net    io.ReadWriteCloser
	r      *bufio.Reader // of whoever reads
	ended  chan error    // how reading ended
	ctx    context.Context
	cancel context.CancelCauseFunc
	calls  sync.WaitGroup

	lastID uint64 // of whoever reads

	writing sync.Mutex

	mu        sync.Mutex
	open      map[uint64]context.CancelFunc
	greeted   bool // the token has come
	serial    bool // it sends a request only after the answer to the one before
	reading   bool // a frame has begun to arrive
	dismissed bool
	idleSince time.Time
	inline    time.Time // since when the reader answers a call; zero = it reads
}

func (c *conn) serve() {
	defer c.s.drop(c)
	err := c.hello()
	if err == nil {
		c.calls.Go(c.read)
		err = <-c.ended
	}
	// The calls of a connection that has gone are of no use to anyone.
	cause := context.Cause(c.s.ctx)
	if cause == nil {
		cause = tool.ParentEnd
	}
	c.cancel(cause)
	c.net.Close()
	c.calls.Wait()
	if err != nil && c.s.ctx.Err() == nil && c.s.faults.Add(1) <= faultsLogged {
		c.s.o.Log.Warn("a connection of a script was closed", "reason", err)
	}
}

// read takes requests until the connection ends, or until a request takes so long that somebody else reads on.
func (c *conn) read() {
	for {
		req, err := c.next()
		if err == nil && req.ID == 0 {
			continue
		}
		if err == nil {
			select {
			case c.s.places <- struct{}{}: // until there is one nothing more is read
			case <-c.ctx.Done():
				err = io.EOF
			}
		}
		if err != nil {
			if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
				err = nil
			}
			c.ended <- err
			return
		}
		ctx, cancel := context.WithCancel(c.ctx)
		c.mu.Lock()
		c.open[req.ID] = cancel
		c.reading = false
		c.mu.Unlock()
		if !c.serial || c.r.Buffered() > 0 {
			c.calls.Go(func() { c.handle(ctx, cancel, req) })
			continue
		}
		// Who waits for each answer in turn is answered here and now: to wake another goroutine for it would cost more than a small
		// call does. When a call takes long, reading goes on beside it.
		c.mu.Lock()
		c.inline = time.Now()
		c.mu.Unlock()
		c.handle(ctx, cancel, req)
		c.mu.Lock()
		mine := !c.inline.IsZero()
		c.inline = time.Time{}
		c.mu.Unlock()
		if !mine {
			return
		}
	}
}

// next reads the next request. One without an id was dealt with; io.EOF is an orderly end.
func (c *conn) next() (Request, error) {
	if _, err := c.r.Peek(1); err != nil || !c.begin() {
		return Request{}, io.EOF
	}
	n, err := readLen(c.r, c.s.o.MaxMessage)
	if err != nil {
		return Request{}, fmt.Errorf("read a request: %w", err)
	}
	var held int64
	if n >= bulkFrom {
		held = int64(n)
		if c.s.bulk.Acquire(c.ctx, held) != nil {
			return Request{}, io.EOF
		}
	}
	req, err := c.request(n)
	if err != nil || req.Cancel != 0 {
		c.s.bulk.Release(held)
	}
	req.held = held
	if err != nil {
		return Request{}, err
	}
	if req.Cancel != 0 {
		c.giveUp(req.Cancel)
		c.settle()
		return Request{}, nil
	}
	if req.ID <= c.lastID {
		c.s.bulk.Release(held)
		return Request{}, fmt.Errorf("%w: id %d came again or out of order", ErrMalformed, req.ID)
	}
	c.lastID = req.ID
	return req, nil
}

func (c *conn) request(n int) (Request, error) {
	frame, err := readBody(c.r, n)
	if err != nil {
		return Request{}, fmt.Errorf("read a request: %w", err)
	}
	return ParseRequest(frame)
}

func (c *conn) hello() error {
	late := time.AfterFunc(c.s.o.HelloWait, func() { c.net.Close() })
	frame, err := ReadFrame(c.r, maxFirst)
	if !late.Stop() {
		return fmt.Errorf("no token came in %s", c.s.o.HelloWait)
	}
	if err != nil {
		return fmt.Errorf("read the token: %w", err)
	}
	var h hello
	if err := json.Unmarshal(frame, &h); err != nil {
		return fmt.Errorf("%w: the first frame", ErrMalformed)
	}
	if h.V != Version || subtle.ConstantTimeCompare([]byte(h.Token), []byte(c.s.token)) != 1 {
		return fmt.Errorf("%w: wrong token or version %d", ErrMalformed, h.V)
	}
	c.mu.Lock()
	c.greeted, c.serial = true, h.Serial
	c.mu.Unlock()
	return nil
}

// handle answers one request and gives its place back.
func (c *conn) handle(ctx context.Context, cancel context.CancelFunc, req Request) {
	answer := c.answer(ctx, req)
	<-c.s.places
	c.s.bulk.Release(req.held)
	if ctx.Err() == nil {
		c.write(answer)
	}
	c.mu.Lock()
	delete(c.open, req.ID) // only now may the connection count as idle: the answer is out
	c.mu.Unlock()
	cancel()
	c.settle()
}

func (c *conn) answer(ctx context.Context, req Request) (frame []byte) {
	defer func() {
		if p := recover(); p != nil {
			c.s.o.Log.Error("a call of a script panicked", "tool", req.Tool, "panic", p)
			frame = faultFrame(req.ID, "the call failed inside Hermes")
		}
	}()
	a := c.s.handle(ctx, req)
	frame = a.frame(req.ID)
	if n := len(frame) - headerLen; n > c.s.o.MaxMessage {
		quoted, _ := json.Marshal(fmt.Sprintf("The result is %d bytes long; one message holds at most %d (code_execution.max_message_bytes). "+
			"Ask for less: offset and limit, a narrower pattern, or a file and parts of it.", n, c.s.o.MaxMessage))
		frame = Answer{Type: "message_too_long", Result: `{"error":` + string(quoted) + `}`}.frame(req.ID)
	}
	return frame
}

func (c *conn) write(frame []byte) {
	c.writing.Lock()
	defer c.writing.Unlock()
	if _, err := c.net.Write(frame); err != nil {
		c.net.Close() // half a frame may be out: nothing can follow it
	}
}

// giveUp cancels an open call. An id that isn't open has been answered.
func (c *conn) giveUp(id uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if cancel := c.open[id]; cancel != nil {
		cancel()
	}
}

// begin notes that a request arrives; false means that the connection has been dismissed.
func (c *conn) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dismissed {
		return false
	}
	c.reading = true
	return true
}

// settle notes that a call has ended, and tells when the connection has fallen idle.
func (c *conn) settle() {
	c.mu.Lock()
	idle := len(c.open) == 0
	if idle {
		c.idleSince = time.Now()
	}
	c.mu.Unlock()
	if idle {
		c.s.signalFreed()
	}
}

func (c *conn) idle() (time.Time, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.idleSince, len(c.open) == 0 && !c.reading && c.greeted && !c.dismissed
}

// byeWait bounds how long a client that doesn't read may hold its dismissal up.
const byeWait = time.Second

// dismiss closes an idle connection, saying that nothing further was read from it.
func (c *conn) dismiss() bool {
	c.mu.Lock()
	if len(c.open) > 0 || c.reading || c.dismissed {
		c.mu.Unlock()
		return false
	}
	c.dismissed = true
	// Written under the lock: whoever reads a request meanwhile finds the connection dismissed, and may close it, only afterwards.
	stuck := time.AfterFunc(byeWait, func() { c.net.Close() })
	c.write(byeFrame())
	stuck.Stop()
	c.mu.Unlock()
	c.net.Close()
	c.s.mu.Lock()
	delete(c.s.conns, c)
	c.s.mu.Unlock()
	return true
}
