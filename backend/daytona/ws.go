package daytona

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/sha1" //nolint:gosec // RFC 6455 wants it, and nothing depends on its strength
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hermes-runtime/hermes/internal/cloud"
)

// The kinds of frames of a WebSocket (RFC 6455, 5.2).
const (
	opMore   = 0x0
	opText   = 0x1
	opBinary = 0x2
	opClose  = 0x8
	opPing   = 0x9
	opPong   = 0xA
)

const (
	// maxMessage bounds a message, in bytes.
	maxMessage = 4 << 20
	// pingTime is how often the other side is asked for a sign of life, lostTime how long one may fail to come.
	pingTime, lostTime = 10 * time.Second, 30 * time.Second
	// guid is what a server shows with that it speaks the protocol (RFC 6455, 1.3).
	guid = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
)

var errSilent = errors.New("the server gives no sign of life")

// closedError is a connection that the server closed in good order.
type closedError struct {
	code int
	text string
}

func (e *closedError) Error() string {
	return fmt.Sprintf("the server closed the connection (%d %s)", e.code, e.text)
}

// socket is a WebSocket, the client's end. One goroutine reads; any may write.
type socket struct {
	body  io.ReadWriteCloser
	r     *bufio.Reader
	heard atomic.Int64 // Unix nanoseconds

	writing sync.Mutex
	once    sync.Once
	done    chan struct{}
	err     error // why it was closed from here; set before done is
	work    sync.WaitGroup
}

// dialSocket opens a WebSocket. Redirects and refusals are answers like any other.
func dialSocket(ctx context.Context, api *cloud.API, path string, query url.Values) (*socket, error) {
	var key [16]byte
	_, _ = rand.Read(key[:])
	nonce := base64.StdEncoding.EncodeToString(key[:])
	life, cancel := context.WithCancel(context.WithoutCancel(ctx)) // the answer's body ends with the context of its request
	stop := context.AfterFunc(ctx, cancel)
	resp, err := api.Send(life, cloud.Call{Method: http.MethodGet, Path: path, Query: query, Once: true, Header: http.Header{
		"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"13"}, "Sec-Websocket-Key": {nonce},
	}})
	if !stop() && err == nil {
		_ = resp.Body.Close()
		err = context.Cause(ctx)
	}
	if err != nil {
		cancel()
		return nil, err
	}
	sum := sha1.Sum([]byte(nonce + guid)) //nolint:gosec // see above
	body, ok := resp.Body.(io.ReadWriteCloser)
	if !ok || resp.StatusCode != http.StatusSwitchingProtocols || resp.Header.Get("Sec-Websocket-Accept") != base64.StdEncoding.EncodeToString(sum[:]) {
		_ = resp.Body.Close()
		cancel()
		return nil, fmt.Errorf("GET %s: the server doesn't open a WebSocket", path)
	}
	s := newSocket(body)
	s.work.Go(func() { <-s.done; cancel() })
	return s, nil
}

func newSocket(body io.ReadWriteCloser) *socket {
	s := &socket{body: body, r: bufio.NewReaderSize(body, 64<<10), done: make(chan struct{})}
	s.heard.Store(time.Now().UnixNano())
	s.work.Go(s.watch)
	return s
}

// watch asks for signs of life.
func (s *socket) watch() {
	tick := time.NewTicker(pingTime)
	defer tick.Stop()
	for {
		select {
		case <-s.done:
			return
		case <-tick.C:
		}
		if time.Since(time.Unix(0, s.heard.Load())) > lostTime {
			s.hangUp(errSilent)
			return
		}
		s.work.Go(func() { _ = s.write(opPing, nil) }) // a stuck connection is no reason not to notice that it is
	}
}

// hangUp closes the connection, for a reason. Reads and writes end.
func (s *socket) hangUp(why error) {
	s.once.Do(func() {
		s.err = why
		close(s.done)
		_ = s.body.Close()
	})
}

// Close says goodbye and hangs up.
func (s *socket) Close() error {
	stop := time.AfterFunc(time.Second, func() { s.hangUp(io.ErrClosedPipe) }) // a connection that is stuck takes no goodbye
	_ = s.write(opClose, binary.BigEndian.AppendUint16(nil, 1000))
	stop.Stop()
	s.hangUp(io.ErrClosedPipe)
	s.work.Wait()
	return nil
}

// write sends one frame.
func (s *socket) write(op byte, b []byte) error {
	head := []byte{0x80 | op, 0x80}
	switch n := len(b); {
	case n < 126:
		head[1] |= byte(n)
	case n <= 0xFFFF:
		head[1] |= 126
		head = binary.BigEndian.AppendUint16(head, uint16(n)) //nolint:gosec // just compared
	default:
		head[1] |= 127
		head = binary.BigEndian.AppendUint64(head, uint64(n))
	}
	var mask [4]byte
	_, _ = rand.Read(mask[:])
	out := append(append(make([]byte, 0, len(head)+4+len(b)), head...), mask[:]...)
	for i, c := range b {
		out = append(out, c^mask[i%4])
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	if _, err := s.body.Write(out); err != nil {
		return s.reason(err)
	}
	return nil
}

// reason prefers why the connection was closed from here to what came of it.
func (s *socket) reason(err error) error {
	select {
	case <-s.done:
		return s.err
	default:
		return err
	}
}

// next gives the next message, and answers what needs an answer.
func (s *socket) next() (op byte, message []byte, err error) {
	for {
		f, final, b, err := s.frame(maxMessage - len(message))
		if err != nil {
			return 0, nil, s.reason(err)
		}
		s.heard.Store(time.Now().UnixNano())
		switch f {
		case opPing:
			_ = s.write(opPong, b) // who can't be written to is noticed otherwise
			continue
		case opPong:
			continue
		case opClose:
			e := &closedError{code: 1005}
			if len(b) >= 2 {
				e.code, e.text = int(binary.BigEndian.Uint16(b)), string(b[2:])
			}
			return 0, nil, s.reason(e)
		case opMore:
			if op == 0 {
				return 0, nil, errors.New("a message that goes on without a beginning")
			}
		case opText, opBinary:
			if op != 0 {
				return 0, nil, errors.New("a message within another one")
			}
			op = f
		default:
			return 0, nil, fmt.Errorf("a frame of kind %d", f)
		}
		if message = append(message, b...); final {
			return op, message, nil
		}
	}
}

// frame reads one frame of at most room bytes.
func (s *socket) frame(room int) (op byte, final bool, b []byte, err error) {
	var head [8]byte
	if _, err = io.ReadFull(s.r, head[:2]); err != nil {
		return 0, false, nil, err
	}
	op, final = head[0]&0x0F, head[0]&0x80 != 0
	n := uint64(head[1] & 0x7F)
	switch {
	case head[0]&0x70 != 0 || head[1]&0x80 != 0:
		return 0, false, nil, errors.New("a frame with bits that nobody agreed on")
	case op >= opClose && (n > 125 || !final):
		return 0, false, nil, errors.New("a long frame of control")
	case n == 126:
		_, err = io.ReadFull(s.r, head[:2])
		n = uint64(binary.BigEndian.Uint16(head[:2]))
	case n == 127:
		_, err = io.ReadFull(s.r, head[:8])
		n = binary.BigEndian.Uint64(head[:8])
	}
	if err == nil && n > uint64(max(room, 125)) {
		return 0, false, nil, fmt.Errorf("a message of more than %d bytes", maxMessage)
	}
	if err == nil {
		b = make([]byte, n)
		_, err = io.ReadFull(s.r, b)
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return op, final, b, err
}
