// Package hermes is the tool runtime for LLM agents, as a library: everything between a model's tool call and the JSON string that
// goes back to it.
//
// With a model loop of your own, offer it the definitions and hand on the calls that it answers with:
//
//	rt, err := hermes.New(hermes.Options{}).Open(ctx)
//	defer rt.Close(ctx)
//	session := rt.NewSession(hermes.SessionOptions{Enabled: []string{"terminal"}})
//	definitions, err := session.Definitions(ctx, hermes.OpenAI)
//	results := session.CallBatch(ctx, calls) // results[i].JSON answers calls[i]
//
// Without one, have a conversation:
//
//	c, err := rt.Converse(ctx, hermes.ConversationOptions{Model: "openai/gpt-5"})
//	outcome := c.Turn(ctx, "What is in this directory?")
//
// Which tools, places, models and channels there are is decided by what is linked in. For everything import, with a blank name,
// toolset/all, backend/all and provider/all below github.com/hermes-runtime/hermes, or single packages of them. Call Init first in main.
// The folder examples has whole programs.
package hermes

//go:generate go run ./internal/gen/discover
//go:generate go run ./internal/gen/reference

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"

	"github.com/hermes-runtime/hermes/channel"
	"github.com/hermes-runtime/hermes/internal/hook"
	"github.com/hermes-runtime/hermes/internal/registry/schema"
	"github.com/hermes-runtime/hermes/internal/runtime"
	"github.com/hermes-runtime/hermes/tool"
)

// Options makes a runtime. The zero value works: the process's environment, ~/.hermes, the tools that are linked in, nobody who
// can answer a question.
type Options struct {
	Home       string        // HERMES_HOME; "" = the variable, else ~/.hermes
	ConfigFile string        // "" = config.yaml in Home
	Dir        string        // directory that sessions start in; "" = as configured
	Table      *tool.Table   // built-in tools; nil = those that are linked in
	Tools      []tool.Tool   // tools of your own; they win over built-in ones of the same name
	Hooks      []Hook        // asked in this order
	Asker      channel.Asker // reaches the person who may approve; nil = what needs approval is refused
	Environ    []string      // variables of the host, "name=value"; nil = the process's
	Log        *slog.Logger  // nil = nothing is logged
	Progress   io.Writer     // lines for a person who waits; nil = none
	YesTo      []string      // keys of findings that are approved in advance, in every session
}

// Hooks look at, change or stop what passes through the runtime. A Hook has a name, OnError (what it means if PreToolCall fails:
// Closed, the default, blocks the call, Open lets it pass), and a function for each point that it listens to:
//
//	PreToolCall(ctx, HookCall) (HookVerdict, error)              before a call: may block it, have a person asked, or change its arguments
//	PostToolCall(ctx, HookDone) error                            after it, off its path
//	TransformToolResult(ctx, HookDone) (string, bool, error)     may put another result in place; true = it does
//	TransformTerminalOutput(ctx, HookTerminal) (string, bool, error)
//	PreApprovalRequest, PostApprovalResponse(ctx, HookApproval) error
//	SubagentStart, SubagentStop(ctx, HookSubagent) error
//
// A HookCall has ToolName, Args (JSON), TaskID, SessionID, ToolCallID and TurnID; a HookDone has those and Result, Status,
// DurationMS, ErrorType and ErrorMessage; a HookVerdict has Action (NoObjection, Ask, Block), Message and Args. See the example.
type (
	Hook = hook.Hook
	// HookCall is what PreToolCall is told.
	HookCall = hook.Call
	// HookDone is what the hooks behind a call are told.
	HookDone = hook.Done
	// HookVerdict is what PreToolCall answers.
	HookVerdict = hook.Verdict
	// HookAction is NoObjection, Ask or Block.
	HookAction = hook.Action
	// HookApproval is what the hooks around an approval are told: Command, Description, PatternKeys, SessionKey, Surface, TurnID,
	// ToolCallID, RequestID and, behind it, Choice.
	HookApproval = hook.Approval
	// HookTerminal is what TransformTerminalOutput is told: Command, Output, ReturnCode, TaskID, EnvType.
	HookTerminal = hook.Terminal
	// HookSubagent is what the hooks around a child agent are told: ParentID, ChildID, Role, Goal and, at its end, Status, Summary,
	// DurationMS.
	HookSubagent = hook.Subagent
	// HookErrorMeans is Closed or Open.
	HookErrorMeans = hook.OnError
)

