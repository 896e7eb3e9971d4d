// Package hook lets code look at, change or stop what passes through the runtime, at named points, in a fixed order.
package hook

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// SchemaVersion stands in every payload.
const SchemaVersion = "hermes.observer.v1"

// Timeout bounds one run of one hook.
const Timeout = 10 * time.Second

// Call is what every tool hook is told. Missing ids are empty strings.
type Call struct {
	ToolName   string          `json:"tool_name"`
	Args       json.RawMessage `json:"args"`
	TaskID     string          `json:"task_id"`
	SessionID  string          `json:"session_id"`
	ToolCallID string          `json:"tool_call_id"`
	TurnID     string          `json:"turn_id"`
	Version    string          `json:"telemetry_schema_version"`
}

// Done is what the hooks behind a call are told. Result is whole and redacted.
type Done struct {
	Call
	Result       string `json:"result"`
	DurationMS   int64  `json:"duration_ms"`
	Status       string `json:"status"`
	ErrorType    string `json:"error_type"`
	ErrorMessage string `json:"error_message"`
}

// Terminal is what TransformTerminalOutput is told.
type Terminal struct {
	Command    string `json:"command"`
	Output     string `json:"output"`
	ReturnCode int    `json:"returncode"`
	TaskID     string `json:"task_id"`
	EnvType    string `json:"env_type"`
}

// Approval is what the hooks around an approval are told. Choice is empty before the answer.
type Approval struct {
	Command     string   `json:"command"`
	Description string   `json:"description"`
	PatternKey  string   `json:"pattern_key"`
	PatternKeys []string `json:"pattern_keys"`
	SessionKey  string   `json:"session_key"`
	Surface     string   `json:"surface"`
	TurnID      string   `json:"turn_id"`
	ToolCallID  string   `json:"tool_call_id"`
	RequestID   string   `json:"request_id"`
	Choice      string   `json:"choice,omitempty"`
}

// Subagent is what the hooks around a child agent are told. Status, Summary and DurationMS are empty at its start.
type Subagent struct {
	ParentID   string `json:"parent_session_id"`
	ChildID    string `json:"child_session_id"`
	Role       string `json:"role"`
	Goal       string `json:"goal"`
	Status     string `json:"status,omitempty"`
	Summary    string `json:"summary,omitempty"`
	DurationMS int64  `json:"duration_ms,omitempty"`
	Version    string `json:"telemetry_schema_version"`
}

// Action is what a PreToolCall hook wants done.
type Action string

// The actions. NoObjection, the zero value, widens nothing: approval still asks.
const (
	NoObjection Action = ""
	Ask         Action = "ask"
	Block       Action = "block"
)

// Verdict is the answer of a PreToolCall hook.
type Verdict struct {
	Action  Action
	Message string
	Args    json.RawMessage // new arguments, nil = as they are
}

// OnError says what a failing PreToolCall hook means.
type OnError string

// The meanings. Closed, the default of Go hooks, blocks the call.
const (
	Closed OnError = "closed"
	Open   OnError = "open"
)

// Hook is a set of functions, each for one point; nil ones aren't called. Functions may be called from several goroutines at once.
type Hook struct {
	Name    string
	OnError OnError // "" = Closed

	PreToolCall             func(ctx context.Context, c Call) (Verdict, error)
	PostToolCall            func(ctx context.Context, d Done) error
	TransformToolResult     func(ctx context.Context, d Done) (result string, changed bool, err error)
	TransformTerminalOutput func(ctx context.Context, t Terminal) (output string, changed bool, err error)
	PreApprovalRequest      func(ctx context.Context, a Approval) error
	PostApprovalResponse    func(ctx context.Context, a Approval) error
	SubagentStart           func(ctx context.Context, a Subagent) error
	SubagentStop            func(ctx context.Context, a Subagent) error
}

// queueLength is how many events wait for slow observers before the next is dropped and counted.
const queueLength = 1000

