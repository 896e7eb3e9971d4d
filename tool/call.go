package tool

import (
	"context"
	"encoding/json"
	"reflect"
	"time"

	"github.com/hermes-runtime/hermes/channel"
	"github.com/hermes-runtime/hermes/environment"
)

// Caller says who asked for a call.
type Caller string

// The callers.
const (
	CallerModel  Caller = "model"
	CallerScript Caller = "script"
	CallerAPI    Caller = "api" // Go code that embeds the runtime
	CallerCLI    Caller = "cli"
	CallerMCP    Caller = "mcp"
	CallerPlugin Caller = "plugin"
)

// Call is one call of a tool. A handler must not keep it, nor change it.
type Call struct {
	ID       string
	Parent   string // id of the call that this one is made in
	Session  string // one conversation
	Task     string // the work of one agent in it
	Turn     string
	Number   uint64 // among the task's calls, from 1, in the order in which they were made; 0 = nobody counts
	UserTask string // the user's present request, "" where there is none
	Caller   Caller
	Name     string          // the tool, as registered
	Raw      json.RawMessage // arguments as they came
	Args     json.RawMessage // arguments as they passed validation: always an object
	// Object is Args as the door has decoded it: string, json.Number, bool, nil, []any, map[string]any. Read only. It spares a tool
	// with long strings the decoding; nil where a call didn't come through the door.
	Object   map[string]any
	Approval *Approval // what the door's approval decided; nil = nothing was asked
	Host     Host      // the session's services; never nil in a handler
}

// Host is what a call may ask of the runtime. It is safe for concurrent use and valid until the call ends.
type Host interface {
	Services
	// Place is the task's environment, made at the first use.
	Place(ctx context.Context) (environment.Place, error)
	// Dir is the directory that relative paths of this call start from, without making an environment. It is "" if only the
	// environment knows.
	Dir() string
	// Ask puts a question to the session's person. Fails where nobody can answer.
	Ask(ctx context.Context, q channel.Question) (channel.Answer, error)
	// Approve judges an act that shows itself only while the call runs. An error means that it must not be done.
	Approve(ctx context.Context, a Action) (Approval, error)
	// Progress reports how far the call is; total 0 = unknown. It never blocks.
	Progress(done, total float64, message string)
	// Invoke makes a call of another tool through the one door, as a child of this call.
	Invoke(ctx context.Context, r Request) Result
	// Spill opens the file that takes what doesn't fit into the result of this call. Path is what read_file takes.
	Spill(ctx context.Context) (SpillFile, error)
}

// Services gives access to what the runtime holds, by type; use Service or Lookup.
type Services interface {
	Service(t reflect.Type) any
	Getenv(name string) string
}

// Service finds a service of the runtime by its type, or by an interface that the tool declares.
func Service[T any](c *Call) (T, bool) { return Lookup[T](c.Host) }

// Lookup is Service for code that has no call: a Check, an Adapter.
func Lookup[T any](s Services) (T, bool) {
	if s == nil {
		var none T
		return none, false
	}
	v, ok := s.Service(reflect.TypeFor[T]()).(T)
	return v, ok
}

// SpillFile takes what is too long for a result.
type SpillFile interface {
	Write(p []byte) (int, error)
	Close() error
	Path() string
}

// Request is a call as a caller makes it.
type Request struct {
	ID        string // "" = the runtime makes one
	Name      string
	Arguments json.RawMessage // JSON text of an object, or a JSON string that holds one; not to be changed any more
	UserTask  string
	Timeout   time.Duration // 0 = the tool's
	Cut       bool          // the response that held the call ended at its length limit: arguments that end early were cut off
	// Unbounded leaves out what serves a model's context: result budgets, spilling. For callers that are programs.
	Unbounded bool
}

// Status says how a call ended.
type Status string

// The statuses.
const (
	StatusOK        Status = "ok"
	StatusError     Status = "error"
	StatusBlocked   Status = "blocked" // by a hook, a guard, the session's scope
	StatusDenied    Status = "denied"  // nobody consented
	StatusCancelled Status = "cancelled"
	StatusTimeout   Status = "timeout"
)

// ErrorType says why a call did not end well.
type ErrorType string

// The error types.
const (
	ErrTypeTool             ErrorType = "tool_error"
	ErrTypeUnknownTool      ErrorType = "unknown_tool"
	ErrTypeScope            ErrorType = "tool_scope_block"
	ErrTypeInvalidJSON      ErrorType = "invalid_json"
	ErrTypeInvalidArguments ErrorType = "invalid_arguments"
	ErrTypePluginBlock      ErrorType = "plugin_block"
	ErrTypeGuardrailBlock   ErrorType = "guardrail_block"
	ErrTypeApprovalDenied   ErrorType = "approval_denied"
	ErrTypeTimeout          ErrorType = "timeout"
	ErrTypeInterrupted      ErrorType = "interrupted"
	ErrTypePanic            ErrorType = "panic"
	ErrTypeInternal         ErrorType = "internal"
)

// Result is the one answer to a call.
type Result struct {
	ID      string
	Name    string // final name of the tool
	JSON    string // one well-formed JSON text: what a model reads
	Status  Status
	Type    ErrorType // "" when Status is ok
	Err     error     // for Go callers; nil when Status is ok
	Repairs []string  // what was mended in name and arguments
	Spill   *Spill
	// Untrusted says that the text was written by outsiders: the tool declares so.
	Untrusted bool
	Duration  time.Duration // of the handler
}

// Spill tells where the whole of a result is that was too long.
type Spill struct {
	Path  string `json:"path"`
	Chars int    `json:"chars"`
	Lines int    `json:"lines"`
	Field string `json:"field,omitempty"`
}

// Approval is what became of a question about an act.
type Approval struct {
	RequestID string   `json:"request_id,omitempty"`
	Outcome   string   `json:"outcome"` // approved, denied, timeout, cancelled, expired, unattended, policy, floor, undeliverable
	Who       string   `json:"who,omitempty"`
	Keys      []string `json:"keys,omitempty"`
	IDs       []string `json:"ids,omitempty"`
	// Text is what the model is told when the act was not allowed.
	Text string `json:"-"`
	// Asked is true if a person, or a model in their place, was asked.
	Asked bool `json:"-"`
	// Waited is how long that took; it counts against no timeout.
	Waited time.Duration `json:"-"`
}

// Interruption is the cause of a context that ended because the work is no longer wanted. Its value is the cause by name.
type Interruption string

// The causes.
const (
	NewMessage Interruption = "new_message" // the user sent a new message
	Stop       Interruption = "stop"        // Ctrl-C, a stop command, the API
	SessionEnd Interruption = "session_end"
	ParentEnd  Interruption = "parent" // the call that this one is made in ended
	Budget     Interruption = "budget"
	Shutdown   Interruption = "shutdown"
)

// Error names the cause.
func (i Interruption) Error() string { return "interrupted: " + string(i) }
