package wire

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
)

const (
	// Channels is how many channels a stream has in each direction.
	Channels = 8
	// Window is how many bytes of a channel may be under way or unread. Both sides must agree on it. Through a container engine, or over a line on which an answer takes
	// 10 ms, a quarter of it left the sender waiting for most of the time.
	Window = 1 << 20
	// TextWindow is Window over a transport of text. Those are terminals behind a WebSocket, whose servers queue 256 messages of at least
	// a line each for one who reads slowly, and hang up on more.
	TextWindow = 128 << 10
)

// ResetError is why the other side gave a stream up.
type ResetError struct{ Text string }

func (e *ResetError) Error() string { return e.Text }

// ErrFinished is what writing to a stream gives that the other side has finished.
var ErrFinished = errors.New("the other side has finished with the stream")

// errOver is the cause of a stream's context once both sides have finished.
var errOver = errors.New("the stream is over")

// Stream is one conversation over a connection: bytes on channels, each way. Each channel has its own flow control, so one that
// nobody reads stops itself and no other. It is safe for concurrent use, each channel by one reader and one writer.
type Stream struct {
	c    *Conn
	id   uint32
	head []byte
	ctx  context.Context
	stop context.CancelCauseFunc

	mu      sync.Mutex
	changed sync.Cond
	in      [Channels]inbox
	out     [Channels]outbox
	cause   error // why it is dead
	fin     bool  // this side has finished
	peerFin bool
}

// inbox is what came on a channel and wasn't read.
type inbox struct {
	buf  bytes.Buffer
	over bool // nothing more comes
	read int  // bytes read since credit was given
}

// outbox is what may be sent on a channel.
type outbox struct {
	used  int // bytes that the other side hasn't read, as far as is known
	ended bool
}

func newStream(c *Conn, id uint32, head []byte) *Stream {
	s := &Stream{c: c, id: id, head: slices.Clone(head)}
	s.changed.L = &s.mu
	s.ctx, s.stop = context.WithCancelCause(context.Background())
	return s
}

// Head is what the stream was opened with.
func (s *Stream) Head() []byte { return s.head }

// Context ends with the stream: with a ResetError when the other side gave it up, with what ended the connection, or once both have
// finished.
func (s *Stream) Context() context.Context { return s.ctx }

// Finish says that this side writes nothing more. The stream is over when both sides have finished.
func (s *Stream) Finish() error {
	s.mu.Lock()
	if s.fin || s.cause != nil {
		s.mu.Unlock()
		return nil
	}
	s.fin = true
	over := s.peerFin
	s.mu.Unlock()
	err := s.c.send(frame{kind: kindFin, stream: s.id})
	if over {
		s.over()
	}
	return err
}

// Answer writes b to a channel and finishes. Where that fits one frame, the other side is woken once for both.
func (s *Stream) Answer(channel uint8, b []byte) error {
	s.mu.Lock()
	out := &s.out[channel]
	if len(b) > s.c.codec.room() || out.used+len(b) > s.c.codec.window() || out.ended || s.fin || s.peerFin || s.cause != nil {
		s.mu.Unlock()
		_, err := s.Writer(channel).Write(b)
		return errors.Join(err, s.Finish())
	}
	out.used += len(b)
	s.fin = true // the other side's end finds the stream over
	s.mu.Unlock()
	return s.c.send(frame{kind: kindData, stream: s.id, channel: channel, payload: b}, frame{kind: kindFin, stream: s.id})
}

// Reset gives the stream up, on both sides. The other side's context ends with a ResetError of the text.
func (s *Stream) Reset(text string) {
	if !s.end(&ResetError{text}) {
		return
	}
	s.c.forget(s)
	if len(text) > 500 {
		text = text[:500]
	}
	_ = s.c.send(frame{kind: kindReset, stream: s.id, payload: []byte(text)}) // a connection that is gone has reset it
}

// over is the end that both sides wanted: what came can still be read.
func (s *Stream) over() {
	s.c.forget(s)
	s.stop(errOver)
}

// end makes the stream unusable. It tells whether it was usable before.
func (s *Stream) end(cause error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cause != nil || s.fin && s.peerFin {
		return false
	}
	s.cause = cause
	s.changed.Broadcast()
	s.stop(cause)
	return true
}

