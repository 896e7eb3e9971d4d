package terminal_test

import (
	"context"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/channel"
	"github.com/hermes-runtime/hermes/channel/terminal"
	"github.com/hermes-runtime/hermes/internal/keys/keystest"
	"github.com/hermes-runtime/hermes/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// screen is a terminal at which questions are asked.
type screen struct{ *keystest.Screen }

func openScreen(t *testing.T) *screen { return &screen{keystest.Open(t)} }

type result struct {
	answer channel.Answer
	err    error
}

func (s *screen) ask(ctx context.Context, q channel.Question, interrupt func()) <-chan result {
	out := make(chan result, 1)
	a := terminal.New(terminal.Options{In: s.TTY, Out: s.TTY, Interrupt: interrupt})
	go func() {
		answer, err := a.Ask(ctx, q)
		out <- result{answer, err}
	}()
	return out
}

func question() channel.Question {
	return channel.Question{ID: "1", Kind: channel.KindApproval, Title: "May this run?", Command: "cd src && rm -rf build", Dir: "/data",
		Findings: []channel.Finding{{ID: "delete.recursive", Key: "recursive delete", Span: [2]int{10, 22}, Text: "rm -rf build",
			Reason: "deletes whole directories: /data/src/build", Targets: []string{"/data/src/build"}}},
		Choices: []channel.Choice{channel.Once, channel.Session, channel.Always, channel.Deny}, Waiting: 2}
}

// A72: first letters and words; Enter, Esc, the end of input and a word that is no choice twice deny.
func TestAsk_KeysDecide(t *testing.T) {
	for name, c := range map[string]struct {
		keys []string // each is typed at a prompt of its own
		want channel.Choice
	}{
		"first letter":         {[]string{"o\r"}, channel.Once},
		"word":                 {[]string{"session\r"}, channel.Session},
		"upper case":           {[]string{"A\r"}, channel.Always},
		"deny":                 {[]string{"d\r"}, channel.Deny},
		"Enter":                {[]string{"\r"}, channel.Deny},
		"Esc":                  {[]string{"\x1b"}, channel.Deny},
		"Esc after a letter":   {[]string{"o\x1b"}, channel.Deny},
		"end of input":         {[]string{"\x04"}, channel.Deny},
		"unknown twice":        {[]string{"yes\r", "please\r"}, channel.Deny},
		"unknown, then known":  {[]string{"yes\r", "once\r"}, channel.Once},
		"view decides nothing": {[]string{"v\r", "view\r", "v\r", "o\r"}, channel.Once},
		"corrected":            {[]string{"x\x7fo\r"}, channel.Once},
		"line cleared":         {[]string{"deny\x15once\r"}, channel.Once},
		"arrow key":            {[]string{"\x1b[Ao\r"}, channel.Once},
		"exact":                {[]string{"e\r"}, channel.Exact},
		"under":                {[]string{"under\r"}, channel.Under},
	} {
		t.Run(name, func(t *testing.T) {
			s := openScreen(t)
			q := question()
			q.Choices, q.Under = append([]channel.Choice{channel.Exact, channel.Under}, q.Choices...), "/data/src"
			got := s.ask(t.Context(), q, func() { t.Error("interrupted") })
			for i, k := range c.keys {
				s.WaitFor(t, "\r\n> ", i+1)
				s.Type(t, k)
			}
			if r := <-got; r.err != nil || r.answer.Choice != c.want {
				t.Errorf("got %+v, %v; want %s\n%s", r.answer, r.err, c.want, s.Text())
			}
		})
	}
}

func TestAsk_ShowsTheFindingAndWhatItIsAbout(t *testing.T) {
	s := openScreen(t)
	q := question()
	q.Expires = time.Now().Add(300 * time.Second)
	q.Notes, q.Elevated, q.Environment = []string{"why"}, true, "local"
	got := s.ask(t.Context(), q, nil)
	s.WaitFor(t, "> ", 1)
	for _, want := range []string{"cd src && rm -rf build", "recursive delete", "deletes whole directories: /data/src/build", "Directory: /data",
		"Environment: local", "elevated", "Note: why", "waiting behind this one: 2", " s left", "then Enter", "Enter alone denies", "Session and always are for: recursive delete", "o  once", "a  always", "d  deny"} {
		if !strings.Contains(s.Text(), want) {
			t.Errorf("%q isn't shown in\n%s", want, s.Text())
		}
	}
	if left := regexp.MustCompile(`\b(2\d\d|300) s left`); !left.MatchString(s.Text()) { // as long as the machine took to show it
		t.Errorf("what is left of the time isn't shown in\n%s", s.Text())
	}
	s.Type(t, "\r")
	<-got
}

func TestAsk_WhatIsNotOnOfferCantBeChosen(t *testing.T) {
	s := openScreen(t)
	q := question()
	q.Choices = []channel.Choice{channel.Once, channel.Deny}
	got := s.ask(t.Context(), q, nil)
	s.WaitFor(t, "> ", 1)
	s.Type(t, "always\r")
	s.WaitFor(t, "\r\n> ", 2)
	s.Type(t, "s\r")
	if r := <-got; r.answer.Choice != channel.Deny {
		t.Errorf("got %+v", r.answer)
	}
}

// A72: what was typed before the prompt appeared is no answer.
func TestAsk_EarlierInputIsDiscarded(t *testing.T) {
	s := openScreen(t)
	s.Type(t, "once\nonce\n")
	s.WaitFor(t, "once", 2) // echoed: it is in the terminal's queue
	got := s.ask(t.Context(), question(), nil)
	s.WaitFor(t, "\r\n> ", 1)
	s.Type(t, "d\r")
	if r := <-got; r.err != nil || r.answer.Choice != channel.Deny {
		t.Errorf("got %+v, %v", r.answer, r.err)
	}
}

func TestAsk_CtrlCDeniesAndInterrupts(t *testing.T) {
	s := openScreen(t)
	interrupted := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	got := s.ask(ctx, question(), func() { close(interrupted); cancel() })
	s.WaitFor(t, "> ", 1)
	s.Type(t, "o\x03")
	if r := <-got; !errors.Is(r.err, channel.ErrInterrupted) || r.answer.Choice != "" {
		t.Errorf("got %+v, %v", r.answer, r.err)
	}
	<-interrupted
}

func TestAsk_ExpiryIsTimeout(t *testing.T) {
	s := openScreen(t)
	q := question()
	q.Expires = time.Now().Add(-time.Second)
	if r := <-s.ask(t.Context(), q, nil); !errors.Is(r.err, channel.ErrTimeout) {
		t.Errorf("got %+v, %v", r.answer, r.err)
	}
	q.Expires = time.Now().Add(12 * time.Second)
	ctx, cancel := context.WithCancelCause(t.Context())
	got := s.ask(ctx, q, nil)
	s.WaitFor(t, "10 s left to answer", 1)
	cancel(channel.ErrTimeout)
	if r := <-got; !errors.Is(r.err, channel.ErrTimeout) {
		t.Errorf("got %+v, %v", r.answer, r.err)
	}
}

func TestAsk_EndsWithTheContext(t *testing.T) {
	s := openScreen(t)
	ctx, cancel := context.WithCancel(t.Context())
	got := s.ask(ctx, question(), nil)
	s.WaitFor(t, "> ", 1)
	cancel()
	if r := <-got; !errors.Is(r.err, context.Canceled) {
		t.Errorf("got %+v, %v", r.answer, r.err)
	}
}

func TestAsk_GivesTheTerminalBack(t *testing.T) {
	s := openScreen(t)
	before := s.Settings(t)
	got := s.ask(t.Context(), question(), nil)
	s.WaitFor(t, "> ", 1)
	s.Type(t, "\x1b")
	<-got
	if after := s.Settings(t); before != after {
		t.Errorf("the terminal's settings changed:\n%+v\n%+v", before, after)
	}
}

func TestAsk_SecretIsNeverShown(t *testing.T) {
	s := openScreen(t)
	q := channel.Question{Kind: channel.KindSecret, Title: "Password of sudo", Command: "sudo make install", Expires: time.Now().Add(45 * time.Second)}
	got := s.ask(t.Context(), q, nil)
	s.WaitFor(t, "goes on without", 1)
	s.Type(t, "hunter2\r")
	if r := <-got; r.err != nil || r.answer.Secret != "hunter2" || strings.Contains(s.Text(), "hunter") {
		t.Errorf("got %+v, %v, shown:\n%s", r.answer, r.err, s.Text())
	}
	if !strings.Contains(s.Text(), "sudo make install") {
		t.Errorf("nobody is told what the password is for:\n%s", s.Text())
	}
	got = s.ask(t.Context(), q, nil)
	s.WaitFor(t, "goes on without", 2)
	s.Type(t, "\r")
	if r := <-got; r.err != nil || r.answer.Secret != "" {
		t.Errorf("Enter: %+v, %v", r.answer, r.err)
	}
}

// A72: without a terminal on both ends there is no prompt.
func TestAsk_NeedsATerminalOnBothEnds(t *testing.T) {
	s := openScreen(t)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = r.Close(), w.Close() }()
	for name, o := range map[string]terminal.Options{"input": {In: r, Out: s.TTY}, "output": {In: s.TTY, Out: w}, "both": {In: r, Out: w}} {
		a := terminal.New(o)
		if _, err := a.Ask(t.Context(), question()); a.Available() || !errors.Is(err, terminal.ErrNoTerminal) {
			t.Errorf("no terminal for %s: available %v, %v", name, a.Available(), err)
		}
	}
	if !terminal.New(terminal.Options{In: s.TTY, Out: s.TTY}).Available() {
		t.Error("a terminal on both ends isn't seen")
	}
}

