package providertest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/hermes-runtime/hermes/provider"
)

// chat is the chat completions API.
type chat struct{}

func (chat) path() string           { return "/v1/chat/completions" }
func (chat) base(url string) string { return url + "/v1" }
func (chat) key(h http.Header) string {
	return strings.TrimPrefix(h.Get("Authorization"), "Bearer ")
}

type chatRequest struct {
	Model    string        `json:"model"`
	Messages []chatMessage `json:"messages"`
	Stream   bool          `json:"stream"`
	Options  *struct {
		Usage bool `json:"include_usage"`
	} `json:"stream_options"`
	Tools               []chatTool      `json:"tools"`
	MaxTokens           *int            `json:"max_tokens"`
	MaxCompletionTokens *int            `json:"max_completion_tokens"`
	Temperature         *float64        `json:"temperature"`
	Reasoning           json.RawMessage `json:"reasoning"`
	User                string          `json:"user"`
}

type chatTool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
		Strict      *bool           `json:"strict"`
	} `json:"function"`
}

type chatMessage struct {
	Role       string          `json:"role"`
	Content    *string         `json:"content"`
	ToolCalls  []chatCall      `json:"tool_calls"`
	ToolCallID string          `json:"tool_call_id"`
	Name       string          `json:"name"`
	Thought    string          `json:"reasoning_content"`
	Reasoning  string          `json:"reasoning"`
	Details    json.RawMessage `json:"reasoning_details"`
}

type chatCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// strictly decodes JSON without fields that are unknown.
func strictly(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the request")
	}
	return nil
}

func (chat) read(s *Seen) error {
	var r chatRequest
	if err := strictly(s.Body, &r); err != nil {
		return err
	}
	s.Model = r.Model
	s.MaxTokens = *cmp.Or(r.MaxTokens, r.MaxCompletionTokens, new(int))
	switch {
	case r.Model == "":
		return errors.New("no model")
	case !r.Stream:
		return errors.New("the client is expected to ask for a stream")
	case r.MaxTokens != nil && r.MaxCompletionTokens != nil:
		return errors.New("max_tokens and max_completion_tokens together")
	case r.Tools != nil && len(r.Tools) == 0:
		return errors.New("tools: an empty list")
	}
	for i, t := range r.Tools {
		if t.Type != "function" || t.Function.Name == "" || slices.Contains(s.Tools, t.Function.Name) {
			return fmt.Errorf("tools[%d]: %q of type %q: no function, no name, or one that is there already", i, t.Function.Name, t.Type)
		}
		s.Tools = append(s.Tools, t.Function.Name)
	}
	return readChat(r.Messages, s)
}

// readChat holds a history to the rules: each call is answered once, right behind the message that holds it.
func readChat(list []chatMessage, s *Seen) error {
	var open []string
	for i, m := range list {
		if len(open) > 0 && m.Role != "tool" {
			return fmt.Errorf("messages[%d]: calls before it have no result: %v", i, open)
		}
		text := *cmp.Or(m.Content, new(string))
		out := provider.Message{Role: provider.Role(m.Role), Text: text, Reasoning: m.Thought + m.Reasoning}
		switch m.Role {
		case "system":
			if i > 0 {
				return fmt.Errorf("messages[%d]: a system message that isn't first", i)
			}
			s.System = text
			continue
		case "user":
			if text == "" {
				return fmt.Errorf("messages[%d]: an empty message", i)
			}
		case "assistant":
			if text == "" && len(m.ToolCalls) == 0 {
				return fmt.Errorf("messages[%d]: neither text nor calls", i)
			}
			for _, c := range m.ToolCalls {
				if err := checkCall(c.ID, c.Function.Name, c.Function.Arguments, open); err != nil || c.Type != "function" {
					return fmt.Errorf("messages[%d]: a call of type %q: %w", i, c.Type, err)
				}
				open = append(open, c.ID)
				out.Calls = append(out.Calls, provider.Call{ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments})
			}
		case "tool":
			at := slices.Index(open, m.ToolCallID)
			if at < 0 {
				return fmt.Errorf("messages[%d]: a result for %q, which is no open call", i, m.ToolCallID)
			}
			open = slices.Delete(open, at, at+1)
			out.CallID = m.ToolCallID
		default:
			return fmt.Errorf("messages[%d]: role %q", i, m.Role)
		}
		s.Messages = append(s.Messages, out)
	}
	switch {
	case len(open) > 0:
		return fmt.Errorf("calls have no result: %v", open)
	case len(s.Messages) == 0:
		return errors.New("no messages")
	}
	return nil
}

