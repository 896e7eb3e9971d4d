package providertest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/hermes-runtime/hermes/provider"
)

// messages is the messages API. It remembers the thinking that it has sent, which must come back as it was.
type messages struct {
	mu       sync.Mutex
	thinking map[string]bool
}

func (*messages) path() string             { return "/v1/messages" }
func (*messages) base(url string) string   { return url }
func (*messages) key(h http.Header) string { return h.Get("X-Api-Key") }

type messagesRequest struct {
	Model     string  `json:"model"`
	MaxTokens int     `json:"max_tokens"`
	System    []block `json:"system"`
	Messages  []struct {
		Role    string  `json:"role"`
		Content []block `json:"content"`
	} `json:"messages"`
	Stream      bool            `json:"stream"`
	Thinking    json.RawMessage `json:"thinking"`
	Temperature *float64        `json:"temperature"`
	Metadata    json.RawMessage `json:"metadata"`
	Tools       []struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Schema      json.RawMessage `json:"input_schema"`
		Strict      *bool           `json:"strict"`
		Cache       json.RawMessage `json:"cache_control"`
	} `json:"tools"`
}

type block struct {
	Type      string          `json:"type"`
	Text      *string         `json:"text"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   *string         `json:"content"`
	IsError   bool            `json:"is_error"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	Data      string          `json:"data"`
	Cache     json.RawMessage `json:"cache_control"`
}

func (m *messages) read(s *Seen) error {
	var r messagesRequest
	if err := strictly(s.Body, &r); err != nil {
		return err
	}
	s.Model, s.MaxTokens = r.Model, r.MaxTokens
	marks := strings.Count(string(s.Body), `"cache_control":{"type":"ephemeral"}`)
	switch {
	case s.Header.Get("Anthropic-Version") == "":
		return errors.New("no header anthropic-version")
	case r.Model == "":
		return errors.New("no model")
	case r.MaxTokens < 1:
		return errors.New("max_tokens must be given")
	case !r.Stream:
		return errors.New("the client is expected to ask for a stream")
	case r.Tools != nil && len(r.Tools) == 0:
		return errors.New("tools: an empty list")
	case marks > 4:
		return fmt.Errorf("%d blocks with cache_control, of at most 4", marks)
	}
	for _, b := range r.System {
		if b.Type != "text" || blank(b.Text) {
			return fmt.Errorf("system: a block of type %q without text", b.Type)
		}
		s.System += *b.Text
	}
	for i, t := range r.Tools {
		if t.Name == "" || len(t.Schema) == 0 || slices.Contains(s.Tools, t.Name) {
			return fmt.Errorf("tools[%d]: %q has no name, no schema, or is there already", i, t.Name)
		}
		s.Tools = append(s.Tools, t.Name)
	}
	h := history{api: m, seen: s, ids: map[string]bool{}}
	for i, msg := range r.Messages {
		if err := h.message(i, msg.Role, msg.Content); err != nil {
			return fmt.Errorf("messages.%d: %w", i, err)
		}
	}
	if len(h.open) > 0 || len(r.Messages) == 0 {
		return fmt.Errorf("no messages, or tool_use without tool_result at the end: %v", h.open)
	}
	return nil
}

func blank(s *string) bool { return s == nil || strings.TrimSpace(*s) == "" }

// history holds messages to the rules of the API.
type history struct {
	api  *messages
	seen *Seen
	ids  map[string]bool // of all tool_use blocks
	open []string        // without a result yet
}

// roles alternate and begin with the user's.
var roles = []string{"user", "assistant"}

func (h *history) message(i int, role string, content []block) error {
	if role != roles[i%2] {
		return fmt.Errorf("role %q, where roles must alternate and begin with user", role)
	}
	if len(content) == 0 {
		return errors.New("no content")
	}
	if role == "assistant" {
		return h.assistant(content)
	}
	text := provider.Message{Role: provider.User}
	for j, b := range content {
		switch b.Type {
		case "text":
			if blank(b.Text) {
				return fmt.Errorf("content.%d: text content blocks must be non-empty", j)
			}
			if len(h.open) > 0 {
				return fmt.Errorf("tool_use ids without tool_result blocks immediately after: %v", h.open)
			}
			text.Text += *b.Text
		case "tool_result":
			at := slices.Index(h.open, b.ToolUseID)
			if at < 0 {
				return fmt.Errorf("content.%d: unexpected tool_use_id %q", j, b.ToolUseID)
			}
			h.open = slices.Delete(h.open, at, at+1)
			h.seen.Messages = append(h.seen.Messages, provider.Message{Role: provider.Tool, CallID: b.ToolUseID, Failed: b.IsError, Text: *cmp.Or(b.Content, new(string))})
		default:
			return fmt.Errorf("content.%d: type %q of a user", j, b.Type)
		}
	}
	if len(h.open) > 0 {
		return fmt.Errorf("tool_use ids without tool_result blocks immediately after: %v", h.open)
	}
	if text.Text != "" {
		h.seen.Messages = append(h.seen.Messages, text)
	}
	return nil
}

var toolID = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

