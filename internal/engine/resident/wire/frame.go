// Package wire carries many streams over one connection: frames, flow control, greeting, and signs of life. It knows nothing of what
// the streams are for.
package wire

import (
	"bufio"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// MaxPayload bounds what one frame carries, in bytes.
const MaxPayload = 64 << 10

// maxLine bounds a frame as a line of text: some transports cut longer ones.
const maxLine = 1000

// kind says what a frame is.
type kind uint8

// The kinds. A stream's number is chosen by the side that opens it: odd by the client, even by the server.
const (
	kindOpen   kind = 1 + iota // payload: what the stream is for
	kindData                   // payload: bytes of a channel
	kindEnd                    // the sender's half of the channel is over
	kindCredit                 // payload: how many more bytes of the channel the sender may be sent, as 4 bytes
	kindFin                    // the sender has nothing more to say on the stream
	kindReset                  // payload: why the sender gives the stream up
	kindPing
	kindPong
	kindBye // the sender goes, and means to
	kindLast
)

// frame is one message.
type frame struct {
	kind    kind
	channel uint8
	stream  uint32
	payload []byte
}

// headerLen is the length of what stands before the payload: the length of the rest, stream, kind, channel.
const headerLen = 4 + 4 + 1 + 1

// ErrProtocol is the kind of an error for bytes that are no frames, or frames that make no sense.
var ErrProtocol = errors.New("malformed traffic")

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrProtocol}, args...)...)
}

// codec reads and writes frames.
type codec interface {
	// read gives the next frame. Its payload is valid until the next read.
	read() (frame, error)
	// append adds a frame as it is sent.
	append(b []byte, f frame) []byte
	// room is how much payload a frame may carry.
	room() int
	// window is how many bytes of a channel may be under way or unread.
	window() int
}

// binaryCodec writes frames as they are.
type binaryCodec struct {
	r    *bufio.Reader
	body []byte
}

func (c *binaryCodec) room() int   { return MaxPayload }
func (c *binaryCodec) window() int { return Window }

func (c *binaryCodec) append(b []byte, f frame) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(headerLen-4+len(f.payload))) //nolint:gosec // at most MaxPayload
	return appendBody(b, f)
}

func appendBody(b []byte, f frame) []byte {
	b = binary.BigEndian.AppendUint32(b, f.stream)
	return append(append(b, byte(f.kind), f.channel), f.payload...)
}

func (c *binaryCodec) read() (frame, error) {
	var head [4]byte
	if _, err := io.ReadFull(c.r, head[:]); err != nil {
		return frame{}, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n < headerLen-4 || n > headerLen-4+MaxPayload {
		return frame{}, malformed("a frame of %d bytes", n)
	}
	if cap(c.body) < int(n) {
		c.body = make([]byte, max(int(n), 4<<10))
	}
	body := c.body[:n]
	if _, err := io.ReadFull(c.r, body); err != nil {
		return frame{}, cut(err)
	}
	return parseBody(body)
}

// cut tells an end inside a frame from one between two.
func cut(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func parseBody(body []byte) (frame, error) {
	if len(body) < headerLen-4 {
		return frame{}, malformed("a frame of %d bytes", len(body))
	}
	f := frame{stream: binary.BigEndian.Uint32(body), kind: kind(body[4]), channel: body[5], payload: body[headerLen-4:]}
	if f.kind == 0 || f.kind >= kindLast {
		return frame{}, malformed("a frame of kind %d", f.kind)
	}
	return f, nil
}

// textCodec writes each frame as one line of base64, for transports that carry text only.
type textCodec struct {
	r    *bufio.Reader
	body []byte
	line []byte
}

func (c *textCodec) room() int   { return maxLine/4*3 - (headerLen - 4) }
func (c *textCodec) window() int { return TextWindow }

func (c *textCodec) append(b []byte, f frame) []byte {
	c.body = appendBody(c.body[:0], f)
	b = base64.StdEncoding.AppendEncode(b, c.body)
	return append(b, '\n')
}

func (c *textCodec) read() (frame, error) {
	for {
		line, err := c.r.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			return frame{}, malformed("a line of more than %d characters", len(line))
		}
		if err != nil {
			if len(line) > 0 {
				err = cut(err)
			}
			return frame{}, err
		}
		for len(line) > 0 && (line[len(line)-1] == '\n' || line[len(line)-1] == '\r') {
			line = line[:len(line)-1]
		}
		if len(line) == 0 { // some terminals add them
			continue
		}
		if c.line, err = base64.StdEncoding.AppendDecode(c.line[:0], line); err != nil {
			return frame{}, malformed("a line that is no base64: %v", err)
		}
		return parseBody(c.line)
	}
}
