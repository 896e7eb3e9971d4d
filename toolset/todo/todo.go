// Package todo is the toolset todo: the plan that an agent keeps of its work.
package todo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hermes-runtime/hermes/internal/store"
	"github.com/hermes-runtime/hermes/tool"
)

func init() { tool.Register(newTodo()) }

// Plans is a service of the session: the plan of the conversation that a call belongs to.
type Plans interface {
	Todos(ctx context.Context) ([]store.Todo, error)
	SetTodos(ctx context.Context, todos []store.Todo) error
}

// parameters describes what is wanted of an item and enforces types alone: what is missing is filled in.
const parameters = `{
  "type": "object",
  "properties": {
    "todos": {"type": "array", "description": "The items to write, in the order they are to be done. Left out, the list is only read. 256 at most.", "items": {
      "type": "object",
      "properties": {
        "id": {"type": "string", "description": "Required. Short and unique in the list."},
        "content": {"type": "string", "description": "Required. What is to be done; 4000 characters at most."},
        "status": {"type": "string", "description": "Required. pending, in_progress, completed or cancelled."}
      },
      "additionalProperties": false
    }},
    "merge": {"type": "boolean", "default": false, "description": "true: change the items of these ids and add new ones, leave the rest. false: these items replace the list."}
  },
  "additionalProperties": false
}`

const description = `Keep a plan of the work at hand. Without todos it tells the list as it stands.
Use it where a task has three or more steps, or where the user asks for several things. Keep one item in_progress at a time, mark each completed as soon as it is done, and cancel what turned out to be needless.
Every call returns the whole list.`

// Args are the parameters of a call.
type Args struct {
	Todos []item `json:"todos"` // nil = read
	Merge bool   `json:"merge"`
}

// item is one item as a model gives it.
type item struct {
	ID      string `json:"id"`
	Content string `json:"content"`
	Status  string `json:"status"`
}

type todo struct{ *tool.Function }

func newTodo() todo {
	return todo{tool.Func(tool.Spec{
		Name: "todo", Toolset: "todo", Emoji: "📋", Description: description, Schema: json.RawMessage(parameters),
	}, stub)}
}

func stub(context.Context, *tool.Call, Args) (any, error) {
	return nil, errors.New("todo is handled by the agent loop: only a conversation has a list to keep")
}

// answer is what a model reads.
type answer struct {
	Todos   []store.Todo `json:"todos"`
	Summary summary      `json:"summary"`
	Notes   []string     `json:"notes,omitempty"`
}

type summary struct {
	Total      int `json:"total"`
	Pending    int `json:"pending"`
	InProgress int `json:"in_progress"`
	Completed  int `json:"completed"`
	Cancelled  int `json:"cancelled"`
}

// RunAgent reads or changes the list of the call's session.
func (todo) RunAgent(ctx context.Context, c *tool.Call) (any, error) {
	var args Args
	if err := json.Unmarshal(c.Args, &args); err != nil {
		return nil, fmt.Errorf("decode the arguments of todo: %w", err)
	}
	plans, ok := tool.Service[Plans](c)
	if !ok {
		return nil, errors.New("this session keeps no list")
	}
	list, err := plans.Todos(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the list: %w", err)
	}
	if args.Todos == nil {
		return tell(list, nil), nil
	}
	var w writing
	if args.Merge {
		list = w.merge(list, args.Todos)
	} else {
		list = w.replace(args.Todos)
	}
	list = w.bound(list)
	if err := plans.SetTodos(ctx, list); err != nil {
		return nil, fmt.Errorf("keep the list: %w", err)
	}
	return tell(list, w.notes), nil
}

func tell(list []store.Todo, notes []string) answer {
	a := answer{Todos: append([]store.Todo{}, list...), Notes: notes}
	a.Summary.Total = len(list)
	for _, t := range list {
		switch t.Status {
		case pending:
			a.Summary.Pending++
		case inProgress:
			a.Summary.InProgress++
		case completed:
			a.Summary.Completed++
		case cancelled:
			a.Summary.Cancelled++
		}
	}
	return a
}
