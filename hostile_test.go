//go:build unix

package hermes_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	hermes "github.com/hermes-runtime/hermes"
	"github.com/hermes-runtime/hermes/internal/agent"
	"github.com/hermes-runtime/hermes/internal/store"
	"github.com/hermes-runtime/hermes/provider"
	_ "github.com/hermes-runtime/hermes/provider/all"
	"github.com/hermes-runtime/hermes/provider/providertest"
)

// hostile is what a model answers to one message, and how the turn ends. Whatever it was, the next turn works.
type hostile struct {
	name     string
	replies  []providertest.Reply // one for each request; what is asked beyond them is answered with "done"
	endless  bool                 // the last reply is given for as long as tools are offered
	config   string               // besides the model's
	disabled []string             // toolsets
	made     bool                 // a call wrote made.txt, which nothing else may do

	status  hermes.Status     // "" = completed
	exit    hermes.ExitReason // "" = that of a turn that was completed
	fault   string            // in the error of the turn
	text    string            // in its text; "" = it ends with "done"
	asked   int               // requests to the server
	results []string          // what each result says, in the order of the calls
	count   int               // results, where all say the one in results
}

// again is what the next turn begins with.
const again = "and then?"

// answer plays a row. What is left of it is told by the number of requests.
func (h hostile) answer() providertest.Answer {
	var mu sync.Mutex
	next := 0
	return func(s providertest.Seen) providertest.Reply {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case strings.HasSuffix(s.Last(provider.User), again):
			return providertest.Reply{Text: "It goes on."}
		case h.endless && len(s.Tools) == 0:
			return providertest.Reply{Text: "This is the summary: done"}
		case h.endless:
			return h.replies[min(next, len(h.replies)-1)]
		case next >= len(h.replies):
			return providertest.Reply{Text: "done"}
		}
		next++
		return h.replies[next-1]
	}
}

// LOOP-2, LOOP-5, LOOP-6, LOOP-10, BAT-5, BAT-6: whatever a model answers through either API, the turn ends as it should, each call is
// answered once and in its place, in memory and in the store, and the API takes the history for another turn.
func TestConversation_HostileReplies(t *testing.T) {
	rows := hostileReplies()
	for k, mode := range apis {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			for n := 0; n < len(rows); n += everyRow {
				if everyRow > 1 && n/everyRow%len(apis) != k {
					continue // the other API has it
				}
				t.Run(rows[n].name, func(t *testing.T) {
					t.Parallel()
					rows[n].run(t, mode, serve(t, mode, rows[n].answer()))
				})
			}
		})
	}
}

// apis are what models are spoken to through, by their names in the configuration.
var apis = []string{"chat_completions", "anthropic_messages"}

// serve is a server of an API.
func serve(t testing.TB, api string, a providertest.Answer) *providertest.Server {
	if api == "anthropic_messages" {
		return providertest.Anthropic(t, a)
	}
	return providertest.OpenAI(t, a)
}

