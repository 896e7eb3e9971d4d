// Package providertest has servers that stand for models' APIs in tests: they follow the public wire formats to the byte, answer as
// scripted, break in the ways that real ones break, and refuse every request that a real one would refuse.
package providertest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/provider"
)

// Fault is a way in which a reply goes wrong, or isn't as most are.
type Fault string

// The faults. Those of a stream strike after half of its events.
const (
	Whole      Fault = "whole"       // sent in one piece, unstreamed
	CRLF       Fault = "crlf"        // lines end in CR LF
	Unmarked   Fault = "unmarked"    // the end isn't marked
	Trailing   Fault = "trailing"    // something follows the end
	Comments   Fault = "comments"    // keep-alives between all events
	Cut        Fault = "cut"         // the connection breaks
	Silence    Fault = "silence"     // nothing is sent, not even a status
	Mute       Fault = "mute"        // a stream begins and nothing follows, for as long as the client waits
	Fallen     Fault = "fallen"      // silent after half
	KeepAlives Fault = "keep-alives" // nothing but comments after half
	Garbage    Fault = "garbage"     // an event that is no JSON
	InStream   Fault = "in-stream"   // an error object in place of an event
	With200    Fault = "with-200"    // an error object in place of a reply
	NoUsage    Fault = "no-usage"    // it isn't told what was used
)

// Reply is one scripted answer. Its parts are sent in the order of the fields.
type Reply struct {
	Reasoning string
	Text      string
	Calls     []provider.Call // an empty ID is sent as none where the API allows it
	End       provider.End    // "" = EndStop
	Usage     provider.Usage  // zero = 11 in, 7 out
	Fault     Fault
	// Mangle changes the events as they go over the wire, so that a stream holds what no encoder writes; nil = they stay.
	Mangle func(events string) string
	// Status is of an error that is sent instead; Kind its type as the API names it, Message its text.
	Status     int
	Kind       string
	Message    string
	RetryAfter string
	// Hold makes the server wait for it after half of the events, or for the client to leave.
	Hold <-chan struct{}
}

// Seen is a request as it came.
type Seen struct {
	N         int // from 0
	Path      string
	Header    http.Header
	Body      []byte
	Model     string
	System    string
	Messages  []provider.Message
	Tools     []string // their names
	MaxTokens int
}

// Last is the text of the last message of a role; "" = there is none.
func (s Seen) Last(role provider.Role) string {
	for i := len(s.Messages) - 1; i >= 0; i-- {
		if s.Messages[i].Role == role && s.Messages[i].Text != "" {
			return s.Messages[i].Text
		}
	}
	return ""
}

// Answer chooses a reply. It is called by several goroutines if the client makes several requests at once.
type Answer func(Seen) Reply

// Script answers with each reply once, in order of arrival. A request more fails the test.
func Script(t testing.TB, replies ...Reply) Answer {
	var mu sync.Mutex
	next := 0
	return func(s Seen) Reply {
		mu.Lock()
		defer mu.Unlock()
		if next == len(replies) {
			t.Errorf("request %d of a script of %d: %s", s.N, len(replies), s.Body)
			return Reply{Status: http.StatusBadRequest, Message: "the script is over"}
		}
		next++
		return replies[next-1]
	}
}

// Server is the API of one kind at an address of its own. It ends with the test.
type Server struct {
	// Key must come with every request, where it isn't "". Refuse is told of requests that a real API would refuse; nil fails the test.
	// Both are set before the first request.
	Key    string
	Refuse func(problem string)

	t      testing.TB
	api    api
	http   *httptest.Server
	answer Answer
	done   chan struct{}

	serving sync.WaitGroup

	mu   sync.Mutex
	seen []Seen
}

// api is what the servers differ in.
type api interface {
	path() string
	base(url string) string
	key(http.Header) string
	// read takes a request apart and says what a real API would object to.
	read(s *Seen) error
	// frames are the events of a reply, without line ends within; the last marks the end. whole is the same unstreamed.
	frames(r Reply, s Seen) []frame
	whole(r Reply, s Seen) []byte
	fault(r Reply) []byte
}

// frame is one event.
type frame struct{ name, data string }

// OpenAI is a server of the chat completions API.
func OpenAI(t testing.TB, a Answer) *Server { return start(t, chat{}, a) }

// Anthropic is a server of the messages API.
func Anthropic(t testing.TB, a Answer) *Server { return start(t, &messages{}, a) }

func start(t testing.TB, a api, answer Answer) *Server {
	s := &Server{t: t, api: a, answer: answer, done: make(chan struct{})}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(func() {
		close(s.done)
		s.http.CloseClientConnections()
		s.http.Close()
	})
	return s
}

// URL is what model.base_url is set to.
func (s *Server) URL() string { return s.api.base(s.http.URL) }

