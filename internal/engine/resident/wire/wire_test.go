package wire

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// pair connects two sides. accept serves what the client opens.
func pair(t *testing.T, text bool, accept func(*Stream)) (client, server *Conn) {
	t.Helper()
	a, b := net.Pipe()
	made := make(chan *Conn, 1)
	go func() {
		s, err := New(context.Background(), b, Options{Text: text, Accept: accept})
		if err != nil {
			t.Error(err)
		}
		made <- s
	}()
	client, err := New(t.Context(), a, Options{Client: true, Text: text})
	if err != nil {
		t.Fatal(err)
	}
	server = <-made
	t.Cleanup(func() { _ = client.Close(); _ = server.Close() })
	return client, server
}

// echo sends back what comes on channel 1.
func echo(s *Stream) {
	w := s.Writer(1)
	_, _ = io.Copy(struct{ io.Writer }{w}, s.Reader(1))
	_ = w.Close()
	_ = s.Finish()
}

// RES-2: many streams at once, each gets its own bytes, in both codecs.
func TestConn_StreamsDoNotMix(t *testing.T) {
	for _, text := range []bool{false, true} {
		client, _ := pair(t, text, echo)
		var wg sync.WaitGroup
		for i := range 20 {
			wg.Go(func() {
				s, err := client.Open([]byte("echo"))
				if err != nil {
					t.Error(err)
					return
				}
				want := bytes.Repeat([]byte{byte('a' + i)}, 300_000)
				go func() {
					w := s.Writer(1)
					_, _ = w.Write(want)
					_ = w.Close()
				}()
				got, err := io.ReadAll(s.Reader(1))
				if err != nil || !bytes.Equal(got, want) {
					t.Errorf("stream %d: %d bytes, %v", i, len(got), err)
				}
				_ = s.Finish()
			})
		}
		wg.Wait()
	}
}

// RES-2: a reader that doesn't read stops its own stream and no other.
func TestConn_SlowReaderBlocksItsOwnStreamOnly(t *testing.T) {
	flooded := make(chan struct{})
	client, _ := pair(t, false, func(s *Stream) {
		if string(s.Head()) == "flood" {
			defer close(flooded)
			_, err := s.Writer(1).Write(make([]byte, 10*Window))
			var reset *ResetError
			if !errors.As(err, &reset) || reset.Text != "enough" {
				t.Errorf("the flood ended with %v", err)
			}
			return
		}
		echo(s)
	})
	flood, err := client.Open([]byte("flood"))
	if err != nil {
		t.Fatal(err)
	}
	for range 50 {
		s, err := client.Open([]byte("echo"))
		if err != nil {
			t.Fatal(err)
		}
		w := s.Writer(1)
		_, _ = w.Write([]byte("hi"))
		_ = w.Close()
		if got, err := io.ReadAll(s.Reader(1)); string(got) != "hi" || err != nil {
			t.Fatalf("%q, %v", got, err)
		}
		_ = s.Finish()
	}
	flood.mu.Lock()
	if held := flood.in[1].buf.Len(); held > Window {
		t.Errorf("%d bytes are held for a reader that doesn't read, more than %d", held, Window)
	}
	flood.mu.Unlock()
	flood.Reset("enough")
	<-flooded // before the connection closes, which would end it otherwise
}

// RES-3: text before the hello is skipped, up to 64 KiB.
func TestHello_BannerIsSkipped(t *testing.T) {
	var b bytes.Buffer
	b.WriteString(strings.Repeat("Welcome to host!\r\n", 3000) + "last login: now $ ")
	if err := writeHello(&b, Hello{Build: "x"}); err != nil {
		t.Fatal(err)
	}
	h, err := readHello(bufio.NewReader(&b))
	if err != nil || h.Build != "x" {
		t.Errorf("%+v, %v", h, err)
	}
	if _, err := readHello(bufio.NewReader(strings.NewReader(strings.Repeat("x", maxBanner+10)))); !errors.Is(err, ErrProtocol) {
		t.Errorf("endless text: %v", err)
	}
	_, err = readHello(bufio.NewReader(strings.NewReader("sh: hermes: not found\n")))
	if err == nil || !strings.Contains(err.Error(), "not found") {
		t.Errorf("what came instead isn't said: %v", err)
	}
}

