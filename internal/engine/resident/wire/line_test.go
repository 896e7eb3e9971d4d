package wire

import (
	"bytes"
	"context"
	"errors"
	"net"
	"path/filepath"
	"runtime"
	"testing"
	"time"
)

// dialled gives a line to a server that answers with accept, over a socket as the line is made for.
func dialled(t *testing.T, accept func(*Stream)) (*Line, *Conn) {
	t.Helper()
	l, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Skipf("no Unix sockets on %s: %v", runtime.GOOS, err)
	}
	defer l.Close()
	made := make(chan *Conn, 1)
	go func() {
		defer close(made)
		c, err := l.Accept()
		if err != nil {
			t.Error(err)
			return
		}
		s, err := New(context.Background(), c, Options{Accept: accept})
		if err != nil {
			t.Error(err)
			return
		}
		made <- s
	}()
	c, err := net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	line, err := NewLine(t.Context(), c, Hello{})
	if err != nil {
		t.Fatal(err)
	}
	server := <-made
	t.Cleanup(func() { _ = line.Close(); _ = server.Close() })
	return line, server
}

// RES-2: what is asked over a line is answered in whole, however long the answer is, and the other side keeps nothing of it.
func TestLine_AnswersInWhole(t *testing.T) {
	line, server := dialled(t, func(s *Stream) {
		_ = s.Answer(0, bytes.Repeat(s.Head()[:1], len(s.Head())*4096))
	})
	for _, n := range []int{1, 15, 16, 17, 1000} { // up to many windows
		got, err := line.Ask(t.Context(), bytes.Repeat([]byte{'x'}, n))
		if err != nil || len(got) != n*4096 || len(bytes.Trim(got, "x")) > 0 {
			t.Fatalf("%d bytes for %d, %v", len(got), n, err)
		}
	}
	open := func() int {
		server.mu.Lock()
		defer server.mu.Unlock()
		return len(server.streams)
	}
	for end := time.Now().Add(time.Minute); open() > 0; time.Sleep(time.Millisecond) { // the last ones may be on their way out
		if time.Now().After(end) {
			t.Fatalf("%d streams are open", open())
		}
	}
}

// RES-2: a refusal comes with its words, and the line goes on; a head that is too long is never sent.
func TestLine_Refused(t *testing.T) {
	line, _ := dialled(t, func(s *Stream) {
		if string(s.Head()) == "no" {
			s.Reset("never")
			return
		}
		_ = s.Answer(0, []byte("yes"))
	})
	if got, err := line.Ask(t.Context(), make([]byte, MaxPayload+1)); err == nil {
		t.Errorf("%q", got)
	}
	var reset *ResetError
	if got, err := line.Ask(t.Context(), []byte("no")); !errors.As(err, &reset) || reset.Text != "never" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := line.Ask(t.Context(), []byte("?")); err != nil || string(got) != "yes" {
		t.Errorf("%q, %v", got, err)
	}
}

// CON-5: an answer that doesn't come is waited for until the context ends, and its cause is told; an end of the other side ends it too.
func TestLine_Ends(t *testing.T) {
	for _, end := range []string{"context", "server", "line"} {
		asked, release := make(chan struct{}), make(chan struct{})
		line, server := dialled(t, func(s *Stream) {
			close(asked)
			select {
			case <-release:
			case <-s.Context().Done():
			}
		})
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("enough")
		go func() {
			<-asked
			switch end {
			case "context":
				cancel(why)
			case "server":
				_ = server.Close()
			default:
				_ = line.Close()
			}
		}()
		_, err := line.Ask(ctx, []byte("?"))
		if err == nil || (end == "context") != errors.Is(err, why) {
			t.Errorf("%s: %v", end, err)
		}
		close(release)
		cancel(nil)
	}
}
