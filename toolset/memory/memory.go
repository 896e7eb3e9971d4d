// Package memory is the toolset memory: notes that an agent keeps across sessions.
package memory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hermes-runtime/hermes/internal/memory"
	"github.com/hermes-runtime/hermes/tool"
)

func init() { tool.Register(newMemory()) }

const parameters = `{
  "type": "object",
  "properties": {
    "action": {"type": "string", "enum": ["add", "replace", "remove"], "description": "What to do with an entry."},
    "target": {"type": "string", "enum": ["memory", "user"], "description": "memory: your own notes on projects, machines, what you learned. user: who the user is and what they want of you."},
    "content": {"type": "string", "description": "add, replace: the entry, in a few plain words. It says what is so; it gives no orders."},
    "old_text": {"type": "string", "description": "replace, remove: a part of the entry that no other entry has."}
  },
  "required": ["action", "target"],
  "additionalProperties": false
}`

const description = `Keep what will matter in later sessions: what the user prefers and corrected, facts about their projects and machines, what worked and what didn't. Notes are shown at the start of every session, so keep them few and short.
Save without being asked when you learn such a thing. Leave out what the next look will tell anyway, what belongs to this task alone, and every secret.
What you change here shows in the system prompt from the next session on. When a file is full, replace entries by shorter ones or remove the least useful.`

// Args are the parameters of a call.
type Args struct {
	Action  memory.Action `json:"action"`
	Target  memory.Target `json:"target"`
	Content string        `json:"content"`
	OldText string        `json:"old_text"`
}

type notes struct{ *tool.Function }

func newMemory() notes {
	return notes{tool.Func(tool.Spec{
		Name: "memory", Toolset: "memory", Emoji: "🧠", Description: description, Schema: json.RawMessage(parameters),
	}, stub)}
}

func stub(context.Context, *tool.Call, Args) (any, error) {
	return nil, errors.New("memory is handled by the agent loop: it is an agent that keeps notes")
}

// kept is what a model reads of a change that was made.
type kept struct {
	Success bool          `json:"success"`
	Target  memory.Target `json:"target"`
	Entries []string      `json:"entries"`
	Usage   string        `json:"usage"`
	Count   int           `json:"entry_count"`
	Message string        `json:"message"`
}

// refused is what it reads of one that wasn't.
type refused struct {
	Success bool          `json:"success"`
	Error   string        `json:"error"`
	Target  memory.Target `json:"target"`
	Entries []string      `json:"entries,omitempty"`
	Usage   string        `json:"usage,omitempty"`
	Matches []string      `json:"matches,omitempty"`
}

// RunAgent makes one change.
func (notes) RunAgent(ctx context.Context, c *tool.Call) (any, error) {
	var args Args
	if err := json.Unmarshal(c.Args, &args); err != nil {
		return nil, fmt.Errorf("decode the arguments of memory: %w", err)
	}
	files, ok := tool.Service[*memory.Files](c)
	if !ok {
		return nil, errors.New("this session keeps no notes")
	}
	s, done, err := files.Apply(ctx, memory.Change{Action: args.Action, Target: args.Target, Content: args.Content, Old: args.OldText})
	if r, ok := errors.AsType[*memory.Refusal](err); ok {
		out := refused{Error: r.Text, Target: args.Target, Matches: r.Matches}
		if r.Full {
			out.Entries, out.Usage = s.Entries, s.Usage()
		}
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	return kept{true, s.Target, append([]string{}, s.Entries...), s.Usage(), len(s.Entries), done}, nil
}

// Shape says of an answer that the door gives that nothing was kept.
func (notes) Shape(_ *tool.Call, s tool.Status) map[string]any {
	return map[string]any{"success": s == tool.StatusOK}
}
