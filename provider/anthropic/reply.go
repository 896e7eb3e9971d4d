package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hermes-runtime/hermes/internal/model/wire"
	"github.com/hermes-runtime/hermes/provider"
)

// message is what the API sends: an event, or a whole reply, which has content.
type message struct {
	Type    string            `json:"type"`
	Index   int               `json:"index"`
	Message *message          `json:"message"`
	Content []json.RawMessage `json:"content"`
	Block   json.RawMessage   `json:"content_block"`
	Delta   struct {
		Type       string `json:"type"`
		Text       string `json:"text"`
		Thinking   string `json:"thinking"`
		Signature  string `json:"signature"`
		Partial    string `json:"partial_json"`
		StopReason string `json:"stop_reason"`
	} `json:"delta"`
	StopReason string `json:"stop_reason"`
	Usage      *usage `json:"usage"`
}

type usage struct {
	Input   int `json:"input_tokens"`
	Output  int `json:"output_tokens"`
	Created int `json:"cache_creation_input_tokens"`
	Read    int `json:"cache_read_input_tokens"`
}

// block is one block of content as it is put together.
type block struct {
	index int
	kind  string
	raw   json.RawMessage // as it began
	head  struct {
		Type      string          `json:"type"`
		Text      string          `json:"text"`
		Thinking  string          `json:"thinking"`
		Signature string          `json:"signature"`
		ID        string          `json:"id"`
		Name      string          `json:"name"`
		Input     json.RawMessage `json:"input"`
	}
	text, signature, input strings.Builder
}

// decoder turns what the API sends into events, over all parts of a reply that it paused. Calls and the end are held back until the
// reply is complete.
type decoder struct {
	provider string
	model    string
	out      []provider.Event
	blocks   []*block // of the running part
	before   []*block // of parts that were paused
	total    provider.Usage
	part     usage
	told     bool // usage was
	reason   string
	progress bool // the last event carried content
	over     bool
}

func (d *decoder) take() []provider.Event {
	out := d.out
	d.out = nil
	return out
}

func (d *decoder) emit(k provider.Kind, text string) {
	if text != "" {
		d.out = append(d.out, provider.Event{Kind: k, Text: text})
	}
}

// resume makes ready for the next part of a reply that was paused.
func (d *decoder) resume() {
	d.before, d.blocks = append(d.before, d.blocks...), nil
	d.addUsage()
	d.reason, d.over = "", false
}

func (d *decoder) addUsage() {
	d.total.Input += d.part.Input + d.part.Created + d.part.Read
	d.total.Output += d.part.Output
	d.total.Cached += d.part.Read
	d.part = usage{}
}

func (d *decoder) event(ev wire.Event) error {
	d.progress = false
	var m message
	if err := decode(ev.Data, &m); err != nil {
		return err
	}
	if ev.Whole {
		return d.whole(&m)
	}
	switch m.Type {
	case "message_start":
		if m.Message != nil {
			d.count(m.Message.Usage)
		}
	case "content_block_start":
		d.progress = true
		return d.begin(m.Index, m.Block)
	case "content_block_delta":
		d.progress = true
		return d.delta(&m)
	case "message_delta":
		d.count(m.Usage)
		if m.Delta.StopReason != "" {
			d.reason = m.Delta.StopReason
		}
	case "message_stop":
		if d.reason == "" {
			d.reason = "end_turn"
		}
		d.over = true
	}
	return nil
}

func (d *decoder) whole(m *message) error {
	if m.Type != "message" {
		return &malformed{fmt.Errorf("a reply of type %q", m.Type)}
	}
	for i, raw := range m.Content {
		if err := d.begin(i, raw); err != nil {
			return err
		}
	}
	d.count(m.Usage)
	d.reason, d.over = m.StopReason, true
	return nil
}

// count takes numbers over; those of a later event replace earlier ones.
func (d *decoder) count(u *usage) {
	if u == nil {
		return
	}
	d.told = true
	for _, f := range []struct{ to, from *int }{
		{&d.part.Input, &u.Input}, {&d.part.Output, &u.Output}, {&d.part.Created, &u.Created}, {&d.part.Read, &u.Read},
	} {
		if *f.from > 0 {
			*f.to = *f.from
		}
	}
}

