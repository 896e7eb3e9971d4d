package daytonatest

import (
	"bufio"
	"crypto/sha1" //nolint:gosec // RFC 6455 wants it
	"encoding/base64"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
)

const (
	opText   = 1
	opBinary = 2
)

// conn is a WebSocket (RFC 6455), the server's end.
type conn struct {
	c    net.Conn
	r    *bufio.Reader
	mu   sync.Mutex
	once sync.Once
}

// accept opens a WebSocket.
func accept(w http.ResponseWriter, r *http.Request) (*conn, error) {
	h, ok := w.(http.Hijacker)
	if !ok || r.Header.Get("Upgrade") != "websocket" || r.Header.Get("Sec-Websocket-Key") == "" {
		w.WriteHeader(http.StatusBadRequest)
		return nil, errors.New("no WebSocket is asked for")
	}
	c, rw, err := h.Hijack()
	if err != nil {
		return nil, err
	}
	sum := sha1.Sum([]byte(r.Header.Get("Sec-Websocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11")) //nolint:gosec // see above
	_, err = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: "+
		base64.StdEncoding.EncodeToString(sum[:])+"\r\n\r\n")
	return &conn{c: c, r: rw.Reader}, err
}

// write sends a frame that isn't masked, as servers do.
func (c *conn) write(op byte, b []byte) error {
	head := []byte{0x80 | op}
	switch n := len(b); {
	case n < 126:
		head = append(head, byte(n))
	case n <= 0xFFFF:
		head = binary.BigEndian.AppendUint16(append(head, 126), uint16(n)) //nolint:gosec // just compared
	default:
		head = binary.BigEndian.AppendUint64(append(head, 127), uint64(n))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	_, err := c.c.Write(append(head, b...))
	return err
}

// read gives the next message, of at most limit bytes. Frames that aren't masked are refused, as servers have to.
func (c *conn) read(limit int) ([]byte, error) {
	for {
		var head [8]byte
		if _, err := io.ReadFull(c.r, head[:2]); err != nil {
			return nil, err
		}
		op, n := head[0]&0x0F, int(head[1]&0x7F)
		if head[1]&0x80 == 0 {
			return nil, errors.New("a frame of a client that isn't masked")
		}
		switch n {
		case 126:
			if _, err := io.ReadFull(c.r, head[:2]); err != nil {
				return nil, err
			}
			n = int(binary.BigEndian.Uint16(head[:2]))
		case 127:
			return nil, errors.New("a frame that is too long")
		}
		if n > limit {
			return nil, errors.New("a frame that is too long")
		}
		b := make([]byte, 4+n)
		if _, err := io.ReadFull(c.r, b); err != nil {
			return nil, err
		}
		mask, b := b[:4], b[4:]
		for i := range b {
			b[i] ^= mask[i%4]
		}
		switch op {
		case opText, opBinary:
			return b, nil
		case 8:
			return nil, io.EOF
		case 9:
			_ = c.write(10, b)
		}
	}
}

func (c *conn) readUntilEnd() {
	for {
		if _, err := c.read(64 << 10); err != nil {
			return
		}
	}
}

// close says why, and hangs up.
func (c *conn) close(code int, why string) {
	c.once.Do(func() {
		_ = c.write(8, append(binary.BigEndian.AppendUint16(nil, uint16(code)), why...)) //nolint:gosec // it is small
		_ = c.c.Close()
	})
}