// The actions of a HookVerdict, and what a failing hook means.
const (
	NoObjection = hook.NoObjection
	Ask         = hook.Ask
	Block       = hook.Block
	Closed      = hook.Closed
	Open        = hook.Open
)

// Dialect is the form that definitions take.
type Dialect = schema.Dialect

// The dialects.
const (
	OpenAI    = schema.OpenAI
	Anthropic = schema.Anthropic
	Gemini    = schema.Gemini
	MCP       = schema.MCP
)

// Request says which tools a model is offered.
type Request struct {
	Enabled  []string // toolsets or tools; nil = all, empty = none
	Disabled []string // taken out again
	Dialect  Dialect  // "" = OpenAI
}

// Runtime is a tool runtime. It is safe for concurrent use.
type Runtime struct {
	options Options
	inner   *runtime.Runtime
	session *runtime.Session
}

// errNotOpen is a mistake of the program.
var errNotOpen = errors.New("the runtime isn't open: hermes.New only prepares it, and Open has to come before any other use")

// New prepares a runtime. It reads and starts nothing: Open it before any other use.
func New(o Options) *Runtime { return &Runtime{options: o} }

// Open reads the configuration and builds the runtime. A file that can't be read is an error; a single bad value is a Problem and
// its default holds. It returns its receiver. A runtime is opened once.
func (r *Runtime) Open(ctx context.Context) (*Runtime, error) {
	if r.inner != nil {
		return nil, errors.New("the runtime is open already: make another with hermes.New")
	}
	o := r.options
	inner, err := runtime.Open(ctx, runtime.Options{
		Home: o.Home, ConfigFile: o.ConfigFile, Dir: o.Dir, Tools: o.Table, Embedded: o.Tools, Hooks: o.Hooks, Asker: o.Asker,
		Environ: o.Environ, Log: o.Log, Progress: o.Progress, GuardArgv: roleArgv(guardRole), KeeperArgv: roleArgv(keeperRole),
	})
	if err != nil {
		return nil, err
	}
	r.inner = inner
	r.session = inner.Session(runtime.SessionOptions{Caller: tool.CallerAPI, YesTo: o.YesTo})
	return r, nil
}

// Problems are the faults found in the configuration and among the tools: nothing of it keeps the runtime from working with the rest.
func (r *Runtime) Problems() []error {
	r.mustBeOpen()
	return r.inner.Problems()
}

// mustBeOpen says what is wrong where no error can be returned.
func (r *Runtime) mustBeOpen() {
	if r.inner == nil {
		panic(errNotOpen)
	}
}

// Definitions is what a model is offered, as one JSON array of the dialect. It is byte-identical for equal inputs.
func (r *Runtime) Definitions(ctx context.Context, q Request) (string, error) {
	if r.inner == nil {
		return "", errNotOpen
	}
	s := r.session
	if q.Enabled != nil || q.Disabled != nil {
		s = r.inner.Session(runtime.SessionOptions{Enabled: q.Enabled, Disabled: q.Disabled})
		defer func() { _ = s.Close(context.WithoutCancel(ctx)) }()
	}
	defs, err := s.Definitions(ctx, q.Dialect)
	return defs.Body, err
}

// Call makes one call and returns its one answer. It returns within the interrupt grace (3 s) of the end of ctx. There is no error: what
// went wrong stands in the answer for the model, and in Status, Type and Err of the result for the program.
func (r *Runtime) Call(ctx context.Context, c tool.Request) tool.Result {
	r.mustBeOpen()
	return r.session.Call(ctx, c)
}

