package daytonatest

import (
	"context"
	"net/http"

	"github.com/coder/websocket"
)

const (
	opText   = websocket.MessageText
	opBinary = websocket.MessageBinary
)

// conn is a WebSocket, the server's end.
type conn struct{ ws *websocket.Conn }

// accept opens a WebSocket.
func accept(w http.ResponseWriter, r *http.Request) (*conn, error) {
	ws, err := websocket.Accept(w, r, nil)
	return &conn{ws}, err
}

func (c *conn) write(kind websocket.MessageType, b []byte) error {
	return c.ws.Write(context.Background(), kind, b)
}

// read gives the next message, of at most limit bytes.
func (c *conn) read(limit int64) ([]byte, error) {
	c.ws.SetReadLimit(limit)
	_, b, err := c.ws.Read(context.Background())
	return b, err
}

func (c *conn) readUntilEnd() {
	for {
		if _, err := c.read(64 << 10); err != nil {
			return
		}
	}
}

// close says why, and hangs up.
func (c *conn) close(code websocket.StatusCode, why string) {
	_ = c.ws.Close(code, why) // who hung up already isn't told
}