func (d *decoder) begin(index int, raw json.RawMessage) error {
	b := &block{index: index, raw: bytes.Clone(raw)}
	if err := decode(raw, &b.head); err != nil {
		return err
	}
	b.kind = b.head.Type
	d.blocks = append(d.blocks, b)
	switch b.kind {
	case "text":
		b.text.WriteString(b.head.Text)
		d.emit(provider.KindText, b.head.Text)
	case "thinking":
		b.text.WriteString(b.head.Thinking)
		b.signature.WriteString(b.head.Signature)
		d.emit(provider.KindReasoning, b.head.Thinking)
	}
	return nil
}

func (d *decoder) delta(m *message) error {
	var b *block
	for _, x := range d.blocks {
		if x.index == m.Index {
			b = x
		}
	}
	if b == nil {
		return &malformed{fmt.Errorf("a piece of block %d, which never began", m.Index)}
	}
	switch m.Delta.Type {
	case "text_delta":
		b.text.WriteString(m.Delta.Text)
		d.emit(provider.KindText, m.Delta.Text)
	case "thinking_delta":
		b.text.WriteString(m.Delta.Thinking)
		d.emit(provider.KindReasoning, m.Delta.Thinking)
	case "signature_delta":
		b.signature.WriteString(m.Delta.Signature)
	case "input_json_delta":
		b.input.WriteString(m.Delta.Partial)
	}
	return nil
}

// arguments are the input of a call: streamed in pieces, or there from the beginning.
func (b *block) arguments() string {
	if b.input.Len() > 0 {
		return b.input.String()
	}
	var out bytes.Buffer
	if json.Compact(&out, b.head.Input) != nil { // there is none
		return "{}"
	}
	return out.String()
}

// send is a block as it goes back to the API: thinking byte for byte, what only the API understands as it came.
func (b *block) send() json.RawMessage {
	var v any
	switch b.kind {
	case "text":
		if strings.TrimSpace(b.text.String()) == "" {
			return nil
		}
		v = textBlock{Type: "text", Text: b.text.String()}
	case "thinking":
		v = thinkingBlock{Type: "thinking", Thinking: b.text.String(), Signature: b.signature.String()}
	case "tool_use":
		v = toolUse{Type: "tool_use", ID: b.head.ID, Name: b.head.Name, Input: object(b.arguments())}
	case "server_tool_use":
		v = toolUse{Type: b.kind, ID: b.head.ID, Name: b.head.Name, Input: object(b.arguments())}
	default:
		return b.raw
	}
	return encode(v)
}

// content is what was received before a pause.
func (d *decoder) content() []json.RawMessage {
	var out []json.RawMessage
	for _, b := range d.before {
		if raw := b.send(); raw != nil {
			out = append(out, raw)
		}
	}
	return out
}

// ends says what the reasons of the API mean; others are an ordinary end.
var ends = map[string]provider.End{
	"max_tokens": provider.EndLength, "model_context_window_exceeded": provider.EndLength, "refusal": provider.EndRefused,
}

// end returns the events of a complete reply that were held back.
func (d *decoder) end() []provider.Event {
	all := append(d.before, d.blocks...)
	var out []provider.Event
	for _, b := range all {
		if b.kind == "tool_use" {
			out = append(out, provider.Event{Kind: provider.KindCall, Call: &provider.Call{ID: b.head.ID, Name: b.head.Name, Arguments: b.arguments()}})
		}
	}
	d.addUsage()
	if d.told {
		out = append(out, provider.Event{Kind: provider.KindUsage, Usage: &d.total})
	}
	last := provider.Event{Kind: provider.KindEnd, End: provider.EndStop, Opaque: d.opaque(all)}
	if e, ok := ends[d.reason]; ok {
		last.End = e
	}
	return append(out, last)
}

// opaque is the whole content in its order, where some of it is only for the API.
func (d *decoder) opaque(all []*block) *provider.Opaque {
	needed := false
	var content []json.RawMessage
	for _, b := range all {
		needed = needed || b.kind != "text" && b.kind != "tool_use"
		if raw := b.send(); raw != nil {
			content = append(content, raw)
		}
	}
	if !needed {
		return nil
	}
	return &provider.Opaque{Provider: d.provider, Model: d.model, Data: encode(content)}
}
