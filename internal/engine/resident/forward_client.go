package resident

import (
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine/resident/wire"
)

var _ environment.Forwarder = (*Place)(nil)

// forwards are the sockets there whose connections end here, by the number that they were given here.
type forwards struct {
	mu   sync.Mutex
	last uint64
	open map[uint64]*forwarding
}

func (f *forwards) add(one *forwarding) uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open == nil {
		f.open = map[uint64]*forwarding{}
	}
	f.last++
	f.open[f.last] = one
	return f.last
}

func (f *forwards) remove(id uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.open, id)
}

// arrived hands a connection that was made there to who waits for it.
func (f *forwards) arrived(st *wire.Stream) {
	number, _ := strings.CutPrefix(string(st.Head()), opForwarded)
	id, _ := strconv.ParseUint(number, 10, 64) // 0 is never given
	f.mu.Lock()
	to := f.open[id]
	f.mu.Unlock()
	if to == nil {
		st.Reset("nobody waits for this connection")
		return
	}
	select {
	case to.came <- st:
	case <-to.closed:
		st.Reset("nobody waits for this connection any more")
	case <-st.Context().Done():
	}
}

// forwarding is a socket there whose connections end here.
type forwarding struct {
	p      *Place
	id     uint64
	st     *wire.Stream // lives as long as the socket
	t      *talk
	about  forwardAnswer
	came   chan *wire.Stream
	closed chan struct{}

	closing sync.Once
	err     error
}

// Forward makes a directory there with these files, and a socket whose connections end here.
func (p *Place) Forward(ctx context.Context, files map[string][]byte) (environment.Forwarding, error) {
	st, err := p.open(opForward)
	if err != nil {
		return nil, err
	}
	f := &forwarding{p: p, st: st, t: newTalk(st), came: make(chan *wire.Stream), closed: make(chan struct{})}
	f.id = p.forwards.add(f)
	stop := context.AfterFunc(ctx, func() { st.Reset(context.Cause(ctx).Error()) })
	if err = f.t.say(forwardRequest{f.id, files}); err == nil {
		err = f.t.hear(&f.about)
	}
	if !stop() || err != nil {
		p.forwards.remove(f.id)
		st.Reset("given up")
		return nil, p.failed("forward a socket", environment.ErrLost, cause(ctx, err))
	}
	if err := f.about.Error.err(); err != nil {
		p.forwards.remove(f.id)
		_ = st.Finish()
		return nil, fmt.Errorf("make a socket there: %w", err)
	}
	return f, nil
}

// Dir is the directory there.
func (f *forwarding) Dir() environment.Path { return f.about.Dir }

// Temp is the directory there for temporary files.
func (f *forwarding) Temp() environment.Path { return f.about.Temp }

// Socket is the path there of the socket.
func (f *forwarding) Socket() environment.Path { return f.about.Socket }

// Accept waits for the next connection that is made there.
func (f *forwarding) Accept() (io.ReadWriteCloser, error) {
	select {
	case st := <-f.came:
		return forwarded{st.Reader(chBytes), st.Writer(chBytes), st}, nil
	case <-f.closed:
	case <-f.st.Context().Done():
	}
	return nil, fmt.Errorf("wait for a connection there: %w", net.ErrClosed)
}

// Close has the socket closed there and its directory removed.
func (f *forwarding) Close() error {
	f.closing.Do(func() {
		close(f.closed)
		f.p.forwards.remove(f.id)
		late := time.AfterFunc(closeTime, func() { f.st.Reset("it was not closed in time") })
		defer late.Stop()
		defer f.st.Finish()                 //nolint:errcheck // nothing is left to say
		_ = f.st.Writer(chMessages).Close() // if contact is lost, there is nothing to wait for
		var last forwardAnswer
		if err := f.t.hear(&last); err != nil {
			f.err = f.p.failed("close a socket there", environment.ErrLost, err)
			return
		}
		f.err = last.Error.err()
	})
	return f.err
}

// forwarded is one connection that was made there.
type forwarded struct {
	io.Reader
	io.Writer
	st *wire.Stream
}

// Close ends the connection there too.
func (f forwarded) Close() error {
	f.st.Reset("closed")
	return nil
}
