package recorded

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hermes-runtime/hermes/provider"
	"github.com/hermes-runtime/hermes/provider/providertest"
)

// tapeOf writes a tape and makes its model.
func tapeOf(t *testing.T, lines ...string) provider.Model {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tape.jsonl")
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := play(file, provider.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func ask(text string) provider.Request {
	return provider.Request{Messages: []provider.Message{{Role: provider.User, Text: text}}}
}

// REC-1: a tape written by hand is played line by line.
func TestReplay_LinesAnswerInOrder(t *testing.T) {
	m := tapeOf(
		t, `# by hand`, `{"text": "Grüße", "chunks": 2, "usage": {"input": 3, "output": 1}}`, ``,
		`{"reasoning": "hm", "calls": [{"name": "f", "arguments": {"a": 1}}, {"id": "x", "name": "g", "arguments": "{broken"}], "end": "length"}`,
		`{"text": "abc", "error": {"type": "overloaded", "status": 529, "message": "busy", "retry_after": 2.5}}`,
	)
	h, err := providertest.Hear(t.Context(), m, ask("a"))
	want := providertest.Heard{Text: "Grüße", Pieces: 3, Usage: &provider.Usage{Input: 3, Output: 1}, End: provider.EndStop}
	if diff := cmp.Diff(want, h); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	h, err = providertest.Hear(t.Context(), m, ask("b"))
	want = providertest.Heard{Reasoning: "hm", End: provider.EndLength, Calls: []provider.Call{{ID: "call_2_1", Name: "f", Arguments: `{"a":1}`}, {ID: "x", Name: "g", Arguments: "{broken"}}}
	if diff := cmp.Diff(want, h); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	h, err = providertest.Hear(t.Context(), m, ask("c"))
	var e *provider.Error
	if !errors.As(err, &e) || e.Kind != provider.ErrOverloaded || e.RetryAfter.Seconds() != 2.5 || h.Text != "abc" {
		t.Errorf("%+v %v", h, err)
	}
	if _, err = providertest.Hear(t.Context(), m, ask("d")); !errors.As(err, &e) || e.Kind != provider.ErrReplay || !strings.Contains(err.Error(), "ends after 3 replies") {
		t.Errorf("after the end: %v", err)
	}
}
