package wire

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// Signs of life: a side that has heard nothing for idleTime asks, and one that has heard nothing for lostTime gives the other up.
const (
	idleTime = 10 * time.Second
	lostTime = 30 * time.Second
)

// maxStreams bounds what one side may have open.
const maxStreams = 4096

// Errors that end a connection.
var (
	ErrSilent = errors.New("the other side doesn't answer")
	ErrClosed = errors.New("the connection was closed")
)

// Options says how a connection is set up. The zero value is a server that speaks binary and lets nothing be opened.
type Options struct {
	Hello  Hello
	Client bool          // this side opened the transport
	Text   bool          // the transport carries lines of text only
	Accept func(*Stream) // runs in a goroutine of its own for each stream that the other side opens; nil = none may be
	Idle   time.Duration // silence before a ping; 0 = 10 s
	Lost   time.Duration // silence before the other side is given up; 0 = 30 s
}

// Conn is one connection. It is safe for concurrent use.
type Conn struct {
	o     Options
	rw    io.ReadWriteCloser
	codec codec
	peer  Hello

	writing sync.Mutex
	out     []byte

	began time.Time
	heard atomic.Int64 // when something came, in nanoseconds after began, which no setting of the clock changes
	wake  chan struct{}
	pong  atomic.Bool

	mu      sync.Mutex
	streams map[uint32]*Stream
	next    uint32
	bye     bool // the other side took its leave
	leaving bool // this side does
	err     error
	done    chan struct{}
	running sync.WaitGroup
}

// New greets the other side and waits for its greeting. It closes rw when that fails.
func New(ctx context.Context, rw io.ReadWriteCloser, o Options) (*Conn, error) {
	if o.Idle <= 0 {
		o.Idle = idleTime
	}
	if o.Lost <= 0 {
		o.Lost = lostTime
	}
	c := &Conn{o: o, rw: rw, streams: map[uint32]*Stream{}, next: 2, wake: make(chan struct{}, 1), done: make(chan struct{})}
	if o.Client {
		c.next = 1
	}
	r, peer, err := greet(ctx, rw, o.Hello)
	if err != nil {
		return nil, err
	}
	c.peer = peer
	c.codec = &binaryCodec{r: r}
	if o.Text {
		c.codec = &textCodec{r: r}
	}
	c.began = time.Now()
	c.running.Go(c.receive)
	if !peer.Line {
		c.running.Go(c.attend)
	}
	return c, nil
}

// Peer is what the other side said of itself.
func (c *Conn) Peer() Hello { return c.peer }

// Done is closed when the connection is over.
func (c *Conn) Done() <-chan struct{} { return c.done }

// Err says why the connection is over: io.EOF when the other side took its leave. nil before that.
func (c *Conn) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Close takes leave and waits until everything that the connection started has ended. Streams that are open end with ErrClosed.
func (c *Conn) Close() error {
	c.mu.Lock()
	c.leaving = true // the other side may hang up before send returns, which is no loss
	c.mu.Unlock()
	stop := time.AfterFunc(time.Second, func() { _ = c.rw.Close() }) // a transport that is stuck takes no leave
	_ = c.send(frame{kind: kindBye})
	stop.Stop()
	c.fail(ErrClosed)
	c.running.Wait()
	return nil
}

// fail ends the connection. The first reason counts, and whatever comes of leaving is the leave itself.
func (c *Conn) fail(err error) {
	c.mu.Lock()
	if c.err != nil {
		c.mu.Unlock()
		return
	}
	if c.leaving {
		err = ErrClosed
	}
	c.err = err
	open := make([]*Stream, 0, len(c.streams))
	for _, s := range c.streams {
		open = append(open, s)
	}
	clear(c.streams)
	close(c.done)
	c.mu.Unlock()
	_ = c.rw.Close()
	for _, s := range open {
		s.end(err)
	}
}

// send writes one frame.
func (c *Conn) send(frames ...frame) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	c.out = c.out[:0]
	for _, f := range frames {
		c.out = c.codec.append(c.out, f)
	}
	if _, err := c.rw.Write(c.out); err != nil {
		err = fmt.Errorf("write to the other side: %w", err)
		c.fail(err)
		return err
	}
	return nil
}