func (h hostile) run(t *testing.T, mode string, s *providertest.Server) {
	home := t.TempDir()
	config := fmt.Sprintf("model:\n  provider: custom\n  default: test-model\n  base_url: %s\n  api_mode: %s\n  retries: 1\n%s", s.URL(), mode, h.config)
	if err := os.WriteFile(filepath.Join(home, "config.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	rt, dir := open(t, hermes.Options{Home: home})
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("alpha\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	k, err := rt.Converse(ctx, hermes.ConversationOptions{Dir: dir, Session: hermes.SessionOptions{Disabled: h.disabled}})
	if err != nil {
		t.Fatal(err)
	}
	h.ended(t, k.Turn(ctx, "hello"), len(s.Requests()))
	h.answered(t, k.History())
	if _, err := os.Stat(filepath.Join(dir, "made.txt")); (err == nil) != h.made {
		t.Errorf("a call that wrote a file ran: %v", err == nil)
	}
	if out := k.Turn(ctx, again); out.Status != hermes.Completed || out.Text != "It goes on." {
		t.Errorf("the next turn: %s, %q, %v", out.Status, out.Text, out.Err)
	}
	kept(ctx, t, filepath.Join(home, "sessions.db"), k.ID())
	history := asStored(k.History())
	if err := k.Close(ctx); err != nil {
		t.Error(err)
	}
	resumed, err := rt.Converse(ctx, hermes.ConversationOptions{Resume: k.ID()})
	if err != nil {
		t.Fatal(err)
	}
	if got := resumed.History(); !reflect.DeepEqual(got, history) {
		t.Errorf("it was stored as\n%.2000v\nand was\n%.2000v", got, history)
	}
	if err := resumed.Close(ctx); err != nil {
		t.Error(err)
	}
}

// ended holds the outcome of the turn to what the row says.
func (h hostile) ended(t *testing.T, out hermes.Outcome, asked int) {
	t.Helper()
	status, exit := cmp.Or(h.status, hermes.Completed), cmp.Or(h.exit, agent.ExitCompleted)
	if out.Status != status || out.ExitReason != exit || !strings.Contains(out.Error, h.fault) || (h.fault == "") != (out.Error == "") {
		t.Errorf("it ended %s, %s: %.300q; want %s, %s: %q", out.Status, out.ExitReason, out.Error, status, exit, h.fault)
	}
	if h.text == "" && status == hermes.Completed && !strings.HasSuffix(out.Text, "done") || !strings.Contains(out.Text, h.text) {
		t.Errorf("its text is %.300q, want %q", out.Text, h.text)
	}
	if want := max(h.count, len(h.results)); out.ToolCalls != want {
		t.Errorf("%d calls are counted, want %d", out.ToolCalls, want)
	}
	if asked != h.asked {
		t.Errorf("%d requests, want %d", asked, h.asked)
	}
}

// answered looks for the result of each call, once and in its place, and at what it says.
func (h hostile) answered(t *testing.T, history []provider.Message) {
	t.Helper()
	said := answers(t, history)
	want := h.results
	if h.count > 0 {
		want = slices.Repeat(h.results, h.count)
	}
	if len(said) != len(want) {
		t.Fatalf("%d results, want %d", len(said), len(want))
	}
	for i, w := range want {
		if !strings.Contains(said[i], w) {
			t.Errorf("result %d says %.400q, want %q", i, said[i], w)
		}
	}
}

// answers are the results in a history. Each call has one, in its place, and it is the call's own.
func answers(t *testing.T, history []provider.Message) (said []string) {
	t.Helper()
	var open []string
	for i, m := range history {
		if m.Role != provider.Tool && len(open) > 0 {
			t.Errorf("message %d: calls before it have no result: %q", i, open)
		}
		switch m.Role {
		case provider.Assistant:
			open = nil
			for _, c := range m.Calls {
				open = append(open, c.ID)
			}
		case provider.Tool:
			if len(open) == 0 || open[0] != m.CallID {
				t.Errorf("message %d answers %q, and %q wait for it", i, m.CallID, open)
			} else {
				open = open[1:]
			}
			said = append(said, m.Text)
			text := m.Text
			if _, inner, fenced := strings.Cut(text, "whatever it says.\n"); fenced {
				text, _, _ = strings.Cut(inner, "\n<<<end ")
			}
			if !json.Valid([]byte(text)) {
				t.Errorf("message %d is no JSON: %.300q", i, m.Text)
			}
			if strings.Contains(m.Text, "is not available: the conversation was cut off") || strings.Contains(m.Text, "panic") {
				t.Errorf("message %d: %.300q", i, m.Text)
			}
		}
	}
	if len(open) > 0 {
		t.Errorf("calls have no result: %q", open)
	}
	return said
}

// asStored is a history as the store keeps it, which writes NUL otherwise.
func asStored(history []provider.Message) []provider.Message {
	for i := range history {
		history[i].Text = strings.ReplaceAll(history[i].Text, "\x00", "␀")
	}
	return history
}

// kept holds what is stored to one result for each call, under the id that it is stored with.
func kept(ctx context.Context, t *testing.T, file, id string) {
	t.Helper()
	d, err := store.Open(ctx, store.Options{File: file})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}()
	list, err := d.Messages(ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	var open []string
	for _, m := range list {
		if m.Role == provider.Tool {
			i := slices.Index(open, m.CallID)
			if i < 0 {
				t.Errorf("a result is stored for %q, and %q wait for one", m.CallID, open)
				continue
			}
			open = slices.Delete(open, i, i+1)
			continue
		}
		if len(open) > 0 {
			t.Errorf("no result is stored for %q", open)
		}
		open = nil
		for _, c := range m.Calls {
			open = append(open, c.ID)
		}
	}
	if len(open) > 0 {
		t.Errorf("no result is stored for %q", open)
	}
}
