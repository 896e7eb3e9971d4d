package rpc

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

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

const (
	// bulkMessages is how many requests of full length are held at a time; more wait unread. A script can't fill the memory of its
	// parent with them.
	bulkMessages = 2
	bulkFrom     = 64 << 10 // bytes from which on a request counts as long
	faultsLogged = 10       // of one run: a script can't fill the log either
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

// Listener is where the connections of a run arrive. An error of Accept is the last: it waits out what passes.
type Listener interface {
	Accept() (io.ReadWriteCloser, error)
	Close() error
}

// Server serves one run. Close it.
type Server struct {
	o      Options
	token  string
	ln     Listener
	handle Handler
	ctx    context.Context
	cancel context.CancelCauseFunc
	places chan struct{}       // one for each call that runs
	bulk   *semaphore.Weighted // bytes of long requests, from their arrival to their answer
	faults atomic.Int32        // connections closed for what they sent
	wg     sync.WaitGroup

	mu    sync.Mutex
	conns map[*conn]struct{}
	freed chan struct{} // signalled when a connection ends or falls idle
}

// Serve serves h to who connects; the listener is the server's to close. ctx bounds every call.
func Serve(ctx context.Context, ln Listener, h Handler, o Options) *Server {
	o = o.filled()
	s := &Server{o: o, token: o.Token, ln: ln, handle: h, conns: map[*conn]struct{}{}, freed: make(chan struct{}, 1)}
	s.ctx, s.cancel = context.WithCancelCause(ctx)
	s.places = make(chan struct{}, s.o.Parallel)
	s.bulk = semaphore.NewWeighted(bulkMessages * int64(s.o.MaxMessage))
	s.wg.Go(s.accept)
	s.wg.Go(s.relieve)
	return s
}

// NewToken returns 128 random bits, as text.
func NewToken() string {
	var b [16]byte
	rand.Read(b[:]) //nolint:errcheck // never fails
	return hex.EncodeToString(b[:])
}

// Token is what a connection must show; it is of no use after Close.
func (s *Server) Token() string { return s.token }

// Close ends what runs, with cause tool.ParentEnd unless the context has ended with another, and waits for it.
func (s *Server) Close() {
	s.cancel(tool.ParentEnd)
	_ = s.ln.Close() // who made it learns how that went
	s.mu.Lock()
	for c := range s.conns {
		c.net.Close()
	}
	s.mu.Unlock()
	s.wg.Wait()
	if n := s.faults.Swap(0); n > faultsLogged {
		s.o.Log.Warn("more connections of a script were closed", "all", n)
	}
}

func (s *Server) accept() {
	for {
		c, err := s.ln.Accept()
		if err != nil {
			if !errors.Is(err, net.ErrClosed) {
				s.o.Log.Warn("accept a connection of a script", "error", err)
			}
			return
		}
		if err := s.admit(c); err != nil {
			c.Close()
			return
		}
	}
}

// admit starts serving c once there is room for it. Of connections that are all taken the one idle longest makes room: its
// script reads that it may ask elsewhere.
func (s *Server) admit(nc io.ReadWriteCloser) error {
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
	var longest time.Time
	for c := range s.conns {
		if since, ok := c.idle(); ok && (best == nil || since.Before(longest)) {
			best, longest = c, since
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
