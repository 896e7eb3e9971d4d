package terminal_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/hermes-runtime/hermes/channel"
	"github.com/hermes-runtime/hermes/channel/terminal"
)

// A45a: only the text itself, to the letter and at the first attempt, lets a confirmed act run.
func TestAsk_ConfirmationIsTypedToTheLetter(t *testing.T) {
	for name, c := range map[string]struct {
		keys []string
		want channel.Choice
	}{
		"the text":       {[]string{"/dev/sdb\r"}, channel.Once},
		"after the view": {[]string{"v\r", "/dev/sdb\r"}, channel.Once},
		"corrected":      {[]string{"/dev/sdx\x7fb\r"}, channel.Once},
		"a letter":       {[]string{"o\r"}, channel.Deny},
		"yes":            {[]string{"yes\r"}, channel.Deny},
		"another":        {[]string{"/dev/sda\r"}, channel.Deny},
		"a part":         {[]string{"/dev/sd\r"}, channel.Deny},
		"more":           {[]string{"/dev/sdb \r"}, channel.Deny},
		"other case":     {[]string{"/DEV/SDB\r"}, channel.Deny},
		"Enter":          {[]string{"\r"}, channel.Deny},
		"Esc":            {[]string{"/dev/sdb\x1b"}, channel.Deny},
		"end of input":   {[]string{"\x04"}, channel.Deny},
	} {
		t.Run(name, func(t *testing.T) {
			s := openScreen(t)
			q := question()
			q.Confirm, q.Choices = "/dev/sdb", []channel.Choice{channel.Once, channel.Deny}
			got := s.ask(t.Context(), q, func() { t.Error("interrupted") })
			for i, k := range c.keys {
				s.WaitFor(t, "\r\n> ", i+1)
				s.Type(t, k)
			}
			r := <-got
			if r.err != nil || r.answer.Choice != c.want {
				t.Errorf("got %+v, %v; want %s\n%s", r.answer, r.err, c.want, s.Text())
			}
			if typed := r.answer.Typed; (typed == "/dev/sdb") != (c.want == channel.Once) {
				t.Errorf("typed %q", typed)
			}
		})
	}
}

func TestConfirms_OnlyAtATerminal(t *testing.T) {
	s := openScreen(t)
	var at channel.Confirmer = terminal.New(terminal.Options{In: s.TTY, Out: s.TTY})
	if !at.Confirms() {
		t.Error("a person at a terminal can't confirm")
	}
}

// A86: the prompt is there at once; the preview comes when it comes, what was typed meanwhile stays.
func TestAsk_PreviewFillsIn(t *testing.T) {
	s := openScreen(t)
	q := question()
	preview := make(chan string, 1)
	q.Preview = preview
	got := s.ask(t.Context(), q, nil)
	s.WaitFor(t, "\r\n> ", 1)
	if strings.Contains(s.Text(), "would be lost") {
		t.Error("a preview that hasn't come is announced")
	}
	s.Type(t, "on")
	s.WaitFor(t, "> on", 1)
	preview <- "12 files, 3.1 MB\x1b[2J\nnot committed: a.go"
	s.WaitFor(t, "a.go\r\n> on", 1)
	s.WaitFor(t, "12 files", 1)
	s.Type(t, "ce\r")
	if r := <-got; r.err != nil || r.answer.Choice != channel.Once {
		t.Errorf("got %+v, %v\n%s", r.answer, r.err, s.Text())
	}
	text := s.Text()
	if !strings.Contains(text, "What would be lost:\r\n    12 files, 3.1 MB\\x1b[2J\r\n    not committed: a.go\r\n> on") {
		t.Errorf("shown:\n%s", text)
	}
}

