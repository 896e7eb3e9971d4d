package recorded

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hermes-runtime/hermes/internal/redact"
	"github.com/hermes-runtime/hermes/internal/secret"
	"github.com/hermes-runtime/hermes/provider"
	_ "github.com/hermes-runtime/hermes/provider/openai"
	"github.com/hermes-runtime/hermes/provider/providertest"
)

// custom makes a model of a server.
func custom(o provider.Options) (provider.Model, error) {
	for _, d := range provider.Registered() {
		if d.Name == "custom" {
			return d.New(o)
		}
	}
	return nil, errors.New("no provider to record")
}

const tools = `[{"type":"function","function":{"name":"f","parameters":{}}},{"type":"function","function":{"name":"g","parameters":{}}}]`

// PRV-1: what is recorded is handed on as it comes, by the rules for every provider.
func TestRecord_Suite(t *testing.T) {
	dir := t.TempDir()
	var n atomic.Int32
	providertest.Run(t, providertest.Subject{
		Server: providertest.OpenAI, Tools: tools,
		New: func(o provider.Options) (provider.Model, error) {
			inner, err := custom(o)
			if err != nil {
				return nil, err
			}
			return record(filepath.Join(dir, fmt.Sprint(n.Add(1))), inner, o)
		},
	})
	// PRV-10, REC-4
	tapes, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(tapes) == 0 {
		t.Fatal(err)
	}
	for _, file := range tapes {
		data, err := os.ReadFile(file)
		if err != nil || strings.Contains(string(data), "sk-planted") || strings.Contains(string(data), "Authorization") {
			t.Errorf("%s: %v: a key is on the tape", file, err)
		}
		if _, err := parse(data); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// events are what a request streams, as text.
func events(ctx context.Context, m provider.Model, r provider.Request) []string {
	var out []string
	for ev, err := range m.Stream(ctx, r) {
		line, _ := json.Marshal(ev)
		var e *provider.Error
		if errors.As(err, &e) {
			line = fmt.Appendf(line, " %s %d %q %v %d", e.Kind, e.Status, e.Message, e.RetryAfter, e.Limit)
		} else if err != nil {
			line = fmt.Append(line, " ", err)
		}
		out = append(out, string(line))
	}
	return out
}

// recording makes a recorder of a model, and a function that plays what it wrote.
func recording(t *testing.T, inner provider.Model, o provider.Options) (provider.Model, func() provider.Model, string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tape.jsonl")
	m, err := record(file, inner, o)
	if err != nil {
		t.Fatal(err)
	}
	return m, func() provider.Model {
		t.Helper()
		p, err := play(file, o)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}, file
}

// REC-3: replaying gives the events that were recorded, borders of pieces and errors included, every time.
func TestRecord_ReplayIsTheSame(t *testing.T) {
	replies := []providertest.Reply{
		{Reasoning: "I think, 世界.", Text: "Grüße 🙂 and more", Calls: []provider.Call{{ID: "c1", Name: "f", Arguments: `{"a": "<b>"}`}, {ID: "c2", Name: "g", Arguments: `{}`}}},
		{Text: "cut off here", End: provider.EndLength},
		{Status: 429, Message: "slow down", RetryAfter: "3"},
		{Text: "it breaks in the middle of this", Fault: providertest.Cut},
		{Status: 400, Message: "prompt is too long: 5000 tokens > 4000 maximum"},
		{Text: "done"},
	}
	s := providertest.OpenAI(t, providertest.Script(t, replies...))
	inner, err := custom(provider.Options{Model: "m", BaseURL: s.URL()})
	if err != nil {
		t.Fatal(err)
	}
	m, replay, _ := recording(t, inner, provider.Options{})
	r := provider.Request{Session: "s1", System: "sys", Messages: []provider.Message{{Role: provider.User, Text: "go"}}}
	var want [][]string
	for range replies {
		want = append(want, events(t.Context(), m, r))
	}
	for range 2 {
		p := replay()
		if i := p.Info(); i.Model != "m" || i.Dialect != "openai" {
			t.Errorf("%+v", i)
		}
		for i := range replies {
			if diff := cmp.Diff(want[i], events(t.Context(), p, r)); diff != "" {
				t.Errorf("reply %d: %s", i, diff)
			}
		}
	}
}

// scripted is a model whose replies are told beforehand; the last is repeated.
type scripted struct {
	replies [][]provider.Event
	n       atomic.Int32
}

func (s *scripted) Info() provider.Info {
	return provider.Info{Provider: "p", Model: "m", Dialect: "anthropic", Context: 1000}
}

func (s *scripted) Stream(context.Context, provider.Request) iter.Seq2[provider.Event, error] {
	return func(yield func(provider.Event, error) bool) {
		for _, ev := range s.replies[min(int(s.n.Add(1)), len(s.replies))-1] {
			if !yield(ev, nil) {
				return
			}
		}
	}
}

func say(pieces ...string) []provider.Event {
	var out []provider.Event
	for _, p := range pieces {
		out = append(out, provider.Event{Kind: provider.KindText, Text: p})
	}
	return append(out, provider.Event{Kind: provider.KindEnd, End: provider.EndStop})
}

// REC-4: secrets are not on the tape, in whatever is recorded and however it is cut, and the tape is played all the same.
func TestRecord_SecretsAreNotOnTheTape(t *testing.T) {
	set := &secret.Set{}
	set.Add("MY_KEY", "planted-secret-12345")
	o := provider.Options{Redact: redact.New(set).All}
	reply := []provider.Event{
		{Kind: provider.KindReasoning, Text: "it is planted-"}, {Kind: provider.KindReasoning, Text: "secret-12345"},
		{Kind: provider.KindText, Text: "use plan"}, {Kind: provider.KindText, Text: "ted-secret-12"}, {Kind: provider.KindText, Text: "345 now"},
		{Kind: provider.KindCall, Call: &provider.Call{ID: "a", Name: "f", Arguments: `{"key": "planted-secret-12345"}`}},
		{Kind: provider.KindEnd, End: provider.EndStop, Opaque: &provider.Opaque{Provider: "p", Model: "m", Data: json.RawMessage(`"planted-secret-12345"`)}},
	}
	m, replay, file := recording(t, &scripted{replies: [][]provider.Event{reply}}, o)
	r := ask("my key is planted-secret-12345, use it")
	if _, err := providertest.Hear(t.Context(), m, r); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(file)
	if err != nil || strings.Contains(string(data), "planted-secret-12345") || !strings.Contains(string(data), "MY_KEY") {
		t.Errorf("%v: %s", err, data)
	}
	h, err := providertest.Hear(t.Context(), replay(), r)
	if err != nil || !strings.HasPrefix(h.Text, "use ") || !strings.HasSuffix(h.Text, " now") || !json.Valid([]byte(h.Calls[0].Arguments)) || h.Opaque != nil {
		t.Errorf("%+v, %v", h, err)
	}
	if info, err := os.Stat(file); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
}

// REC-4: what was recorded before a crash is there, and half a line does no harm.
func TestRecord_SurvivesACrash(t *testing.T) {
	m, replay, file := recording(t, &scripted{replies: [][]provider.Event{say("one"), say("two")}}, provider.Options{})
	r := ask("go")
	for _, want := range []string{"one", "two"} {
		for ev, err := range m.Stream(t.Context(), r) {
			if err != nil {
				t.Fatal(err)
			}
			if ev.Kind == provider.KindEnd { // whoever sees the end finds the line
				if data, err := os.ReadFile(file); err != nil || !strings.Contains(string(data), want) {
					t.Errorf("%q is not on the tape when it ends: %v", want, err)
				}
			}
		}
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for cut := len(data) - 1; data[cut-1] != '\n'; cut-- {
		if err := os.WriteFile(file, data[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		p := replay()
		if h, err := providertest.Hear(t.Context(), p, r); err != nil || h.Text != "one" {
			t.Fatalf("cut at %d of %d: %+v %v", cut, len(data), h, err)
		}
	}
}

// An interrupted reply is on the tape up to there; played, its turn ends there.
func TestRecord_Interruption(t *testing.T) {
	m, replay, _ := recording(t, &scripted{replies: [][]provider.Event{say("one ", "two"), say("three")}}, provider.Options{})
	for range m.Stream(t.Context(), ask("go")) {
		break
	}
	if _, err := providertest.Hear(t.Context(), m, ask("again")); err != nil {
		t.Fatal(err)
	}
	p := replay()
	h, err := providertest.Hear(t.Context(), p, ask("go"))
	if err == nil || h.Text != "one " {
		t.Errorf("%+v %v", h, err)
	}
	if h, err = providertest.Hear(t.Context(), p, ask("again")); err != nil || h.Text != "three" {
		t.Errorf("%+v %v", h, err)
	}
}

// A file that is there is not written over.
func TestRecord_NoFileIsOverwritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(file, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := record(file, &scripted{}, provider.Options{})
	var e *provider.Error
	if !errors.As(err, &e) || e.Kind != provider.ErrSetup || !strings.Contains(err.Error(), "take another name") {
		t.Errorf("%v", err)
	}
}

// REC-2: a strict tape says where a request is another one.
func TestRecord_StrictTapes(t *testing.T) {
	m, _, file := recording(t, &scripted{replies: [][]provider.Event{say("one"), say("two"), say("three")}}, provider.Options{})
	call := func(id, args string) provider.Message {
		return provider.Message{Role: provider.Assistant, Calls: []provider.Call{{ID: id, Name: "f", Arguments: args}}}
	}
	base := provider.Request{Session: "a", System: "sys", Tools: `[{"name":"f"}]`, Messages: []provider.Message{{Role: provider.User, Text: "go"}}}
	second, third := base, base
	second.Messages = append(slices.Clone(base.Messages), call("id1", `{"a":1,"b":2}`), provider.Message{Role: provider.Tool, CallID: "id1", Name: "f", Text: "r"})
	third.Messages = []provider.Message{{Role: provider.User, Text: "go"}, {Role: provider.User, Text: "a summary"}} // compacted
	for _, r := range []provider.Request{base, second, third} {
		if _, err := providertest.Hear(t.Context(), m, r); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	strict := strings.Replace(string(data), `"tape":1`, `"tape":1,"strict":true`, 1)
	change := func(f func(r *provider.Request)) provider.Request {
		r := second
		r.Messages = slices.Clone(second.Messages)
		f(&r)
		return r
	}
	for name, c := range map[string]struct {
		request provider.Request
		want    string
	}{
		"the same": {second, ""},
		"other ids, session and order of keys": {change(func(r *provider.Request) {
			r.Session = "b"
			r.Messages[1] = call("z", `{ "b": 2, "a": 1 }`)
			r.Messages[2].CallID = "z"
		}), ""},
		"another system prompt": {change(func(r *provider.Request) { r.System = "x" }), "system:"},
		"other tools":           {change(func(r *provider.Request) { r.Tools = `[{"name":"g"}]` }), "tools:"},
		"another call":          {change(func(r *provider.Request) { r.Messages[1] = call("id1", `{"a":2,"b":2}`) }), "messages[1]"},
		"another result":        {change(func(r *provider.Request) { r.Messages[2].Text = "other" }), `messages[2]: another one from tool: "other"`},
		"one more": {change(func(r *provider.Request) {
			r.Messages = append(r.Messages, provider.Message{Role: provider.User, Text: "go on"})
		}), "messages[3]: one more"},
		"one less": {change(func(r *provider.Request) { r.Messages = r.Messages[:2] }), "messages[2]: is missing"},
	} {
		t.Run(name, func(t *testing.T) {
			p := tapeOf(t, strict)
			first := base
			first.Session = c.request.Session
			if _, err := providertest.Hear(t.Context(), p, first); err != nil {
				t.Fatal(err)
			}
			_, err := providertest.Hear(t.Context(), p, c.request)
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Fatalf("%v, want %q", err, c.want)
			}
			if err != nil { // and the line stands still
				fixed := second
				fixed.Session = c.request.Session
				if _, err := providertest.Hear(t.Context(), p, fixed); err != nil {
					t.Errorf("the right request after a wrong one: %v", err)
				}
			}
			last := third
			last.Session = c.request.Session
			if _, err := providertest.Hear(t.Context(), p, last); err != nil {
				t.Errorf("after a compaction: %v", err)
			}
		})
	}
}
