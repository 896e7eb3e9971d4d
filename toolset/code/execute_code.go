// Package code is the toolset code_execution: scripts that call tools.
package code

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/hermes-runtime/hermes/internal/config"
	"github.com/hermes-runtime/hermes/internal/script"
	"github.com/hermes-runtime/hermes/tool"
)

func init() {
	tool.Register(newExecuteCode())
	config.Register(func() config.Sectioned { return script.DefaultConfig() })
}

// Args are the parameters of execute_code.
type Args struct {
	Code string `json:"code"`
}

const parameters = `{
  "type": "object",
  "properties": {"code": {"type": "string", "description": "The Python script. Print what you want to see."}},
  "required": ["code"],
  "additionalProperties": false
}`

type executeCode struct{ *tool.Function }

func newExecuteCode() executeCode {
	return executeCode{tool.Func(tool.Spec{
		Name:        script.ToolName,
		Toolset:     "code_execution",
		Emoji:       "🐍",
		Description: "Runs a Python script that can call other tools; only what it prints comes back.",
		Schema:      json.RawMessage(parameters), // what it can do here is told by Adapt
		Check:       &tool.Check{Name: "python", Probe: true, Run: check},
		Unspilled:   true,
		Redact:      tool.LooksSecret,
	}, run)}
}

// check asks for the parts that scripts need: the system, and an interpreter.
func check(ctx context.Context, s tool.Services) error {
	r, err := runner(s)
	if err != nil {
		return err
	}
	return r.Check(ctx, s)
}

func runner(s tool.Services) (*script.Runner, error) {
	if r, ok := tool.Lookup[*script.Runner](s); ok && r != nil {
		return r, nil
	}
	return nil, errors.New("this runtime was built without what runs scripts")
}

func run(ctx context.Context, c *tool.Call, args Args) (any, error) {
	r, err := runner(c.Host)
	if err != nil {
		return tool.Outcome{Value: &script.Report{Status: script.StatusError, Error: err.Error()}, Status: tool.StatusError}, nil
	}
	return r.Run(ctx, c, args.Code).Outcome(), nil
}

// Risks has the script's own text judged before anything is made for it. A person's own script is theirs to answer for; what it
// calls is judged all the same.
func (executeCode) Risks(_ context.Context, c *tool.Call) ([]tool.Action, error) {
	if inv, ok := tool.Service[*script.Invocation](c); ok && inv != nil && inv.Trusted && c.Caller == tool.CallerCLI {
		return nil, nil
	}
	code, ok := codeOf(c)
	if !ok {
		return nil, nil // the run refuses it
	}
	return []tool.Action{{Kind: tool.ActionCode, Text: code}}, nil
}

// Shape gives the members that every answer has.
func (executeCode) Shape(_ *tool.Call, s tool.Status) map[string]any { return script.Shape(s) }