// RES-3: another version is refused, both are named.
func TestHello_OtherVersionIsRefused(t *testing.T) {
	_, err := readHello(bufio.NewReader(strings.NewReader(greeting + `{"version":9,"build":"b9"}` + "\n")))
	if !errors.Is(err, ErrVersion) || !strings.Contains(err.Error(), "9") || !strings.Contains(err.Error(), "1") {
		t.Errorf("%v", err)
	}
}

// RES-2: a malformed frame ends the connection with one error, and both sides' goroutines.
func TestConn_MalformedTrafficEndsIt(t *testing.T) {
	frameOf := func(f frame) []byte { return (&binaryCodec{}).append(nil, f) }
	for name, traffic := range map[string][]byte{
		"4 GB length":       {0xff, 0xff, 0xff, 0xff, 0, 0, 0, 1, 2, 0},
		"too short":         {0, 0, 0, 3, 0, 0, 0},
		"unknown kind":      frameOf(frame{kind: 77}),
		"channel 200":       append(frameOf(frame{kind: kindOpen, stream: 1}), frameOf(frame{kind: kindData, stream: 1, channel: 200})...),
		"even stream":       frameOf(frame{kind: kindOpen, stream: 2}),
		"opened twice":      append(frameOf(frame{kind: kindOpen, stream: 1}), frameOf(frame{kind: kindOpen, stream: 1})...),
		"credit unasked":    append(frameOf(frame{kind: kindOpen, stream: 1}), frameOf(frame{kind: kindCredit, stream: 1, payload: []byte{0, 0, 0, 9}})...),
		"data behind end":   bytes.Join([][]byte{frameOf(frame{kind: kindOpen, stream: 1}), frameOf(frame{kind: kindEnd, stream: 1}), frameOf(frame{kind: kindData, stream: 1})}, nil),
		"over the Window":   append(frameOf(frame{kind: kindOpen, stream: 1}), bytes.Repeat(frameOf(frame{kind: kindData, stream: 1, payload: make([]byte, MaxPayload)}), Window/MaxPayload+1)...),
		"cut in the middle": frameOf(frame{kind: kindOpen, stream: 1})[:6],
	} {
		t.Run(name, func(t *testing.T) {
			a, b := net.Pipe()
			go func() {
				go func() { _, _ = io.Copy(io.Discard, a) }()
				_ = writeHello(a, Hello{})
				_, _ = a.Write(traffic)
				_ = a.Close()
			}()
			c, err := New(t.Context(), b, Options{Accept: func(s *Stream) { <-s.Context().Done() }})
			if err != nil {
				t.Fatal(err)
			}
			<-c.Done()
			if err := c.Err(); !errors.Is(err, ErrProtocol) && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("it ended with %v", err)
			}
			_ = c.Close()
		})
	}
}

