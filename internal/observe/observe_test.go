package observe

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/hermes-runtime/hermes/internal/dispatch"
	"github.com/hermes-runtime/hermes/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// collector keeps what is posted to it.
type collector struct {
	*httptest.Server
	mu     sync.Mutex
	bodies map[string][]map[string]any
	header http.Header
}

func newCollector(t *testing.T) *collector {
	c := &collector{bodies: map[string][]map[string]any{}}
	c.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		var m map[string]any
		if err := json.Unmarshal(text, &m); err != nil {
			t.Errorf("%s got no JSON: %v", r.URL.Path, err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.bodies[r.URL.Path] = append(c.bodies[r.URL.Path], m)
		c.header = r.Header
	}))
	t.Cleanup(c.Close)
	return c
}

// spans are all spans that arrived, by name.
func (c *collector) spans(t *testing.T) map[string]map[string]any {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	out := map[string]map[string]any{}
	for _, body := range c.bodies["/v1/traces"] {
		for _, rs := range body["resourceSpans"].([]any) {
			for _, ss := range rs.(map[string]any)["scopeSpans"].([]any) {
				for _, s := range ss.(map[string]any)["spans"].([]any) {
					m := s.(map[string]any)
					out[m["name"].(string)] = m
				}
			}
		}
	}
	return out
}

func attributes(span map[string]any) map[string]string {
	out := map[string]string{}
	for _, a := range span["attributes"].([]any) {
		m := a.(map[string]any)
		for _, v := range m["value"].(map[string]any) {
			out[m["key"].(string)] = v.(string)
		}
	}
	return out
}

func open(t *testing.T, env map[string]string) *Observer {
	t.Helper()
	b, err := New(Options{Getenv: func(n string) string { return env[n] }, Version: "1"})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func closeNow(t *testing.T, b *Observer) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := b.Close(ctx); err != nil {
		t.Error(err)
	}
}

// OBS-1: without an endpoint, or switched off, nothing is observed.
func TestNew_WithoutEndpointNothingIsObserved(t *testing.T) {
	for _, env := range []map[string]string{
		{}, {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_SDK_DISABLED": "true"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_TRACES_EXPORTER": "none", "OTEL_METRICS_EXPORTER": "none"},
	} {
		if b := open(t, env); b != nil {
			t.Errorf("%v: something observes", env)
		}
	}
}

func TestNew_BadSettingsNameTheVariable(t *testing.T) {
	for name, value := range map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": "localhost:4318", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_TRACES_SAMPLER": "sometimes",
	} {
		env := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}
		env[name] = value
		if _, err := New(Options{Getenv: func(n string) string { return env[n] }}); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s=%s gave %v", name, value, err)
		}
	}
}

// OBS-2, OBS-3, OBS-4: one span a call, in one chain, with what is known of it.
func TestSpan_ChainAndAttributes(t *testing.T) {
	c := newCollector(t)
	b := open(t, map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": c.URL, "OTEL_EXPORTER_OTLP_HEADERS": "x-key=a%20b", "OTEL_SERVICE_NAME": "mine",
		"TRACEPARENT": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
	})
	ctx, outer := b.Begin(context.Background(), "outer", "c1", "s")
	if got := Traceparent(ctx); !strings.HasPrefix(got, "00-0af7651916cd43dd8448eb211c80319c-") || !strings.HasSuffix(got, "-01") {
		t.Errorf("children get traceparent %s", got)
	}
	_, inner := b.Begin(ctx, "inner", "c2", "s")
	inner.End(&dispatch.Record{Call: "c2", Session: "s", Status: "error", ErrorType: "tool_error", Args: "secret", Rules: []string{"r1", "r2"}, Decision: "approved",
		Rulings: []dispatch.Ruling{{Time: time.Unix(5, 0), Outcome: "approved", Mode: "manual", Rules: []string{"r1", "r2"}}}})
	outer.End(&dispatch.Record{Call: "c1", Session: "s", Status: "ok", Queued: 3 * time.Millisecond})
	closeNow(t, b)
	spans := c.spans(t)
	in, out := spans["execute_tool inner"], spans["execute_tool outer"]
	if in == nil || out == nil {
		t.Fatalf("got %v", spans)
	}
	if out["parentSpanId"] != "b7ad6b7169203331" || in["parentSpanId"] != out["spanId"] || in["traceId"] != out["traceId"] {
		t.Errorf("the chain is broken: %v %v", in, out)
	}
	a := attributes(in)
	for k, want := range map[string]string{
		"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "inner", "gen_ai.tool.call.id": "c2", "gen_ai.conversation.id": "s",
		"error.type": "tool_error", "hermes.approval.rule": "r1,r2", "hermes.approval.decision": "approved",
	} {
		if a[k] != want {
			t.Errorf("%s is %q, want %q", k, a[k], want)
		}
	}
	if _, shown := a["gen_ai.tool.call.arguments"]; shown {
		t.Error("arguments stand on the span although nobody asked for them")
	}
	if text, _ := json.Marshal(in["events"]); !strings.Contains(string(text), `"hermes.approval.mode","value":{"stringValue":"manual"}`) || !strings.Contains(string(text), `"timeUnixNano":"5000000000"`) {
		t.Errorf("the span's events are %s", text)
	}
	if attributes(out)["hermes.tool.queue_ms"] != "3" || c.header.Get("X-Key") != "a b" {
		t.Errorf("queue %v, header %v", attributes(out), c.header)
	}
}

