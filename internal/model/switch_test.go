package model

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/provider"
	"github.com/hermes-runtime/hermes/provider/providertest"
)

// PRV-13: a conversation goes from one API to the other and back, in the middle of a turn too, and each takes its history: thinking and
// ids of the one don't reach the other, and what goes back to the first is as it came.
func TestSwitch_HistoriesStayValid(t *testing.T) {
	thought := providertest.Reply{Reasoning: "Let me think.", Text: "I look.", Calls: []provider.Call{{ID: "call:1", Name: "f", Arguments: `{"a": 1}`}, {ID: "call:2", Name: "f", Arguments: `{}`}}}
	answer := func(providertest.Seen) providertest.Reply { return thought }
	chat, messages := providertest.OpenAI(t, answer), providertest.Anthropic(t, func(s providertest.Seen) providertest.Reply {
		r := thought
		r.Calls = []provider.Call{{Name: "f", Arguments: `{}`}} // ids of its own
		return r
	})
	choose := func(server *providertest.Server, mode string) provider.Model {
		t.Helper()
		m, err := Choose("m-"+mode, Options{Settings: settings(t, "model: {base_url: '"+server.URL()+"', api_mode: "+mode+"}")})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	one, other := choose(chat, "chat_completions"), choose(messages, "anthropic_messages")
	r := provider.Request{System: "s", Messages: []provider.Message{{Role: provider.User, Text: "go"}}}
	for i, m := range []provider.Model{one, other, other, one, one, other, one, other} {
		h, err := providertest.Hear(t.Context(), m, r)
		if err != nil {
			t.Fatalf("request %d: %v", i, err)
		}
		stored, err := json.Marshal(h.Message())
		if err != nil {
			t.Fatal(err)
		}
		var msg provider.Message
		if err := json.Unmarshal(stored, &msg); err != nil {
			t.Fatal(err)
		}
		r.Messages = append(r.Messages, msg)
		for _, c := range msg.Calls {
			r.Messages = append(r.Messages, provider.Message{Role: provider.Tool, CallID: c.ID, Name: c.Name, Text: "done"})
		}
		if i%3 == 2 {
			r.Messages = append(r.Messages, provider.Message{Role: provider.User, Text: "and now?"})
		}
	}
	seen := messages.Requests()
	if body := string(seen[1].Body); !strings.Contains(body, `"signature"`) {
		t.Errorf("its own thinking didn't go back: %s", body)
	}
	for _, s := range chat.Requests() {
		if strings.Contains(string(s.Body), "signature") {
			t.Errorf("thinking of another API: %s", s.Body)
		}
	}
}
