package observe

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/hermes-runtime/hermes/internal/dispatch"
)

// The messages of OTLP's JSON form, as far as they are sent. 64-bit integers are strings there, ids are hexadecimal.
// Source: the protocol's specification, JSON Protobuf Encoding.
type (
	attribute struct {
		Key   string `json:"key"`
		Value value  `json:"value"`
	}
	value struct {
		String *string `json:"stringValue,omitempty"`
		Int    *string `json:"intValue,omitempty"`
	}
	spanMessage struct {
		TraceID    string         `json:"traceId"`
		SpanID     string         `json:"spanId"`
		ParentID   string         `json:"parentSpanId,omitempty"`
		State      string         `json:"traceState,omitempty"`
		Flags      int            `json:"flags"`
		Name       string         `json:"name"`
		Kind       int            `json:"kind"`
		Start      string         `json:"startTimeUnixNano"`
		End        string         `json:"endTimeUnixNano"`
		Attributes []attribute    `json:"attributes"`
		Events     []eventMessage `json:"events,omitempty"`
		Status     statusMessage  `json:"status"`
	}
	eventMessage struct {
		Time       string      `json:"timeUnixNano"`
		Name       string      `json:"name"`
		Attributes []attribute `json:"attributes"`
	}
	statusMessage struct {
		Code    int    `json:"code,omitempty"`
		Message string `json:"message,omitempty"`
	}
	scope struct {
		Name string `json:"name"`
	}
	resourceMessage struct {
		Attributes []attribute `json:"attributes"`
	}
)

const (
	kindInternal = 1
	statusError  = 2
	scopeName    = "github.com/hermes-runtime/hermes"
)

func text(k, v string) attribute { return attribute{k, value{String: &v}} }

func integer(k string, n int64) attribute {
	s := strconv.FormatInt(n, 10)
	return attribute{k, value{Int: &s}}
}

func nanos(t time.Time) string { return strconv.FormatInt(t.UnixNano(), 10) }

// encode makes the message of a call that ended: the conventions for generative AI, and what is ours under hermes.
func (s *span) encode(r *dispatch.Record) spanMessage {
	m := spanMessage{
		TraceID: s.context.TraceID().String(), SpanID: s.context.SpanID().String(), State: s.context.TraceState().String(),
		Flags: int(s.context.TraceFlags()), Name: "execute_tool " + s.name, Kind: kindInternal, Start: nanos(s.start), End: nanos(time.Now()),
		Attributes: []attribute{
			text("gen_ai.operation.name", "execute_tool"), text("gen_ai.tool.name", s.name), text("gen_ai.tool.call.id", r.Call),
			text("gen_ai.tool.type", "function"), text("gen_ai.conversation.id", r.Session),
			text("hermes.tool.status", r.Status), integer("hermes.tool.repairs", int64(len(r.Repairs))),
			integer("hermes.tool.spilled_chars", int64(r.Spilled)), integer("hermes.tool.queue_ms", r.Queued.Milliseconds()),
		},
	}
	if s.parent.IsValid() {
		m.ParentID = s.parent.String()
	}
	for _, a := range []attribute{
		text("error.type", r.ErrorType), text("hermes.tool.toolset", r.Toolset), text("hermes.tool.origin", r.Origin),
		text("hermes.approval.decision", r.Decision), text("hermes.approval.rule", strings.Join(r.Rules, ",")),
	} {
		if *a.Value.String != "" {
			m.Attributes = append(m.Attributes, a)
		}
	}
	for _, d := range r.Rulings {
		m.Events = append(m.Events, eventMessage{nanos(d.Time), "hermes.approval", []attribute{
			text("hermes.approval.decision", d.Outcome), text("hermes.approval.rule", strings.Join(d.Rules, ",")), text("hermes.approval.mode", d.Mode),
		}})
	}
	if s.observer.content {
		m.Attributes = append(m.Attributes, text("gen_ai.tool.call.arguments", r.Args), text("gen_ai.tool.call.result", r.Result))
	}
	if r.ErrorType != "" {
		m.Status = statusMessage{statusError, r.ErrorType}
	}
	return m
}

// tracesBody is one request to the traces endpoint.
func tracesBody(resource []attribute, spans []spanMessage) ([]byte, error) {
	type scopeSpans struct {
		Scope scope         `json:"scope"`
		Spans []spanMessage `json:"spans"`
	}
	type resourceSpans struct {
		Resource   resourceMessage `json:"resource"`
		ScopeSpans []scopeSpans    `json:"scopeSpans"`
	}
	return json.Marshal(map[string][]resourceSpans{"resourceSpans": {{
		resourceMessage{resource}, []scopeSpans{{scope{scopeName}, spans}},
	}}})
}