// Requests are those that have come.
func (s *Server) Requests() []Seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Seen{}, s.seen...)
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.serving.Add(1)
	defer s.serving.Done()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	seen := Seen{Path: r.URL.Path, Header: r.Header, Body: body}
	refusal := s.check(r, &seen)
	s.mu.Lock()
	seen.N = len(s.seen)
	s.seen = append(s.seen, seen)
	s.mu.Unlock()
	if refusal.Status != 0 {
		s.send(w, refusal)
		return
	}
	reply := s.answer(seen)
	switch {
	case reply.Status != 0:
		s.send(w, reply)
	case reply.Fault == Silence:
		s.wait(r, nil)
	case reply.Fault == With200:
		w.Header().Set("Content-Type", "application/json")
		s.write(w, s.api.fault(reply))
	case reply.Fault == Whole:
		w.Header().Set("Content-Type", "application/json")
		s.write(w, s.api.whole(reply, seen))
	default:
		s.stream(w, r, reply, s.api.frames(reply, seen))
	}
}

// check refuses what a real API would.
func (s *Server) check(r *http.Request, seen *Seen) Reply {
	switch {
	case r.Method != http.MethodPost || r.URL.Path != s.api.path():
		return Reply{Status: http.StatusNotFound, Kind: "not_found_error", Message: "no such address: " + r.Method + " " + r.URL.Path}
	case s.Key != "" && s.api.key(r.Header) != s.Key:
		return Reply{Status: http.StatusUnauthorized, Kind: "authentication_error", Message: "invalid key " + s.api.key(r.Header)}
	}
	err := s.api.read(seen)
	if err == nil {
		return Reply{}
	}
	if s.Refuse != nil {
		s.Refuse(err.Error())
	} else {
		s.t.Errorf("a real API would refuse this request: %v\n%s", err, seen.Body)
	}
	return Reply{Status: http.StatusBadRequest, Kind: "invalid_request_error", Message: err.Error()}
}

func (s *Server) send(w http.ResponseWriter, r Reply) {
	w.Header().Set("Content-Type", "application/json")
	if r.RetryAfter != "" {
		w.Header().Set("Retry-After", r.RetryAfter)
	}
	w.WriteHeader(r.Status)
	s.write(w, s.api.fault(r))
}

// wait waits for the client to leave, the test to end, or hold.
func (s *Server) wait(r *http.Request, hold <-chan struct{}) {
	select {
	case <-r.Context().Done():
	case <-s.done:
	case <-hold:
	}
}

// stream sends events, and half of them before a fault.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, reply Reply, frames []frame) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	half := len(frames) / 2
	end := "\n"
	if reply.Fault == CRLF {
		end = "\r\n"
	}
	switch reply.Fault {
	case Mute:
		half = 0
		_ = http.NewResponseController(w).Flush() // the headers; nothing is left to say where it fails
	case Unmarked:
		frames = frames[:len(frames)-1]
	}
	send := func(list []frame) {
		events := render(list, end, reply.Fault)
		if reply.Mangle != nil {
			events = []byte(reply.Mangle(string(events)))
		}
		s.write(w, events)
	}
	send(frames[:half])
	if reply.Hold != nil {
		s.wait(r, reply.Hold)
		if r.Context().Err() != nil {
			return
		}
	}
	switch reply.Fault {
	case Cut:
		panic(http.ErrAbortHandler)
	case Mute, Fallen:
		s.wait(r, nil)
		return
	case KeepAlives:
		s.keepAlive(w, r)
		return
	case Garbage:
		s.write(w, []byte("data: {\"id\": <html>\n\n"))
		return
	case InStream:
		s.write(w, render([]frame{{"error", string(s.api.fault(reply))}}, end, ""))
		return
	}
	send(frames[half:])
	if reply.Fault == Trailing {
		s.write(w, []byte("data: {\"more\n\n: bytes\n\ndata: [DONE]\n\n"))
	}
}

// keepAlive sends comments until the client leaves.
func (s *Server) keepAlive(w http.ResponseWriter, r *http.Request) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-r.Context().Done():
			return
		case <-s.done:
			return
		case <-tick.C:
			s.write(w, []byte(": keep-alive\n\n"))
		}
	}
}

func render(frames []frame, end string, f Fault) []byte {
	var out []byte
	for _, fr := range frames {
		if f == Comments {
			out = append(out, ": keep-alive"+end+end...)
		}
		if fr.name != "" {
			out = append(out, "event: "+fr.name+end...)
		}
		out = append(out, "data: "+fr.data+end+end...)
	}
	return out
}

// write sends bytes in pieces of odd sizes, so that lines, characters and numbers are split across reads.
func (s *Server) write(w http.ResponseWriter, b []byte) {
	sizes := []int{1, 2, 3, 5, 8, 13, 21, 34, 55, 89}
	if len(b) > 8<<10 {
		sizes = []int{1, 4093, 3, 16381}
	}
	flush := http.NewResponseController(w)
	for i := 0; len(b) > 0; i++ {
		n := min(sizes[i%len(sizes)], len(b))
		if _, err := w.Write(b[:n]); err != nil {
			return // the client has left
		}
		_ = flush.Flush() // the same
		b = b[n:]
	}
}

// gone fails the test if requests are still being served: their connections are open. It ends the server.
func (s *Server) gone(t testing.TB) {
	t.Helper()
	idle := make(chan struct{})
	go func() { s.serving.Wait(); close(idle) }()
	select {
	case <-idle:
	case <-time.After(5 * time.Second):
		t.Error("the connection stayed open")
	}
	s.http.CloseClientConnections()
	s.http.Close()
}
