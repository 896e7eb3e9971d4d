package anthropic

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/hermes-runtime/hermes/provider"
)

type textBlock struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

type thinkingBlock struct {
	Type      string `json:"type"`
	Thinking  string `json:"thinking"`
	Signature string `json:"signature"`
}

type toolUse struct {
	Type  string          `json:"type"`
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

type toolResult struct {
	Type    string `json:"type"`
	ID      string `json:"tool_use_id"`
	Content string `json:"content,omitempty"`
	IsError bool   `json:"is_error,omitempty"`
}

// encode writes what is made of text and JSON, without marks for HTML: thinking must stay as it came.
func encode(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(fmt.Sprintf("encode %T: %v", v, err)) // nothing in it can fail
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'})
}

// object is arguments as the API takes them: what is no JSON object is none.
func object(arguments string) json.RawMessage {
	var m map[string]json.RawMessage
	if json.Unmarshal([]byte(arguments), &m) != nil || m == nil {
		return json.RawMessage("{}")
	}
	return json.RawMessage(arguments)
}

// mark ends what the API may cache. A request has at most four.
var mark = json.RawMessage(`{"type":"ephemeral"}`)

// marked is a block with a mark.
func marked(raw json.RawMessage) json.RawMessage {
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil {
		return raw
	}
	m["cache_control"] = mark
	return encode(m)
}

// defaultMaxTokens is what a reply may have where nobody says; the API wants a number. All models but the oldest generation take it.
const defaultMaxTokens = 8192

// turn is one message in the form of the API.
type turn struct {
	Role    string            `json:"role"`
	Content []json.RawMessage `json:"content"`
}

// body is a request. What a reply had when it was paused goes back as the assistant's last message.
func (m *model) body(r provider.Request, paused []json.RawMessage) ([]byte, error) {
	h := history{provider: m.options.Provider, model: m.options.Model}
	for _, msg := range r.Messages {
		h.add(msg)
	}
	h.push("assistant", paused...)
	left := 2
	for i := len(h.turns) - 1; i >= 0 && left > 0; i-- {
		if t := &h.turns[i]; t.Role == "user" {
			last := len(t.Content) - 1
			t.Content[last] = marked(t.Content[last])
			left--
		}
	}
	body := map[string]any{
		"model": m.options.Model, "messages": h.turns, "stream": true,
		"max_tokens": cmp.Or(r.MaxTokens, m.options.MaxTokens, defaultMaxTokens),
	}
	if strings.TrimSpace(r.System) != "" {
		body["system"] = []json.RawMessage{marked(encode(textBlock{"text", r.System}))}
	}
	tools, err := markedTools(r.Tools)
	if err != nil {
		return nil, err
	}
	if len(tools) > 0 {
		body["tools"] = tools
	}
	maps.Copy(body, m.options.ExtraBody)
	if h.bare { // the API refuses to think on where the turn began without
		delete(body, "thinking")
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err = e.Encode(body)
	return b.Bytes(), err
}

func markedTools(list string) ([]json.RawMessage, error) {
	if list == "" {
		return nil, nil
	}
	var tools []json.RawMessage
	if err := json.Unmarshal([]byte(list), &tools); err != nil {
		return nil, fmt.Errorf("read the definitions of tools: %w", err)
	}
	if n := len(tools); n > 0 {
		tools[n-1] = marked(tools[n-1])
	}
	return tools, nil
}

// history puts messages in the form of the API: roles alternate, beginning with the user's; results are first in the message behind
// their calls; ids are unique and of the allowed characters.
type history struct {
	provider string
	model    string
	turns    []turn
	ids      ids
	bare     bool // the running turn has calls without thinking before them
}

func (h *history) push(role string, blocks ...json.RawMessage) {
	if len(blocks) == 0 {
		return
	}
	if len(h.turns) == 0 && role != "user" {
		h.push("user", encode(textBlock{"text", "(the beginning of this conversation is not shown)"}))
	}
	if n := len(h.turns); n > 0 && h.turns[n-1].Role == role {
		h.turns[n-1].Content = append(h.turns[n-1].Content, blocks...)
		return
	}
	h.turns = append(h.turns, turn{role, blocks})
}

func (h *history) add(msg provider.Message) {
	switch msg.Role {
	case provider.User:
		h.bare = false
		if strings.TrimSpace(msg.Text) != "" {
			h.push("user", encode(textBlock{"text", msg.Text}))
		}
	case provider.Tool:
		h.push("user", encode(toolResult{"tool_result", h.ids.result(msg.CallID), msg.Text, msg.Failed}))
	case provider.Assistant:
		blocks, thinking := h.assistant(msg)
		h.bare = h.bare || len(msg.Calls) > 0 && !thinking
		h.push("assistant", blocks...)
	}
}

// assistant gives the blocks of a message: in the order in which they came where that is known, with what the message holds now.
func (h *history) assistant(msg provider.Message) (blocks []json.RawMessage, thinking bool) {
	var kept []json.RawMessage
	if o := msg.Opaque; o != nil && o.Provider == h.provider && o.Model == h.model {
		_ = json.Unmarshal(o.Data, &kept) // what isn't ours stays out
	}
	text, calls := msg.Text, msg.Calls
	say := func(s string) {
		if strings.TrimSpace(s) != "" {
			blocks = append(blocks, encode(textBlock{"text", s}))
		}
	}
	call := func(c provider.Call) {
		blocks = append(blocks, encode(toolUse{"tool_use", h.ids.call(c.ID), c.Name, object(c.Arguments)}))
	}
	for _, raw := range kept {
		var b struct{ Type, Text, ID string }
		if json.Unmarshal(raw, &b) != nil {
			continue
		}
		switch b.Type {
		case "text":
			if rest, ok := strings.CutPrefix(text, b.Text); ok { // else the message was changed: its text follows as a whole
				say(b.Text)
				text = rest
			}
		case "tool_use":
			for i, c := range calls {
				if c.ID == b.ID {
					say(text)
					text = ""
					call(c)
					calls = append(calls[:i:i], calls[i+1:]...)
					break
				}
			}
		default:
			thinking = thinking || strings.HasSuffix(b.Type, "thinking")
			blocks = append(blocks, raw)
		}
	}
	say(text)
	for _, c := range calls {
		call(c)
	}
	return blocks, thinking
}
