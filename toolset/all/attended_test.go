package all_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/channel"
	"github.com/hermes-runtime/hermes/internal/delegation"
	"github.com/hermes-runtime/hermes/internal/registry/schema"
	inner "github.com/hermes-runtime/hermes/internal/runtime"
	"github.com/hermes-runtime/hermes/internal/store"
	"github.com/hermes-runtime/hermes/provider"
	"github.com/hermes-runtime/hermes/tool"
	"github.com/hermes-runtime/hermes/tool/tooltest"
)

// attended says of tools that need an agent's state, or a person, what the suite can't know.
var attended = map[string]tooltest.Options{
	"todo": {
		Example: `{"todos": [{"id": "1", "content": "x", "status": "pending"}]}`,
		Parameters: map[string]tooltest.Effect{
			"todos": {Without: `{}`, With: `{"todos": []}`, Before: planned},
			"merge": {Without: `{"todos": [{"id": "b", "content": "y", "status": "pending"}]}`, With: `{"todos": [{"id": "b", "content": "y", "status": "pending"}], "merge": true}`, Before: planned},
		},
	},
	"memory": {
		Example: `{"action": "add", "target": "user", "content": "x"}`,
		Parameters: map[string]tooltest.Effect{
			"action":   {Without: `{"action": "add", "target": "user", "content": "x", "old_text": "a"}`, With: `{"action": "replace", "target": "user", "content": "x", "old_text": "a"}`, Before: noted},
			"target":   {Without: `{"action": "add", "target": "user", "content": "x"}`, With: `{"action": "add", "target": "memory", "content": "x"}`},
			"content":  {Without: `{"action": "add", "target": "user", "content": "x"}`, With: `{"action": "add", "target": "user", "content": "y"}`},
			"old_text": {Without: `{"action": "remove", "target": "user", "old_text": "a"}`, With: `{"action": "remove", "target": "user", "old_text": "b"}`, Before: noted},
		},
	},
	"session_search": {
		Example: `{"query": "needle"}`,
		Parameters: map[string]tooltest.Effect{
			"query":             {Without: `{}`, With: `{"query": "needle"}`, Before: talked},
			"limit":             {Without: `{"query": "needle"}`, With: `{"query": "needle", "limit": 1}`, Before: talked},
			"sort":              {Without: `{"query": "needle", "sort": "oldest"}`, With: `{"query": "needle", "sort": "newest"}`, Before: talked},
			"session_id":        {Without: `{}`, With: `{"session_id": "b"}`, Before: talked},
			"around_message_id": {Without: `{"session_id": "a"}`, With: `{"session_id": "a", "around_message_id": 1}`, Before: talked},
			"window":            {Without: `{"session_id": "a", "around_message_id": 1}`, With: `{"session_id": "a", "around_message_id": 1, "window": 1}`, Before: talked},
			"role_filter":       {Without: `{"session_id": "a"}`, With: `{"session_id": "a", "role_filter": ["tool"]}`, Before: talked},
		},
	},
	"delegate_task": {
		Example: `{"goal": "x"}`,
		Parameters: map[string]tooltest.Effect{
			"goal":       {Without: `{"goal": "x"}`, With: `{"goal": "y"}`},
			"context":    {Without: `{"goal": "x"}`, With: `{"goal": "x", "context": "y"}`},
			"toolsets":   {Without: `{"goal": "x"}`, With: `{"goal": "x", "toolsets": ["file"]}`},
			"role":       {Without: `{"goal": "x"}`, With: `{"goal": "x", "role": "orchestrator"}`},
			"tasks":      {Without: `{"tasks": [{"goal": "x"}]}`, With: `{"tasks": [{"goal": "x"}, {"goal": "x"}]}`},
			"background": {Without: `{"goal": "x"}`, With: `{"goal": "x", "background": true}`},
		},
	},
	"clarify": {
		Example: `{"question": "Which?"}`,
		Parameters: map[string]tooltest.Effect{
			"question": {Without: `{"question": "Which?"}`, With: `{"question": "Where?"}`},
			"choices":  {Without: `{"question": "Which?"}`, With: `{"question": "Which?", "choices": ["a"]}`},
		},
	},
}

// planned makes a list of one item.
func planned(t *testing.T, b tooltest.Bench) {
	prepare(t, b, "todo", `{"todos": [{"id": "a", "content": "x", "status": "pending"}]}`)
}

// noted makes two notes.
func noted(t *testing.T, b tooltest.Bench) {
	prepare(t, b, "memory", `{"action": "add", "target": "user", "content": "a"}`)
	prepare(t, b, "memory", `{"action": "add", "target": "user", "content": "b"}`)
}

// talked leaves two earlier conversations.
func talked(t *testing.T, b tooltest.Bench) {
	t.Helper()
	d, err := store.Open(t.Context(), store.Options{File: filepath.Join(b.Home, "sessions.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for i, id := range []string{"a", "b"} {
		at := time.Date(2026, 1, 1+i, 0, 0, 0, 0, time.UTC)
		if err := d.Begin(t.Context(), store.Session{ID: id, Source: "cli", Started: at}); err != nil {
			t.Fatal(err)
		}
		for _, role := range []provider.Role{provider.User, provider.Assistant, provider.User, provider.Tool} {
			if _, err := d.Append(t.Context(), id, store.Message{Message: provider.Message{Role: role, Text: "needle"}, Time: at}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func prepare(t *testing.T, b tooltest.Bench, name, arguments string) {
	t.Helper()
	if r := b.Call(t.Context(), tool.Request{Name: name, Arguments: json.RawMessage(arguments)}); r.Status != tool.StatusOK {
		t.Fatal(r.JSON)
	}
}

// plan is the list of a conversation.
type plan struct {
	mu   sync.Mutex
	list []store.Todo
}

func (p *plan) Todos(context.Context) ([]store.Todo, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.list, nil
}

func (p *plan) SetTodos(_ context.Context, list []store.Todo) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.list = list
	return nil
}

// delegator tells of each task what it was asked.
type delegator struct{}

func (delegator) Delegate(_ context.Context, tasks []delegation.Task) (delegation.Result, error) {
	var out delegation.Result
	for _, t := range tasks {
		out.Results = append(out.Results, delegation.Report{Summary: fmt.Sprintf("%+v", t)})
	}
	return out, nil
}

func (delegator) Dispatch(context.Context, delegation.Task) (delegation.Dispatched, error) {
	return delegation.Dispatched{}, nil
}

// openAttended makes a runtime whose session has an agent, and a person who answers everything.
func openAttended(t *testing.T) tooltest.Bench {
	t.Helper()
	b := tooltest.Bench{Dir: resolved(t), Home: resolved(t), Vars: map[string]string{}}
	asker := channel.AskerFunc(func(context.Context, channel.Question) (channel.Answer, error) {
		return channel.Answer{Text: "any"}, nil
	})
	r, err := inner.Open(t.Context(), inner.Options{Home: b.Home, Dir: b.Dir, Asker: asker})
	if err != nil {
		t.Fatal(err)
	}
	s := r.Session(inner.SessionOptions{Agent: true, Model: true, Services: []any{&plan{}, delegator{}}})
	b.Call, b.Close = s.Call, r.Close
	b.Definitions = func(ctx context.Context, dialect string) (string, error) {
		defs, err := s.Definitions(ctx, schema.Dialect(dialect))
		return defs.Body, err
	}
	return b
}
