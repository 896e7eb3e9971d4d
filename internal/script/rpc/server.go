package rpc

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/hermes-runtime/hermes/tool"
)

// Handler answers one request. It is called from a goroutine of its own, at most Options.Parallel at a time. ctx ends with the
// connection, with a cancellation by the script, and with the server.
type Handler func(ctx context.Context, r Request) Answer

// Options says what a server allows. Zero values mean the defaults.
type Options struct {
	Parallel    int           // calls at once; 0 = 64
	Connections int           // open at once; 0 = 256
	MaxMessage  int           // bytes of one frame; 0 = 67 108 864
	HelloWait   time.Duration // for the token of a new connection; 0 = 10 s
	Token       string        // what connections must show; "" = a new one
	Log         *slog.Logger  // nil = none
}

// Defaults of Options.
const (
	DefaultParallel    = 64
	DefaultConnections = 256
	DefaultMaxMessage  = 64 << 20
	defaultHelloWait   = 10 * time.Second
)

func (o Options) filled() Options {
	o.Parallel = positive(o.Parallel, DefaultParallel)
	o.Connections = positive(o.Connections, DefaultConnections)
	o.MaxMessage = positive(o.MaxMessage, DefaultMaxMessage)
	if o.HelloWait <= 0 {
		o.HelloWait = defaultHelloWait
	}
	if o.Token == "" {
		o.Token = NewToken()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

func positive(n, other int) int {
	if n > 0 {
		return n
	}
	return other
}

// Server serves one run on one socket. Close it.
type Server struct {
	o      Options
	token  string
	ln     *net.UnixListener
	handle Handler
	ctx    context.Context
	cancel context.CancelCauseFunc
	places chan struct{} // one for each call that runs
	wg     sync.WaitGroup

	mu    sync.Mutex
	conns map[*conn]struct{}
	freed chan struct{} // signalled when a connection ends or falls idle
}

// Listen serves h on a new socket at path, whose directory must be private. ctx bounds every call.
func Listen(ctx context.Context, path string, h Handler, o Options) (*Server, error) {
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listen for the script's calls: %w", err)
	}
	if err := chmodSocket(path); err != nil {
		ln.Close()
		return nil, fmt.Errorf("make the socket private: %w", err)
	}
	o = o.filled()
	s := &Server{o: o, token: o.Token, ln: ln, handle: h, conns: map[*conn]struct{}{}, freed: make(chan struct{}, 1)}
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	s.places = make(chan struct{}, s.o.Parallel)
	s.wg.Go(s.accept)
	s.wg.Go(s.relieve)
	return s, nil
}

// NewToken returns 128 random bits, as text.
func NewToken() string {
	var b [16]byte
	rand.Read(b[:]) //nolint:errcheck // never fails
	return hex.EncodeToString(b[:])
}

// Token is what a connection must show; it is of no use after Close.
func (s *Server) Token() string { return s.token }

// Cancel ends the calls that run, with cause; later ones are refused. Close still has to be called.
func (s *Server) Cancel(cause error) { s.cancel(cause) }

// Close ends what runs, with cause tool.ParentEnd unless Cancel gave another, and waits for it.
func (s *Server) Close() {
	s.cancel(tool.ParentEnd)
	s.ln.Close()
	s.mu.Lock()
	for c := range s.conns {
		c.net.Close()
	}
	s.mu.Unlock()
	s.wg.Wait()
}

func (s *Server) accept() {
	for {
		c, err := s.ln.AcceptUnix()
		if err != nil {
			if s.ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return
			}
			s.o.Log.Warn("accept a connection of a script", "error", err)
			select { // out of descriptors: it passes
			case <-s.ctx.Done():
				return
			case <-time.After(10 * time.Millisecond):
			}
			continue
		}
		if err := s.admit(c); err != nil {
			c.Close()
			return
		}
	}
}

