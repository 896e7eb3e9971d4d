package terminal_test

import (
	"errors"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/channel"
)

func free() channel.Question {
	return channel.Question{ID: "c", Kind: channel.KindClarify, Text: "Which one,\x1b[2J Ann?", Options: []string{"the first\none", "the second"}}
}

// CLR-1: the person picks by number or answers freely; what the model wrote can't drive the terminal.
func TestAsker_FreeQuestionIsAnsweredByALine(t *testing.T) {
	for _, tc := range []struct{ keys, want string }{
		{"2\r", "the second"}, {"1\r", "the first\none"}, {" neither, é \r", "neither, é"}, {"3\r", "3"}, {"0\r", "0"}, {"\r", ""}, {"\x1b", ""}, {"\x04", ""},
	} {
		t.Run(tc.keys, func(t *testing.T) {
			s := openScreen(t)
			out := s.ask(t.Context(), free(), nil)
			s.WaitFor(t, "> ", 1)
			s.WaitFor(t, `Which one,\x1b[2J Ann?`, 1)
			s.WaitFor(t, `  1  the first\none`, 1)
			s.Type(t, tc.keys)
			if r := <-out; r.err != nil || r.answer.Text != tc.want || r.answer.Choice != "" {
				t.Errorf("%+v %v", r.answer, r.err)
			}
		})
	}
}

func TestAsker_FreeQuestionEndsWithoutAnAnswer(t *testing.T) {
	s := openScreen(t)
	q := free()
	q.Expires = time.Now().Add(100 * time.Millisecond)
	if r := <-s.ask(t.Context(), q, nil); !errors.Is(r.err, channel.ErrTimeout) {
		t.Errorf("after its time: %v", r.err)
	}
	s.WaitFor(t, "Nobody answered in time.", 1)
	told := make(chan struct{})
	out := s.ask(t.Context(), free(), func() { close(told) })
	s.WaitFor(t, "> ", 2)
	s.Type(t, "\x03")
	<-told
	if r := <-out; !errors.Is(r.err, channel.ErrInterrupted) {
		t.Errorf("after Ctrl-C: %v", r.err)
	}
}
