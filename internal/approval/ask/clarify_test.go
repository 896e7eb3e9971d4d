package ask_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hermes-runtime/hermes/channel"
	"github.com/hermes-runtime/hermes/internal/approval/ask"
)

func free(id string) channel.Question {
	return channel.Question{ID: id, Kind: channel.KindClarify, Session: "s", Text: "which one, open-sesame?", Options: []string{"a", "b"}}
}

// CLR-1: a free question is answered by its id in any words, once; words open no act and a choice is no words.
func TestQueue_FreeQuestionTakesWords(t *testing.T) {
	dir := t.TempDir()
	q := open(t, ask.Config{Dir: dir, Redact: func(s string) string { return strings.ReplaceAll(s, "open-sesame", "***") }})
	yes(q, t)
	results := make(chan answered, 3)
	put(t.Context(), q, free("f"), results)
	put(t.Context(), q, free("g"), results)
	put(t.Context(), q, wanted("r", "s"), results)
	waitPending(t, q, 3)
	for name, reply := range map[string]ask.Reply{"f": {Choice: channel.Once}, "g": {Text: " "}, "r": {Text: "yes"}} {
		if _, err := q.Answer(t.Context(), name, reply); !errors.Is(err, ask.ErrNotOffered) {
			t.Errorf("%s with %+v: %v", name, reply, err)
		}
	}
	words := ask.Reply{Text: "c, for open-sesame", By: ask.Person{ID: "ann"}}
	for range 2 {
		if o, err := q.Answer(t.Context(), "f", words); err != nil || o.Status != ask.Answered || o.Answer != words.Text {
			t.Errorf("%+v %v", o, err)
		}
	}
	if o, err := q.Answer(t.Context(), "f", ask.Reply{Text: "d"}); !errors.Is(err, ask.ErrSettled) || o.Answer != words.Text {
		t.Errorf("another answer: %+v %v", o, err)
	}
	if r := <-results; r.id != "f" || r.err != nil || r.answer.Text != words.Text || r.answer.Who != "ann" || r.answer.Choice != "" {
		t.Errorf("%+v", r)
	}
	if o, err := q.Answer(t.Context(), "g", ask.Reply{Choice: channel.Deny}); err != nil || o.Status != ask.Denied {
		t.Errorf("%+v %v", o, err)
	}
	if r := <-results; r.id != "g" || r.err != nil || r.answer.Text != "" {
		t.Errorf("%+v", r)
	}
	if o, err := q.Answer(t.Context(), "r", ask.Reply{Choice: channel.Once}); err != nil || o.Status != ask.Approved {
		t.Errorf("%+v %v", o, err)
	}
	if r := <-results; r.id != "r" || r.answer.Choice != channel.Once {
		t.Errorf("%+v", r)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "requests.jsonl")); err != nil || strings.Contains(string(text), "open-sesame") || !strings.Contains(string(text), `"kind":"clarify"`) {
		t.Errorf("%v: the journal holds\n%s", err, text)
	}
	later := open(t, ask.Config{Dir: dir})
	if o, err := later.Answer(t.Context(), "f", ask.Reply{Text: "d"}); !errors.Is(err, ask.ErrSettled) || o.Status != ask.Answered || o.Answer != "c, for ***" {
		t.Errorf("after a restart: %+v %v", o, err)
	}
}

// CLR-2: a free question has a time of its own, whatever acts have.
func TestDesk_FreeQuestionHasItsOwnTime(t *testing.T) {
	for name, tc := range map[string]struct{ own, want time.Duration }{"none said": {0, ask.ClarifyTime}, "its own": {time.Hour, time.Hour}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q, err := ask.Open(t.Context(), ask.Config{Timeout: 10 * time.Second})
				if err != nil {
					t.Fatal(err)
				}
				defer q.Close(context.Background())
				defer q.Attach("test", ask.Deliver(func(context.Context, ask.Request) error { return nil }))()
				question, start := free("f"), time.Now()
				if tc.own > 0 {
					question.Expires = start.Add(tc.own)
				}
				var d ask.Desk
				if _, _, err := d.Ask(t.Context(), q, always(question)); !errors.Is(err, channel.ErrTimeout) || time.Since(start) != tc.want {
					t.Errorf("%v after %v, want %v", err, time.Since(start), tc.want)
				}
			})
		})
	}
}