// OBS-2: arguments and result only by request.
func TestSpan_ContentOnlyByRequest(t *testing.T) {
	c := newCollector(t)
	b := open(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": c.URL, "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "true"})
	_, s := b.Begin(context.Background(), "x", "c", "s")
	s.End(&dispatch.Record{Args: `{"a":1}`, Result: `{"b":2}`})
	closeNow(t, b)
	if a := attributes(c.spans(t)["execute_tool x"]); a["gen_ai.tool.call.arguments"] != `{"a":1}` || a["gen_ai.tool.call.result"] != `{"b":2}` {
		t.Errorf("got %v", a)
	}
}

func TestSampler_OffKeepsNothingButTheChain(t *testing.T) {
	c := newCollector(t)
	b := open(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": c.URL, "OTEL_TRACES_SAMPLER": "always_off"})
	ctx, s := b.Begin(context.Background(), "x", "c", "s")
	s.End(&dispatch.Record{})
	closeNow(t, b)
	if len(c.spans(t)) != 0 || !trace.SpanContextFromContext(ctx).IsValid() {
		t.Errorf("spans %v, chain %v", c.spans(t), trace.SpanContextFromContext(ctx))
	}
}

// OBS-5, A88: counters, gauges and histograms arrive, labelled by registered names only.
func TestMetrics_ArriveAtTheEnd(t *testing.T) {
	c := newCollector(t)
	b := open(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": c.URL})
	b.Watch(Gauges{Abandoned: func() int { return 2 }, Pending: func() int { return 7 }})
	b.Measure(&dispatch.Record{Name: "x", Status: "ok", Duration: 50 * time.Millisecond, ResultChars: 10, Rules: []string{"delete.bulk"}, Decision: "denied", Analysis: 40 * time.Microsecond,
		Rulings: []dispatch.Ruling{{Outcome: "denied", Waited: 20 * time.Second, Asked: true}, {Outcome: "allowed", Waited: 1}}})
	b.Measure(&dispatch.Record{Asked: "made_up_by_a_model", Status: "error"})
	b.Checked("python", 7*time.Second)
	closeNow(t, b)
	text, _ := json.Marshal(c.bodies["/v1/metrics"])
	for _, want := range []string{"hermes.check.duration", `"python"`, `"sum":7`, "hermes.tool.calls", "gen_ai.execute_tool.duration", "hermes.tool.result_chars", "hermes.tool.abandoned", "hermes.approval.decisions", "delete.bulk",
		"hermes.approval.pending", `"asInt":"7"`, "hermes.approval.analysis.duration", `"sum":0.00004`, "hermes.approval.answer.duration", `"sum":20,`, `"unknown"`, `"sum":0.05`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s is missing in %s", want, text)
		}
	}
	if strings.Contains(string(text), "made_up") {
		t.Error("a model's invention became a label")
	}
}

// OBS-1: a dead collector costs no time, and is complained about once.
func TestExport_DeadCollectorDelaysNothing(t *testing.T) {
	b := open(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_BSP_MAX_QUEUE_SIZE": "10"})
	for range 100 {
		_, s := b.Begin(context.Background(), "x", "c", "s")
		s.End(&dispatch.Record{})
	}
	if n := b.export.dropped.Load(); n < 90 {
		t.Errorf("%d dropped of 100 with room for 10", n)
	}
	closeNow(t, b)
}

func FuzzTraceparent(f *testing.F) {
	f.Add("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	f.Add("ff-x-y-z")
	f.Fuzz(func(t *testing.T, s string) {
		if c, ok := parseTraceparent(s); ok && !strings.Contains(s, c.TraceID().String()) {
			t.Errorf("%q gave %v", s, c.TraceID())
		}
	})
}

func BenchmarkSpan(b *testing.B) {
	o, err := New(Options{Getenv: func(n string) string {
		return map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_METRICS_EXPORTER": "none"}[n]
	}})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		_, s := o.Begin(context.Background(), "x", "c", "s")
		s.End(&dispatch.Record{})
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = o.Close(ctx)
}
