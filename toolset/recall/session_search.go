// Package recall is the toolset session_search: what was said in earlier conversations.
package recall

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hermes-runtime/hermes/internal/store"
	"github.com/hermes-runtime/hermes/provider"
	"github.com/hermes-runtime/hermes/tool"
)

func init() { tool.Register(newSessionSearch()) }

// Archive is the service that keeps conversations.
type Archive interface {
	Find(ctx context.Context, ref string) (store.Session, error)
	List(ctx context.Context, f store.Filter) ([]store.Entry, error)
	Search(ctx context.Context, q store.Query) (store.Found, error)
	Look(ctx context.Context, session string, v store.View) (store.Excerpt, error)
}

const parameters = `{
  "type": "object",
  "properties": {
    "query": {"type": "string", "description": "Words that a message must hold, all of them; parts of words count, case doesn't. Text in double quotes is looked for as it stands."},
    "limit": {"type": "integer", "default": 3, "description": "Conversations to show, 1 to 10."},
    "sort": {"type": "string", "enum": ["newest", "oldest"], "description": "Left out, the best matches come first."},
    "session_id": {"type": "string", "description": "A conversation to read: its id, or the beginning of it."},
    "around_message_id": {"type": "integer", "description": "With session_id: the message of it around which to read, such as a match_message_id."},
    "window": {"type": "integer", "default": 5, "description": "Messages on each side of a match or of around_message_id, 1 to 20."},
    "role_filter": {"type": "array", "items": {"type": "string"}, "description": "Whose messages are searched and shown: user, assistant, tool. Left out, those of user and assistant."}
  },
  "additionalProperties": false
}`

const description = `Recall earlier conversations with this user. Four ways:
- query: find the conversations whose messages hold these words, each with its best match, what stands around it, and how it began and ended.
- session_id and around_message_id: read on around a message. The ends of one window lead to the next.
- session_id alone: the beginning and the end of a conversation.
- nothing: the latest conversations.
Use it when the user refers to something that was said, done or decided before, rather than ask them to repeat it. The conversation at hand is left out of what is found.`

// Args are the parameters of a call.
type Args struct {
	Query   string   `json:"query"`
	Limit   *int     `json:"limit"`
	Sort    string   `json:"sort"`
	Session string   `json:"session_id"`
	Around  *int64   `json:"around_message_id"`
	Window  *int     `json:"window"`
	Roles   []string `json:"role_filter"`
}

type sessionSearch struct{ *tool.Function }

func newSessionSearch() sessionSearch {
	return sessionSearch{tool.Func(tool.Spec{
		Name: "session_search", Toolset: "session_search", Emoji: "🔎", Description: description, Schema: json.RawMessage(parameters),
		Effects: tool.ReadOnly, Untrusted: true, Redact: tool.LooksSecret,
	}, stub)}
}

func stub(context.Context, *tool.Call, Args) (any, error) {
	return nil, errors.New("session_search is handled by the agent loop: only a conversation has others before it")
}

// Shape gives the member that every answer has.
func (sessionSearch) Shape(_ *tool.Call, s tool.Status) map[string]any {
	return map[string]any{"success": s == tool.StatusOK}
}

// RunAgent looks into the conversations that were kept.
func (sessionSearch) RunAgent(ctx context.Context, c *tool.Call) (any, error) {
	var args Args
	if err := json.Unmarshal(c.Args, &args); err != nil {
		return nil, fmt.Errorf("decode the arguments of session_search: %w", err)
	}
	archive, ok := tool.Service[Archive](c)
	if !ok {
		return nil, errors.New("this runtime keeps no conversations")
	}
	args.Session = strings.TrimSpace(args.Session)
	r := reading{
		archive: archive, current: c.Session, limit: clamp(args.Limit, 3, 10), window: clamp(args.Window, 5, 20), roles: rolesOf(args.Roles),
		query: strings.TrimSpace(args.Query), sort: store.Sort(args.Sort),
	}
	out, err := r.answer(ctx, args)
	if missing, ok := errors.AsType[*store.NotFound](err); ok {
		return tool.Outcome{Value: refusal{Error: missing.Error(), Nearest: missing.Near}, Status: tool.StatusError}, nil
	}
	return out, err
}

// refusal is the answer where there is no such session or message.
type refusal struct {
	Success bool     `json:"success"`
	Error   string   `json:"error"`
	Nearest []string `json:"nearest"`
}

// clamp gives a number between 1 and most.
func clamp(n *int, standard, most int) int {
	if n == nil {
		return standard
	}
	return min(max(*n, 1), most)
}

// rolesOf takes names apart that stand together, and leaves out what is no role.
func rolesOf(given []string) []provider.Role {
	var out []provider.Role
	for _, g := range given {
		for name := range strings.FieldsFuncSeq(strings.ToLower(g), func(r rune) bool { return r == ',' || r == ' ' }) {
			role := provider.Role(name)
			if slices.Contains([]provider.Role{provider.User, provider.Assistant, provider.Tool}, role) && !slices.Contains(out, role) {
				out = append(out, role)
			}
		}
	}
	if out == nil {
		return []provider.Role{provider.User, provider.Assistant}
	}
	return out
}
