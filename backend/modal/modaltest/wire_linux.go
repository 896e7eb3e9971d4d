//go:build modal

package modaltest

import (
	"maps"
	"net"
	"slices"
	"sync"
)

// Plane is one of the two services that a client is connected with.
type Plane int

// Control answers for sandboxes, Tasks is the router that runs programs in them.
const (
	Control Plane = iota
	Tasks
)

func (s *Server) wire(p Plane) *wire {
	if p == Tasks {
		return s.tasks
	}
	return s.control
}

// Cut ends the connections with a service. New ones are taken.
func (s *Server) Cut(p Plane) {
	for _, c := range s.wire(p).all() {
		_ = c.Close()
	}
}

// Freeze has the connections stay with a service, and nothing pass on them any more. New ones work.
func (s *Server) Freeze(p Plane) {
	for _, c := range s.wire(p).all() {
		c.freeze()
	}
}

// Thaw has everything pass again.
func (s *Server) Thaw(p Plane) {
	for _, c := range s.wire(p).all() {
		c.thaw()
	}
}

// Connections counts those with a service.
func (s *Server) Connections(p Plane) int { return len(s.wire(p).all()) }

// wire is a listener that knows its connections.
type wire struct {
	net.Listener
	mu    sync.Mutex
	conns map[*conn]bool
}

// Accept takes a connection.
func (w *wire) Accept() (net.Conn, error) {
	raw, err := w.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &conn{Conn: raw, w: w, over: make(chan struct{})}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.conns[c] = true
	return c, nil
}

func (w *wire) all() []*conn {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Collect(maps.Keys(w.conns))
}

// conn is a connection on which nothing may pass for a time.
type conn struct {
	net.Conn
	w    *wire
	mu   sync.Mutex
	ice  chan struct{} // nil = it isn't frozen
	once sync.Once
	over chan struct{}
}

func (c *conn) freeze() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ice == nil {
		c.ice = make(chan struct{})
	}
}

func (c *conn) thaw() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ice != nil {
		close(c.ice)
		c.ice = nil
	}
}

// pass waits until something may pass.
func (c *conn) pass() {
	c.mu.Lock()
	ice := c.ice
	c.mu.Unlock()
	if ice == nil {
		return
	}
	select {
	case <-ice:
	case <-c.over:
	}
}

// Read hands on what has come.
func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.pass()
	return n, err
}

// Write sends.
func (c *conn) Write(b []byte) (int, error) {
	c.pass()
	return c.Conn.Write(b)
}

// Close ends the connection.
func (c *conn) Close() error {
	c.once.Do(func() {
		close(c.over)
		c.w.mu.Lock()
		defer c.w.mu.Unlock()
		delete(c.w.conns, c)
	})
	return c.Conn.Close()
}
