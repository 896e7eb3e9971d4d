package recorded

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hermes-runtime/hermes/internal/store"
	"github.com/hermes-runtime/hermes/provider"
	"github.com/hermes-runtime/hermes/provider/providertest"
)

// STO-8: a conversation that was exported from the store is a tape: what its assistant said, in order.
func TestReplay_PlaysWhatWasExported(t *testing.T) {
	d, err := store.Open(t.Context(), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	s := store.Session{ID: "s1", Source: "cli", Title: "<a tape>"}
	if err := d.Begin(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Append(t.Context(), s.ID,
		store.Message{Message: provider.Message{Role: provider.User, Text: "look"}},
		store.Message{Message: provider.Message{Role: provider.Assistant, Text: "I look.", Reasoning: "hm", Calls: []provider.Call{{ID: "c1", Name: "f", Arguments: `{"a":"<b>"}`}, {ID: "c2", Name: "g", Arguments: "{broken"}}}, Finish: "stop", Tokens: 7},
		store.Message{Message: provider.Message{Role: provider.Tool, CallID: "c1", Name: "f", Text: "{}"}, Status: "ok"},
		store.Message{Message: provider.Message{Role: provider.Tool, CallID: "c2", Name: "g", Text: "{}", Failed: true}, Status: "error"},
		store.Message{Message: provider.Message{Role: provider.Assistant, Text: "Done"}, Status: "cut", Finish: "length"},
	); err != nil {
		t.Fatal(err)
	}
	var lines strings.Builder
	if err := store.Export(t.Context(), d, s, &lines); err != nil {
		t.Fatal(err)
	}
	m := tapeOf(t, strings.TrimSuffix(lines.String(), "\n"))
	for i, want := range []providertest.Heard{
		{Text: "I look.", Pieces: 1, Reasoning: "hm", Usage: &provider.Usage{Output: 7}, End: provider.EndStop,
			Calls: []provider.Call{{ID: "c1", Name: "f", Arguments: `{"a":"<b>"}`}, {ID: "c2", Name: "g", Arguments: "{broken"}}},
		{Text: "Done", Pieces: 1, End: provider.EndLength},
	} {
		h, err := providertest.Hear(t.Context(), m, ask("x"))
		if diff := cmp.Diff(want, h); err != nil || diff != "" {
			t.Errorf("reply %d: %v\n%s", i, err, diff)
		}
	}
}
