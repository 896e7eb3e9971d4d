package anthropic

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hermes-runtime/hermes/internal/model/wire"
	"github.com/hermes-runtime/hermes/provider"
	"github.com/hermes-runtime/hermes/provider/providertest"
)

// sent is a request as it goes out, with the type, text or id of each block.
func sent(t *testing.T, r provider.Request, o provider.Options) (map[string]any, []string) {
	t.Helper()
	o.Model, o.BaseURL = "m", "http://127.0.0.1:1"
	m, err := newModel(o)
	if err != nil {
		t.Fatal(err)
	}
	body, err := m.(*model).body(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(body, &out); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, m := range out["messages"].([]any) {
		turn := m.(map[string]any)
		for _, b := range turn["content"].([]any) {
			b := b.(map[string]any)
			line := fmt.Sprint(turn["role"], " ", b["type"])
			for _, key := range []string{"text", "thinking", "id", "tool_use_id", "content", "is_error"} {
				if v, ok := b[key]; ok {
					line += fmt.Sprint(" ", v)
				}
			}
			if b["cache_control"] != nil {
				line += " *"
			}
			lines = append(lines, line)
		}
	}
	return out, lines
}

func user(text string) provider.Message { return provider.Message{Role: provider.User, Text: text} }

func result(id, text string) provider.Message {
	return provider.Message{Role: provider.Tool, CallID: id, Text: text}
}

func calls(text string, ids ...string) provider.Message {
	m := provider.Message{Role: provider.Assistant, Text: text}
	for _, id := range ids {
		m.Calls = append(m.Calls, provider.Call{ID: id, Name: "f", Arguments: "{}"})
	}
	return m
}

// PRV-12
func TestRequest_HistoryInTheFormOfTheAPI(t *testing.T) {
	failed := result("b", "no")
	failed.Failed = true
	thinking := json.RawMessage(`[{"type":"thinking","thinking":"a<b","signature":"s=="},{"type":"text","text":"one "},{"type":"redacted_thinking","data":"x"},{"type":"text","text":"two"},{"type":"tool_use","id":"a","name":"f","input":{}}]`)
	own := func(m provider.Message) provider.Message {
		m.Opaque = &provider.Opaque{Provider: name, Model: "m", Data: thinking}
		return m
	}
	other := own(calls("one two", "a"))
	other.Opaque = &provider.Opaque{Provider: name, Model: "another", Data: thinking}
	for title, c := range map[string]struct {
		in   []provider.Message
		want []string
	}{
		"results of a turn are one message, first in it": {
			[]provider.Message{user("q"), calls("t", "a", "b"), result("a", "yes"), failed, user("more")},
			[]string{"user text q *", "assistant text t", "assistant tool_use a", "assistant tool_use b", "user tool_result a yes", "user tool_result b no true", "user text more *"},
		},
		"no empty text": {
			[]provider.Message{user("q"), calls(" \n", "a"), result("a", ""), {Role: provider.Assistant, Text: "ok"}, user(" "), user("z")},
			[]string{"user text q", "assistant tool_use a", "user tool_result a *", "assistant text ok", "user text z *"},
		},
		"roles alternate from the user's": {
			[]provider.Message{{Role: provider.Assistant, Text: "x"}, {Role: provider.Assistant, Text: "y"}, user("a"), user("b")},
			[]string{"user text (the beginning of this conversation is not shown) *", "assistant text x", "assistant text y", "user text a", "user text b *"},
		},
		"ids are fitted and kept apart": {
			[]provider.Message{user("q"), calls("", "a:1", "a.1", "a:1"), result("a:1", "1"), result("a.1", "2"), result("a:1", "3"), calls("", "a:1"), result("a:1", "4")},
			[]string{"user text q", "assistant tool_use a_1", "assistant tool_use a_1_2", "assistant tool_use a_1_3", "user tool_result a_1 1", "user tool_result a_1_2 2", "user tool_result a_1_3 3 *", "assistant tool_use a_1_4", "user tool_result a_1_4 4 *"},
		},
		"thinking stands where it stood": {
			[]provider.Message{user("q"), own(calls("one two", "a")), result("a", "r")},
			[]string{"user text q *", "assistant thinking a<b", "assistant text one ", "assistant redacted_thinking", "assistant text two", "assistant tool_use a", "user tool_result a r *"},
		},
		"what was changed since is as it is now": {
			[]provider.Message{user("q"), own(calls("else", "b")), result("b", "r")},
			[]string{"user text q *", "assistant thinking a<b", "assistant redacted_thinking", "assistant text else", "assistant tool_use b", "user tool_result b r *"},
		},
		"thinking of another model stays out": {
			[]provider.Message{user("q"), other, result("a", "r")},
			[]string{"user text q *", "assistant text one two", "assistant tool_use a", "user tool_result a r *"},
		},
	} {
		t.Run(title, func(t *testing.T) {
			_, got := sent(t, provider.Request{Messages: c.in}, provider.Options{})
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// PRV-12: at most four marks, at the ends of what stays the same.
func TestRequest_CacheMarks(t *testing.T) {
	r := provider.Request{System: "s", Tools: tools, Messages: []provider.Message{user("1"), calls("x"), user("2"), calls("y"), user("3")}}
	out, lines := sent(t, r, provider.Options{})
	body, _ := json.Marshal(out)
	if n := strings.Count(string(body), "cache_control"); n != 4 {
		t.Errorf("%d marks in %s", n, body)
	}
	list := out["tools"].([]any)
	if list[1].(map[string]any)["cache_control"] == nil || list[0].(map[string]any)["cache_control"] != nil {
		t.Errorf("tools: %v", list)
	}
	if diff := cmp.Diff([]string{"user text 1", "assistant text x", "user text 2 *", "assistant text y", "user text 3 *"}, lines); diff != "" {
		t.Error(diff)
	}
}

// A turn whose calls another model made goes on without thinking, which the API demands at its beginning; the next turn thinks again.
func TestRequest_ThinkingIsLeftOutOfForeignTurns(t *testing.T) {
	o := provider.Options{ExtraBody: map[string]any{"thinking": map[string]any{"type": "enabled", "budget_tokens": 2000}}}
	history := []provider.Message{user("q"), calls("", "a"), result("a", "r")}
	if out, _ := sent(t, provider.Request{Messages: history}, o); out["thinking"] != nil {
		t.Errorf("thinking: %v", out["thinking"])
	}
	if out, _ := sent(t, provider.Request{Messages: append(history, calls("done"), user("next"))}, o); out["thinking"] == nil {
		t.Error("no thinking in a turn of its own")
	}
}

func TestRequest_Arguments(t *testing.T) {
	for in, want := range map[string]string{`{"a": 1}`: `{"a":1}`, `{`: `{}`, `[1]`: `{}`, `null`: `{}`, ``: `{}`, `"x"`: `{}`} {
		m := calls("", "a")
		m.Calls[0].Arguments = in
		out, _ := sent(t, provider.Request{Messages: []provider.Message{user("q"), m, result("a", "r")}}, provider.Options{})
		got, _ := json.Marshal(out["messages"].([]any)[1].(map[string]any)["content"].([]any)[0].(map[string]any)["input"])
		if string(got) != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}

// PRV-12: a reply that the API pauses goes on by itself, with what there was; the events are those of one reply.
func TestPause_Continues(t *testing.T) {
	part := func(stop string, in, out int, blocks ...string) string {
		return fmt.Sprintf(`{"type":"message","content":[%s],"stop_reason":%q,"usage":{"input_tokens":%d,"output_tokens":%d}}`, strings.Join(blocks, ","), stop, in, out)
	}
	search := `{"type":"server_tool_use","id":"srv_1","name":"web_find","input":{"q":"x"}}`
	found := `{"type":"web_find_result","tool_use_id":"srv_1","content":[{"url":"u","page_age":null}]}`
	replies := []string{
		part("pause_turn", 10, 1, `{"type":"text","text":"I look. "}`, search, found),
		part("pause_turn", 20, 2, `{"type":"thinking","thinking":"hm","signature":"s"}`),
		part("tool_use", 30, 3, `{"type":"text","text":"There."}`, `{"type":"tool_use","id":"t1","name":"f","input":{}}`),
	}
	var bodies []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies = append(bodies, string(body))
		fmt.Fprint(w, replies[len(bodies)-1])
	}))
	defer s.Close()
	m, err := newModel(provider.Options{Model: "m", BaseURL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	r := provider.Request{Messages: []provider.Message{user("q")}}
	h, err := providertest.Hear(t.Context(), m, r)
	if err != nil {
		t.Fatal(err)
	}
	want := providertest.Heard{
		Text: "I look. There.", Reasoning: "hm", Pieces: 2, End: provider.EndStop, Opaque: h.Opaque, Usage: &provider.Usage{Input: 60, Output: 6},
		Calls: []provider.Call{{ID: "t1", Name: "f", Arguments: "{}"}},
	}
	if diff := cmp.Diff(want, h); diff != "" {
		t.Error(diff)
	}
	first := `{"content":[{"text":"I look. ","type":"text"},` + search + `,` + found
	if !strings.Contains(canonical(bodies[1]), canonical(first+`],"role":"assistant"}`)) || !strings.Contains(bodies[2], `"signature":"s"`) {
		t.Errorf("what goes back:\n%s\n%s", bodies[1], bodies[2])
	}
	// and all of it goes back with the message
	replies = append(replies, part("end_turn", 1, 1, `{"type":"text","text":"."}`))
	r.Messages = append(r.Messages, h.Message(), result("t1", "r"))
	if _, err := providertest.Hear(t.Context(), m, r); err != nil {
		t.Fatal(err)
	}
	for _, block := range []string{search, found, `{"type":"thinking","thinking":"hm","signature":"s"}`} {
		if !strings.Contains(bodies[3], block) {
			t.Errorf("%s is missing in %s", block, bodies[3])
		}
	}
}

// canonical sorts keys, of JSON that may be a piece of an array.
func canonical(text string) string {
	var v any
	if json.Unmarshal([]byte(text), &v) != nil {
		return text
	}
	out, _ := json.Marshal(v)
	return string(out)
}

// A pause that never ends is ended.
func TestPause_IsBounded(t *testing.T) {
	n := 0
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n++
		fmt.Fprint(w, `{"type":"message","content":[{"type":"text","text":"x"}],"stop_reason":"pause_turn"}`)
	}))
	defer s.Close()
	m, err := newModel(provider.Options{Model: "m", BaseURL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := providertest.Hear(t.Context(), m, provider.Request{Messages: []provider.Message{user("q")}}); err != nil || n != maxPauses {
		t.Errorf("%d requests, %v", n, err)
	}
}

func TestAddress(t *testing.T) {
	for base, want := range map[string]string{
		"https://api.anthropic.com": "https://api.anthropic.com/v1/messages", "http://h:1/": "http://h:1/v1/messages", "http://h:1/v1": "http://h:1/v1/messages",
		"http://h:1/a/v1/messages": "http://h:1/a/v1/messages", "h:1": "", "": "",
	} {
		m, err := newModel(provider.Options{Model: "m", BaseURL: base})
		if (err != nil) != (want == "") || err == nil && m.(*model).url != want {
			t.Errorf("%q: %v %v, want %s", base, m, err, want)
		}
	}
}

// Whatever a server sends, the decoder doesn't panic, and what it makes is whole.
func FuzzDecoder(f *testing.F) {
	f.Add([]byte(`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"f","input":{}}}`), []byte(`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{"}}`), false)
	f.Add([]byte(`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"a"}}`), []byte(`{"type":"message_delta","delta":{"stop_reason":"pause_turn"},"usage":{}}`), false)
	f.Add([]byte(`{"type":"message","content":[{"type":"redacted_thinking","data":"a"},{"type":"text"}]}`), []byte(`{"type":"message_stop"}`), true)
	f.Fuzz(func(t *testing.T, one, two []byte, whole bool) {
		d := &decoder{model: "m"}
		for _, data := range [][]byte{one, two} {
			if d.event(wire.Event{Data: slices.Clone(data), Whole: whole}) != nil {
				return
			}
		}
		d.resume()
		for _, raw := range d.content() {
			if !json.Valid(raw) {
				t.Errorf("not JSON: %q", raw)
			}
		}
		for _, ev := range append(d.take(), d.end()...) {
			if ev.Opaque != nil && !json.Valid(ev.Opaque.Data) {
				t.Errorf("%+v", ev)
			}
		}
	})
}
