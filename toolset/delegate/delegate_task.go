// Package delegate is the toolset delegation: work is handed to child agents, and what they found comes back.
package delegate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/hermes-runtime/hermes/internal/delegation"
	"github.com/hermes-runtime/hermes/tool"
)

// Delegator is what the tool needs of the agent whose call it is.
type Delegator interface {
	// Delegate has children do the tasks side by side and waits for all.
	Delegate(ctx context.Context, tasks []delegation.Task) (delegation.Result, error)
	// Dispatch has a child do a task while the conversation goes on.
	Dispatch(ctx context.Context, task delegation.Task) (delegation.Dispatched, error)
}

const toolName = "delegate_task"

var description = "Hand work to child agents that have tools but not this conversation, and get a summary back from each. " +
	"Give goal for one child, or tasks for several that work side by side. A child knows only what you write: say all that it needs in goal and context. " +
	"Use it for work that would fill this conversation with detail, or that divides well; not for a single call."

func init() {
	tool.Register(&task{tool.Func(tool.Spec{
		Name: toolName, Toolset: "delegation", Emoji: "🤝", Description: description, Async: true, Schema: json.RawMessage(parameters),
		Needs: []tool.Need{tool.NeedModel},
	}, stub)})
}

const parameters = `{
  "type": "object",
  "properties": {
    "goal": {"type": "string", "description": "What one child is to do"},
    "context": {"type": "string", "description": "What it has to know: paths, findings, constraints"},
    "toolsets": {"type": "array", "items": {"type": "string"}, "description": "Of your toolsets, those it gets; none = all it may have"},
    "role": {"type": "string", "enum": ["leaf", "orchestrator"], "description": "orchestrator: may delegate itself, where the depth allows"},
    "tasks": {
      "type": "array",
      "description": "Several children at once, in place of goal",
      "items": {
        "type": "object",
        "properties": {
          "goal": {"type": "string"}, "context": {"type": "string"},
          "toolsets": {"type": "array", "items": {"type": "string"}},
          "role": {"type": "string", "enum": ["leaf", "orchestrator"]}
        },
        "required": ["goal"],
        "additionalProperties": false
      }
    },
    "background": {"type": "boolean", "description": "Return at once; the summary comes with a later message. For one goal only"}
  },
  "additionalProperties": false
}`

type arguments struct {
	delegation.Task
	Tasks      []delegation.Task `json:"tasks"`
	Background bool              `json:"background"`
}

type task struct{ *tool.Function }

func stub(context.Context, *tool.Call, arguments) (any, error) { return nil, errNoAgent }

var errNoAgent = &tool.Refusal{Result: map[string]any{"error": toolName + " must be handled by the agent loop: there is no agent here whose child could do the work"}}

// Adapt implements tool.Adapter: the definition states the limits in force.
func (*task) Adapt(_ context.Context, a tool.Adaptation) (tool.Definition, error) {
	if c, ok := tool.Lookup[*delegation.Config](a.Services); ok {
		a.Definition.Description += fmt.Sprintf(" Limits: %d children at once, %d in the background, %d generations.", c.MaxChildren, c.MaxAsync, c.MaxDepth)
	}
	return a.Definition, nil
}

// RunAgent implements tool.AgentLevel.
func (*task) RunAgent(ctx context.Context, c *tool.Call) (any, error) {
	d, ok := tool.Service[Delegator](c)
	if !ok {
		return nil, errNoAgent
	}
	tasks, background, err := read(c.Args)
	if err != nil {
		return nil, err
	}
	if background {
		return d.Dispatch(ctx, tasks[0])
	}
	return d.Delegate(ctx, tasks)
}

// read takes the tasks out of the arguments.
func read(raw json.RawMessage) ([]delegation.Task, bool, error) {
	var args arguments
	if err := json.Unmarshal(raw, &args); err != nil {
		return nil, false, fmt.Errorf("read the arguments: %w", err)
	}
	single := strings.TrimSpace(args.Goal) != ""
	switch {
	case single && len(args.Tasks) > 0:
		return nil, false, errors.New("give goal or tasks, not both")
	case !single && len(args.Tasks) == 0:
		return nil, false, errors.New("give goal, or tasks with a goal each: nothing says what is to be done")
	case args.Background && !single:
		return nil, false, errors.New("background works for one goal, not for tasks")
	case single:
		return []delegation.Task{args.Task}, args.Background, nil
	}
	return args.Tasks, false, nil
}
