package providertest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/hermes-runtime/hermes/internal/leaktest"
	"github.com/hermes-runtime/hermes/provider"
)

// Subject is a provider that is held to the contract, with the server that stands for its API.
type Subject struct {
	Server func(testing.TB, Answer) *Server
	New    func(provider.Options) (provider.Model, error)
	Tools  string // two definitions, f and g, in its dialect
}

// Heard is a reply put together from its events.
type Heard struct {
	Text, Reasoning string
	Calls           []provider.Call
	Usage           *provider.Usage
	End             provider.End
	Opaque          *provider.Opaque
	Pieces          int // of text
}

// Message is what a history keeps of the reply.
func (h Heard) Message() provider.Message {
	return provider.Message{Role: provider.Assistant, Text: h.Text, Calls: h.Calls, Reasoning: h.Reasoning, Opaque: h.Opaque}
}

// Hear makes a request and hears its reply to the end. What was received before an error is returned beside it. Events that break the
// contract are errors.
func Hear(ctx context.Context, m provider.Model, r provider.Request) (Heard, error) {
	var h Heard
	for ev, err := range m.Stream(ctx, r) {
		if err != nil {
			return h, err
		}
		if h.End != "" {
			return h, fmt.Errorf("an event %q follows the end", ev.Kind)
		}
		switch ev.Kind {
		case provider.KindText:
			h.Text += ev.Text
			h.Pieces++
		case provider.KindReasoning:
			h.Reasoning += ev.Text
		case provider.KindCall:
			h.Calls = append(h.Calls, *ev.Call)
		case provider.KindUsage:
			h.Usage = ev.Usage
		case provider.KindEnd:
			h.End, h.Opaque = ev.End, ev.Opaque
		}
	}
	if h.End == "" {
		return h, errors.New("the events end without an end")
	}
	return h, nil
}

// plantedKey must appear nowhere.
const plantedKey = "sk-planted-0123456789abcdef"

// start makes a model that talks to a server with the answer.
func (s Subject) start(t *testing.T, a Answer, o provider.Options) (*Server, provider.Model) {
	t.Helper()
	server := s.Server(t, a)
	server.Key = plantedKey
	o.Model, o.BaseURL, o.Key = "test-model", server.URL(), plantedKey
	m, err := s.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return server, m
}

func ask(text string) provider.Request {
	return provider.Request{System: "Be brief.", Messages: []provider.Message{{Role: provider.User, Text: text}}}
}

// Run holds a provider to the contract.
func Run(t *testing.T, s Subject) {
	t.Run("replies", s.replies)
	t.Run("faults", s.faults)
	t.Run("histories", s.histories)
	t.Run("cancelling", s.cancelling)
	t.Run("requests", s.requests)
	t.Run("errors", s.errors)
}

// sample has characters of one to four bytes, so that pieces split them.
const sample = "Grüße, 世界! 🙂 <b>&amp;</b>\n\n data: [DONE]\n"

// samples are replies that come out as they are told.
var samples = map[string]Reply{
	"text":           {Text: sample},
	"reasoning":      {Reasoning: "Let me see. é", Text: "Seen."},
	"call":           {Text: "I look.", Calls: []provider.Call{{ID: "c1", Name: "f", Arguments: `{"path":"a/ü.txt","n":1}`}}},
	"parallel calls": {Calls: []provider.Call{{ID: "c1", Name: "f", Arguments: `{"a":"x"}`}, {ID: "c2", Name: "g", Arguments: `{}`}, {ID: "c3", Name: "f", Arguments: `{"a":"y"}`}}},
	"large call":     {Calls: []provider.Call{{ID: "c1", Name: "f", Arguments: `{"text":"` + strings.Repeat("0123456789", 100_000) + `"}`}}},
	"length":         {Text: "And then", End: provider.EndLength},
	"refusal":        {Text: "I can't", End: provider.EndRefused},
	"usage":          {Text: "x", Usage: provider.Usage{Input: 1000, Output: 20, Cached: 900}},
}

