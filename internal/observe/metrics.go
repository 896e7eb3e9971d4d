package observe

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/hermes-runtime/hermes/internal/dispatch"
)

// secondBounds are the borders that the conventions give for durations of operations, in seconds.
var secondBounds = []float64{0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92}

// charBounds are borders for sizes of results, in characters.
var charBounds = []float64{100, 1000, 10_000, 100_000, 1_000_000}

// analysisBounds are borders for the time that reading a command takes, in seconds: from tens of microseconds to the limit of one.
var analysisBounds = []float64{0.00001, 0.00003, 0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3}

// answerBounds are borders for the time that people take to answer, in seconds.
var answerBounds = []float64{1, 3, 10, 30, 60, 120, 300, 900, 3600}

// metrics adds calls up since the start of the process. Labels come from registered names and fixed words only.
type metrics struct {
	start time.Time

	mu       sync.Mutex
	calls    map[labels]int64
	duration map[string]*histogram // by tool
	chars    map[string]*histogram
	checks   map[string]*histogram // by check
	decided  map[decision]int64
	analysis map[string]*histogram // by tool
	answers  map[string]*histogram // by outcome
	gauges   Gauges
}

type labels struct{ tool, status string }

// decision is how one act that a row found was decided about.
type decision struct{ row, outcome string }

type histogram struct {
	bounds []float64
	counts []int64
	sum    float64
	n      int64
}

func newMetrics() *metrics {
	return &metrics{start: time.Now(), calls: map[labels]int64{}, duration: map[string]*histogram{}, chars: map[string]*histogram{}, checks: map[string]*histogram{}, decided: map[decision]int64{},
		analysis: map[string]*histogram{}, answers: map[string]*histogram{}}
}