// toolName is what the APIs take as the name of a tool, in the history too.
var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

func checkCall(id, name, arguments string, taken []string) error {
	var object map[string]any
	switch {
	case id == "" || slices.Contains(taken, id):
		return fmt.Errorf("id %q is missing or there twice", id)
	case !toolName.MatchString(name):
		return fmt.Errorf("a call with the name %.100q", name)
	case json.Unmarshal([]byte(arguments), &object) != nil || object == nil:
		return fmt.Errorf("arguments that are no object: %.200q", arguments)
	}
	return nil
}

func (r Reply) usage() provider.Usage {
	if r.Usage == (provider.Usage{}) {
		return provider.Usage{Input: 11, Output: 7}
	}
	return r.Usage
}

// chatEnds are the reasons of the API.
var chatEnds = map[provider.End]string{provider.EndLength: "length", provider.EndRefused: "content_filter"}

func (r Reply) chatEnd() string {
	end := chatEnds[r.End]
	if end == "" && len(r.Calls) > 0 {
		end = "tool_calls"
	}
	return cmp.Or(end, "stop")
}

func (chat) frames(r Reply, s Seen) []frame {
	var out []frame
	id := fmt.Sprintf("chatcmpl-%d", s.N)
	add := func(delta map[string]any, finish any) {
		out = append(out, frame{"", encode(map[string]any{
			"id": id, "object": "chat.completion.chunk", "created": 1700000000, "model": s.Model, "system_fingerprint": nil,
			"choices": []any{map[string]any{"index": 0, "delta": delta, "logprobs": nil, "finish_reason": finish}},
		})})
	}
	add(map[string]any{"role": "assistant", "content": "", "refusal": nil}, nil)
	for _, piece := range pieces(r.Reasoning) {
		add(map[string]any{"reasoning_content": piece}, nil)
	}
	for _, piece := range pieces(r.Text) {
		add(map[string]any{"content": piece}, nil)
	}
	for i, c := range r.Calls {
		first := map[string]any{"index": i, "type": "function", "function": map[string]any{"name": c.Name, "arguments": ""}}
		if c.ID != "" {
			first["id"] = c.ID
		}
		add(map[string]any{"tool_calls": []any{first}}, nil)
		for _, piece := range pieces(c.Arguments) {
			add(map[string]any{"tool_calls": []any{map[string]any{"index": i, "function": map[string]any{"arguments": piece}}}}, nil)
		}
	}
	add(map[string]any{}, r.chatEnd())
	if r.Fault != NoUsage {
		out = append(out, frame{"", encode(map[string]any{
			"id": id, "object": "chat.completion.chunk", "created": 1700000000, "model": s.Model, "choices": []any{}, "usage": r.chatUsage(),
		})})
	}
	return append(out, frame{"", "[DONE]"})
}

func (r Reply) chatUsage() any {
	u := r.usage()
	return map[string]any{
		"prompt_tokens": u.Input, "completion_tokens": u.Output, "total_tokens": u.Input + u.Output,
		"prompt_tokens_details": map[string]any{"cached_tokens": u.Cached, "audio_tokens": 0},
	}
}

func (chat) whole(r Reply, s Seen) []byte {
	message := map[string]any{"role": "assistant", "content": r.Text, "refusal": nil}
	if r.Text == "" {
		message["content"] = nil
	}
	if r.Reasoning != "" {
		message["reasoning_content"] = r.Reasoning
	}
	var list []any
	for _, c := range r.Calls {
		list = append(list, map[string]any{"id": c.ID, "type": "function", "function": map[string]any{"name": c.Name, "arguments": c.Arguments}})
	}
	if list != nil {
		message["tool_calls"] = list
	}
	return []byte(encode(map[string]any{
		"id": fmt.Sprintf("chatcmpl-%d", s.N), "object": "chat.completion", "created": 1700000000, "model": s.Model,
		"choices": []any{map[string]any{"index": 0, "message": message, "logprobs": nil, "finish_reason": r.chatEnd()}}, "usage": r.chatUsage(),
	}))
}

func (chat) fault(r Reply) []byte {
	return []byte(encode(map[string]any{"error": map[string]any{
		"message": cmp.Or(r.Message, "it did not work"), "type": cmp.Or(r.Kind, "server_error"), "param": nil, "code": nil,
	}}))
}

func encode(v any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // made of maps and text
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// pieces cuts text as models stream it: a few characters at a time, more of long ones.
func pieces(text string) []string {
	runes := []rune(text)
	size := max(3, len(runes)/50)
	var out []string
	for p := range slices.Chunk(runes, size) {
		out = append(out, string(p))
	}
	return out
}
