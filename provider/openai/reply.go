package openai

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/hermes-runtime/hermes/internal/model/wire"
	"github.com/hermes-runtime/hermes/provider"
)

// chunk is an event of a stream, or a whole reply, which has message where events have delta.
type chunk struct {
	Choices []struct {
		Delta        *delta  `json:"delta"`
		Message      *delta  `json:"message"`
		FinishReason *string `json:"finish_reason"`
	} `json:"choices"`
	Usage *usage `json:"usage"`
}

type delta struct {
	Content   json.RawMessage `json:"content"` // text, or a list of parts
	Refusal   string          `json:"refusal"`
	Reasoning string          `json:"reasoning"`
	Thought   string          `json:"reasoning_content"`
	Details   json.RawMessage `json:"reasoning_details"`
	ToolCalls []fragment      `json:"tool_calls"`
	Function  *function       `json:"function_call"` // of servers from before there were several
}

type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Details    struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

// decoder turns what a server sends into events. Calls and the end are held back until the reply is complete.
type decoder struct {
	model   *model
	out     []provider.Event
	calls   calls
	kept    reasoning
	details []json.RawMessage
	usage   *provider.Usage
	reason  string
	refused bool
	content bool // the last event had some
	over    bool
}

// finished tells whether all content is there.
func (d *decoder) finished() bool { return d.reason != "" }

// take returns the events that are due.
func (d *decoder) take() []provider.Event {
	out := d.out
	d.out = nil
	return out
}

func (d *decoder) emit(k provider.Kind, text string) {
	if text != "" {
		d.out = append(d.out, provider.Event{Kind: k, Text: text})
		d.content = true
	}
}

func (d *decoder) event(ev wire.Event) error {
	d.content = false
	if string(ev.Data) == wire.Done {
		if d.reason == "" {
			d.reason = "stop"
		}
		d.over = true
		return nil
	}
	var c chunk
	if err := decode(ev.Data, &c); err != nil {
		return err
	}
	if c.Usage != nil {
		d.usage = &provider.Usage{Input: c.Usage.Prompt, Output: c.Usage.Completion, Cached: c.Usage.Details.Cached}
	}
	if ev.Whole {
		d.over = true
		if len(c.Choices) == 0 {
			return &malformed{errors.New("a reply without choices")}
		}
	}
	if len(c.Choices) == 0 {
		return nil
	}
	first := c.Choices[0]
	part := first.Delta
	if part == nil {
		part = first.Message
	}
	if part != nil {
		if err := d.part(part, ev.Whole); err != nil {
			return err
		}
	}
	if first.FinishReason != nil && *first.FinishReason != "" {
		d.reason = *first.FinishReason
	} else if ev.Whole {
		d.reason = "stop"
	}
	return nil
}

func (d *decoder) part(p *delta, whole bool) error {
	d.emit(provider.KindReasoning, p.Thought)
	d.kept.Content += p.Thought
	if p.Reasoning != p.Thought { // some servers send both alike
		d.emit(provider.KindReasoning, p.Reasoning)
	}
	d.kept.Text += p.Reasoning
	if len(p.Details) > 0 {
		var list []json.RawMessage
		if json.Unmarshal(p.Details, &list) == nil { // one in another form is not needed to go on
			d.details = append(d.details, list...)
		}
	}
	text, err := contentText(p.Content)
	if err != nil {
		return err
	}
	d.emit(provider.KindText, text)
	if p.Refusal != "" {
		d.refused = true
		d.emit(provider.KindText, p.Refusal)
	}
	if p.Function != nil {
		d.content = true
		d.calls.add(fragment{Function: *p.Function})
	}
	for _, f := range p.ToolCalls {
		d.content = true
		if whole {
			d.calls.begin(f)
		} else {
			d.calls.add(f)
		}
	}
	return nil
}

// contentText reads text that is sent as a string or as a list of parts.
func contentText(raw json.RawMessage) (string, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return "", nil
	}
	if raw[0] == '[' {
		var parts []struct {
			Text string `json:"text"`
		}
		if err := decode(raw, &parts); err != nil {
			return "", err
		}
		var b strings.Builder
		for _, p := range parts {
			b.WriteString(p.Text)
		}
		return b.String(), nil
	}
	var s string
	return s, decode(raw, &s)
}

// ends says what the reasons of servers mean; others are an ordinary end.
var ends = map[string]provider.End{
	"length": provider.EndLength, "max_tokens": provider.EndLength, "model_length": provider.EndLength,
	"content_filter": provider.EndRefused, "refusal": provider.EndRefused,
}

// end returns the events of a complete reply that were held back.
func (d *decoder) end() []provider.Event {
	var out []provider.Event
	for _, c := range d.calls.list {
		out = append(out, provider.Event{Kind: provider.KindCall, Call: c.whole()})
	}
	if d.usage != nil {
		out = append(out, provider.Event{Kind: provider.KindUsage, Usage: d.usage})
	}
	last := provider.Event{Kind: provider.KindEnd, End: provider.EndStop, Opaque: d.opaque()}
	if e, ok := ends[d.reason]; ok {
		last.End = e
	} else if d.refused {
		last.End = provider.EndRefused
	}
	return append(out, last)
}

// opaque is what has to go back with the message: the reasoning, where the reply has calls that go on with it.
func (d *decoder) opaque() *provider.Opaque {
	if len(d.calls.list) == 0 || d.kept.Content == "" && d.kept.Text == "" && len(d.details) == 0 {
		return nil
	}
	d.kept.Details = nil
	if len(d.details) > 0 {
		d.kept.Details, _ = json.Marshal(d.details) // came as JSON
	}
	data, err := json.Marshal(d.kept)
	if err != nil {
		return nil
	}
	return &provider.Opaque{Provider: d.model.options.Provider, Model: d.model.options.Model, Data: slices.Clip(data)}
}
