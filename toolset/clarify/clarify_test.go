package clarify_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/channel"
	"github.com/hermes-runtime/hermes/internal/approval/ask"
	"github.com/hermes-runtime/hermes/internal/registry/schema"
	"github.com/hermes-runtime/hermes/internal/runtime"
	"github.com/hermes-runtime/hermes/tool"
	_ "github.com/hermes-runtime/hermes/toolset/clarify"
)

func session(t *testing.T, config string, asker channel.Asker) *runtime.Session {
	t.Helper()
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "config.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := runtime.Open(t.Context(), runtime.Options{Home: home, Environ: []string{}, Asker: asker})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close(context.Background()) })
	return r.Session(runtime.SessionOptions{})
}

func call(ctx context.Context, s *runtime.Session, arguments string) tool.Result {
	return s.Call(ctx, tool.Request{Name: "clarify", Arguments: json.RawMessage(arguments)})
}

func TestClarify_AsksAndAnswers_CLR1(t *testing.T) {
	for _, tc := range []struct {
		arguments, text string
		options         []string
		want            string
	}{
		{`{"question":" Which? ","choices":["a"," ","b","","c","d","e"]}`, "b", []string{"a", "b", "c", "d"},
			`{"question":"Which?","choices_offered":["a","b","c","d"],"user_response":"b"}`},
		{`{"question":"Which?"}`, "none of them", []string{}, `{"question":"Which?","choices_offered":[],"user_response":"none of them"}`},
		{`{"question":"Which?","choices":[]}`, "x", []string{}, `{"question":"Which?","choices_offered":[],"user_response":"x"}`},
	} {
		s := session(t, "", channel.AskerFunc(func(_ context.Context, q channel.Question) (channel.Answer, error) {
			if q.Kind != channel.KindClarify || q.Text != "Which?" || !slices.Equal(q.Options, tc.options) || q.Tool != "clarify" || !q.Expires.IsZero() {
				t.Errorf("%s: asked %+v", tc.arguments, q)
			}
			return channel.Answer{Text: tc.text}, nil
		}))
		if r := call(t.Context(), s, tc.arguments); r.JSON != tc.want {
			t.Errorf("%s: %s, want %s", tc.arguments, r.JSON, tc.want)
		}
	}
}

func TestClarify_WithoutAnAnswer_CLR2(t *testing.T) {
	giving := func(a channel.Answer, err error) channel.Asker {
		return channel.AskerFunc(func(context.Context, channel.Question) (channel.Answer, error) { return a, err })
	}
	for name, tc := range map[string]struct {
		asker channel.Asker
		says  string
	}{
		"late":         {giving(channel.Answer{}, channel.ErrTimeout), "in time"},
		"no words":     {giving(channel.Answer{Text: " \n"}, nil), "no answer"},
		"turned down":  {giving(channel.Answer{Choice: channel.Deny}, nil), "no answer"},
		"out of reach": {giving(channel.Answer{}, errors.New("no route")), "reached nobody"},
	} {
		r := call(t.Context(), session(t, "", tc.asker), `{"question":"Which?"}`)
		if r.Status != tool.StatusError || !strings.Contains(r.JSON, tc.says) || !strings.Contains(r.JSON, "best judgement") {
			t.Errorf("%s: %s %s", name, r.Status, r.JSON)
		}
	}
	for _, bad := range []string{`{"question":" \n"}`, `{}`, `{"question":"x","choices":{"a":1}}`} {
		if r := call(t.Context(), session(t, "", giving(channel.Answer{Text: "x"}, nil)), bad); r.Type != tool.ErrTypeInvalidArguments {
			t.Errorf("%s: %s", bad, r.JSON)
		}
	}
}

// CLR-2, CHK-6: where nobody can answer the tool isn't offered, and whoever calls it all the same is told how to go on.
func TestClarify_WhereNobodyIs(t *testing.T) {
	s := session(t, "", nil)
	defs, err := s.Definitions(t.Context(), schema.OpenAI)
	if err != nil || strings.Contains(defs.Body, "clarify") {
		t.Errorf("%v: %s", err, defs.Body)
	}
	if r := call(t.Context(), s, `{"question":"Which?"}`); r.Status == tool.StatusOK || !strings.Contains(r.JSON, "best judgement") {
		t.Errorf("%s %s", r.Status, r.JSON)
	}
}

// A question that is no longer wanted is a call that was cancelled, not one without an answer.
func TestClarify_Interrupted(t *testing.T) {
	put := make(chan struct{})
	s := session(t, "", channel.AskerFunc(func(ctx context.Context, _ channel.Question) (channel.Answer, error) {
		close(put)
		<-ctx.Done()
		return channel.Answer{}, ctx.Err()
	}))
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() { <-put; cancel(tool.NewMessage) }()
	if r := call(ctx, s, `{"question":"Which?"}`); r.Status != tool.StatusCancelled {
		t.Errorf("%s %s", r.Status, r.JSON)
	}
}

func TestClarify_TimeIsConfigured_CLR2(t *testing.T) {
	s := session(t, "clarify: {timeout: 60}", channel.AskerFunc(func(_ context.Context, q channel.Question) (channel.Answer, error) {
		if d := q.Expires.Sub(q.Created).Round(time.Second); d != time.Minute {
			t.Errorf("it expires after %v", d)
		}
		return channel.Answer{Text: "x"}, nil
	}))
	if r := call(t.Context(), s, `{"question":"Which?"}`); r.Status != tool.StatusOK {
		t.Error(r.JSON)
	}
}

// BAT-11: one person gets one question at a time, whichever session it is of.
func TestClarify_OneQuestionAtATime(t *testing.T) {
	var open atomic.Int32
	first := make(chan struct{}, 2)
	release := make(chan struct{})
	s := session(t, "", channel.AskerFunc(func(context.Context, channel.Question) (channel.Answer, error) {
		if n := open.Add(1); n != 1 {
			t.Errorf("%d questions at once", n)
		}
		first <- struct{}{}
		<-release
		open.Add(-1)
		return channel.Answer{Text: "x"}, nil
	}))
	answers := make(chan tool.Result, 2)
	for range 2 {
		go func() { answers <- call(t.Context(), s, `{"question":"Which?"}`) }()
	}
	<-first
	close(release)
	for range 2 {
		if r := <-answers; r.Status != tool.StatusOK {
			t.Error(r.JSON)
		}
	}
}

// The queue for chats and consoles takes the question too, by its id.
func TestClarify_ThroughAQueue(t *testing.T) {
	q, err := ask.Open(t.Context(), ask.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close(context.Background())
	requests, detach := q.Subscribe("test")
	defer detach()
	s := session(t, "", q)
	answer := make(chan tool.Result, 1)
	go func() { answer <- call(t.Context(), s, `{"question":"Which?","choices":["a"]}`) }()
	r := <-requests
	if left := time.Until(r.Expires); r.Text != "Which?" || left > ask.ClarifyTime || left < ask.ClarifyTime/2 {
		t.Errorf("%+v", r)
	}
	if _, err := q.Answer(t.Context(), r.ID, ask.Reply{Text: "b"}); err != nil {
		t.Error(err)
	}
	<-requests // its end
	if r := <-answer; !strings.Contains(r.JSON, `"user_response":"b"`) {
		t.Error(r.JSON)
	}
}
