// Package tool is the contract of a tool: what it declares, what it is given when it is called, and what it may do besides.
//
// A tool is one file. It declares itself at start with Register and keeps no state of its own: what it needs for a call comes with
// the Call. See Func for the usual way to write one.
package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"
)

// Spec is what a tool declares.
type Spec struct {
	Name        string // unique, [A-Za-z_][A-Za-z0-9_-]{0,63}
	Toolset     string // the one set that owns it
	Description string // for people; for the model too where Schema has none
	Emoji       string // shown beside the tool; "" = ⚡
	// Schema is an OpenAI function object, or its parameters alone: json.RawMessage, string, map or *jsonschema.Schema. nil: inferred
	// from the argument struct of Func, or an empty object.
	Schema      any
	RequiresEnv []string // variables it needs, for display only
	Check       *Check   // availability; nil = always. Tools that share the pointer share the probe
	Async       bool     // the handler may return an Async whose end is waited for
	Effects     Effects
	MaxResult   int               // characters; 0 = 100 000
	Needs       []Need            // session services without which the tool can't work
	Untrusted   bool              // the result holds text written by outsiders
	Aliases     map[string]string // other spelling of a parameter → declared name
	Timeout     time.Duration     // ceiling for one call; 0 = none, or the tool has a timeout of its own
	Unspilled   bool              // the tool keeps within its budget by itself; its result is never moved to a file, not even where a turn's results are too long together
	Redact      Redaction
}

// Effects says what may run side by side with a call.
type Effects int

// The effects. Exclusive, the zero value, conflicts with everything.
const (
	Exclusive  Effects = iota
	ReadOnly           // conflicts with nothing that only reads
	PathScoped         // conflicts by the paths that its Scoper names
)

// Redaction says how much is taken out of a result before anyone sees it. Values of known secrets always are.
type Redaction int

// The redactions.
const (
	KnownSecrets Redaction = iota // values that the runtime holds
	LooksSecret                   // and what looks like a secret
)

// Need is a service of the session that a tool can't work without.
type Need string

// The needs.
const (
	NeedAsker  Need = "asker" // somebody can answer
	NeedStore  Need = "store"
	NeedVision Need = "vision"
	NeedModel  Need = "model"
)

// Tool is one tool. Run gets arguments that fit the schema; what it returns is encoded as JSON (see Outcome, Async). An error is
// what the model reads as {"error": "Tool execution failed: Type: message"}.
type Tool interface {
	Spec() Spec
	Run(ctx context.Context, c *Call) (any, error)
}

// Check tells whether a tool can be used here and now. The error says why not, in words a user can act on.
type Check struct {
	Name  string
	Probe bool // starts a process or uses the network: its answer is held for a while
	Run   func(ctx context.Context, s Services) error
}

// Function is a tool made by Func. Embed it in a struct to add abilities.
type Function struct {
	spec Spec
	args reflect.Type
	run  func(ctx context.Context, c *Call) (any, error)
}

// Func makes a tool of a function. Its parameters are inferred from the fields of Args unless spec has a Schema; the arguments
// are validated and decoded before run is called.
func Func[Args any](spec Spec, run func(ctx context.Context, c *Call, args Args) (any, error)) *Function {
	f := &Function{spec: spec, args: reflect.TypeFor[Args]()}
	if run == nil {
		return f
	}
	f.run = func(ctx context.Context, c *Call) (any, error) {
		var args Args
		if err := json.Unmarshal(c.Args, &args); err != nil {
			return nil, fmt.Errorf("decode the arguments of %s: %w", spec.Name, err)
		}
		return run(ctx, c, args)
	}
	return f
}

// Spec returns what the tool declares.
func (f *Function) Spec() Spec { return f.spec }

// Validate reports a tool made without a function.
func (f *Function) Validate() error {
	if f.run == nil {
		return errors.New("handler: there is none")
	}
	return nil
}

// Run decodes the arguments and calls the function.
func (f *Function) Run(ctx context.Context, c *Call) (any, error) { return f.run(ctx, c) }

// ArgsType is the struct that parameters are inferred from.
func (f *Function) ArgsType() reflect.Type { return f.args }

// Outcome is what a handler returns when its result is more than a value: a call that ended by a timeout is no error of the tool,
// and no success either.
type Outcome struct {
	Value  any
	Status Status    // "" = by the value
	Type   ErrorType // "" = by the status
}

// Async is what an Async tool's handler may return at once: the call ends when Wait returns.
type Async interface {
	Wait(ctx context.Context) (any, error)
}
