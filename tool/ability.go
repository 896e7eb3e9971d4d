package tool

import (
	"context"
	"reflect"
)

// Optional abilities: a tool has one if it, or a tool that it wraps, implements the interface. Find them with As.

// Typed is a tool whose parameters can be inferred from a struct.
type Typed interface {
	ArgsType() reflect.Type
}

// Adapter gives a definition its last touch, knowing what is on offer beside it. If it fails the definition stays as it was.
type Adapter interface {
	Adapt(ctx context.Context, a Adaptation) (Definition, error)
}

// Adaptation is what an Adapter works on.
type Adaptation struct {
	Definition Definition // a copy: change it at will
	Offered    []string   // names of all tools that passed, sorted
	Services   Services
}

// Definition is a tool as a model sees it.
type Definition struct {
	Name        string
	Description string
	Parameters  map[string]any // JSON Schema
}

// Risky is a tool some of whose calls a person may have to approve. Risks is asked before anything is made for the call. An error
// refuses the call: a Refusal with a result of its own, any other as a failure of the tool.
type Risky interface {
	Risks(ctx context.Context, c *Call) ([]Action, error)
}

// AgentLevel is a tool that needs the agent's own state. RunAgent is the run; Run is the stub that answers where no agent is.
type AgentLevel interface {
	RunAgent(ctx context.Context, c *Call) (any, error)
}

// Scoper names the paths that a call touches. An error makes the call exclusive.
type Scoper interface {
	Scope(ctx context.Context, c *Call) ([]Access, error)
}

// Access is one path that a call reads or writes, as the call gives it: relative to the session's directory, ~ not expanded.
type Access struct {
	Path  string
	Write bool
}

// Shaper names members that every answer of the tool has. They are added to an answer that the door gives in its place, unless
// it has them.
type Shaper interface {
	Shape(c *Call, s Status) map[string]any
}

// Source is a set of tools that come and go: an MCP server, a plugin. It calls apply with every change, and returns when ctx ends.
type Source interface {
	Watch(ctx context.Context, apply func(add []Tool, remove []string)) error
}

// Unwrapper is a tool around another.
type Unwrapper interface {
	Unwrap() Tool
}

// As finds an ability of t or of what it wraps.
func As[T any](t Tool) (T, bool) {
	for t != nil {
		if a, ok := t.(T); ok {
			return a, true
		}
		w, ok := t.(Unwrapper)
		if !ok {
			break
		}
		t = w.Unwrap()
	}
	var none T
	return none, false
}

// Action is one act that approval judges.
type Action struct {
	Kind ActionKind
	Text string // the command, the program text, the path
	Dir  string // where a command starts, as the call gives it; "" = the session's directory
	// Description says in one line what the act is, where Text doesn't.
	Description string
}

// ActionKind says how an action's text is read.
type ActionKind string

// The kinds of action.
const (
	ActionCommand ActionKind = "command" // for the shell
	ActionCode    ActionKind = "code"    // Python
	ActionWrite   ActionKind = "write"   // a path that is written, moved or deleted
	ActionPersist ActionKind = "persist" // a command that goes on behind its session; Text is the command
)

// Refusal is an error by which a tool declines a call with a result of its own shape.
type Refusal struct {
	Result any
	Type   ErrorType
}

// Error says that the call was refused.
func (r *Refusal) Error() string { return "the tool refused the call" }

// Validator is a tool that can tell that it was set up wrongly. It is asked once, when a registry takes the tool over; the error is
// the reason why the tool is not there.
type Validator interface {
	Validate() error
}