func TestAsk_APreviewOfNothingShowsNothing(t *testing.T) {
	s := openScreen(t)
	q := question()
	preview := make(chan string)
	close(preview)
	q.Preview = preview
	got := s.ask(t.Context(), q, nil)
	s.WaitFor(t, "\r\n> ", 1)
	s.Type(t, "v\r")
	s.WaitFor(t, "\r\n> ", 2)
	s.Type(t, "d\r")
	<-got
	if strings.Contains(s.Text(), "would be lost") {
		t.Errorf("shown:\n%s", s.Text())
	}
}

// A80: who overrules a reviewer sees why it said no.
func TestAsk_ShowsAReviewersObjection(t *testing.T) {
	s := openScreen(t)
	q := question()
	q.Objection = "it would delete\nthe only copy"
	got := s.ask(t.Context(), q, nil)
	s.WaitFor(t, "\r\n> ", 1)
	s.Type(t, "\r")
	<-got
	if !strings.Contains(s.Text(), `A reviewer said no: it would delete\nthe only copy`) {
		t.Errorf("shown:\n%s", s.Text())
	}
}

// A72: the view shows payloads and what they decode to, and every target.
func TestAsk_ViewShowsPayloadsAndAllTargets(t *testing.T) {
	s := openScreen(t)
	q := question()
	q.Command = "echo cm0gLXJmIHg= | base64 -d | sh"
	f := &q.Findings[0]
	f.Span, f.Text, f.Origin, f.Payload = [2]int{0, len(q.Command)}, "rm -rf x", "base64 › sh", "rm -rf x # \u202ehidden"
	f.Targets = nil
	for _, c := range "abcdefgh" {
		f.Targets = append(f.Targets, "/data/"+string(c))
	}
	f.Reason = "deletes whole directories"
	got := s.ask(t.Context(), q, nil)
	s.WaitFor(t, "\r\n> ", 1)
	for _, want := range []string{"runs: rm -rf x", "inside: base64 › sh", "on: /data/a", "and on 3 more"} {
		if !strings.Contains(s.Text(), want) {
			t.Errorf("the card lacks %q:\n%s", want, s.Text())
		}
	}
	s.Type(t, "v\r")
	s.WaitFor(t, "\r\n> ", 2)
	for _, want := range []string{"on: /data/h", `rm -rf x # \u202ehidden`} {
		if !strings.Contains(s.Text(), want) {
			t.Errorf("the view lacks %q:\n%s", want, s.Text())
		}
	}
	s.Type(t, "d\r")
	<-got
}

// A72: readable at 40 columns, without colour, in a dumb terminal and aloud: no line of ours is longer, no cursor is moved.
func TestAsk_ReadableAtFortyColumns(t *testing.T) {
	s := openScreen(t)
	s.Resize(t, 40, 24)
	q := question()
	q.Choices, q.Under = append([]channel.Choice{channel.Exact, channel.Under}, q.Choices...), "/data/src"
	q.Notes = []string{`"recursive delete" is remembered for this very command only, because its target isn't known`}
	q.Findings[0].Reason = "deletes whole directories, with everything in them, and without a way back"
	q.Objection = "the directory isn't one that a build would make again, and nobody asked for it"
	q.Expires = time.Now().Add(time.Hour)
	got := s.ask(t.Context(), q, nil)
	s.WaitFor(t, "\r\n> ", 1)
	for line := range strings.SplitSeq(s.Text(), "\r\n") {
		if n := utf8.RuneCountInString(line); n > 40 {
			t.Errorf("%d columns: %q", n, line)
		}
	}
	if strings.ContainsAny(s.Text(), "\x1b\b") {
		t.Errorf("the cursor is moved: %q", s.Text())
	}
	s.Type(t, "\r")
	<-got

	q.Confirm = "/dev/sdb"
	got = s.ask(t.Context(), q, nil)
	s.WaitFor(t, "\r\n> ", 2)
	s.Type(t, "\x1b")
	<-got
	for line := range strings.SplitSeq(s.Text(), "\r\n") {
		if n := utf8.RuneCountInString(line); n > 40 {
			t.Errorf("%d columns: %q", n, line)
		}
	}
}