// A71: nothing in a question can move the cursor, hide or turn text around.
func TestAsk_HostileTextCanOnlyBeRead(t *testing.T) {
	s := openScreen(t)
	q := question()
	q.Command = "rm -rf x \x1b[2K\x1b]0;t\x07 \u202egpj.sh \u200b\u00a0\x9b1m\r ok"
	q.Findings[0].Reason, q.Dir = "why\x1b[1A", "/a\x08b"
	got := s.ask(t.Context(), q, nil)
	s.WaitFor(t, "> ", 1)
	s.Type(t, "v\r")
	s.WaitFor(t, "\r\n> ", 2)
	s.Type(t, "d\r")
	<-got
	shown := strings.ReplaceAll(s.Text(), "\r\n", "\n")
	if strings.ContainsAny(shown, "\x1b\x07\x08\r\u202e\u200b\u00a0") || strings.Contains(shown, "\x9b") {
		t.Errorf("a control came through: %q", shown)
	}
	if !strings.Contains(shown, `\x1b[2K`) || !strings.Contains(shown, `\u202egpj`) || !strings.Contains(shown, `\x9b1m`) {
		t.Errorf("controls aren't visible: %q", shown)
	}
}

// A71: what is about a command can't write lines of the card.
func TestAsk_LineBreaksForgeNoLines(t *testing.T) {
	s := openScreen(t)
	q := question()
	const forged = "x\nEnvironment: a sandbox\n  o  once: harmless"
	q.Dir, q.Task, q.Notes, q.Findings[0].Key, q.Title = forged, forged, []string{forged}, forged, forged
	q.Command = "rm -rf x\nEnvironment: a sandbox"
	got := s.ask(t.Context(), q, nil)
	s.WaitFor(t, "> ", 1)
	s.Type(t, "v\r")
	s.WaitFor(t, "\r\n> ", 2)
	s.Type(t, "d\r")
	<-got
	for line := range strings.SplitSeq(s.Text(), "\r\n") {
		if strings.HasPrefix(line, "Environment: a sandbox") || strings.Contains(line, "harmless") && strings.HasPrefix(line, "  o") {
			t.Errorf("a forged line: %q", line)
		}
	}
}

// A71: a display limit never hides a finding.
func TestAsk_LongCommandKeepsFindingsInView(t *testing.T) {
	s := openScreen(t)
	q := question()
	pad := strings.Repeat("echo aaaaaaaa; ", 300)
	q.Command = pad + "rm -rf build; " + pad
	q.Findings[0].Span = [2]int{len(pad), len(pad) + len("rm -rf build")}
	got := s.ask(t.Context(), q, nil)
	s.WaitFor(t, "> ", 1)
	if text := s.Text(); !strings.Contains(text, "rm -rf build; echo") || !strings.Contains(text, "bytes hidden") || len(text) > 4000 {
		t.Errorf("%d bytes shown:\n%s", len(text), text)
	}
	s.Type(t, "v\r")
	s.WaitFor(t, "\r\n> ", 2)
	if n := strings.Count(s.Text(), "aaaaaaaa"); n < 600 {
		t.Errorf("the view shows %d of 600 pieces", n)
	}
	s.Type(t, "\x1b")
	<-got
}
