//go:build unix

package hermes_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	hermes "github.com/hermes-runtime/hermes"
	"github.com/hermes-runtime/hermes/internal/store"
	"github.com/hermes-runtime/hermes/provider"
	"github.com/hermes-runtime/hermes/provider/providertest"
)

// LOOP-1: a conversation that is resumed on another day has the prompt that it began with; what day it is now is told with a message,
// once.
func TestConverse_ResumedPromptIsTheSame(t *testing.T) {
	s := providertest.OpenAI(t, func(providertest.Seen) providertest.Reply { return providertest.Reply{Text: "fine"} })
	home := t.TempDir()
	config := fmt.Sprintf("model: {provider: custom, default: m, base_url: '%s'}\n", s.URL())
	if err := os.WriteFile(filepath.Join(home, "config.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	rt, dir := open(t, hermes.Options{Home: home})
	st, err := store.Open(t.Context(), store.Options{File: filepath.Join(home, "sessions.db")})
	if err != nil {
		t.Fatal(err)
	}
	began := time.Date(2020, time.January, 2, 12, 0, 0, 0, time.Local)
	if err := st.Begin(t.Context(), store.Session{ID: "s_old", Source: "api", Model: "custom/m", Dir: dir, Started: began}); err != nil {
		t.Fatal(err)
	}
	if _, err := st.Append(t.Context(), "s_old", store.Message{Message: provider.Message{Role: provider.User, Text: "hello"}, Active: true}); err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		c, err := rt.Converse(t.Context(), hermes.ConversationOptions{Resume: "s_old"})
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{"what now?", "and then?"} {
			if out := c.Turn(t.Context(), text); out.Status != hermes.Completed {
				t.Fatalf("%+v", out)
			}
		}
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	for i, r := range s.Requests() {
		if r.System != s.Requests()[0].System || !strings.Contains(r.System, "began on: Thursday, 2 January 2020\n") {
			t.Errorf("request %d begins with %s", i, r.System)
		}
		if told := strings.Contains(r.Last(provider.User), "[Today is "); told != (i%2 == 0) {
			t.Errorf("request %d: that the day is another is told: %v", i, told)
		}
	}
}