// PRV-1, PRV-6: streamed or whole, in odd pieces, with what servers do to streams: the same events.
func (s Subject) replies(t *testing.T) {
	for name, reply := range samples {
		faults := []Fault{"", Whole, CRLF, Unmarked, Trailing, Comments, NoUsage}
		if len(reply.Calls) == 1 && len(reply.Calls[0].Arguments) > 1<<16 { // it is about size
			faults = faults[:2]
		}
		for _, f := range faults {
			t.Run(name+"/"+string(f), func(t *testing.T) {
				reply.Fault = f
				_, m := s.start(t, Script(t, reply), provider.Options{})
				got, err := Hear(t.Context(), m, ask("hello"))
				if err != nil {
					t.Fatal(err)
				}
				want := Heard{Text: reply.Text, Reasoning: reply.Reasoning, Calls: reply.Calls, End: reply.End, Opaque: got.Opaque, Pieces: got.Pieces}
				if want.End == "" {
					want.End = provider.EndStop
				}
				if u := reply.usage(); f != NoUsage {
					want.Usage = &u
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

// What was received of a reply that fails.
const (
	some   = "text"
	none   = "nothing"
	either = "" // a machine under load may pass the bound before the first byte is there
)

// PRV-2, PRV-4: what breaks ends with an error of its kind; text that came is there, calls that weren't complete are not.
func (s Subject) faults(t *testing.T) {
	half := Reply{Text: strings.Repeat("word ", 10), Calls: []provider.Call{{ID: "c1", Name: "f", Arguments: `{"a":"` + strings.Repeat("x", 60) + `"}`}}}
	const soon = 80 * time.Millisecond
	for _, c := range []struct {
		fault    Fault
		bounds   provider.Bounds
		kind     provider.ErrorKind
		received string
	}{
		{Cut, provider.Bounds{}, provider.ErrNetwork, some},
		{Garbage, provider.Bounds{}, provider.ErrProtocol, some},
		{InStream, provider.Bounds{}, provider.ErrOverloaded, some},
		{With200, provider.Bounds{}, provider.ErrOverloaded, none},
		{Fallen, provider.Bounds{Idle: soon}, provider.ErrNetwork, either},
		{KeepAlives, provider.Bounds{Stall: soon}, provider.ErrNetwork, either},
		{Silence, provider.Bounds{FirstEvent: soon}, provider.ErrNetwork, none},
		{Mute, provider.Bounds{FirstEvent: soon}, provider.ErrNetwork, none},
	} {
		t.Run(string(c.fault), func(t *testing.T) {
			reply := half
			reply.Fault = c.fault
			_, m := s.start(t, Script(t, reply), provider.Options{Bounds: c.bounds})
			got, err := Hear(t.Context(), m, ask("hello"))
			var e *provider.Error
			if !errors.As(err, &e) || e.Kind != c.kind || e.Model != "test-model" {
				t.Fatalf("%v, want %s", err, c.kind)
			}
			if c.received != either && (c.received == none) != (got.Text == "") || len(got.Calls) > 0 || got.End != "" {
				t.Errorf("received before the error: %+v", got)
			}
		})
	}
}

// LOOP-2, PRV-12: histories as conversations have them are valid for the API, and reach it as they are.
func (s Subject) histories(t *testing.T) {
	first := Reply{Reasoning: "Two at once: <a> & b.", Text: "I look.", Calls: []provider.Call{{ID: "c1", Name: "f", Arguments: `{"a":"<x>"}`}, {ID: "c2", Name: "g", Arguments: `{}`}}}
	server, m := s.start(t, Script(t, first, Reply{Text: "Done."}, Reply{Text: "Again."}), provider.Options{})
	r := ask("look")
	r.Tools = s.Tools
	h, err := Hear(t.Context(), m, r)
	if err != nil {
		t.Fatal(err)
	}
	// it goes through the store before it goes back
	stored, err := json.Marshal(h.Message())
	if err != nil {
		t.Fatal(err)
	}
	var message provider.Message
	if err := json.Unmarshal(stored, &message); err != nil {
		t.Fatal(err)
	}
	r.Messages = append(
		r.Messages, message, provider.Message{Role: provider.Tool, CallID: "c1", Name: "f", Text: "one"},
		provider.Message{Role: provider.Tool, CallID: "c2", Name: "g", Text: "two", Failed: true},
		provider.Message{Role: provider.User, Text: "and hurry"},
	)
	if h, err = Hear(t.Context(), m, r); err != nil {
		t.Fatal(err)
	}
	// ids of local servers repeat, and come in all characters
	r.Messages = append(
		r.Messages, h.Message(), provider.Message{Role: provider.User, Text: "more"},
		provider.Message{Role: provider.Assistant, Calls: []provider.Call{{ID: "c1", Name: "f", Arguments: `{}`}, {ID: "c:ü|" + strings.Repeat("9", 90), Name: "f", Arguments: `{}`}}},
		provider.Message{Role: provider.Tool, CallID: "c1", Name: "f", Text: "three"},
		provider.Message{Role: provider.Tool, CallID: "c:ü|" + strings.Repeat("9", 90), Name: "f", Text: "four"},
		provider.Message{Role: provider.User, Text: "a"}, provider.Message{Role: provider.User, Text: "b"},
	)
	if _, err := Hear(t.Context(), m, r); err != nil {
		t.Fatal(err)
	}
	var results []string
	seen := server.Requests()
	for _, msg := range seen[len(seen)-1].Messages {
		if msg.Role == provider.Tool {
			results = append(results, msg.Text)
		}
	}
	if diff := cmp.Diff([]string{"one", "two", "three", "four"}, results); diff != "" {
		t.Error(diff)
	}
	if sys := seen[0].System; sys != "Be brief." {
		t.Errorf("system: %q", sys)
	}
}

// PRV-5: who cancels or leaves closes the connection, at whatever point, and no goroutine stays.
func (s Subject) cancelling(t *testing.T) {
	cause := errors.New("the user has something to say")
	t.Run("waiting", func(t *testing.T) {
		defer leaktest.None(t, goleak.IgnoreCurrent())
		arrived := make(chan struct{}, 1)
		server, m := s.start(t, func(Seen) Reply { arrived <- struct{}{}; return Reply{Fault: Silence} }, provider.Options{})
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		go func() { <-arrived; cancel(cause) }()
		if _, err := Hear(ctx, m, ask("hello")); !errors.Is(err, cause) {
			t.Errorf("%v, want the cause", err)
		}
		server.gone(t)
	})
	t.Run("streaming", func(t *testing.T) {
		defer leaktest.None(t, goleak.IgnoreCurrent())
		server, m := s.start(t, Script(t, Reply{Text: sample, Fault: Fallen}), provider.Options{})
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		var last error
		for ev, err := range m.Stream(ctx, ask("hello")) {
			if last = err; ev.Kind == provider.KindText {
				cancel(cause)
			}
		}
		if !errors.Is(last, cause) {
			t.Errorf("%v, want the cause", last)
		}
		server.gone(t)
	})
	t.Run("leaving", func(t *testing.T) {
		defer leaktest.None(t, goleak.IgnoreCurrent())
		server, m := s.start(t, Script(t, Reply{Text: sample, Fault: Fallen}), provider.Options{})
		for range m.Stream(t.Context(), ask("hello")) {
			break
		}
		server.gone(t)
	})
}

// PRV-8: no tools, no field; extra fields are the configuration's; the limit of a reply gets there.
func (s Subject) requests(t *testing.T) {
	server, m := s.start(t, func(Seen) Reply { return Reply{Text: "x"} }, provider.Options{MaxTokens: 300, ExtraBody: map[string]any{"temperature": 0.5}})
	r := ask("hello")
	for _, tools := range []string{"", "[]", s.Tools} {
		r.Tools = tools
		if _, err := Hear(t.Context(), m, r); err != nil {
			t.Fatal(err)
		}
	}
	r.MaxTokens = 400
	if _, err := Hear(t.Context(), m, r); err != nil {
		t.Fatal(err)
	}
	seen := server.Requests()
	for i, want := range []int{0, 0, 2, 2} {
		if len(seen[i].Tools) != want || !strings.Contains(string(seen[i].Body), `"temperature":0.5`) {
			t.Errorf("request %d: %s", i, seen[i].Body)
		}
	}
	if seen[0].MaxTokens != 300 || seen[3].MaxTokens != 400 {
		t.Errorf("limits: %d, %d", seen[0].MaxTokens, seen[3].MaxTokens)
	}
}

// PRV-2, PRV-10: errors say their kind, and no key whatever the server says.
func (s Subject) errors(t *testing.T) {
	for _, c := range []struct {
		reply Reply
		want  provider.Error
	}{
		{Reply{Status: 401, Kind: "authentication_error", Message: "invalid key " + plantedKey}, provider.Error{Kind: provider.ErrAuth}},
		{Reply{Status: 403, Kind: "permission_error"}, provider.Error{Kind: provider.ErrAuth}},
		{Reply{Status: 404, Kind: "not_found_error", Message: "model: test-model"}, provider.Error{Kind: provider.ErrSchema}},
		{Reply{Status: 400, Kind: "invalid_request_error", Message: "bad field"}, provider.Error{Kind: provider.ErrSchema}},
		{Reply{Status: 400, Kind: "invalid_request_error", Message: "prompt is too long: 201234 tokens > 200000 maximum"}, provider.Error{Kind: provider.ErrContext, Limit: 200000}},
		{Reply{Status: 429, Kind: "rate_limit_error", RetryAfter: "7"}, provider.Error{Kind: provider.ErrRateLimit, RetryAfter: 7 * time.Second}},
		{Reply{Status: 500, Kind: "api_error"}, provider.Error{Kind: provider.ErrOverloaded}},
		{Reply{Status: 529, Kind: "overloaded_error"}, provider.Error{Kind: provider.ErrOverloaded}},
		{Reply{Status: http.StatusFound}, provider.Error{Kind: provider.ErrProtocol}},
	} {
		t.Run(fmt.Sprint(c.reply.Status, " ", c.want.Kind), func(t *testing.T) {
			_, m := s.start(t, Script(t, c.reply), provider.Options{})
			_, err := Hear(t.Context(), m, ask("hello"))
			var e *provider.Error
			if !errors.As(err, &e) {
				t.Fatal(err)
			}
			got := provider.Error{Kind: e.Kind, RetryAfter: e.RetryAfter, Limit: e.Limit}
			if got != c.want || e.Status != c.reply.Status || e.Provider == "" || e.Model != "test-model" {
				t.Errorf("%+v, want %+v", e, c.want)
			}
			if text := fmt.Sprintf("%v %+v", err, *e); strings.Contains(text, plantedKey) {
				t.Errorf("the key is told: %s", text)
			}
		})
	}
}
