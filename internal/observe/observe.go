// Package observe sends spans and metrics of calls to an OpenTelemetry collector: OTLP over HTTP, in its JSON form. It is switched on
// by the standard OTEL_ variables; without an endpoint it does nothing and opens no connection.
//
// Spans take their parent from, and leave themselves in, the context of OpenTelemetry's API, so an embedder's own spans stand in
// one chain with ours. The exporter is written here because the SDK with its protobuf and gRPC packages adds more to the start of
// every hermes process than the rest of the program.
package observe

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/hermes-runtime/hermes/internal/dispatch"
)

// Options makes an Observer.
type Options struct {
	Getenv  func(string) string
	Version string
	Log     *slog.Logger
}

// Observer is where spans and metrics go. nil observes nothing.
type Observer struct {
	export  *exporter
	metrics *metrics // nil = not wanted
	traces  bool
	content bool    // arguments and results stand on spans
	sample  float64 // share of root spans that are kept
	parent  bool    // a parent's decision holds
	root    trace.SpanContext
}

// New reads the OTEL_ variables. It returns nil where no endpoint is set, and an error for one that can't be used.
func New(o Options) (*Observer, error) {
	env := o.Getenv
	if strings.EqualFold(env("OTEL_SDK_DISABLED"), "true") {
		return nil, nil
	}
	traces, err := endpoint(env, "TRACES", "/v1/traces")
	if err != nil {
		return nil, err
	}
	points, err := endpoint(env, "METRICS", "/v1/metrics")
	if err != nil || traces == "" && points == "" {
		return nil, err
	}
	b := &Observer{traces: traces != "", content: strings.EqualFold(env("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"), "true")}
	if b.sample, b.parent, err = sampler(env("OTEL_TRACES_SAMPLER"), env("OTEL_TRACES_SAMPLER_ARG")); err != nil {
		return nil, err
	}
	b.root, _ = parseTraceparent(env("TRACEPARENT"))
	if points != "" {
		b.metrics = newMetrics()
	}
	b.export = newExporter(exporterOptions{
		traces: traces, metrics: points, headers: env("OTEL_EXPORTER_OTLP_HEADERS"),
		resource: resource(env, o.Version), log: o.Log, points: b.metrics,
		timeout: millis(env("OTEL_EXPORTER_OTLP_TIMEOUT"), 10*time.Second),
		delay:   millis(env("OTEL_BSP_SCHEDULE_DELAY"), 5*time.Second),
		every:   millis(env("OTEL_METRIC_EXPORT_INTERVAL"), 60*time.Second),
		queue:   count(env("OTEL_BSP_MAX_QUEUE_SIZE"), 2048),
	})
	return b, nil
}

// endpoint finds the URL of one signal, "" = it is off.
func endpoint(env func(string) string, signal, path string) (string, error) {
	if v := env("OTEL_" + signal + "_EXPORTER"); v != "" && v != "otlp" {
		return "", nil
	}
	name := "OTEL_EXPORTER_OTLP_" + signal + "_ENDPOINT"
	at := env(name)
	if at == "" {
		name = "OTEL_EXPORTER_OTLP_ENDPOINT"
		if at = env(name); at == "" {
			return "", nil
		}
		at = strings.TrimSuffix(at, "/") + path
	}
	if p := env("OTEL_EXPORTER_OTLP_PROTOCOL"); p == "grpc" {
		return "", errors.New("OTEL_EXPORTER_OTLP_PROTOCOL: grpc is not spoken here; set http/json and the collector's HTTP endpoint (port 4318)")
	}
	u, err := url.Parse(at)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", fmt.Errorf("%s: %q is no http or https URL", name, at)
	}
	return at, nil
}

func sampler(name, arg string) (share float64, parent bool, err error) {
	kind, isParent := strings.CutPrefix(name, "parentbased_")
	switch kind {
	case "":
		return 1, true, nil
	case "always_on":
		return 1, isParent, nil
	case "always_off":
		return 0, isParent, nil
	case "traceidratio":
		share = 1
		if arg != "" {
			if share, err = strconv.ParseFloat(arg, 64); err != nil || share < 0 || share > 1 {
				return 0, false, fmt.Errorf("OTEL_TRACES_SAMPLER_ARG: %q is no share from 0 to 1", arg)
			}
		}
		return share, isParent, nil
	}
	return 0, false, fmt.Errorf("OTEL_TRACES_SAMPLER: %q is not known here", name)
}

func millis(s string, def time.Duration) time.Duration {
	if n, err := strconv.Atoi(s); err == nil && n > 0 {
		return time.Duration(n) * time.Millisecond
	}
	return def
}

