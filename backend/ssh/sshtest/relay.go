//go:build unix

package sshtest

import (
	"io"
	"net"
	"sync"
	"testing"
)

// Relay passes connections on, until it is cut.
type Relay struct {
	Port int
	to   string

	mu    sync.Mutex
	mute  bool
	pairs []pair
	work  sync.WaitGroup
}

type pair struct{ from, to net.Conn }

// NewRelay listens on loopback and passes everything on to an address. It ends with the test.
func NewRelay(tb testing.TB, to string) *Relay {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	r := &Relay{Port: l.Addr().(*net.TCPAddr).Port, to: to}
	r.work.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			r.pass(c)
		}
	})
	tb.Cleanup(func() {
		_ = l.Close()
		r.Cut()
		r.work.Wait()
	})
	return r
}

func (r *Relay) pass(from net.Conn) {
	r.mu.Lock()
	mute := r.mute
	if mute {
		r.pairs = append(r.pairs, pair{from, from})
	}
	r.mu.Unlock()
	if mute {
		return
	}
	to, err := net.Dial("tcp", r.to)
	if err != nil {
		_ = from.Close()
		return
	}
	r.mu.Lock()
	r.pairs = append(r.pairs, pair{from, to})
	r.mu.Unlock()
	r.work.Go(func() { _, _ = io.Copy(to, from); _ = to.Close() })
	r.work.Go(func() { _, _ = io.Copy(from, to) }) // that the far side hung up isn't told: a cable that is pulled tells nothing
}

// Cut ends every connection, on both sides.
func (r *Relay) Cut() {
	for _, p := range r.take() {
		_ = p.from.Close()
		_ = p.to.Close()
	}
}

// CutFar ends every connection on the far side only: the near one hears nothing any more and isn't told.
func (r *Relay) CutFar() {
	for _, p := range r.keep() {
		_ = p.to.Close()
	}
}

// Mute has the relay take connections from now on, and say nothing.
func (r *Relay) Mute() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mute = true
}

// Count is the number of connections that were made.
func (r *Relay) Count() int { return len(r.keep()) }

func (r *Relay) take() []pair {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.pairs
	r.pairs = nil
	return all
}

func (r *Relay) keep() []pair {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]pair(nil), r.pairs...)
}