// Set is an ordered set of hooks. The zero value has none. It is safe for concurrent use.
type Set struct {
	Log *slog.Logger

	hooks    atomic.Pointer[[]Hook]
	mu       sync.Mutex
	queue    chan func(context.Context)
	worker   sync.WaitGroup
	cancel   context.CancelFunc
	closed   bool
	dropped  atomic.Int64
	reported sync.Map // hook name + point → count of failures
}

// Add puts hooks behind those that are there.
func (s *Set) Add(hooks ...Hook) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := append([]Hook{}, s.list()...)
	for i, h := range hooks {
		if h.Name == "" {
			h.Name = fmt.Sprintf("hook %d", len(all)+i+1)
		}
		all = append(all, h)
	}
	s.hooks.Store(&all)
}

func (s *Set) list() []Hook {
	if p := s.hooks.Load(); p != nil {
		return *p
	}
	return nil
}

// Empty reports whether nobody listens.
func (s *Set) Empty() bool { return len(s.list()) == 0 }

// Dropped is the number of events that slow observers missed.
func (s *Set) Dropped() int64 { return s.dropped.Load() }

// Note is what one hook said, for the audit.
type Note struct {
	Hook    string `json:"hook"`
	Action  string `json:"action,omitempty"`
	Changed bool   `json:"changed,omitempty"`
	Error   string `json:"error,omitempty"`
}

// Decision is what the PreToolCall hooks said together: the strictest verdict, the arguments as the last one left them.
type Decision struct {
	Verdict
	Hook    string // who blocked or asked
	Changed string // who changed the arguments last, "" = nobody
	Notes   []Note
}

// Watch is told which hook is running, so that a caller who can be left behind need not have a goroutine for each. Its owner gives
// a hook that outlives Timeout up together with the call.
type Watch interface {
	Began(hook string)
	Ended()
}

// PreToolCall asks the hooks one after the other; each sees the arguments its predecessors left. The first block ends the row.
// Without w each hook has a goroutine of its own and is given up after Timeout; with it those that block the call when they fail
// run in line.
func (s *Set) PreToolCall(ctx context.Context, c Call, w Watch) Decision {
	d := Decision{}
	c.Version = SchemaVersion
	all := s.list()
	for i := range all {
		h := &all[i]
		if h.PreToolCall == nil {
			continue
		}
		v, err := h.ask(ctx, c, w)
		if err == nil {
			err = checked(v)
		}
		note := Note{Hook: h.Name, Action: string(v.Action), Changed: v.Args != nil}
		if err != nil {
			note.Error = err.Error()
			s.failed(h.Name, "pre_tool_call", err)
			if h.OnError != Open {
				v = Verdict{Action: Block, Message: Failed(h.Name, err)}
			} else {
				v = Verdict{}
			}
		}
		d.Notes = append(d.Notes, note)
		if v.Args != nil && err == nil {
			c.Args, d.Args, d.Changed = v.Args, v.Args, h.Name
		}
		switch {
		case v.Action == Block:
			if v.Message == "" {
				v.Message = fmt.Sprintf("hook %q blocked the call", h.Name)
			}
			d.Action, d.Message, d.Hook = Block, v.Message, h.Name
			return d
		case v.Action == Ask && d.Action == NoObjection:
			d.Action, d.Message, d.Hook = Ask, v.Message, h.Name
		}
	}
	return d
}

func (h *Hook) ask(ctx context.Context, c Call, w Watch) (v Verdict, err error) {
	if w == nil || h.OnError == Open {
		return guard(ctx, func(ctx context.Context) (Verdict, error) { return h.PreToolCall(ctx, c) })
	}
	w.Began(h.Name)
	defer w.Ended()
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return h.PreToolCall(ctx, c)
}

// Failed says in words that a hook failed and what follows.
func Failed(name string, err error) string {
	return fmt.Sprintf("hook %q failed (%v), and a failing hook blocks the call; mend the hook, or let it fail open", name, err)
}

// checked refuses what resembles a verdict and isn't one.
func checked(v Verdict) error {
	switch v.Action {
	case NoObjection, Ask, Block:
	default:
		return fmt.Errorf("unknown action %q", v.Action)
	}
	if v.Args != nil && !json.Valid(v.Args) {
		return fmt.Errorf("its new arguments are no JSON")
	}
	return nil
}