// CallBatch makes the calls of one model turn: those that don't conflict run side by side, results come in the order of calls.
func (r *Runtime) CallBatch(ctx context.Context, calls []tool.Request) []tool.Result {
	r.mustBeOpen()
	return r.session.CallBatch(ctx, tool.Batch{Calls: calls})
}

// Session is one conversation with tools, directory, variables and approvals of its own.
type Session struct{ inner *runtime.Session }

// SessionOptions makes a Session.
type SessionOptions struct {
	ID       string        // "" = made up
	Task     string        // "" = the session's id
	Enabled  []string      // toolsets or tools; nil = all, empty = none
	Disabled []string      // taken out again
	Asker    channel.Asker // nil = the runtime's
	YesTo    []string      // keys of findings that are approved in advance
}

// NewSession begins a conversation. Close it.
func (r *Runtime) NewSession(o SessionOptions) *Session {
	r.mustBeOpen()
	return &Session{r.inner.Session(runtime.SessionOptions{
		ID: o.ID, Task: o.Task, Caller: tool.CallerAPI, Enabled: o.Enabled, Disabled: o.Disabled, Asker: o.Asker, YesTo: o.YesTo,
	})}
}

// Definitions is what a model is offered in this session.
func (s *Session) Definitions(ctx context.Context, d Dialect) (string, error) {
	defs, err := s.inner.Definitions(ctx, d)
	return defs.Body, err
}

// Call makes one call; see Runtime.Call.
func (s *Session) Call(ctx context.Context, c tool.Request) tool.Result { return s.inner.Call(ctx, c) }

// CallBatch makes the calls of one model turn; see Runtime.CallBatch.
func (s *Session) CallBatch(ctx context.Context, calls []tool.Request) []tool.Result {
	return s.inner.CallBatch(ctx, tool.Batch{Calls: calls})
}

// Interrupt ends the calls that are under way, and says why. Later calls are not affected.
func (s *Session) Interrupt(cause tool.Interruption) { s.inner.Interrupt(cause) }

// ResetEnvironment throws away where the session's commands run, with what goes on there: a container is removed even where it would be
// kept. The next command makes it anew, in the directory and with the variables that the session has. Sessions that share it lose it too.
func (s *Session) ResetEnvironment(ctx context.Context) error { return s.inner.ResetEnvironment(ctx) }

// Override changes where the session's commands run and files lie, by configuration key: cwd is where it starts; env_type (the name
// of a backend), docker_image, modal_image, singularity_image and daytona_image give it an environment of its own. It replaces what was
// said before, at once; nil takes it back. An unknown key is an error; an unknown backend is one of the next call.
func (s *Session) Override(o map[string]string) error { return s.inner.Override(o) }

// Close ends the session and all its calls.
func (s *Session) Close(ctx context.Context) error { return s.inner.Close(ctx) }

// Close ends every session, environment, process and goroutine of the runtime, within 10 seconds. Calling it again does nothing.
func (r *Runtime) Close(ctx context.Context) error {
	if r.inner == nil {
		return nil
	}
	return r.inner.Close(ctx)
}

// The arguments by which Init recognises that the program was started in a hidden role.
const (
	guardRole  = "hermes-guard"
	keeperRole = "hermes-keeper"
)

// roles are what the program can be started as.
var roles = map[string]func() error{
	guardRole:  func() error { return runtime.Guard(os.Stdin) },
	keeperRole: func() error { return runtime.Keeper(context.Background(), "") },
}

var initialised bool

// Init lets the program serve the runtime in hidden roles: call it first in main. If the program was started as the guard that ends
// what a dead runtime left behind, or as the keeper of its background processes, Init does that work and exits. A program that doesn't
// call it works too, but its background processes end with it, and what else it runs outlives it if it is killed.
func Init() {
	initialised = true
	if len(os.Args) != 2 || roles[os.Args[1]] == nil {
		return
	}
	if roles[os.Args[1]]() != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// roleArgv starts this program in a role, nil where it would not know it.
func roleArgv(role string) []string {
	exe, err := os.Executable()
	if err != nil || !initialised {
		return nil
	}
	return []string{exe, role}
}
