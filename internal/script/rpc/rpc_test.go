//go:build unix

package rpc

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/internal/leaktest"
	"github.com/hermes-runtime/hermes/tool"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func message(body string) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

// start serves h and returns the server.
func start(t *testing.T, h Handler, o Options) *Server {
	t.Helper()
	return startIn(context.Background(), t, h, o)
}

func startIn(ctx context.Context, t *testing.T, h Handler, o Options) *Server {
	t.Helper()
	dir, err := os.MkdirTemp("", "rpc")
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, "s"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	s := Serve(ctx, socket{ln}, h, o)
	t.Cleanup(func() {
		s.Close()
		os.RemoveAll(dir)
	})
	return s
}

// socket is a listener on a Unix socket.
type socket struct{ *net.UnixListener }

func (s socket) Accept() (io.ReadWriteCloser, error) { return s.UnixListener.Accept() }

// connect opens a connection that hasn't said anything.
func connect(t *testing.T, s *Server) net.Conn {
	t.Helper()
	c, err := net.Dial("unix", s.ln.(socket).Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func echo(_ context.Context, r Request) Answer { return Answer{Result: string(r.Args)} }

// client is a connection that has shown the token.
type client struct {
	t *testing.T
	net.Conn
}

func dial(t *testing.T, s *Server, token string) *client {
	t.Helper()
	c := connect(t, s)
	t.Cleanup(func() { c.Close() })
	cl := &client{t, c}
	cl.send(fmt.Sprintf(`{"v":1,"token":%q}`, token))
	return cl
}

func (c *client) send(body string) { c.Write(message(body)) } //nolint:errcheck // the answer tells

func (c *client) receive() string {
	c.t.Helper()
	c.SetReadDeadline(time.Now().Add(time.Minute)) //nolint:errcheck // the read tells
	b, err := ReadFrame(c, 1<<30)
	if err != nil {
		c.t.Fatalf("no answer: %v", err)
	}
	return string(b)
}

// closed expects the connection to be closed without an answer.
func (c *client) closed() {
	c.t.Helper()
	c.SetReadDeadline(time.Now().Add(time.Minute)) //nolint:errcheck // the read tells
	if b, err := io.ReadAll(c); len(b) > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
		c.t.Errorf("got %q, %v; want a closed connection", b, err)
	}
}

func TestServer_AnswersAreSplicedAndMatchedByID(t *testing.T) { // XR-3
	s := start(t, echo, Options{})
	c := dial(t, s, s.Token())
	c.send(`{"id":7,"tool":"x","args":{"a": [1, "é\u00e9" ]}}`)
	if got, want := c.receive(), `{"id":7,"result":{"a": [1, "é\u00e9" ]}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestServer_BadInputCostsOnlyItsConnection(t *testing.T) { // XR-2, XR-7
	var calls atomic.Int32
	s := start(t, func(_ context.Context, r Request) Answer {
		calls.Add(1)
		return Answer{Result: "{}"}
	}, Options{MaxMessage: 1 << 20, HelloWait: 500 * time.Millisecond})
	good := dial(t, s, s.Token())
	good.send(`{"id":1,"tool":"x","args":{}}`)
	good.receive()
	calls.Store(0)
	deep := strings.Repeat("[", 100_000)
	for name, raw := range map[string][]byte{
		"wrong token":      append(message(`{"v":1,"token":"00000000000000000000000000000000"}`), message(`{"id":1,"tool":"x","args":{}}`)...),
		"no token":         append(message(`{"v":1}`), message(`{"id":1,"tool":"x","args":{}}`)...),
		"other version":    message(`{"v":2,"token":"` + s.Token() + `"}`),
		"no hello":         message(`{"id":1,"tool":"x","args":{}}`),
		"absurd hello":     {0xff, 0xff, 0xff, 0xff},
		"long hello":       message(`{"v":1,"token":"` + strings.Repeat("a", maxFirst) + `"}`),
		"silence":          {},
		"half a hello":     message(`{"v":1,"token":"`)[:10],
		"hello no object":  message(`[1]`),
		"hello of no JSON": message("\xff\xfe"),
	} {
		c := connect(t, s)
		c.Write(raw) //nolint:errcheck // the read below tells
		(&client{t, c}).closed()
		c.Close()
		if calls.Load() != 0 {
			t.Errorf("%s: dispatched", name)
		}
	}
	for name, raw := range map[string]string{
		"no JSON":       string(message("nonsense")),
		"not an object": string(message(`[{"id":1,"tool":"x","args":{}}]`)),
		"text":          string(message(`"x"`)),
		"null":          string(message(`null`)),
		"no id":         string(message(`{"tool":"x","args":{}}`)),
		"id of text":    string(message(`{"id":"1","tool":"x","args":{}}`)),
		"id null":       string(message(`{"id":null,"tool":"x","args":{}}`)),
		"id zero":       string(message(`{"id":0,"tool":"x","args":{}}`)),
		"id negative":   string(message(`{"id":-1,"tool":"x","args":{}}`)),
		"id huge":       string(message(`{"id":1e300,"tool":"x","args":{}}`)),
		"tool a number": string(message(`{"id":1,"tool":5,"args":{}}`)),
		"key twice":     string(message(`{"id":1,"id":2,"tool":"x","args":{}}`)),
		"empty frame":   "\x00\x00\x00\x00",
		"absurd length": "\xff\xff\xff\xff",
		"over limit":    string(binary.BigEndian.AppendUint32(nil, 1<<20+1)),
		"deep":          string(message(`{"id":1,"tool":"x","args":{"a":` + deep + `}}`)),
		"trailing":      string(message(`{"id":1,"tool":"x","args":{}} x`)),
	} {
		c := dial(t, s, s.Token())
		io.WriteString(c, raw) //nolint:errcheck // the read below tells
		c.closed()
		if calls.Load() != 0 {
			t.Errorf("%s: dispatched", name)
		}
	}
	half := dial(t, s, s.Token())
	half.Write(message(`{"id":1,"tool":"x","args":{}}`)[:12]) //nolint:errcheck // nothing follows
	half.Close()
	good.send(`{"id":2,"tool":"x","args":{}}`)
	good.receive()
	if calls.Load() != 1 {
		t.Errorf("%d calls, want the good one", calls.Load())
	}
}

func TestServer_RepeatedIDIsNotDispatchedAgain(t *testing.T) { // XR-7
	var calls atomic.Int32
	s := start(t, func(_ context.Context, r Request) Answer { calls.Add(1); return Answer{Result: "{}"} }, Options{})
	c := dial(t, s, s.Token())
	c.send(`{"id":5,"tool":"x","args":{}}`)
	c.receive()
	c.send(`{"id":5,"tool":"x","args":{}}`)
	c.closed()
	if calls.Load() != 1 {
		t.Errorf("%d calls", calls.Load())
	}
}

func TestServer_ArgumentsThatAreNoObjectAreRefusedNotFatal(t *testing.T) { // XR-7
	s := start(t, func(_ context.Context, r Request) Answer { return Answer{Result: fmt.Sprint(r.Args == nil)} }, Options{})
	c := dial(t, s, s.Token())
	for i, args := range []string{"null", "[1]", `"x"`, "5"} {
		c.send(fmt.Sprintf(`{"id":%d,"tool":"x","args":%s}`, i+1, args))
		if got, want := c.receive(), fmt.Sprintf(`{"id":%d,"result":true}`, i+1); got != want {
			t.Errorf("%s: got %s, want %s", args, got, want)
		}
	}
}

func TestServer_RunsSideBySideUpToTheLimit(t *testing.T) { // XR-4
	const limit = 4
	var now, most atomic.Int32
	gate := make(chan struct{})
	s := start(t, func(ctx context.Context, r Request) Answer {
		if n := now.Add(1); n > most.Load() {
			most.Store(n)
		}
		defer now.Add(-1)
		select {
		case <-gate:
		case <-ctx.Done():
		}
		return Answer{Result: "{}"}
	}, Options{Parallel: limit})
	c, d := dial(t, s, s.Token()), dial(t, s, s.Token())
	for i := range 6 {
		c.send(fmt.Sprintf(`{"id":%d,"tool":"x","args":{}}`, i+1))
		d.send(fmt.Sprintf(`{"id":%d,"tool":"x","args":{}}`, i+1))
	}
	for now.Load() < limit {
		time.Sleep(time.Millisecond)
	}
	close(gate)
	for range 6 {
		c.receive()
		d.receive()
	}
	if most.Load() != limit {
		t.Errorf("%d ran at once, want %d", most.Load(), limit)
	}
}

func TestServer_CancelAndCloseEndTheirCalls(t *testing.T) { // XR-11, XT-10
	started, ended := make(chan uint64, 3), make(chan error, 3)
	run, end := context.WithCancelCause(context.Background())
	s := startIn(run, t, func(ctx context.Context, r Request) Answer {
		started <- r.ID
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return Answer{Result: "{}"}
	}, Options{})
	c := dial(t, s, s.Token())
	c.send(`{"id":1,"tool":"x","args":{}}`)
	<-started
	c.send(`{"cancel":1}`)
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled with %v", err)
	}
	c.send(`{"id":2,"tool":"x","args":{}}`)
	<-started
	c.Close()
	if err := <-ended; !errors.Is(err, tool.ParentEnd) {
		t.Errorf("a closed connection ended its call with %v", err)
	}
	d := dial(t, s, s.Token())
	d.send(`{"id":1,"tool":"x","args":{}}`)
	<-started
	end(tool.NewMessage)
	if err := <-ended; !errors.Is(err, tool.NewMessage) {
		t.Errorf("the end of the run reached the call as %v", err)
	}
}