func count(s string, def int) int {
	if n, err := strconv.Atoi(s); err == nil && n > 0 {
		return n
	}
	return def
}

func resource(env func(string) string, version string) []attribute {
	name := "hermes"
	var out []attribute
	for pair := range strings.SplitSeq(env("OTEL_RESOURCE_ATTRIBUTES"), ",") {
		k, v, ok := strings.Cut(pair, "=")
		if v, err := url.QueryUnescape(v); ok && err == nil {
			if k = strings.TrimSpace(k); k == "service.name" {
				name = v
				continue
			}
			out = append(out, text(k, v))
		}
	}
	if v := env("OTEL_SERVICE_NAME"); v != "" {
		name = v
	}
	return append(out, text("service.name", name), text("service.version", version))
}

// span is one call.
type span struct {
	observer *Observer
	name     string
	context  trace.SpanContext
	parent   trace.SpanID
	start    time.Time
}

// Begin implements dispatch.Tracer.
func (b *Observer) Begin(ctx context.Context, name, _, _ string) (context.Context, dispatch.Span) {
	parent := trace.SpanContextFromContext(ctx)
	if !parent.IsValid() {
		parent = b.root
	}
	s := &span{observer: b, name: name, parent: parent.SpanID(), start: time.Now()}
	c := trace.SpanContextConfig{TraceID: parent.TraceID(), TraceFlags: parent.TraceFlags(), TraceState: parent.TraceState()}
	_, _ = rand.Read(c.SpanID[:])
	if !parent.IsValid() {
		_, _ = rand.Read(c.TraceID[:])
		c.TraceFlags = 0
	}
	if !parent.IsValid() || !b.parent {
		c.TraceFlags = c.TraceFlags.WithSampled(b.keeps(c.TraceID))
	}
	s.context = trace.NewSpanContext(c)
	return trace.ContextWithSpanContext(ctx, s.context), s
}

func (b *Observer) keeps(id trace.TraceID) bool {
	if b.sample >= 1 {
		return true
	}
	return float64(binary.BigEndian.Uint64(id[8:])>>1) < b.sample*math.MaxInt64
}

// TraceID implements dispatch.Span.
func (s *span) TraceID() string { return s.context.TraceID().String() }

// End implements dispatch.Span.
func (s *span) End(r *dispatch.Record) {
	if s.observer.traces && s.context.IsSampled() {
		s.observer.export.add(s.encode(r))
	}
}

// Measure takes a call into the metrics.
func (b *Observer) Measure(r *dispatch.Record) {
	if b.metrics != nil {
		b.metrics.add(r)
	}
}

// Checked takes a run of an availability check into the metrics. A nil Observer takes nothing.
func (b *Observer) Checked(check string, took time.Duration) {
	if b != nil && b.metrics != nil {
		b.metrics.check(check, took)
	}
}

// Gauges are the numbers that are read when metrics are sent. A nil one is zero.
type Gauges struct {
	Abandoned func() int // handlers that outlived their calls
	Pending   func() int // questions that wait for a person
}

// Watch tells the metrics where to read what is counted elsewhere.
func (b *Observer) Watch(g Gauges) {
	if b.metrics != nil {
		b.metrics.mu.Lock()
		defer b.metrics.mu.Unlock()
		b.metrics.gauges = g
	}
}

// Traceparent is the header that hands the span in ctx on, "" without one.
func Traceparent(ctx context.Context) string {
	c := trace.SpanContextFromContext(ctx)
	if !c.IsValid() {
		return ""
	}
	return "00-" + c.TraceID().String() + "-" + c.SpanID().String() + "-" + c.TraceFlags().String()
}

func parseTraceparent(s string) (trace.SpanContext, bool) {
	parts := strings.Split(s, "-")
	if len(parts) < 4 || len(parts[0]) != 2 || parts[0] == "ff" {
		return trace.SpanContext{}, false
	}
	id, err1 := trace.TraceIDFromHex(parts[1])
	sp, err2 := trace.SpanIDFromHex(parts[2])
	flags, err3 := strconv.ParseUint(parts[3], 16, 8)
	if err1 != nil || err2 != nil || err3 != nil || len(parts[3]) != 2 {
		return trace.SpanContext{}, false
	}
	return trace.NewSpanContext(trace.SpanContextConfig{TraceID: id, SpanID: sp, TraceFlags: trace.TraceFlags(flags), Remote: true}), true
}

// Close sends what waits. It returns when that is done or ctx ends.
func (b *Observer) Close(ctx context.Context) error {
	if b == nil {
		return nil
	}
	return b.export.close(ctx)
}
