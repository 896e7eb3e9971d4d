package chat_test

import (
	"context"
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/channel"
	"github.com/hermes-runtime/hermes/internal/chat"
	"github.com/hermes-runtime/hermes/tool"
)

type tools = map[string]func(context.Context, *performance) (string, tool.Status)

// CHAT-1, CHAT-3, CHAT-4.
func TestChat_AnswersAndLeaves(t *testing.T) {
	p := &play{lines: []line{{text: "Hello you.\nHow are you?"}, {text: "Good."}}}
	s := p.sit(t, chat.ScreenOptions{}, chat.Options{})
	s.say("hi")
	s.shows("> hi\nHello you.\nHow are you?\n>")
	s.say("fine")
	s.shows("> fine\nGood.\n>")
	s.prompt()
	s.Type(t, "\x04")
	s.leaves(0, "s1")
}

// CHAT-4: what was never begun isn't stored, and can't be gone on with.
func TestChat_NothingSaidNothingStored(t *testing.T) {
	s := (&play{}).sit(t, chat.ScreenOptions{}, chat.Options{})
	s.say("/exit")
	s.leaves(0)
}

// CHAT-2: parallel calls have a line each while they run, and leave one that says how they ended.
func TestChat_ACallHasALine(t *testing.T) {
	first, second := make(chan struct{}), make(chan struct{})
	p := &play{
		lines: []line{{text: "Let me see.", calls: calls(`work {"command":"make\nall \u001b[2J"}`, `play {"path":"/a/b"}`)}, {text: "Done."}},
		tools: tools{
			"work": func(context.Context, *performance) (string, tool.Status) { <-first; return `{}`, tool.StatusOK },
			"play": func(context.Context, *performance) (string, tool.Status) {
				<-second
				return object(map[string]string{"error": "no\x1b[2J such file\nat all"}), tool.StatusError
			},
		},
	}
	s := p.sit(t, chat.ScreenOptions{}, chat.Options{})
	s.say("go")
	s.shows(`🔧 work make\nall \x1b[2J`)
	s.shows(`🔧 play /a/b`)
	if shown := screen(s.Text()); !strings.Contains(shown, "Let me see.\n🔧") || strings.Contains(shown, "✓") {
		t.Errorf("shown:\n%s", shown)
	}
	close(second)
	s.shows("🔧 play /a/b ✗ N s error: no such file\n🔧 work")
	close(first)
	s.shows("Let me see.\n🔧 play /a/b ✗ N s error: no such file\n🔧 work make\\nall \\x1b[2J ✓ N s\nDone.\n>")
	s.say("/exit")
	s.leaves(0, "s1")
}

// CHAT-9.
func TestChat_WhatTheModelSaysCantDriveTheTerminal(t *testing.T) {
	p := &play{lines: []line{{text: "a\x1b[ 2Jb\x1b]0;t \x07c\rd\x08e \u009b1m\u202ef\u2069"}}}
	s := p.sit(t, chat.ScreenOptions{}, chat.Options{})
	s.say("hi")
	s.shows("bcde f")
	s.say("/exit")
	s.leaves(0, "s1")
}

// CHAT-3: Ctrl-C ends the turn, not the program; the history stays good for the next.
func TestChat_CtrlCEndsTheTurn(t *testing.T) {
	p := &play{
		lines: []line{{calls: calls("work")}, {text: "Again."}},
		tools: tools{"work": func(ctx context.Context, _ *performance) (string, tool.Status) {
			<-ctx.Done()
			return object(map[string]string{"error": context.Cause(ctx).Error()}), tool.StatusCancelled
		}},
	}
	s := p.sit(t, chat.ScreenOptions{}, chat.Options{})
	s.say("go")
	s.shows("🔧 work")
	s.Type(t, "\x03")
	s.shows("✗")
	s.shows("interrupted\n>")
	s.say("and now?")
	s.shows("Again.\n>")
	s.say("/exit")
	s.leaves(0, "s1")
}

