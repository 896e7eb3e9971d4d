package dispatch

import (
	"encoding/json"
	"strconv"
	"sync"
	"time"

	"github.com/hermes-runtime/hermes/internal/hook"
	"github.com/hermes-runtime/hermes/internal/registry/schema"
	"github.com/hermes-runtime/hermes/internal/textcap"
)

const (
	maxAuditArgs = 2000     // what a line holds of the arguments, in characters
	maxAuditName = 200      // and of a name or id that somebody outside made up
	auditMargin  = 16 << 10 // bytes behind the cut that are looked at for a secret which straddles it
)

// Record is what the audit and the observers are told of a call that ended.
type Record struct {
	Time        time.Time
	Session     string
	Task        string
	Call        string
	Parent      string
	Caller      string
	Asked       string // name as the model gave it
	Name        string // final name; "" where none was found
	Toolset     string
	Origin      string
	Args        string // redacted
	Repairs     []string
	Hooks       []hook.Note
	Decision    string // of approval; "" = nothing was found
	Who         string
	Rules       []string
	Rulings     []Ruling      // each decision about findings, for who observes
	Analysis    time.Duration // spent on reading what the call does
	Status      string
	ErrorType   string
	Duration    time.Duration
	Queued      time.Duration
	ResultChars int
	Result      string // redacted; set where somebody observes
	Spilled     int    // characters
	SpillPath   string
	Trace       string
}

// Ruling is one decision of approval about an act of the call.
type Ruling struct {
	Time    time.Time
	Outcome string
	Mode    string
	Rules   []string
	Waited  time.Duration // on a person or a reviewer
	Asked   bool          // there was somebody to wait for
}

var lines = sync.Pool{New: func() any { b := make([]byte, 0, 1024); return &b }}

// line encodes a record by hand: it is on the path of every call.
func (r *Record) line(dst []byte) []byte {
	w := lineWriter{dst: append(dst, '{')}
	w.dst = append(w.dst, `"time":"`...)
	w.time(r.Time.UTC())
	w.dst = append(w.dst, '"')
	w.text("session", r.Session)
	w.text("task", r.Task)
	w.text("call", textcap.Head(r.Call, maxAuditName, "…"))
	w.text("parent", textcap.Head(r.Parent, maxAuditName, "…"))
	w.text("caller", r.Caller)
	w.text("asked", textcap.Head(r.Asked, maxAuditName, "…"))
	w.text("tool", r.Name)
	w.text("args", textcap.Head(r.Args, maxAuditArgs, "…"))
	w.json("repairs", r.Repairs, len(r.Repairs))
	w.hooks(r.Hooks)
	w.text("approval", r.Decision)
	w.text("who", r.Who)
	w.json("rules", r.Rules, len(r.Rules))
	w.text("status", r.Status)
	w.text("error_type", r.ErrorType)
	w.number("duration_us", r.Duration.Microseconds())
	w.number("result_chars", int64(r.ResultChars))
	if r.Spilled > 0 {
		w.number("spilled_chars", int64(r.Spilled))
		w.text("spill", r.SpillPath)
	}
	w.text("trace", r.Trace)
	return append(w.dst, '}', '\n')
}

type lineWriter struct{ dst []byte }

// time writes 2006-01-02T15:04:05.000000Z.
func (w *lineWriter) time(t time.Time) {
	year, month, day := t.Date()
	hour, minute, second := t.Clock()
	for _, part := range [...]struct {
		n, digits int
		end       byte
	}{{year, 4, '-'}, {int(month), 2, '-'}, {day, 2, 'T'}, {hour, 2, ':'}, {minute, 2, ':'}, {second, 2, '.'}, {t.Nanosecond() / 1000, 6, 'Z'}} {
		for unit := powers[part.digits-1]; unit > 0; unit /= 10 {
			w.dst = append(w.dst, '0'+byte(part.n/unit%10))
		}
		w.dst = append(w.dst, part.end)
	}
}

var powers = [...]int{1, 10, 100, 1000, 10_000, 100_000}

func (w *lineWriter) key(k string) {
	w.dst = append(append(append(w.dst, ',', '"'), k...), '"', ':')
}

func (w *lineWriter) text(k, v string) {
	if v != "" {
		w.key(k)
		w.dst = schema.AppendText(w.dst, v)
	}
}

func (w *lineWriter) number(k string, v int64) {
	w.key(k)
	w.dst = strconv.AppendInt(w.dst, v, 10)
}

// hooks writes what hooks said. Most say nothing: their names are all there is.
func (w *lineWriter) hooks(notes []hook.Note) {
	if len(notes) == 0 {
		return
	}
	w.key("hooks")
	w.dst = append(w.dst, '[')
	for i, n := range notes {
		if i > 0 {
			w.dst = append(w.dst, ',')
		}
		w.dst = append(w.dst, `{"hook":`...)
		w.dst = schema.AppendText(w.dst, n.Hook)
		w.text("action", n.Action)
		if n.Changed {
			w.dst = append(w.dst, `,"changed":true`...)
		}
		w.text("error", n.Error)
		w.dst = append(w.dst, '}')
	}
	w.dst = append(w.dst, ']')
}

func (w *lineWriter) json(k string, v any, n int) {
	if n == 0 {
		return
	}
	if text, err := json.Marshal(v); err == nil {
		w.key(k)
		w.dst = append(w.dst, text...)
	}
}
