// Package tooltest is the conformance suite: what every tool must do, shown through the door of a real runtime.
package tooltest

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hermes-runtime/hermes/internal/leaktest"
	"github.com/hermes-runtime/hermes/tool"
)

// Bench is a runtime that offers the tool under test and nobody who can be asked. Open makes one for each check: what one call does
// no other sees.
type Bench struct {
	Vars map[string]string // what Before found out: arguments have it as $NAME; nil = nothing can be
	Dir  string            // the session's directory: the suite may write into it
	Home string            // HERMES_HOME
	// Call makes one call through the door.
	Call func(ctx context.Context, r tool.Request) tool.Result
	// Definitions lists what is offered in a dialect, as JSON.
	Definitions func(ctx context.Context, dialect string) (string, error)
	// Close ends the runtime with everything that it started.
	Close func(ctx context.Context) error
}

// Options say what the suite has to know of a tool.
type Options struct {
	Open func(t *testing.T) Bench
	// Dialects are the forms of definitions that must hold: names that Bench.Definitions takes.
	Dialects []Dialect
	// Example is the arguments of a call that ends well.
	Example string
	// Parameters shows for each declared parameter a call in which it matters.
	Parameters map[string]Effect
	// Lasting is the arguments of a call that goes on for a minute; "" = no call of the tool lasts.
	Lasting string
	// Grace is how long the runtime lets a cancelled handler be; 0 = 3 s.
	Grace time.Duration
}

// Dialect is a form of definitions: where a definition has its name, its description and its parameters, as a path of members.
type Dialect struct{ ID, Name, Description, Parameters string }

// Effect is a pair of calls whose outcome differs by one parameter alone. $DIR and $HOME in them stand for the directories of the
// bench.
type Effect struct {
	Without, With string
	// Before makes what the calls work on.
	Before func(t *testing.T, b Bench)
	// After tells what a call did apart from its answer; nil = the answer tells.
	After func(t *testing.T, b Bench) string
}

// callTime bounds a call that should be short.
const callTime = time.Minute

// Run shows that x is a tool. Subtests run side by side.
func Run(t *testing.T, x tool.Tool, o Options) {
	if o.Grace == 0 {
		o.Grace = 3 * time.Second
	}
	before := goleak.IgnoreCurrent()
	t.Run("suite", func(t *testing.T) {
		s := &suite{tool: x, spec: x.Spec(), Options: o}
		t.Run("declaration", s.declaration)
		t.Run("definitions", s.definitions)
		t.Run("example", s.example)
		t.Run("parameters", s.parameters)
		t.Run("arguments", s.arguments)
		t.Run("cancellation", s.cancellation)
	})
	leaktest.None(t, before)
}

type suite struct {
	Options
	tool tool.Tool
	spec tool.Spec
}

// open makes a bench that is closed with the test.
func (s *suite) open(t *testing.T) Bench {
	t.Helper()
	b := s.Open(t)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), callTime)
		defer cancel()
		if err := b.Close(ctx); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return b
}

// call makes a call and holds its result to what every result is.
func (s *suite) call(t *testing.T, b Bench, arguments string) tool.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), callTime)
	defer cancel()
	r := b.Call(ctx, tool.Request{Name: s.spec.Name, Arguments: json.RawMessage(arguments)})
	s.sound(t, r, arguments)
	if ctx.Err() != nil {
		t.Errorf("no answer to %s within %v", short(arguments), callTime)
	}
	return r
}

// sound holds of every answer: it is one JSON text, and its status, its type and its text agree.
func (s *suite) sound(t *testing.T, r tool.Result, arguments string) {
	t.Helper()
	if !json.Valid([]byte(r.JSON)) {
		t.Errorf("the answer to %s is no JSON: %s", short(arguments), short(r.JSON))
	}
	if r.Type == tool.ErrTypePanic || r.Type == tool.ErrTypeInternal || strings.Contains(r.JSON, "goroutine ") {
		t.Errorf("%s ended as %s: %s", short(arguments), r.Type, short(r.JSON))
	}
	if ok := r.Status == tool.StatusOK; ok != (r.Type == "") {
		t.Errorf("%s: status %s with type %q", short(arguments), r.Status, r.Type)
	}
	if r.Status == tool.StatusError && !strings.Contains(r.JSON, `"error":`) {
		t.Errorf("%s: an error without a text: %s", short(arguments), short(r.JSON))
	}
}

func (s *suite) example(t *testing.T) {
	t.Parallel()
	b := s.open(t)
	for range 2 { // a tool keeps nothing of a call that hinders the next
		if r := s.call(t, b, s.Example); r.Status != tool.StatusOK {
			t.Errorf("%s, %s: %s", r.Status, r.Type, short(r.JSON))
		}
	}
}

// short is a text as a failure shows it.
func short(s string) string {
	if len(s) > 400 {
		return s[:300] + "…" + s[len(s)-80:]
	}
	return s
}