func TestServer_SerialConnectionNoticesItsEndDuringACall(t *testing.T) { // XR-11
	started, ended := make(chan struct{}, 1), make(chan error, 1)
	s := start(t, func(ctx context.Context, r Request) Answer {
		started <- struct{}{}
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return Answer{Result: "{}"}
	}, Options{})
	conn := connect(t, s)
	c := &client{t, conn}
	c.send(fmt.Sprintf(`{"v":1,"token":%q,"serial":true}`, s.Token()))
	c.send(`{"id":1,"tool":"x","args":{}}`)
	<-started
	c.Close()
	if err := <-ended; !errors.Is(err, tool.ParentEnd) {
		t.Errorf("ended with %v", err)
	}
}

func TestServer_IdleConnectionsMakeRoom(t *testing.T) { // XR-4
	s := start(t, echo, Options{Connections: 2})
	a, b := dial(t, s, s.Token()), dial(t, s, s.Token())
	for _, c := range []*client{a, b} {
		c.send(`{"id":1,"tool":"x","args":{}}`)
		c.receive()
	}
	c := dial(t, s, s.Token())
	c.send(`{"id":1,"tool":"x","args":{}}`)
	c.receive()
	if got := a.receive(); got != `{"bye":true}` {
		t.Errorf("the connection idle longest got %s", got)
	}
	b.send(`{"id":2,"tool":"x","args":{}}`)
	b.receive()
}

