//go:build unix

package hermes_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	hermes "github.com/hermes-runtime/hermes"
	"github.com/hermes-runtime/hermes/provider"
	"github.com/hermes-runtime/hermes/tool"
)

// A runtime that isn't open says so, whatever is asked of it; it is opened once, and closing one that isn't open does nothing.
func TestRuntime_IsOpenedOnce(t *testing.T) {
	rt := hermes.New(hermes.Options{Home: t.TempDir()})
	_, talk := rt.Converse(t.Context(), hermes.ConversationOptions{})
	_, define := rt.Definitions(t.Context(), hermes.Request{})
	says := []string{fmt.Sprint(talk), fmt.Sprint(define)}
	for _, use := range []func(){
		func() { rt.Call(t.Context(), tool.Request{Name: "x"}) }, func() { rt.CallBatch(t.Context(), nil) },
		func() { rt.NewSession(hermes.SessionOptions{}) }, func() { rt.Problems() },
	} {
		func() {
			defer func() { says = append(says, fmt.Sprint(recover())) }()
			use()
		}()
	}
	for i, s := range says {
		if !strings.Contains(s, "isn't open") {
			t.Errorf("%d: %s", i, s)
		}
	}
	if err := rt.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := rt.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := rt.Open(t.Context()); err == nil || !strings.Contains(err.Error(), "open already") {
		t.Errorf("opened again: %v", err)
	}
	if err := rt.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// A program can tell why a conversation isn't opened.
func TestConverse_SaysWhyNot(t *testing.T) {
	rt, dir := open(t, hermes.Options{})
	file := filepath.Join(dir, "tape.jsonl")
	if err := os.WriteFile(file, []byte(`{"text":"Hi."}`), 0o600); err != nil {
		t.Fatal(err)
	}
	tape := "replay:" + file
	c, err := rt.Converse(t.Context(), hermes.ConversationOptions{Model: tape})
	if err != nil {
		t.Fatal(err)
	}
	if o := c.Turn(t.Context(), "hello"); o.Status != hermes.Completed || o.ExitReason != hermes.ExitCompleted {
		t.Fatalf("%+v", o)
	}
	if _, err := rt.Converse(t.Context(), hermes.ConversationOptions{Model: tape, Resume: c.ID()}); !errors.Is(err, hermes.ErrConversationInUse) {
		t.Errorf("in use: %v", err)
	}
	if _, err := rt.Converse(t.Context(), hermes.ConversationOptions{Model: tape, Resume: "nothing"}); !errors.Is(err, hermes.ErrUnknownConversation) {
		t.Errorf("unknown: %v", err)
	}
	_, err = rt.Converse(t.Context(), hermes.ConversationOptions{Model: "replay:" + file + ".gone"})
	if p, ok := errors.AsType[*provider.Error](err); !ok || p.Kind != provider.ErrSetup {
		t.Errorf("no model: %v", err)
	}
	if n := c.StopChildren(); n != 0 {
		t.Errorf("%d children were stopped of none", n)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// Whoever has linked nothing in is told what to import.
func TestRuntime_WithoutToolsSaysWhatToImport(t *testing.T) {
	rt, err := hermes.New(hermes.Options{Home: t.TempDir(), Table: &tool.Table{}}).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if p := rt.Problems(); len(p) != 1 || !strings.Contains(p[0].Error(), "import github.com/hermes-runtime/hermes/toolset/all") {
		t.Errorf("%v", p)
	}
	if err := rt.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