// RES-4: a side that hears nothing gives the other up.
func TestConn_SilenceEndsIt(t *testing.T) {
	a, b := net.Pipe()
	go func() { _ = writeHello(a, Hello{}); _, _ = io.Copy(io.Discard, a) }() // takes everything, says nothing
	c, err := New(t.Context(), b, Options{Idle: 10 * time.Millisecond, Lost: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	<-c.Done()
	if !errors.Is(c.Err(), ErrSilent) {
		t.Errorf("it ended with %v", c.Err())
	}
	_ = c.Close()
	_ = a.Close()
}

// RES-4: a silent side is pinged, and a ping is answered.
func TestConn_PingsAndAnswers(t *testing.T) {
	a, b := net.Pipe()
	seen := make(chan kind, 2)
	go func() {
		r := bufio.NewReader(a)
		if _, err := readHello(r); err != nil {
			t.Error(err)
		}
		_ = writeHello(a, Hello{})
		in := &binaryCodec{r: r}
		for range 2 {
			f, err := in.read()
			if err != nil {
				t.Error(err)
			}
			seen <- f.kind
			if f.kind == kindPing {
				_, _ = a.Write(in.append(nil, frame{kind: kindPing}))
			}
		}
		_, _ = io.Copy(io.Discard, a)
	}()
	c, err := New(t.Context(), b, Options{Client: true, Idle: 5 * time.Millisecond, Lost: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	got := []kind{<-seen, <-seen}
	if got[0] != kindPing || got[1] != kindPong && got[1] != kindPing {
		t.Errorf("frames %v, want a ping, then an answer", got)
	}
	_ = c.Close()
	_ = a.Close()
}

// A side that leaves is told from one that is lost, and everything that is open ends with the reason.
func TestConn_LeavingAndLosing(t *testing.T) {
	client, server := pair(t, false, func(s *Stream) { <-s.Context().Done() })
	s, err := client.Open([]byte("x"))
	if err != nil {
		t.Fatal(err)
	}
	_ = client.Close()
	<-server.Done()
	if !errors.Is(server.Err(), io.EOF) {
		t.Errorf("the server saw %v, want a leave", server.Err())
	}
	if _, err := s.Reader(1).Read(make([]byte, 1)); !errors.Is(err, ErrClosed) {
		t.Errorf("reading gives %v", err)
	}
	if _, err := client.Open([]byte("y")); !errors.Is(err, ErrClosed) {
		t.Errorf("opening gives %v", err)
	}
	client, server = pair(t, false, nil)
	_ = client.rw.Close() // the link drops
	<-server.Done()
	if errors.Is(server.Err(), io.EOF) {
		t.Errorf("a dropped link counts as a leave: %v", server.Err())
	}
}

// late is a transport whose last write returns only when the other side has hung up over it.
type late struct {
	io.ReadWriteCloser
	over func() <-chan struct{} // nil while nobody is leaving
}

func (l *late) Write(p []byte) (int, error) {
	n, err := l.ReadWriteCloser.Write(p)
	if l.over != nil {
		<-l.over()
	}
	return n, err
}

// An end that the leave itself brought about is no loss, however early it is seen.
func TestConn_HangingUpOverALeaveIsNoLoss(t *testing.T) {
	a, b := net.Pipe()
	served := make(chan struct{})
	go func() {
		defer close(served)
		if s, err := New(context.Background(), b, Options{}); err == nil {
			<-s.Done()
			_ = s.Close()
		}
	}()
	l := &late{ReadWriteCloser: a}
	c, err := New(t.Context(), l, Options{Client: true})
	if err != nil {
		t.Fatal(err)
	}
	l.over = c.Done
	_ = c.Close()
	<-served
	if !errors.Is(c.Err(), ErrClosed) {
		t.Errorf("leaving ended with %v", c.Err())
	}
}

func FuzzFrames(f *testing.F) {
	b := &binaryCodec{}
	x := &textCodec{}
	for _, fr := range []frame{{kind: kindOpen, stream: 1, payload: []byte("run")}, {kind: kindData, stream: 7, channel: 2, payload: make([]byte, 700)}, {kind: kindPing}} {
		f.Add(b.append(nil, fr), false)
		f.Add(x.append(nil, fr), true)
	}
	f.Fuzz(func(t *testing.T, data []byte, text bool) {
		r := bufio.NewReaderSize(bytes.NewReader(data), MaxPayload)
		var in, again codec = &binaryCodec{r: r}, &binaryCodec{}
		if text {
			in, again = &textCodec{r: r}, &textCodec{}
		}
		for {
			fr, err := in.read()
			if err != nil {
				return
			}
			if len(fr.payload) > MaxPayload || fr.kind == 0 || fr.kind >= kindLast {
				t.Fatalf("%+v", fr)
			}
			out := again.append(nil, fr) // what was read is what would be sent
			if !text && !bytes.Contains(data, out) {
				t.Fatalf("%v is sent as %v", fr, out)
			}
		}
	})
}

func FuzzHello(f *testing.F) {
	f.Add([]byte("banner" + greeting + `{"version":1}` + "\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := readHello(bufio.NewReader(bytes.NewReader(data)))
		if err == nil && h.Version != Version {
			t.Fatalf("version %d passed", h.Version)
		}
	})
}

// BenchmarkRoundTrip is a question and its answer on a stream of their own.
func BenchmarkRoundTrip(b *testing.B) {
	x, y := net.Pipe()
	go func() {
		_, _ = New(context.Background(), y, Options{Accept: func(s *Stream) {
			var q [4]byte
			_, _ = io.ReadFull(s.Reader(0), q[:])
			binary.BigEndian.PutUint32(q[:], 1)
			_, _ = s.Writer(0).Write(q[:])
			_ = s.Finish()
		}})
	}()
	c, err := New(b.Context(), x, Options{Client: true})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		s, err := c.Open([]byte("q"))
		if err != nil {
			b.Fatal(err)
		}
		_, _ = s.Writer(0).Write([]byte("ping"))
		if _, err := io.ReadAll(s.Reader(0)); err != nil {
			b.Fatal(err)
		}
		_ = s.Finish()
	}
	_ = c.Close()
}
