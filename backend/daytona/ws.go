package daytona

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/hermes-runtime/hermes/internal/cloud"
)

const (
	// maxMessage bounds a message, in bytes.
	maxMessage = 4 << 20
	// pingTime is how often the other side is asked for a sign of life, lostTime how long one may fail to come.
	pingTime, lostTime = 10 * time.Second, 30 * time.Second
)

var errSilent = errors.New("the server gives no sign of life")

// socket is a WebSocket that is watched. One goroutine reads; any may write.
type socket struct {
	conn  *websocket.Conn
	began time.Time
	heard atomic.Int64    // nanoseconds after began, which no setting of the clock changes
	life  context.Context // ends when it is closed from here, and tells why
	end   context.CancelCauseFunc
	work  sync.WaitGroup
}

// asked sends a handshake the way all requests go: credentials stay with their server, and refusals are told alike.
type asked func(*http.Request) (*http.Response, error)

func (f asked) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// dialSocket opens a WebSocket.
func dialSocket(ctx context.Context, api *cloud.API, path string, query url.Values) (*socket, error) {
	s := &socket{began: time.Now()}
	conn, _, err := websocket.Dial(ctx, api.Base.String(), &websocket.DialOptions{ //nolint:bodyclose // the connection's
		HTTPClient: &http.Client{Transport: asked(func(r *http.Request) (*http.Response, error) {
			return api.Send(r.Context(), cloud.Call{Method: http.MethodGet, Path: path, Query: query, Once: true, Header: r.Header})
		})},
		OnPongReceived: func(context.Context, []byte) { s.hears() },
	})
	var refused *cloud.StatusError
	switch {
	case errors.As(err, &refused):
		return nil, refused
	case err != nil && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, fmt.Errorf("open a WebSocket at %s: %w", path, err)
	}
	conn.SetReadLimit(maxMessage)
	s.conn = conn
	s.life, s.end = context.WithCancelCause(context.Background())
	s.work.Go(s.watch)
	return s, nil
}

// watch asks for signs of life.
func (s *socket) watch() {
	tick := time.NewTicker(pingTime)
	defer tick.Stop()
	for {
		select {
		case <-s.life.Done():
			return
		case <-tick.C:
		}
		if time.Since(s.began)-time.Duration(s.heard.Load()) > lostTime {
			s.hangUp(errSilent)
			return
		}
		s.work.Go(func() { // a stuck connection is no reason not to notice that it is
			ctx, cancel := context.WithTimeout(s.life, lostTime)
			defer cancel()
			_ = s.conn.Ping(ctx)
		})
	}
}

// hears notes a sign of life.
func (s *socket) hears() { s.heard.Store(int64(time.Since(s.began))) }

// hangUp ends reads and writes, for a reason.
func (s *socket) hangUp(why error) { s.end(why) }

// Close hangs up. It says no goodbye, for which a stuck server could let it wait.
func (s *socket) Close() error {
	s.hangUp(io.ErrClosedPipe)
	_ = s.conn.CloseNow() // it may be closed already
	s.work.Wait()
	return nil
}

// write sends a message.
func (s *socket) write(kind websocket.MessageType, b []byte) error {
	return s.reason(s.conn.Write(s.life, kind, b))
}

// next gives the next message.
func (s *socket) next() (kind websocket.MessageType, message []byte, err error) {
	kind, message, err = s.conn.Read(s.life)
	s.hears()
	return kind, message, s.reason(err)
}

// reason prefers why the connection was closed from here to what came of it.
func (s *socket) reason(err error) error {
	if err != nil && s.life.Err() != nil {
		return context.Cause(s.life)
	}
	return err
}
