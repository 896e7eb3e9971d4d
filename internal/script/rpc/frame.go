// Package rpc is the channel between a script and its parent: frames of JSON over a Unix socket, answered side by side.
package rpc

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// Version is the version of the protocol, sent in the first frame of a connection.
const Version = 1

// headerLen is the length of a frame's header: the number of bytes that follow, big endian.
const headerLen = 4

// maxFirst bounds what is read of a connection that has not shown the token yet.
const maxFirst = 4096

// Errors of a connection's input. Each costs that connection only.
var (
	ErrTooLong   = errors.New("message too long")
	ErrMalformed = errors.New("malformed message")
)

// ReadFrame reads one frame of at most limit bytes. At the end of the input before a frame it returns io.EOF; inside of one
// io.ErrUnexpectedEOF.
func ReadFrame(r io.Reader, limit int) ([]byte, error) {
	n, err := readLen(r, limit)
	if err != nil {
		return nil, err
	}
	return readBody(r, n)
}

func readLen(r io.Reader, limit int) (int, error) {
	var head [headerLen]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n == 0 {
		return 0, fmt.Errorf("%w: an empty frame", ErrMalformed)
	}
	if uint64(n) > uint64(max(limit, 0)) {
		return 0, fmt.Errorf("%w: %d bytes, at most %d", ErrTooLong, n, limit)
	}
	return int(n), nil
}

// readBody reads n bytes into one buffer. What was announced and doesn't come is never touched, so it costs no memory; how much may
// be announced is the caller's to bound.
func readBody(r io.Reader, n int) ([]byte, error) {
	buf := make([]byte, n)
	if _, err := io.ReadFull(r, buf); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	return buf, nil
}

// hello is the first frame of a connection.
type hello struct {
	V     int    `json:"v"`
	Token string `json:"token"`
	// Serial promises that each request waits for the answer to the one before.
	Serial bool `json:"serial"`
}

// Request is one call as it stands on the wire.
type Request struct {
	ID   uint64
	Tool string
	// Args is the text of a JSON object, or nil if what came is none: then the call is refused, not the connection.
	Args json.RawMessage
	Line int // of the script that calls, 0 = unknown
	// Cancel is the id of a call to give up; the other members are unset then.
	Cancel uint64
	held   int64 // of the server's allowance for long requests
}

// maxID keeps ids exact in every JSON reader.
const maxID = 1 << 53

// Answer is what becomes of a request. Result is well-formed JSON and travels as it is.
type Answer struct {
	Result string
	Type   string // kind of failure, "" = none
}

// frame builds the whole message in one buffer: a large result is copied once.
func (a Answer) frame(id uint64) []byte {
	buf := make([]byte, headerLen, headerLen+len(`{"id":,"type":,"result":}`)+40+len(a.Type)+len(a.Result))
	buf = append(buf, `{"id":`...)
	buf = strconv.AppendUint(buf, id, 10)
	if a.Type != "" {
		buf = append(buf, `,"type":`...)
		quoted, _ := json.Marshal(a.Type) // a string always marshals
		buf = append(buf, quoted...)
	}
	buf = append(buf, `,"result":`...)
	buf = append(buf, a.Result...)
	return seal(append(buf, '}'))
}

func faultFrame(id uint64, text string) []byte {
	quoted, _ := json.Marshal(text) // a string always marshals
	buf := append(make([]byte, headerLen, headerLen+64+len(quoted)), `{"id":`...)
	buf = strconv.AppendUint(buf, id, 10)
	buf = append(buf, `,"fault":`...)
	buf = append(buf, quoted...)
	return seal(append(buf, '}'))
}

// byeFrame tells that nothing after the last answer was read: what was asked since may be asked again elsewhere.
func byeFrame() []byte { return seal(append(make([]byte, headerLen), `{"bye":true}`...)) }

// seal writes the length of buf's body into its header.
func seal(buf []byte) []byte {
	binary.BigEndian.PutUint32(buf, uint32(len(buf)-headerLen)) //nolint:gosec // callers keep it below the limit
	return buf
}