func (h *history) assistant(content []block) error {
	out := provider.Message{Role: provider.Assistant}
	for j, b := range content {
		switch b.Type {
		case "text":
			if blank(b.Text) {
				return fmt.Errorf("content.%d: text content blocks must be non-empty", j)
			}
			out.Text += *b.Text
		case "thinking", "redacted_thinking":
			if !h.api.sent(b) {
				return fmt.Errorf("content.%d: invalid signature in %s block", j, b.Type)
			}
			out.Reasoning += b.Thinking
		case "tool_use":
			if !toolID.MatchString(b.ID) || h.ids[b.ID] {
				return fmt.Errorf("content.%d: id %q has other characters or is there twice", j, b.ID)
			}
			if err := checkCall(b.ID, b.Name, string(b.Input), nil); err != nil {
				return fmt.Errorf("content.%d: %w", j, err)
			}
			h.ids[b.ID] = true
			h.open = append(h.open, b.ID)
			out.Calls = append(out.Calls, provider.Call{ID: b.ID, Name: b.Name, Arguments: string(b.Input)})
		default:
			return fmt.Errorf("content.%d: type %q of an assistant", j, b.Type)
		}
	}
	h.seen.Messages = append(h.seen.Messages, out)
	return nil
}

func (m *messages) sent(b block) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.thinking[b.Thinking+"\x00"+b.Signature+b.Data]
}

// think signs thinking and remembers it.
func (m *messages) think(text string, n int) (signature string) {
	signature = fmt.Sprintf("EqQBCgIYAhIkc2ln+%d/%x==", n, len(text))
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.thinking == nil {
		m.thinking = map[string]bool{}
	}
	m.thinking[text+"\x00"+signature] = true
	return signature
}

// messagesEnds are the reasons of the API.
var messagesEnds = map[provider.End]string{provider.EndLength: "max_tokens", provider.EndRefused: "refusal"}

func (r Reply) messagesEnd() string {
	end := messagesEnds[r.End]
	if end == "" && len(r.Calls) > 0 {
		end = "tool_use"
	}
	return cmp.Or(end, "end_turn")
}

// toolUseID is the id of a call; the API never leaves it out.
func toolUseID(c provider.Call, n, i int) string {
	return cmp.Or(c.ID, fmt.Sprintf("toolu_%02d_%02d", n, i))
}

func (m *messages) frames(r Reply, s Seen) []frame {
	var out []frame
	add := func(name string, more map[string]any) {
		more["type"] = name
		out = append(out, frame{name, encode(more)})
	}
	index := 0
	blocks := func(start map[string]any, deltas ...map[string]any) {
		add("content_block_start", map[string]any{"index": index, "content_block": start})
		for _, d := range deltas {
			add("content_block_delta", map[string]any{"index": index, "delta": d})
		}
		add("content_block_stop", map[string]any{"index": index})
		index++
	}
	u := r.usage()
	add("message_start", map[string]any{"message": map[string]any{
		"id": fmt.Sprintf("msg_%d", s.N), "type": "message", "role": "assistant", "model": s.Model, "content": []any{},
		"stop_reason": nil, "stop_sequence": nil, "usage": messagesUsage(u, 1),
	}})
	if r.Fault == NoUsage {
		out = nil
		add("message_start", map[string]any{"message": map[string]any{"id": "msg", "type": "message", "role": "assistant", "content": []any{}}})
	}
	add("ping", map[string]any{})
	if r.Reasoning != "" {
		deltas := deltasOf("thinking_delta", "thinking", r.Reasoning)
		deltas = append(deltas, map[string]any{"type": "signature_delta", "signature": m.think(r.Reasoning, s.N)})
		blocks(map[string]any{"type": "thinking", "thinking": "", "signature": ""}, deltas...)
	}
	if r.Text != "" {
		blocks(map[string]any{"type": "text", "text": ""}, deltasOf("text_delta", "text", r.Text)...)
	}
	for i, c := range r.Calls {
		deltas := append([]map[string]any{{"type": "input_json_delta", "partial_json": ""}}, deltasOf("input_json_delta", "partial_json", c.Arguments)...)
		blocks(map[string]any{"type": "tool_use", "id": toolUseID(c, s.N, i), "name": c.Name, "input": map[string]any{}}, deltas...)
	}
	end := map[string]any{"delta": map[string]any{"stop_reason": r.messagesEnd(), "stop_sequence": nil}}
	if r.Fault != NoUsage {
		end["usage"] = map[string]any{"output_tokens": u.Output}
	}
	add("message_delta", end)
	add("message_stop", map[string]any{})
	return out
}

func deltasOf(kind, field, text string) []map[string]any {
	var out []map[string]any
	for _, p := range pieces(text) {
		out = append(out, map[string]any{"type": kind, field: p})
	}
	return out
}

// messagesUsage tells cached tokens apart from the rest of the input, as the API does.
func messagesUsage(u provider.Usage, output int) any {
	return map[string]any{
		"input_tokens": u.Input - u.Cached, "cache_creation_input_tokens": 0, "cache_read_input_tokens": u.Cached, "output_tokens": output,
	}
}

func (m *messages) whole(r Reply, s Seen) []byte {
	content := []any{}
	if r.Reasoning != "" {
		content = append(content, map[string]any{"type": "thinking", "thinking": r.Reasoning, "signature": m.think(r.Reasoning, s.N)})
	}
	if r.Text != "" {
		content = append(content, map[string]any{"type": "text", "text": r.Text})
	}
	for i, c := range r.Calls {
		content = append(content, map[string]any{"type": "tool_use", "id": toolUseID(c, s.N, i), "name": c.Name, "input": json.RawMessage(c.Arguments)})
	}
	u := r.usage()
	return []byte(encode(map[string]any{
		"id": fmt.Sprintf("msg_%d", s.N), "type": "message", "role": "assistant", "model": s.Model, "content": content,
		"stop_reason": r.messagesEnd(), "stop_sequence": nil, "usage": messagesUsage(u, u.Output),
	}))
}

func (*messages) fault(r Reply) []byte {
	return []byte(encode(map[string]any{
		"type": "error", "error": map[string]any{"type": cmp.Or(r.Kind, "api_error"), "message": cmp.Or(r.Message, "it did not work")}, "request_id": "req_1",
	}))
}
