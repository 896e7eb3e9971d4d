package registry

import (
	"errors"
	"fmt"
	"sync"

	"github.com/hermes-runtime/hermes/internal/registry/schema"
	"github.com/hermes-runtime/hermes/tool"
)

// Entry is a registered tool with everything that a call or a definition needs already found. It never changes: a call that
// holds one ends with the handler it began with.
type Entry struct {
	Tool   tool.Tool
	Spec   tool.Spec // as declared; the set of a server's tool is the server's
	Origin Origin
	Remote string // the tool's name at its MCP server
	Schema *schema.Compiled

	// The abilities of the tool, nil where it has none.
	Adapter    tool.Adapter
	Risky      tool.Risky
	AgentLevel tool.AgentLevel
	Scoper     tool.Scoper
	Shaper     tool.Shaper

	override bool
	seq      uint64
	check    *availability // nil = always available

	formsOnce  sync.Once
	formsValue forms
}

// Emoji is what stands beside the tool where it is shown.
func (e *Entry) Emoji() string {
	if e.Spec.Emoji == "" {
		return defaultEmoji
	}
	return e.Spec.Emoji
}

// Description is the tool's description for people.
func (e *Entry) Description() string {
	if e.Spec.Description == "" {
		return e.Schema.Description()
	}
	return e.Spec.Description
}

const defaultEmoji = "⚡"

// maxName is how many characters of a name every dialect takes.
const maxName = 64

// isToolName tells whether every dialect takes s as a name.
func isToolName(s string) bool {
	if s == "" || len(s) > maxName {
		return false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '_':
		case c >= '0' && c <= '9', c == '-':
			if i == 0 {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// ErrCollision is the cause of a refusal under CollisionsReject.
var ErrCollision = errors.New("the name is taken by a tool of another toolset")

// RefusedError says why a tool was not registered.
type RefusedError struct {
	Tool    string // where the tool couldn't even tell its name, its Go type in parentheses
	Toolset string
	Origin  Origin
	Field   string // the field of the declaration that can't be used, "" where none is to blame
	Err     error
}

// Error names the tool, the field and the cause.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("register tool %q (%s): %s", e.Tool, e.Origin, e.reason())
}

func (e *RefusedError) reason() string {
	if e.Field == "" {
		return e.Err.Error()
	}
	return e.Field + ": " + e.Err.Error()
}

// Unwrap gives the cause.
func (e *RefusedError) Unwrap() error { return e.Err }

// Addition is one tool to register.
type Addition struct {
	Tool tool.Tool
	// Override asks to replace a builtin or embedder tool of that name; the operator has to allow it too.
	Override bool
	// Remote is the name of an MCP tool at its server.
	Remote string
}

// Remote is a tool that knows its name at its MCP server, for those who hand over plain tools.
type Remote interface {
	RemoteName() string
}

// Overrider is a tool that asks to replace a builtin or embedder tool, for those who hand over plain tools.
type Overrider interface {
	Override() bool
}

// prepare checks a descriptor and finds out all that is asked of it later. Whatever it does wrong, panics included, is a refusal.
func prepare(o Origin, a Addition) (e *Entry, refused *RefusedError) {
	refused = &RefusedError{Tool: fmt.Sprintf("(%T)", a.Tool), Origin: o}
	defer func() {
		if p := recover(); p != nil {
			refused.Field, refused.Err = "", fmt.Errorf("it panicked while it was set up: %v", p)
			e = nil
		}
	}()
	if a.Tool == nil {
		refused.Field, refused.Err = "handler", errors.New("there is none")
		return nil, refused
	}
	e = &Entry{Tool: a.Tool, Spec: a.Tool.Spec(), Origin: o, Remote: a.Remote, override: a.Override}
	if server, ok := o.Server(); ok {
		e.Spec.Toolset = setOfServer(server)
	}
	refused.Tool, refused.Toolset = e.Spec.Name, e.Spec.Toolset
	if refused.Field, refused.Err = e.validate(); refused.Err != nil {
		return nil, refused
	}
	if refused.Field, refused.Err = e.compile(); refused.Err != nil {
		return nil, refused
	}
	if named, ok := tool.As[Remote](a.Tool); ok && e.Remote == "" {
		e.Remote = named.RemoteName()
	}
	if asks, ok := tool.As[Overrider](a.Tool); ok {
		e.override = e.override || asks.Override()
	}
	e.Adapter, _ = tool.As[tool.Adapter](a.Tool)
	e.Risky, _ = tool.As[tool.Risky](a.Tool)
	e.AgentLevel, _ = tool.As[tool.AgentLevel](a.Tool)
	e.Scoper, _ = tool.As[tool.Scoper](a.Tool)
	e.Shaper, _ = tool.As[tool.Shaper](a.Tool)
	return e, nil
}

func (e *Entry) validate() (field string, err error) {
	switch {
	case !isToolName(e.Spec.Name):
		return "name", fmt.Errorf("%q is not a letter or _ followed by up to 63 letters, digits, _ or -", e.Spec.Name)
	case e.Spec.Toolset == "":
		return "toolset", errors.New("it is empty; every tool belongs to one")
	case e.Spec.Check != nil && e.Spec.Check.Run == nil:
		return "check", errors.New("it has no function to run")
	}
	if v, ok := tool.As[tool.Validator](e.Tool); ok {
		return "", v.Validate()
	}
	return "", nil
}

// compile reads the declared schema, or infers one from the argument struct where none is declared.
func (e *Entry) compile() (field string, err error) {
	declared := e.Spec.Schema
	if declared == nil {
		if typed, ok := tool.As[tool.Typed](e.Tool); ok && typed.ArgsType() != nil {
			s, err := schema.ForType(typed.ArgsType())
			if err != nil {
				return "schema", err
			}
			declared = s
		}
	}
	e.Schema, err = schema.Compile(schema.Source{Name: e.Spec.Name, Description: e.Spec.Description, Declared: declared})
	if err == nil {
		return "", nil
	}
	var f *schema.FieldError
	if errors.As(err, &f) {
		return f.Field, errors.New(f.Problem)
	}
	return "schema", err
}
