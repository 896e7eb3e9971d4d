package tooltest

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/tool"
)

// parameters: each declared parameter changes what comes of a call (ARG-9).
func (s *suite) parameters(t *testing.T) {
	for name, e := range s.Parameters {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			without, with := s.outcome(t, e, e.Without), s.outcome(t, e, e.With)
			if without == with {
				t.Errorf("it makes no difference: %s and %s give\n%s", short(e.Without), short(e.With), short(with))
			}
		})
	}
}

// passing are members of a result that differ from call to call by themselves.
var passing = []string{"duration_seconds", "uptime_seconds", "request_id", "pid", "approval_wait_seconds"}

// outcome makes a call in a world of its own and tells what came of it.
func (s *suite) outcome(t *testing.T, e Effect, arguments string) string {
	t.Helper()
	b := s.open(t)
	if e.Before != nil {
		e.Before(t, b)
	}
	names := []string{"$DIR", b.Dir, "$HOME", b.Home}
	for name, value := range b.Vars {
		names = append(names, "$"+name, value)
	}
	places := strings.NewReplacer(names...)
	r := s.call(t, b, places.Replace(arguments))
	var answer any
	if err := json.Unmarshal([]byte(r.JSON), &answer); err != nil {
		return r.JSON
	}
	strip(answer)
	text, err := json.Marshal(answer)
	if err != nil {
		t.Fatal(err)
	}
	out := strings.NewReplacer(b.Dir, "$DIR", b.Home, "$HOME").Replace(string(text)) + " " + string(r.Status)
	if e.After != nil {
		out = e.After(t, b) + " " + string(r.Status)
	}
	return out
}

func strip(v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range passing {
			delete(v, k)
		}
		for _, m := range v {
			strip(m)
		}
	case []any:
		for _, m := range v {
			strip(m)
		}
	}
}

// hostile are values that no caller in their right mind sends. None of them names anything that could be harmed.
var hostile = []any{
	nil, true, -1, 0, 1e300, 9007199254740993, "", " ", "\x00", "a\x00b", "\xff\xfe", "\u202e\u2066", "a\nb\r\x1b[31m", "%s%n%d", "*", "-", "--help",
	"'", "\"", "$(", "`", "\\", "{", "~nobody-of-this-name/x", "no/such/directory/x", strings.Repeat("x", 5000), strings.Repeat("../", 3000) + "no-such-file",
	[]any{}, []any{"a"}, map[string]any{}, map[string]any{"a": map[string]any{"b": nil}},
}

// whole are arguments as a whole that no tool takes, or that it takes for none.
var whole = []string{
	"", " ", "null", "{}", "[]", "1", `"text"`, `"{}"`, "{", "}", `{"`, `{"a":}`, "\x00", "\xff", "{}{}", "```json\n{}\n```", `{"a":1,"a":2}`,
	strings.Repeat(`{"a":`, 5000) + "1" + strings.Repeat("}", 5000), strings.Repeat("[", 100000),
}

// arguments: whatever comes in, the answer is sound; what isn't declared is refused by name.
func (s *suite) arguments(t *testing.T) {
	t.Parallel()
	b := s.open(t)
	var base map[string]any
	if err := json.Unmarshal([]byte(s.Example), &base); err != nil {
		t.Fatalf("the example: %v", err)
	}
	for _, text := range whole {
		s.call(t, b, text)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Parameters)) {
		for _, v := range hostile {
			with := maps.Clone(base)
			with[name] = v
			text, err := json.Marshal(with)
			if err != nil {
				t.Fatal(err)
			}
			s.call(t, b, string(text))
		}
	}
	const unknown = "no_parameter_of_this_name"
	with := maps.Clone(base)
	with[unknown] = 1
	text, _ := json.Marshal(with)
	if r := s.call(t, b, string(text)); r.Type != tool.ErrTypeInvalidArguments || !strings.Contains(r.JSON, unknown) { // ARG-7, ARG-8
		t.Errorf("an unknown parameter: %s, %s", r.Type, short(r.JSON))
	}
}

// cancellation: a call that is no longer wanted ends.
func (s *suite) cancellation(t *testing.T) {
	t.Run("before", func(t *testing.T) {
		t.Parallel()
		b := s.open(t)
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(tool.Stop)
		s.cancelled(ctx, t, b, s.Example)
	})
	if s.Lasting == "" {
		return
	}
	t.Run("during", func(t *testing.T) {
		t.Parallel()
		b := s.open(t)
		ctx, cancel := context.WithCancelCause(t.Context())
		defer time.AfterFunc(300*time.Millisecond, func() { cancel(tool.NewMessage) }).Stop()
		s.cancelled(ctx, t, b, s.Lasting)
		if r := s.call(t, b, s.Example); r.Status != tool.StatusOK {
			t.Errorf("the next call: %s", short(r.JSON))
		}
	})
	t.Run("timeout", func(t *testing.T) {
		t.Parallel()
		b := s.open(t)
		s.soon(t, tool.StatusTimeout, func() tool.Result {
			return b.Call(t.Context(), tool.Request{Name: s.spec.Name, Arguments: json.RawMessage(s.Lasting), Timeout: 300 * time.Millisecond})
		})
	})
}

func (s *suite) cancelled(ctx context.Context, t *testing.T, b Bench, arguments string) {
	t.Helper()
	s.soon(t, tool.StatusCancelled, func() tool.Result {
		return b.Call(ctx, tool.Request{Name: s.spec.Name, Arguments: json.RawMessage(arguments)})
	})
}

// soon holds a call to the grace, and what a busy machine takes.
func (s *suite) soon(t *testing.T, want tool.Status, call func() tool.Result) {
	t.Helper()
	got := make(chan tool.Result, 1)
	go func() { got <- call() }()
	select {
	case r := <-got:
		s.sound(t, r, fmt.Sprintf("a call that ends as %s", want))
		if r.Status != want {
			t.Errorf("%s, not %s: %s", r.Status, want, short(r.JSON))
		}
	case <-time.After(s.Grace + 10*time.Second):
		t.Errorf("still running %v after its end", s.Grace+10*time.Second)
		<-got
	}
}
