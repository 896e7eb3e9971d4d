package wire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"time"
)

// Line is a connection over which one thing is asked at a time. Who asks reads the answer themself and the other side answers in place,
// so that nobody else is woken on either. There are no signs of life: it is for a socket of this machine, whose system tells of the other
// side's end. It is not safe for concurrent use, but for Close.
type Line struct {
	c     net.Conn
	codec binaryCodec
	asked uint32
	out   []byte
}

// NewLine greets the other side and waits for its greeting. It closes c when that fails.
func NewLine(ctx context.Context, c net.Conn, h Hello) (*Line, error) {
	h.Line = true
	r, _, err := greet(ctx, c, h)
	if err != nil {
		return nil, err
	}
	return &Line{c: c, codec: binaryCodec{r: r}, asked: 1}, nil
}

// Close ends the line, and what is being asked.
func (l *Line) Close() error { return l.c.Close() }

// Ask opens a stream with a head, as Conn.Open does, and gives all that the other side writes on it. After an error other than a
// ResetError the line is of no use any more. An answer is waited for no longer than for a sign of life.
func (l *Line) Ask(ctx context.Context, head []byte) (answer []byte, err error) {
	if len(head) > l.codec.room() {
		return nil, fmt.Errorf("ask the other side: %d bytes are more than %d", len(head), l.codec.room())
	}
	if err := l.c.SetDeadline(time.Now().Add(lostTime)); err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = l.c.SetDeadline(time.Now()) })
	l.asked += 2
	l.out = l.codec.append(l.out[:0], frame{kind: kindOpen, stream: l.asked, payload: head})
	if _, err = l.c.Write(l.out); err == nil {
		answer, err = l.hear()
	}
	switch {
	case !stop(): // the deadline may yet be moved
		return nil, context.Cause(ctx)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, ErrSilent
	}
	return answer, err
}

func (l *Line) hear() ([]byte, error) {
	var answer []byte
	for {
		f, err := l.codec.read()
		switch {
		case err != nil:
			return nil, cut(err)
		case f.stream != l.asked: // it takes its leave
		case f.kind == kindData:
			answer = append(slices.Grow(answer, len(f.payload)), f.payload...)
		case f.kind == kindReset:
			return nil, &ResetError{string(f.payload)}
		case f.kind == kindFin:
			return answer, nil
		}
	}
}