func TestServer_TooLongResultIsAnErrorThatNamesTheLimit(t *testing.T) { // XR-6
	s := start(t, func(context.Context, Request) Answer {
		return Answer{Result: `{"x":"` + strings.Repeat("y", 5000) + `"}`}
	}, Options{MaxMessage: 4096})
	c := dial(t, s, s.Token())
	c.send(`{"id":1,"tool":"x","args":{}}`)
	var a struct {
		Result struct {
			Error string `json:"error"`
		} `json:"result"`
	}
	if err := json.Unmarshal([]byte(c.receive()), &a); err != nil || !strings.Contains(a.Result.Error, "4096") {
		t.Errorf("got %q, %v", a.Result.Error, err)
	}
}

func TestServer_PanicFaultsOneCall(t *testing.T) {
	s := start(t, func(_ context.Context, r Request) Answer {
		if r.Tool == "bad" {
			panic("x")
		}
		return Answer{Result: "{}"}
	}, Options{})
	c := dial(t, s, s.Token())
	c.send(`{"id":1,"tool":"bad","args":{}}`)
	if got := c.receive(); !strings.Contains(got, `"fault"`) {
		t.Errorf("got %s", got)
	}
	c.send(`{"id":2,"tool":"good","args":{}}`)
	if got := c.receive(); got != `{"id":2,"result":{}}` {
		t.Errorf("got %s", got)
	}
}

