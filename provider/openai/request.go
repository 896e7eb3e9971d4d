package openai

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/hermes-runtime/hermes/provider"
)

// quirks are what a server turned out not to take. They are remembered as long as the model.
type quirks struct {
	noStreamOptions bool
	oldLimit        bool // max_tokens, not max_completion_tokens
	limitSwapped    bool // the other was tried already
	noReasoning     bool // fields of reasoning that go back
}

// rejections are how servers say that they don't know a field. A value that they don't take is another thing.
var rejections = []string{"unsupported", "not supported", "unrecognized", "unknown", "unexpected", "not permitted", "not allowed", "not a valid field", "extra fields", "additional properties"}

// learn notes what a refusal complains of, of what was sent. It tells whether the request is worth making again: each field is dropped
// once.
func (m *model) learn(sent quirks, message string, body []byte) bool {
	message = strings.ToLower(message)
	if !slices.ContainsFunc(rejections, func(w string) bool { return strings.Contains(message, w) }) {
		return false
	}
	names := func(field string) bool { // or how it begins
		return strings.Contains(message, field) && strings.Contains(string(body), `"`+field)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	q := &m.quirks // other requests may have learned something meanwhile
	switch {
	case !sent.noStreamOptions && (names("stream_options") || strings.Contains(message, "include_usage")):
		q.noStreamOptions = true
	case !sent.limitSwapped && (names("max_tokens") || names("max_completion_tokens")):
		q.oldLimit, q.limitSwapped = !sent.oldLimit, true
	case !sent.noReasoning && names("reasoning"):
		q.noReasoning = true
	default:
		return false
	}
	return true
}

type chatMessage struct {
	Role       string     `json:"role"`
	Content    *string    `json:"content"`
	ToolCalls  []chatCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
	reasoning
}

type chatCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// reasoning are the fields in which servers send what a model thought; each has one of them. They are what Opaque holds.
type reasoning struct {
	Content string          `json:"reasoning_content,omitempty"`
	Text    string          `json:"reasoning,omitempty"`
	Details json.RawMessage `json:"reasoning_details,omitempty"`
}

func (m *model) body(r provider.Request, q quirks) ([]byte, error) {
	body := map[string]any{"model": m.options.Model, "messages": m.messages(r, q), "stream": true}
	if !q.noStreamOptions {
		body["stream_options"] = map[string]any{"include_usage": true}
	}
	if r.Tools != "" && r.Tools != "[]" {
		body["tools"] = json.RawMessage(r.Tools)
	}
	limit := r.MaxTokens
	if limit == 0 {
		limit = m.options.MaxTokens
	}
	if limit > 0 {
		if q.oldLimit {
			body["max_tokens"] = limit
		} else {
			body["max_completion_tokens"] = limit
		}
	}
	maps.Copy(body, m.options.ExtraBody)
	out, err := json.Marshal(body)
	if err != nil {
		return nil, &provider.Error{Kind: provider.ErrSetup, Provider: m.options.Provider, Model: m.options.Model, Message: "the request can't be written as JSON", Hint: "check model.extra_body", Err: err}
	}
	return out, nil
}

func (m *model) messages(r provider.Request, q quirks) []chatMessage {
	var out []chatMessage
	if r.System != "" {
		out = append(out, chatMessage{Role: "system", Content: &r.System})
	}
	turn := 0 // where the running turn begins: reasoning goes back within it
	for i, msg := range r.Messages {
		if msg.Role == provider.User {
			turn = i
		}
	}
	for i, msg := range r.Messages {
		c := chatMessage{Role: string(msg.Role), Content: &msg.Text}
		switch msg.Role {
		case provider.Tool:
			c.ToolCallID = msg.CallID
		case provider.Assistant:
			for _, call := range msg.Calls {
				w := chatCall{ID: call.ID, Type: "function"}
				w.Function.Name, w.Function.Arguments = call.Name, call.Arguments
				c.ToolCalls = append(c.ToolCalls, w)
			}
			if msg.Text == "" && len(msg.Calls) > 0 {
				c.Content = nil
			}
			if i > turn && msg.Opaque != nil && !q.noReasoning {
				_ = json.Unmarshal(msg.Opaque.Data, &c.reasoning) // what isn't in our form isn't ours and stays out
			}
		}
		out = append(out, c)
	}
	return out
}