// admit starts serving c once there is room for it. Of connections that are all taken the one idle longest makes room: its
// script reads that it may ask elsewhere.
func (s *Server) admit(nc *net.UnixConn) error {
	for {
		s.mu.Lock()
		if s.ctx.Err() != nil {
			s.mu.Unlock()
			return context.Cause(s.ctx)
		}
		if len(s.conns) < s.o.Connections {
			c := &conn{s: s, net: nc, r: bufio.NewReaderSize(nc, 64<<10), ended: make(chan error, 1), open: map[uint64]context.CancelFunc{}, idleSince: time.Now()}
			c.ctx, c.cancel = context.WithCancelCause(s.ctx)
			s.conns[c] = struct{}{}
			s.wg.Go(c.serve)
			s.mu.Unlock()
			return nil
		}
		idle := s.longestIdle()
		s.mu.Unlock()
		if idle != nil && idle.dismiss() {
			continue
		}
		select {
		case <-s.freed:
		case <-s.ctx.Done():
		}
	}
}

func (s *Server) longestIdle() *conn {
	var best *conn
	for c := range s.conns {
		if since, ok := c.idle(); ok && (best == nil || since.Before(best.idleSince)) {
			best = c
		}
	}
	return best
}

func (s *Server) signalFreed() {
	select {
	case s.freed <- struct{}{}:
	default:
	}
}

func (s *Server) drop(c *conn) {
	s.mu.Lock()
	delete(s.conns, c)
	s.mu.Unlock()
	s.signalFreed()
}

// conn is one connection.
type conn struct {
	s      *Server
	net    *net.UnixConn
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
	err := c.greet()
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
	if err != nil && c.s.ctx.Err() == nil {
		c.s.o.Log.Warn("a connection of a script was closed", "reason", err)
	}
}

// greet sees who is there.
func (c *conn) greet() error {
	if err := sameUser(c.net); err != nil {
		return err
	}
	return c.hello()
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

// handOver is how long a call may hold up its connection's reader, and so how late the end of a connection may be noticed.
const handOver = 20 * time.Millisecond

// relieve lets somebody else read where a call takes long.
func (s *Server) relieve() {
	t := time.NewTicker(handOver)
	defer t.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case now := <-t.C:
			s.mu.Lock()
			for c := range s.conns {
				c.mu.Lock()
				if !c.inline.IsZero() && now.Sub(c.inline) > handOver {
					c.inline = time.Time{}
					c.calls.Go(c.read)
				}
				c.mu.Unlock()
			}
			s.mu.Unlock()
		}
	}
}

// next reads the next request. One without an id was dealt with; io.EOF is an orderly end.
func (c *conn) next() (Request, error) {
	if _, err := c.r.Peek(1); err != nil || !c.begin() {
		return Request{}, io.EOF
	}
	frame, err := ReadFrame(c.r, c.s.o.MaxMessage)
	if err != nil {
		return Request{}, fmt.Errorf("read a request: %w", err)
	}
	req, err := ParseRequest(frame)
	if err != nil {
		return Request{}, err
	}
	if req.Cancel != 0 {
		c.giveUp(req.Cancel)
		c.settle()
		return Request{}, nil
	}
	if req.ID <= c.lastID {
		return Request{}, fmt.Errorf("%w: id %d came again or out of order", ErrMalformed, req.ID)
	}
	c.lastID = req.ID
	return req, nil
}

func (c *conn) hello() error {
	c.net.SetReadDeadline(time.Now().Add(c.s.o.HelloWait)) //nolint:errcheck // a closed connection fails in the read
	frame, err := ReadFrame(c.r, maxFirst)
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
	return c.net.SetReadDeadline(time.Time{})
}

// handle answers one request and gives its place back.
func (c *conn) handle(ctx context.Context, cancel context.CancelFunc, req Request) {
	answer := c.answer(ctx, req)
	<-c.s.places
	cancelled := ctx.Err() != nil
	c.mu.Lock()
	delete(c.open, req.ID)
	c.mu.Unlock()
	cancel()
	if !cancelled {
		c.write(answer)
	}
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

// dismiss closes an idle connection, saying that nothing further was read from it.
func (c *conn) dismiss() bool {
	c.mu.Lock()
	if len(c.open) > 0 || c.reading || c.dismissed {
		c.mu.Unlock()
		return false
	}
	c.dismissed = true
	c.mu.Unlock()
	c.write(byeFrame())
	c.net.Close()
	c.s.mu.Lock()
	delete(c.s.conns, c)
	c.s.mu.Unlock()
	return true
}