func TestServer_ManyConnectionsGetTheirOwnAnswers(t *testing.T) { // XR-4
	s := start(t, echo, Options{Parallel: 8, Connections: 16})
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			c := dial(t, s, s.Token())
			for j := range 20 {
				c.send(fmt.Sprintf(`{"id":%d,"tool":"x","args":{"v":"%d/%d"}}`, j+1, i, j))
				got, want := c.receive(), fmt.Sprintf(`{"id":%d,"result":{"v":"%d/%d"}}`, j+1, i, j)
				if got == `{"bye":true}` {
					return // made room: what a script would ask again elsewhere
				}
				if got != want {
					t.Errorf("got %s, want %s", got, want)
				}
			}
			c.Close()
		})
	}
	wg.Wait()
}

// FuzzReadFrame feeds bytes to the frame reader and the request parser: neither fails otherwise than by error, neither takes more
// memory than bytes came, and what is accepted is what encoding/json makes of it.
func FuzzReadFrame(f *testing.F) {
	for _, s := range []string{
		`{"id":1,"tool":"x","args":{}}`, `{"id":9007199254740992,"tool":"","args":null,"line":3}`, `{"cancel":4}`, `{}`, `[]`, ``,
		`{"id":1,"tool":"\u0000\"","args":{"a":"\\\"}]","b":[{"c":1e9}]},"more":true}`, `{"id":1,"tool":"x","args":{"a":]}}`, `{"id" :1 , "tool": "x"}`,
	} {
		f.Add(message(s))
	}
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bytes.NewReader(data)
		for {
			frame, err := ReadFrame(r, 1<<16)
			if err != nil {
				return
			}
			req, err := ParseRequest(frame)
			if err != nil {
				continue
			}
			if req.ID > maxID || req.Line < 0 || req.ID == 0 && req.Cancel == 0 {
				t.Fatalf("%q gives %+v", frame, req)
			}
			var w struct {
				ID   uint64          `json:"id"`
				Tool string          `json:"tool"`
				Args json.RawMessage `json:"args"`
			}
			if !json.Valid(frame) || req.Cancel != 0 {
				continue // the arguments are the door's to check
			}
			var exact map[string]json.RawMessage // names of members in another case are not ours
			if json.Unmarshal(frame, &exact) != nil || json.Unmarshal(exact["id"], &w.ID) != nil || json.Unmarshal(exact["tool"], &w.Tool) != nil {
				t.Fatalf("%q was accepted", frame)
			}
			if w.ID != req.ID || w.Tool != req.Tool || req.Args != nil && !bytes.Equal(bytes.TrimSpace(exact["args"]), req.Args) {
				t.Fatalf("%q gives %+v", frame, req)
			}
		}
	})
}

func BenchmarkParseRequest(b *testing.B) {
	body := []byte(`{"id":1,"tool":"x","args":{"content":"` + strings.Repeat(`some text\n`, 2<<20) + `"}}`)
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if _, err := ParseRequest(body); err != nil {
			b.Fatal(err)
		}
	}
}

func TestServer_LongRequestsAreHeldWithinBounds(t *testing.T) { // XR-7
	s := start(t, echo, Options{MaxMessage: 1 << 20})
	var halves []*client
	for range bulkMessages {
		c := dial(t, s, s.Token())
		c.Write(binary.BigEndian.AppendUint32(nil, 1<<20)) //nolint:errcheck // the body never comes
		halves = append(halves, c)
	}
	long, small := dial(t, s, s.Token()), dial(t, s, s.Token())
	args := fmt.Sprintf(`{"a":%q}`, strings.Repeat("x", 900_000))
	go long.send(`{"id":1,"tool":"x","args":` + args + `}`)
	small.send(`{"id":1,"tool":"x","args":{}}`)
	small.receive()
	for s.bulk.TryAcquire(1) { // until the half requests are held
		s.bulk.Release(1)
		time.Sleep(time.Millisecond)
	}
	for _, c := range halves {
		c.Close()
	}
	if got := long.receive(); got != `{"id":1,"result":`+args+`}` {
		t.Errorf("got %.60s", got)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := s.bulk.Acquire(ctx, bulkMessages<<20); err != nil {
		t.Errorf("something is still held: %v", err)
	}
}

func TestServer_BadConnectionsDoNotFillTheLog(t *testing.T) { // XR-2
	var log bytes.Buffer
	s := start(t, echo, Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	for range 3 * faultsLogged {
		dial(t, s, "wrong").closed()
	}
	s.Close()
	if n := strings.Count(log.String(), "\n"); n != faultsLogged+1 || strings.Contains(log.String(), s.Token()) {
		t.Errorf("%d lines:\n%s", n, log.String())
	}
}