// PostToolCall tells the observers, off the path of the call.
func (s *Set) PostToolCall(d Done) {
	d.Version = SchemaVersion
	for _, h := range s.list() {
		if h.PostToolCall != nil {
			s.observe(h.Name, "post_tool_call", func(ctx context.Context) error { return h.PostToolCall(ctx, d) })
		}
	}
}

// Approval tells the observers of a question, off the path; with a Choice, of its answer.
func (s *Set) Approval(a Approval) {
	for _, h := range s.list() {
		f, point := h.PreApprovalRequest, "pre_approval_request"
		if a.Choice != "" {
			f, point = h.PostApprovalResponse, "post_approval_response"
		}
		if f != nil {
			s.observe(h.Name, point, func(ctx context.Context) error { return f(ctx, a) })
		}
	}
}

// Subagent tells the observers of a child's start, off the path; with a Status, of its end.
func (s *Set) Subagent(a Subagent) {
	a.Version = SchemaVersion
	for _, h := range s.list() {
		f, point := h.SubagentStart, "subagent_start"
		if a.Status != "" {
			f, point = h.SubagentStop, "subagent_stop"
		}
		if f != nil {
			s.observe(h.Name, point, func(ctx context.Context) error { return f(ctx, a) })
		}
	}
}

// TransformToolResult returns what the first hook that changes the result made of it.
func (s *Set) TransformToolResult(ctx context.Context, d Done) (string, bool) {
	d.Version = SchemaVersion
	for _, h := range s.list() {
		if h.TransformToolResult == nil {
			continue
		}
		if out, ok := s.transform(ctx, point{h.Name, "transform_tool_result"}, func(ctx context.Context) (string, bool, error) {
			return h.TransformToolResult(ctx, d)
		}); ok {
			return out, true
		}
	}
	return "", false
}

// TransformTerminalOutput returns what the first hook that changes the output made of it.
func (s *Set) TransformTerminalOutput(ctx context.Context, t Terminal) (string, bool) {
	for _, h := range s.list() {
		if h.TransformTerminalOutput == nil {
			continue
		}
		if out, ok := s.transform(ctx, point{h.Name, "transform_terminal_output"}, func(ctx context.Context) (string, bool, error) {
			return h.TransformTerminalOutput(ctx, t)
		}); ok {
			return out, true
		}
	}
	return "", false
}

// point is one function of one hook.
type point struct{ hook, name string }

// transform asks a function for its text. One that fails changes nothing.
func (s *Set) transform(ctx context.Context, p point, f func(context.Context) (string, bool, error)) (string, bool) {
	type answer struct {
		text    string
		changed bool
	}
	a, err := guard(ctx, func(ctx context.Context) (answer, error) {
		text, changed, err := f(ctx)
		return answer{text, changed}, err
	})
	if err != nil {
		s.failed(p.hook, p.name, err)
		return "", false
	}
	return a.text, a.changed
}

// guard runs a hook with its time limit and turns a panic into an error. A hook that ignores its context is left behind.
func guard[T any](ctx context.Context, f func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	type answer struct {
		v   T
		err error
	}
	done := make(chan answer, 1)
	go func() {
		var a answer
		defer func() {
			if r := recover(); r != nil {
				a.err = fmt.Errorf("panic: %v", r)
			}
			done <- a
		}()
		a.v, a.err = f(ctx)
	}()
	select {
	case a := <-done:
		return a.v, a.err
	case <-ctx.Done():
		select { // an answer that came at the same moment counts
		case a := <-done:
			return a.v, a.err
		default:
		}
		var none T
		return none, fmt.Errorf("no answer: %w", context.Cause(ctx))
	}
}

// failed reports a hook's failure once and counts it after that.
func (s *Set) failed(name, point string, err error) {
	n, _ := s.reported.LoadOrStore(name+" "+point, new(atomic.Int64))
	if n.(*atomic.Int64).Add(1) == 1 && s.Log != nil {
		s.Log.Warn("a hook failed", "hook", name, "point", point, "error", err)
	}
}