// CHAT-3: the prompt is back though a handler ignores its context, and what is sent then waits for its end.
func TestChat_CtrlCWhileAHandlerDoesNotStop(t *testing.T) {
	stuck := make(chan struct{})
	p := &play{
		lines: []line{{calls: calls("work")}, {text: "Here."}},
		tools: tools{"work": func(context.Context, *performance) (string, tool.Status) { <-stuck; return `{}`, tool.StatusCancelled }},
	}
	s := p.sit(t, chat.ScreenOptions{}, chat.Options{})
	s.say("go")
	s.shows("🔧 work")
	s.Type(t, "\x03")
	s.shows("something doesn't stop")
	s.say("hello?")
	s.shows("> hello?")
	close(stuck)
	s.shows("Here.\n>")
	if h := p.said(); len(h) != 2 || h[1] != "hello?" {
		t.Errorf("the model heard %q", h)
	}
	s.say("/exit")
	s.leaves(0, "s1")
}

// CHAT-3.
func TestChat_CtrlCTwiceLeaves(t *testing.T) {
	wait := make(chan struct{})
	defer close(wait)
	p := &play{lines: []line{{text: "Well ", wait: wait}}}
	s := p.sit(t, chat.ScreenOptions{}, chat.Options{})
	s.say("go")
	s.shows("Well")
	s.Type(t, "\x03\x03")
	s.leaves(130, "s1")
}

// CHAT-3: at the prompt the line is cleared, then there is a hint, then the end.
func TestChat_CtrlCAtThePrompt(t *testing.T) {
	s := (&play{}).sit(t, chat.ScreenOptions{}, chat.Options{})
	s.prompt()
	s.Type(t, "half a th")
	s.shows("> half a th")
	s.Type(t, "\x03")
	s.prompt()
	s.Type(t, "\x03")
	s.shows("Ctrl-C again leaves")
	s.prompt()
	s.Type(t, "x\x7f\x03") // something between: the first counts no more
	s.WaitFor(t, "Ctrl-C again leaves", 2)
	s.Type(t, "\x03\x03") // one is enough, unless the machine was busy for so long that it counts as the first
	s.leaves(130)
}

// INT-1, INT-2: a message during a turn ends it and begins the next.
func TestChat_AMessageInterrupts(t *testing.T) {
	wait := make(chan struct{})
	defer close(wait)
	p := &play{lines: []line{{text: "This will take ", wait: wait}, {text: "At once."}}}
	s := p.sit(t, chat.ScreenOptions{}, chat.Options{})
	s.say("go")
	s.shows("This will take")
	s.Type(t, "no, st")
	s.shows("This will take\n> no, st")
	s.Type(t, "op\r")
	s.shows("This will take\n> no, stop\ninterrupted\nAt once.\n>")
	if h := p.said(); len(h) != 2 || h[0] != "go" || h[1] != "no, stop" {
		t.Errorf("the model heard %q", h)
	}
	s.say("/exit")
	s.leaves(0, "s1")
}

// INT-3: queued messages begin turns of their own, in order.
func TestChat_MessagesQueue(t *testing.T) {
	wait := make(chan struct{})
	p := &play{lines: []line{{text: "One. ", wait: wait}, {text: "Two."}, {text: "Three."}}}
	s := p.sit(t, chat.ScreenOptions{}, chat.Options{Busy: chat.Queue})
	s.say("a")
	s.shows("One.")
	s.Type(t, "b\r")
	s.WaitFor(t, "waits for the end", 1)
	s.Type(t, "c\r")
	s.WaitFor(t, "waits for the end", 2)
	close(wait)
	s.shows("Two.\nThree.\n>")
	if h := p.said(); strings.Join(h, ",") != "a,b,c" {
		t.Errorf("the model heard %q", h)
	}
	s.say("/exit")
	s.leaves(0, "s1")
}

// INT-3: a steering message is told with the results; one that no request could hold isn't lost.
func TestChat_MessagesSteer(t *testing.T) {
	work, wait := make(chan struct{}), make(chan struct{})
	p := &play{
		lines: []line{{calls: calls("work")}, {text: "I see. ", wait: wait}, {text: "Later."}},
		tools: tools{"work": func(context.Context, *performance) (string, tool.Status) { <-work; return `{}`, tool.StatusOK }},
	}
	s := p.sit(t, chat.ScreenOptions{}, chat.Options{Busy: chat.Steer})
	s.say("a")
	s.shows("🔧 work")
	s.Type(t, "left\r")
	s.WaitFor(t, "told to the model", 1)
	close(work)
	s.shows("I see.")
	if h := p.said(); strings.Join(h, ",") != "a,left" {
		t.Errorf("the model heard %q", h)
	}
	s.Type(t, "right\r")
	s.WaitFor(t, "told to the model", 2)
	close(wait)
	s.shows("Later.\n>")
	if h := p.said(); strings.Join(h, ",") != "a,left,right" {
		t.Errorf("the model heard %q", h)
	}
	s.say("/exit")
	s.leaves(0, "s1")
}

