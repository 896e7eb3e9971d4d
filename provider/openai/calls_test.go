package openai

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hermes-runtime/hermes/internal/model/wire"
	"github.com/hermes-runtime/hermes/provider"
)

// PRV-7: fragments as servers send them. "" as a wanted id means that one is made up.
func TestCalls_FragmentsArePutTogether(t *testing.T) {
	f, g := func(id, args string) provider.Call { return provider.Call{ID: id, Name: "f", Arguments: args} }, func(id, args string) provider.Call {
		return provider.Call{ID: id, Name: "g", Arguments: args}
	}
	for name, c := range map[string]struct {
		chunks []string // tool_calls of one chunk each
		want   []provider.Call
	}{
		"by index": {
			[]string{`[{"index":0,"id":"a","function":{"name":"f","arguments":""}}]`, `[{"index":0,"function":{"arguments":"{\"x\""}}]`, `[{"index":0,"function":{"arguments":":1}"}}]`},
			[]provider.Call{f("a", `{"x":1}`)},
		},
		"two by index, mixed": {
			[]string{`[{"index":0,"id":"a","function":{"name":"f","arguments":"{"}},{"index":1,"id":"b","function":{"name":"g","arguments":"{"}}]`, `[{"index":1,"function":{"arguments":"}"}}]`, `[{"index":0,"function":{"arguments":"}"}}]`},
			[]provider.Call{f("a", "{}"), g("b", "{}")},
		},
		"by id, whatever the index says": {
			[]string{`[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}]`, `[{"index":0,"id":"b","function":{"name":"f","arguments":"{\"x\":2}"}}]`},
			[]provider.Call{f("a", `{"x":1}`), f("b", `{"x":2}`)},
		},
		"by id, without index": {
			[]string{`[{"id":"a","function":{"name":"f","arguments":"{"}}]`, `[{"id":"b","function":{"name":"g","arguments":"{"}}]`, `[{"id":"a","function":{"arguments":"}"}}]`, `[{"id":"b","function":{"arguments":"}"}}]`},
			[]provider.Call{f("a", "{}"), g("b", "{}")},
		},
		"an absent index is not 0": {
			[]string{`[{"function":{"name":"f","arguments":"{}"}}]`, `[{"function":{"name":"g","arguments":"{}"}}]`, `[{"function":{"name":"g","arguments":"{}"}}]`},
			[]provider.Call{f("", "{}"), g("", "{}"), g("", "{}")},
		},
		"by order of arrival": {
			[]string{`[{"function":{"name":"f","arguments":"{\"x\""}}]`, `[{"function":{"arguments":":1}"}}]`, `[{"function":{"name":"g","arguments":""}}]`, `[{"function":{"arguments":"{}"}}]`},
			[]provider.Call{f("", `{"x":1}`), g("", "{}")},
		},
		"the name in every chunk": {
			[]string{`[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}]`, `[{"index":0,"id":"a","function":{"name":"f","arguments":":1}"}}]`},
			[]provider.Call{f("a", `{"x":1}`)},
		},
		"the name in every chunk, no id, no index": {
			[]string{`[{"function":{"name":"f","arguments":"{\"x\""}}]`, `[{"function":{"name":"f","arguments":":1}"}}]`, `[{"function":{"name":"f","arguments":"{}"}}]`},
			[]provider.Call{f("", `{"x":1}`), f("", "{}")},
		},
		"a name in pieces": {
			[]string{`[{"index":0,"id":"a","function":{"name":"read","arguments":""}}]`, `[{"index":0,"function":{"name":"_file","arguments":""}}]`, `[{"index":0,"function":{"arguments":"{}"}}]`},
			[]provider.Call{{ID: "a", Name: "read_file", Arguments: "{}"}},
		},
		"one index for all, no ids": {
			[]string{`[{"index":0,"function":{"name":"f","arguments":"{\"x\":1}"}}]`, `[{"index":0,"function":{"name":"f","arguments":"{\"x\":2}"}}]`},
			[]provider.Call{f("", `{"x":1}`), f("", `{"x":2}`)},
		},
		"one index twice in the first chunk": {
			[]string{`[{"index":0,"id":"a","function":{"name":"f","arguments":""}},{"index":0,"function":{"arguments":"{\"x\""}}]`, `[{"index":0,"function":{"arguments":":1}"}}]`},
			[]provider.Call{f("a", `{"x":1}`)},
		},
		"one id for two calls": {
			[]string{`[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}},{"index":1,"id":"a","function":{"name":"g","arguments":"{}"}}]`},
			[]provider.Call{f("a", "{}"), g("a", "{}")},
		},
		"the id comes later": {
			[]string{`[{"index":0,"function":{"name":"f","arguments":"{"}}]`, `[{"index":0,"id":"a","function":{"arguments":"}"}}]`},
			[]provider.Call{f("a", "{}")},
		},
		"arguments as an object": {
			[]string{`[{"index":0,"id":"a","function":{"name":"f","arguments":{"x": [1, {"y": "<"}]}}}]`},
			[]provider.Call{f("a", `{"x":[1,{"y":"<"}]}`)},
		},
		"arguments are null": {
			[]string{`[{"index":0,"id":"a","function":{"name":"f","arguments":null}}]`, `[{"index":0,"function":{"arguments":"{}"}}]`},
			[]provider.Call{f("a", "{}")},
		},
		"no list": {[]string{`null`, `[]`}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			d := &decoder{model: &model{}}
			for _, chunk := range c.chunks {
				if err := d.event(wire.Event{Data: []byte(`{"choices":[{"delta":{"tool_calls":` + chunk + `}}]}`)}); err != nil {
					t.Fatal(err)
				}
			}
			var got []provider.Call
			ids := map[string]bool{}
			for _, ev := range d.end() {
				if ev.Kind != provider.KindCall {
					continue
				}
				call := *ev.Call
				if strings.HasPrefix(call.ID, "call_") {
					if ids[call.ID] {
						t.Errorf("an id made up twice: %s", call.ID)
					}
					ids[call.ID] = true
					call.ID = ""
				}
				got = append(got, call)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// PRV-1: what is no standard form and still means something.
func TestDecoder_FormsOfServers(t *testing.T) {
	for name, c := range map[string]struct {
		data string
		text string
		end  provider.End
	}{
		"content in parts":      {`{"choices":[{"delta":{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}}]}`, "ab", ""},
		"content null":          {`{"choices":[{"delta":{"content":null}}]}`, "", ""},
		"no choices":            {`{"choices":[]}`, "", ""},
		"a message in a stream": {`{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}`, "a", provider.EndStop},
		"both":                  {`{"choices":[{"delta":{"content":"a"},"message":{"content":"a"}}]}`, "a", ""},
		"a refusal":             {`{"choices":[{"delta":{"refusal":"no"},"finish_reason":"stop"}]}`, "no", provider.EndRefused},
		"unknown fields":        {`{"x":1,"choices":[{"y":[],"delta":{"content":"a","z":{}}}],"timings":{}}`, "a", ""},
		"another reason":        {`{"choices":[{"delta":{"content":"a"},"finish_reason":"eos_token"}]}`, "a", provider.EndStop},
	} {
		t.Run(name, func(t *testing.T) {
			d := &decoder{model: &model{}}
			if err := d.event(wire.Event{Data: []byte(c.data)}); err != nil {
				t.Fatal(err)
			}
			text := ""
			for _, ev := range d.take() {
				text += ev.Text
			}
			last := d.end()
			if end := last[len(last)-1].End; text != c.text || c.end != "" && end != c.end || d.finished() != (c.end != "") {
				t.Errorf("text %q, end %q, finished %v", text, end, d.finished())
			}
		})
	}
}

// Whatever a server sends, the decoder doesn't panic, and what it makes is whole.
func FuzzDecoder(f *testing.F) {
	f.Add([]byte(`{"choices":[{"delta":{"content":"a","tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}}]}`), true)
	f.Add([]byte(`{"choices":[{"message":{"content":[{"text":"a"}],"reasoning_details":[{}]},"finish_reason":"length"}],"usage":{"prompt_tokens":1}}`), false)
	f.Add([]byte("[DONE]"), true)
	f.Fuzz(func(t *testing.T, data []byte, again bool) {
		d := &decoder{model: &model{}}
		for _, whole := range []bool{false, again} {
			if err := d.event(wire.Event{Data: data, Whole: whole}); err != nil {
				return
			}
		}
		for _, ev := range append(d.take(), d.end()...) {
			if ev.Kind == provider.KindCall && ev.Call.ID == "" || ev.Opaque != nil && !json.Valid(ev.Opaque.Data) {
				t.Errorf("%+v", ev)
			}
		}
	})
}