// take handles a frame of the other side. It never waits.
func (s *Stream) take(f frame) error {
	if f.channel >= Channels {
		return malformed("channel %d", f.channel)
	}
	s.mu.Lock()
	in, out := &s.in[f.channel], &s.out[f.channel]
	switch f.kind {
	case kindData:
		if in.over || s.peerFin {
			s.mu.Unlock()
			return malformed("data behind the end of a channel")
		}
		if in.buf.Len()+in.read+len(f.payload) > s.c.codec.window() {
			s.mu.Unlock()
			return malformed("more than %d bytes on a channel that isn't read", s.c.codec.window())
		}
		in.buf.Write(f.payload)
	case kindEnd:
		in.over = true
	case kindCredit:
		if len(f.payload) != 4 {
			s.mu.Unlock()
			return malformed("credit of %d bytes", len(f.payload))
		}
		n := int(binary.BigEndian.Uint32(f.payload))
		if n > out.used {
			s.mu.Unlock()
			return malformed("credit for %d bytes, of %d", n, out.used)
		}
		out.used -= n
	case kindFin:
		s.peerFin = true
		over := s.fin
		s.changed.Broadcast()
		s.mu.Unlock()
		if over {
			s.over()
		}
		return nil
	case kindReset:
		s.mu.Unlock()
		s.end(&ResetError{string(f.payload)})
		s.c.forget(s)
		return nil
	}
	s.changed.Broadcast()
	s.mu.Unlock()
	return nil
}

// Reader reads a channel.
func (s *Stream) Reader(channel uint8) io.Reader { return channelReader{s, channel} }

type channelReader struct {
	s  *Stream
	ch uint8
}

// Read gives what came, io.EOF after the end of the channel or of the stream, and the cause if the stream died.
func (r channelReader) Read(b []byte) (int, error) {
	s, in := r.s, &r.s.in[r.ch]
	s.mu.Lock()
	for in.buf.Len() == 0 && !in.over && !s.peerFin && s.cause == nil {
		s.changed.Wait()
	}
	if in.buf.Len() == 0 {
		defer s.mu.Unlock()
		if s.cause != nil && !in.over {
			return 0, s.cause
		}
		return 0, io.EOF
	}
	n, _ := in.buf.Read(b)
	if in.buf.Len() == 0 && in.buf.Cap() > s.c.codec.window()/2 {
		in.buf = bytes.Buffer{} // an idle channel holds no memory
	}
	in.read += n
	due := 0
	if in.read >= s.c.codec.window()/2 && !in.over && !s.peerFin && s.cause == nil {
		due, in.read = in.read, 0
	}
	s.mu.Unlock()
	if due > 0 {
		if err := s.c.credit(s.id, r.ch, due); err != nil {
			return n, err
		}
	}
	return n, nil
}

// Writer writes a channel. Closing it ends the channel.
func (s *Stream) Writer(channel uint8) io.WriteCloser { return channelWriter{s, channel} }

type channelWriter struct {
	s  *Stream
	ch uint8
}

// Write sends b, waiting for the reader where it is slow.
func (w channelWriter) Write(b []byte) (int, error) {
	sent := 0
	for sent < len(b) {
		n, err := w.s.reserve(w.ch, min(len(b)-sent, w.s.c.codec.room()))
		if err != nil {
			return sent, err
		}
		if err := w.s.c.send(frame{kind: kindData, stream: w.s.id, channel: w.ch, payload: b[sent : sent+n]}); err != nil {
			return sent, err
		}
		sent += n
	}
	return sent, nil
}

// reserve waits until some of n bytes may be sent, and tells how many.
func (s *Stream) reserve(ch uint8, n int) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := &s.out[ch]
	for {
		switch {
		case s.cause != nil:
			return 0, s.cause
		case s.peerFin:
			return 0, ErrFinished
		case out.ended || s.fin:
			return 0, fmt.Errorf("write to channel %d: %w", ch, io.ErrClosedPipe)
		case s.c.peer.Line: // who asked reads on until it has all
			return n, nil
		case out.used < s.c.codec.window():
			n = min(n, s.c.codec.window()-out.used)
			out.used += n
			return n, nil
		}
		s.changed.Wait()
	}
}

// Close ends the channel.
func (w channelWriter) Close() error {
	s := w.s
	s.mu.Lock()
	if s.out[w.ch].ended || s.fin || s.cause != nil || s.peerFin {
		s.out[w.ch].ended = true
		s.mu.Unlock()
		return nil
	}
	s.out[w.ch].ended = true
	s.mu.Unlock()
	return s.c.send(frame{kind: kindEnd, stream: s.id, channel: w.ch})
}
