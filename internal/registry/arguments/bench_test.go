package arguments_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/internal/registry/arguments"
)

const editSchema = `{"type":"object","properties":{"edits":{"type":"array","items":{"type":"object","properties":{
	"path":{"type":"string","minLength":1},"line":{"type":"integer","minimum":1},"text":{"type":"string"},"keep":{"type":"boolean"}},
	"required":["path","line","text"],"additionalProperties":false}}},"required":["edits"],"additionalProperties":false}`

// edits writes arguments of about n bytes; wrong ones need every number converted.
func edits(n int, format string) json.RawMessage {
	var b strings.Builder
	b.WriteString(`{"edits":[`)
	for i := 0; b.Len() < n; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, format, i, i+1)
	}
	b.WriteString(`]}`)
	return json.RawMessage(b.String())
}

const (
	right = `{"path":"src/file%d.go","line":%d,"text":"func main() { println(\"hello\") }\n","keep":true}`
	wrong = `{"path":"src/file%d.go","line":"%d","text":"func main() { println(\"hello\") }\n","keep":"true"}`
)

// PRF-4, and the small call of PRF-1. "×json" is the ratio to json.Unmarshal of the same text into a map in the same run.
func BenchmarkPrepare(b *testing.B) {
	small := compile(b, `{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string"}},"required":["a"],"additionalProperties":false}`)
	edit := compile(b, editSchema)
	for _, tc := range []struct {
		name string
		raw  json.RawMessage
		run  func(json.RawMessage) error
	}{
		{"small", json.RawMessage(`{"a":1,"b":"x"}`), func(r json.RawMessage) error { _, err := arguments.Prepare(small, nil, r); return err }},
		{"small-coerced", json.RawMessage(`{"a":"1","b":2}`), func(r json.RawMessage) error { _, err := arguments.Prepare(small, nil, r); return err }},
		{"100KB", edits(100<<10, right), func(r json.RawMessage) error { _, err := arguments.Prepare(edit, nil, r); return err }},
		{"10MB", edits(10<<20, right), func(r json.RawMessage) error { _, err := arguments.Prepare(edit, nil, r); return err }},
		{"100KB-coerced", edits(100<<10, wrong), func(r json.RawMessage) error { _, err := arguments.Prepare(edit, nil, r); return err }},
		{"10MB-coerced", edits(10<<20, wrong), func(r json.RawMessage) error { _, err := arguments.Prepare(edit, nil, r); return err }},
		{"10MB-one-string", json.RawMessage(`{"edits":[{"path":"p","line":1,"text":"` + strings.Repeat(`line of text\n`, 10<<20/14) + `"}]}`),
			func(r json.RawMessage) error { _, err := arguments.Prepare(edit, nil, r); return err }},
	} {
		b.Run(tc.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(tc.raw)))
			// Before and after, so that a load that comes or goes weighs on both sides of the ratio.
			bare := unmarshal(b, tc.raw)
			for b.Loop() {
				if err := tc.run(tc.raw); err != nil {
					b.Fatal(err)
				}
			}
			b.StopTimer()
			ours := float64(b.Elapsed()) / float64(b.N)
			b.ReportMetric(2*ours/(bare+unmarshal(b, tc.raw)), "×json")
		})
	}
}

// unmarshal measures json.Unmarshal of a text into a map, in nanoseconds.
func unmarshal(b *testing.B, raw json.RawMessage) float64 {
	start, rounds := time.Now(), 0
	for ; rounds == 0 || time.Since(start) < 100*time.Millisecond; rounds++ {
		var m map[string]any
		if err := json.Unmarshal(raw, &m); err != nil {
			b.Fatal(err)
		}
	}
	return float64(time.Since(start)) / float64(rounds)
}