// INT-3: what waited when the turn was stopped isn't lost, and isn't said either: the person has it again.
func TestChat_CtrlCGivesBackWhatWaited(t *testing.T) {
	for _, busy := range []chat.Busy{chat.Queue, chat.Steer} {
		t.Run(string(busy), func(t *testing.T) {
			p := &play{lines: []line{{text: "Well ", wait: make(chan struct{})}, {text: "Heard."}}}
			s := p.sit(t, chat.ScreenOptions{}, chat.Options{Busy: busy})
			s.say("go")
			s.shows("Well")
			s.Type(t, "b\r")
			s.shows("> b\n")
			s.Type(t, "c\rd")
			s.shows("> d")
			s.Type(t, "\x03")
			s.shows("interrupted\n> b⏎c⏎d")
			s.Type(t, "\r")
			s.shows("Heard.\n>")
			if h := p.said(); strings.Join(h, ",") != "go,b\nc\nd" {
				t.Errorf("the model heard %q", h)
			}
			s.say("/exit")
			s.leaves(0, "s1")
		})
	}
}

// CHAT-2: a question stops the drawing, takes the keyboard, and gives it back; what was written meanwhile is still there.
func TestChat_AQuestionHasTheTerminal(t *testing.T) {
	p := &play{lines: []line{{text: "May I? ", calls: calls("work")}, {text: "Thanks."}}}
	ready := make(chan struct{})
	answer := make(chan channel.Answer, 1)
	p.tools = tools{"work": func(ctx context.Context, f *performance) (string, tool.Status) {
		<-ready
		a, err := f.asker.Ask(ctx, channel.Question{Kind: channel.KindClarify, Title: "Clarify", Text: "Which colour?", Options: []string{"red", "blue"}})
		if err != nil {
			t.Error(err)
		}
		answer <- a
		return `{}`, tool.StatusOK
	}}
	s := p.sit(t, chat.ScreenOptions{}, chat.Options{})
	s.say("go")
	s.shows("🔧 work")
	s.Type(t, "mean")
	s.shows("> mean")
	close(ready)
	s.shows("Which colour?")
	s.shows("2")
	if shown := screen(s.Text()); strings.Contains(shown, "> mean") || strings.Contains(shown, "🔧") {
		t.Errorf("the drawing goes on:\n%s", shown)
	}
	s.WaitFor(t, "blue", 1)
	s.Until(t, "no prompt of the question", func(shown string) bool { return strings.HasSuffix(shown, "> ") })
	s.Type(t, "2\r")
	if a := <-answer; a.Text != "blue" {
		t.Errorf("answered %+v", a)
	}
	s.shows("Thanks.\n> mean")
	s.Type(t, "\x15/exit\r")
	s.leaves(0, "s1")
}

// CHAT-3, INT-5: Ctrl-C in a question is Ctrl-C in its turn.
func TestChat_CtrlCInAQuestion(t *testing.T) {
	p := &play{lines: []line{{calls: calls("work")}, {text: "Thanks."}}}
	p.tools = tools{"work": func(ctx context.Context, f *performance) (string, tool.Status) {
		_, err := f.asker.Ask(ctx, channel.Question{Kind: channel.KindClarify, Title: "Clarify", Text: "Which colour?"})
		if err == nil || ctx.Err() == nil {
			t.Errorf("%v, %v", err, ctx.Err())
		}
		return `{}`, tool.StatusCancelled
	}}
	s := p.sit(t, chat.ScreenOptions{}, chat.Options{})
	s.say("go")
	s.shows("Which colour?")
	s.Until(t, "no prompt of the question", func(shown string) bool { return strings.HasSuffix(shown, "> ") })
	s.Type(t, "\x03")
	s.shows("interrupted\n>")
	s.say("/exit")
	s.leaves(0, "s1")
}

