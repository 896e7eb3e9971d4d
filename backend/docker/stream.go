package docker

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/moby/moby/client"
)

const (
	// leaveTime is how long the far side may take to end what runs there and go, once its input is closed.
	leaveTime = 3 * time.Second
	// keptErrors is how much of what the program there says on standard error is kept, to explain why it ended.
	keptErrors = 4 << 10
)

// stream is an attached process without a terminal as one stream of bytes: what it prints, less what it prints as errors.
type stream struct {
	conn  net.Conn
	shut  func() error // closes its input
	from  io.Reader
	left  int  // bytes of the part that is being read
	part  byte // 1 standard output, 2 standard error
	ended chan struct{}
	end   sync.Once
	close sync.Once

	mu   sync.Mutex
	errs bytes.Buffer
}

func newStream(h client.HijackedResponse) *stream {
	return &stream{conn: h.Conn, shut: h.CloseWrite, from: h.Reader, ended: make(chan struct{})}
}

// Read gives what the process prints. It takes the daemon's framing apart in place: each part has a header of a type, three zero
// bytes and its length.
func (s *stream) Read(b []byte) (int, error) {
	n, err := s.read(b)
	if err != nil {
		s.end.Do(func() { close(s.ended) })
	}
	return n, err
}

func (s *stream) read(b []byte) (int, error) {
	for {
		n, part, err := s.next(b)
		if part == 1 {
			return n, err
		}
		s.mu.Lock()
		s.errs.Write(b[:min(n, max(0, keptErrors-s.errs.Len()))])
		s.mu.Unlock()
		if err != nil {
			return 0, err
		}
	}
}

// next gives what comes next of either output.
func (s *stream) next(b []byte) (n int, part byte, err error) {
	for s.left == 0 {
		var head [8]byte
		if _, err := io.ReadFull(s.from, head[:]); err != nil {
			return 0, 1, err
		}
		s.part, s.left = head[0], int(binary.BigEndian.Uint32(head[4:]))
	}
	n, err = s.from.Read(b[:min(len(b), s.left)])
	s.left -= n
	return n, s.part, err
}

// said is what the process printed as errors.
func (s *stream) said() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.TrimSpace(s.errs.String())
}

func (s *stream) Write(b []byte) (int, error) { return s.conn.Write(b) }

// Close ends the input of the process, which is how it learns that it isn't needed, gives it time to put things in order, and hangs
// up. Somebody else has to be reading meanwhile.
func (s *stream) Close() error {
	var err error
	s.close.Do(func() {
		_ = s.shut()
		timer := time.NewTimer(leaveTime)
		defer timer.Stop()
		select {
		case <-s.ended:
		case <-timer.C:
		}
		err = s.conn.Close()
	})
	return err
}