func (m *metrics) add(r *dispatch.Record) {
	name := r.Name
	if name == "" {
		name = "unknown" // a model's invention is no label
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls[labels{name, r.Status}]++
	for _, row := range r.Rules {
		m.decided[decision{row, r.Decision}]++
	}
	for _, d := range r.Rulings {
		if d.Asked {
			observe(m.answers, d.Outcome, answerBounds, d.Waited.Seconds())
		}
	}
	if r.Analysis > 0 {
		observe(m.analysis, name, analysisBounds, r.Analysis.Seconds())
	}
	observe(m.duration, name, secondBounds, r.Duration.Seconds())
	observe(m.chars, name, charBounds, float64(r.ResultChars))
}

func (m *metrics) check(name string, took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	observe(m.checks, name, secondBounds, took.Seconds())
}

func observe(in map[string]*histogram, name string, bounds []float64, v float64) {
	h := in[name]
	if h == nil {
		h = &histogram{bounds: bounds, counts: make([]int64, len(bounds)+1)}
		in[name] = h
	}
	i, _ := slices.BinarySearch(bounds, v)
	h.counts[i]++
	h.sum += v
	h.n++
}

type point struct {
	Attributes []attribute `json:"attributes,omitempty"`
	Start      string      `json:"startTimeUnixNano"`
	Time       string      `json:"timeUnixNano"`
	AsInt      string      `json:"asInt,omitempty"`
	Count      string      `json:"count,omitempty"`
	Sum        *float64    `json:"sum,omitempty"`
	Buckets    []string    `json:"bucketCounts,omitempty"`
	Bounds     []float64   `json:"explicitBounds,omitempty"`
}

type sumMessage struct {
	Points      []point `json:"dataPoints"`
	Temporality int     `json:"aggregationTemporality"`
	Monotonic   bool    `json:"isMonotonic"`
}

type gaugeMessage struct {
	Points []point `json:"dataPoints"`
}

type histogramMessage struct {
	Points      []point `json:"dataPoints"`
	Temporality int     `json:"aggregationTemporality"`
}

type metricMessage struct {
	Name      string            `json:"name"`
	Unit      string            `json:"unit,omitempty"`
	Sum       *sumMessage       `json:"sum,omitempty"`
	Gauge     *gaugeMessage     `json:"gauge,omitempty"`
	Histogram *histogramMessage `json:"histogram,omitempty"`
}

const cumulative = 2

// body is one request to the metrics endpoint; nil if there is nothing to tell.
func (m *metrics) body(resource []attribute) ([]byte, error) {
	m.mu.Lock()
	list := m.messages()
	m.mu.Unlock()
	if len(list) == 0 {
		return nil, nil
	}
	type scopeMetrics struct {
		Scope   scope           `json:"scope"`
		Metrics []metricMessage `json:"metrics"`
	}
	type resourceMetrics struct {
		Resource     resourceMessage `json:"resource"`
		ScopeMetrics []scopeMetrics  `json:"scopeMetrics"`
	}
	return json.Marshal(map[string][]resourceMetrics{"resourceMetrics": {{
		resourceMessage{resource}, []scopeMetrics{{scope{scopeName}, list}},
	}}})
}

func (m *metrics) messages() []metricMessage {
	start, now := nanos(m.start), nanos(time.Now())
	var list []metricMessage
	if len(m.calls) > 0 {
		list = m.callMessages(start, now)
	}
	list = append(list, m.approvalMessages(start, now)...)
	if len(m.checks) > 0 {
		list = append(list, metricMessage{Name: "hermes.check.duration", Unit: "s",
			Histogram: &histogramMessage{points("hermes.check.name", m.checks, start, now), cumulative}})
	}
	return list
}

func (m *metrics) callMessages(start, now string) []metricMessage {
	var counts []point
	for _, l := range slices.SortedFunc(maps.Keys(m.calls), func(a, b labels) int {
		return cmp.Or(cmp.Compare(a.tool, b.tool), cmp.Compare(a.status, b.status))
	}) {
		counts = append(counts, point{
			Attributes: []attribute{text("tool", l.tool), text("status", l.status)},
			Start:      start, Time: now, AsInt: strconv.FormatInt(m.calls[l], 10),
		})
	}
	const byTool = "gen_ai.tool.name"
	return []metricMessage{
		gauge("hermes.tool.abandoned", "{handler}", m.gauges.Abandoned, point{Start: start, Time: now}),
		{Name: "hermes.tool.calls", Unit: "{call}", Sum: &sumMessage{counts, cumulative, true}},
		{Name: "gen_ai.execute_tool.duration", Unit: "s", Histogram: &histogramMessage{points(byTool, m.duration, start, now), cumulative}},
		{Name: "hermes.tool.result_chars", Unit: "{character}", Histogram: &histogramMessage{points(byTool, m.chars, start, now), cumulative}},
	}
}

// gauge reads a number of now; without a source it is zero.
func gauge(name, unit string, read func() int, at point) metricMessage {
	n := 0
	if read != nil {
		n = read()
	}
	at.AsInt = strconv.Itoa(n)
	return metricMessage{Name: name, Unit: unit, Gauge: &gaugeMessage{[]point{at}}}
}

// approvalMessages tell how long commands are read and answers take, how many wait for one, and what was decided.
func (m *metrics) approvalMessages(start, now string) (list []metricMessage) {
	if pending := gauge("hermes.approval.pending", "{question}", m.gauges.Pending, point{Start: start, Time: now}); len(m.calls) > 0 || pending.Gauge.Points[0].AsInt != "0" {
		list = append(list, pending)
	}
	if len(m.analysis) > 0 {
		list = append(list, metricMessage{Name: "hermes.approval.analysis.duration", Unit: "s", Histogram: &histogramMessage{points("gen_ai.tool.name", m.analysis, start, now), cumulative}})
	}
	if len(m.answers) > 0 {
		list = append(list, metricMessage{Name: "hermes.approval.answer.duration", Unit: "s",
			Histogram: &histogramMessage{points("outcome", m.answers, start, now), cumulative}})
	}
	if len(m.decided) > 0 {
		list = append(list, m.decisionMessage(start, now))
	}
	return list
}

func (m *metrics) decisionMessage(start, now string) metricMessage {
	var counts []point
	for _, d := range slices.SortedFunc(maps.Keys(m.decided), func(a, b decision) int {
		return cmp.Or(cmp.Compare(a.row, b.row), cmp.Compare(a.outcome, b.outcome))
	}) {
		counts = append(counts, point{
			Attributes: []attribute{text("row", d.row), text("outcome", d.outcome)},
			Start:      start, Time: now, AsInt: strconv.FormatInt(m.decided[d], 10),
		})
	}
	return metricMessage{Name: "hermes.approval.decisions", Unit: "{decision}", Sum: &sumMessage{counts, cumulative, true}}
}

func points(label string, in map[string]*histogram, start, now string) []point {
	var out []point
	for _, name := range slices.Sorted(maps.Keys(in)) {
		h, sum := in[name], in[name].sum
		p := point{
			Attributes: []attribute{text(label, name)}, Start: start, Time: now,
			Count: strconv.FormatInt(h.n, 10), Sum: &sum, Bounds: h.bounds,
		}
		for _, c := range h.counts {
			p.Buckets = append(p.Buckets, strconv.FormatInt(c, 10))
		}
		out = append(out, p)
	}
	return out
}