// CHAT-7: what is pasted is one message.
func TestChat_PastedLinesAreOneMessage(t *testing.T) {
	p := &play{lines: []line{{text: "Aha."}}}
	s := p.sit(t, chat.ScreenOptions{}, chat.Options{})
	s.prompt()
	s.Type(t, "see: \x1b[200~one\r\ntwo\x1b[31m\rthree\x1b[201~")
	s.shows("> see: one⏎two⏎three")
	s.Type(t, "\r")
	s.shows("Aha.\n>")
	if h := p.said(); len(h) != 1 || h[0] != "see: one\ntwo\nthree" {
		t.Errorf("the model heard %q", h)
	}
	s.say("/exit")
	s.leaves(0, "s1")
}

// CHAT-7: an unknown command is an error that names the nearest; the model never hears of it.
func TestChat_Commands(t *testing.T) {
	p := &play{lines: []line{{text: "One."}, {text: "Knit."}, {text: "Path."}, {text: "New."}}}
	s := p.sit(t, chat.ScreenOptions{}, chat.Options{})
	for _, c := range []struct{ text, shows string }{
		{"/tols", "there is no command /tols; the nearest is /tools"},
		{"/toolset", "the nearest is /toolsets"},
		{"/knit", "the nearest is /knitting"},
		{"/help", "/compact          make the conversation shorter"},
		{"/tools", "🔧 work: Does the work.\n"},
		{"/toolsets", "labour: work"},
		{"/model", "test/actor"},
		{"/sessions", "nothing is stored yet"},
		{"/todo", "there is no plan"},
		{"/stop", "nothing runs"},
		{"/compact", "begin a new session"},
		{"hi", "One.\n>"},
		{"/knitting a scarf", "Knit.\n>"},
		{"/etc/hosts is odd", "Path.\n>"},
		{"/sessions", "s1  "},
		{"/resume", "which one?"},
		{"/resume s1", "s1 is this conversation"},
		{"/new", "session s2"},
		{"hi again", "New.\n>"},
		{"/resume s1", "session s1, 6 messages so far"},
		{"/model other", "session s1, 6 messages so far"},
	} {
		s.say(c.text)
		s.shows(c.shows)
	}
	s.say("/exit")
	s.leaves(0, "s2", "s1")
	if o := p.opens[len(p.opens)-1]; o.Resume != "s1" || o.Model != "other" {
		t.Errorf("opened %+v", o)
	}
}

// DEL-7: /stop ends the turn and the children in the background, also between turns; Ctrl-C leaves those at work.
func TestChat_StopEndsChildrenInTheBackground(t *testing.T) {
	p := &play{below: 2, lines: []line{{text: "Wait. ", wait: make(chan struct{})}, {text: "Wait again. ", wait: make(chan struct{})}}}
	s := p.sit(t, chat.ScreenOptions{}, chat.Options{})
	s.say("hi")
	s.shows("Wait.")
	s.Type(t, "\x03")
	s.shows("interrupted\n>")
	s.say("hi")
	s.shows("Wait again.")
	s.Type(t, "/stop\r")
	s.shows("2 children in the background are stopped")
	s.shows("interrupted\n>")
	s.say("/stop")
	s.shows("nothing runs")
	p.mu.Lock()
	p.below = 1
	p.mu.Unlock()
	s.say("/stop")
	s.shows("the child in the background is stopped")
	s.say("/exit")
	s.leaves(0, "s1")
}

// CHAT-6.
func TestChat_ASessionInUseIsOpenedOnlyAfterAsking(t *testing.T) {
	p := &play{inUse: true, lines: []line{{text: "Hi."}}}
	s := p.sit(t, chat.ScreenOptions{}, chat.Options{})
	s.shows("in use elsewhere")
	s.say("")
	<-s.left
	if s.err == nil || len(p.opens) != 1 {
		t.Errorf("%v, opened %d times", s.err, len(p.opens))
	}
	s = p.sit(t, chat.ScreenOptions{}, chat.Options{})
	s.shows("in use elsewhere")
	s.say("y")
	s.say("hi")
	s.shows("Hi.\n>")
	s.say("/exit")
	s.leaves(0, "s3")
}