// attend pings in silence, answers pings, and notices that nobody is there. It is apart from receive, which must never wait for a
// write: two sides that do so wait for each other.
func (c *Conn) attend() {
	tick := time.NewTicker(c.o.Idle / 2)
	defer tick.Stop()
	for {
		select {
		case <-c.done:
			return
		case <-c.wake:
			if c.pong.Swap(false) && c.send(frame{kind: kindPong}) != nil {
				return
			}
		case <-tick.C:
			silent := time.Since(c.began) - time.Duration(c.heard.Load())
			if silent >= c.o.Lost {
				c.fail(ErrSilent)
				return
			}
			if silent >= c.o.Idle {
				c.ping()
			}
		}
	}
}

// ping asks for a sign of life. A transport that takes nothing must not keep attend from noticing the silence.
func (c *Conn) ping() {
	if c.writing.TryLock() { // whoever holds it is writing, which asks as well
		c.writing.Unlock()
		c.running.Go(func() { _ = c.send(frame{kind: kindPing}) })
	}
}

// receive reads frames until the end.
func (c *Conn) receive() {
	for {
		f, err := c.codec.read()
		if err == nil {
			c.heard.Store(int64(time.Since(c.began)))
			err = c.dispatch(f)
		}
		if err != nil {
			c.mu.Lock()
			if errors.Is(err, io.EOF) && !c.bye {
				err = io.ErrUnexpectedEOF
			}
			c.mu.Unlock()
			c.fail(err)
			return
		}
	}
}

func (c *Conn) dispatch(f frame) error {
	switch f.kind {
	case kindPing:
		c.pong.Store(true)
		select {
		case c.wake <- struct{}{}:
		default:
		}
		return nil
	case kindPong:
		return nil
	case kindBye:
		c.mu.Lock()
		c.bye = true
		c.mu.Unlock()
		return io.EOF
	case kindOpen:
		return c.accept(f)
	}
	c.mu.Lock()
	s := c.streams[f.stream]
	c.mu.Unlock()
	if s == nil {
		return nil // it has ended here, and the other side doesn't know yet
	}
	return s.take(f)
}

func (c *Conn) accept(f frame) error {
	if c.o.Accept == nil || (f.stream%2 == 0) != c.o.Client {
		return malformed("stream %d may not be opened", f.stream)
	}
	s := newStream(c, f.stream, f.payload)
	c.mu.Lock()
	switch {
	case c.err != nil:
		c.mu.Unlock()
		return nil
	case c.streams[f.stream] != nil:
		c.mu.Unlock()
		return malformed("stream %d is opened twice", f.stream)
	case len(c.streams) >= maxStreams:
		c.mu.Unlock()
		return malformed("more than %d streams", maxStreams)
	}
	c.streams[f.stream] = s
	c.mu.Unlock()
	if c.peer.Line { // nothing else comes before this is answered
		c.o.Accept(s)
		s.over()
		return nil
	}
	c.running.Go(func() { c.o.Accept(s) })
	return nil
}

// Open opens a stream. head says what it is for; it has at most a quarter of MaxPayload, so that it fits a frame of any codec, or
// room() bytes where the transport carries text.
func (c *Conn) Open(head []byte) (*Stream, error) {
	if len(head) > c.codec.room() {
		return nil, fmt.Errorf("open a stream: its head has %d bytes, more than %d", len(head), c.codec.room())
	}
	c.mu.Lock()
	if c.err != nil {
		defer c.mu.Unlock()
		return nil, c.err
	}
	id := c.next
	c.next += 2
	s := newStream(c, id, head)
	c.streams[id] = s
	c.mu.Unlock()
	if err := c.send(frame{kind: kindOpen, stream: id, payload: head}); err != nil {
		return nil, err
	}
	return s, nil
}

func (c *Conn) forget(s *Stream) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.streams[s.id] == s {
		delete(c.streams, s.id)
	}
}

// credit tells the other side that n more bytes of a channel may come.
func (c *Conn) credit(stream uint32, channel uint8, n int) error {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], uint32(n)) //nolint:gosec // at most window
	return c.send(frame{kind: kindCredit, stream: stream, channel: channel, payload: b[:]})
}
