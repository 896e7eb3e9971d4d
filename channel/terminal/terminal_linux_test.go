package terminal_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/hermes-runtime/hermes/channel"
	"github.com/hermes-runtime/hermes/channel/terminal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// screen is the far end of a terminal: it keeps what is shown, and types.
type screen struct {
	master, tty *os.File
	mu          sync.Mutex
	seen        bytes.Buffer
	changed     chan struct{}
	done        chan struct{}
}

func openScreen(t *testing.T) *screen {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo terminals here: %v", err)
	}
	fd := int(master.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	s := &screen{master: master, tty: tty, changed: make(chan struct{}, 1), done: make(chan struct{})}
	go s.watch()
	t.Cleanup(func() {
		_ = tty.Close()
		<-s.done // the master's read ends when the last user of the terminal is gone
		_ = master.Close()
	})
	return s
}

func (s *screen) watch() {
	defer close(s.done)
	buf := make([]byte, 4096)
	for {
		n, err := s.master.Read(buf)
		s.mu.Lock()
		s.seen.Write(buf[:n])
		s.mu.Unlock()
		select {
		case s.changed <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

func (s *screen) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen.String()
}

// waitFor returns when text was shown n times.
func (s *screen) waitFor(t *testing.T, text string, n int) {
	t.Helper()
	end := time.NewTimer(10 * time.Second)
	defer end.Stop()
	for strings.Count(s.text(), text) < n {
		select {
		case <-s.changed:
		case <-end.C:
			t.Fatalf("%q was not shown %d times in:\n%s", text, n, s.text())
		}
	}
}

func (s *screen) typeKeys(t *testing.T, keys string) {
	t.Helper()
	if _, err := s.master.WriteString(keys); err != nil {
		t.Fatal(err)
	}
}

type result struct {
	answer channel.Answer
	err    error
}

func (s *screen) ask(ctx context.Context, q channel.Question, interrupt func()) <-chan result {
	out := make(chan result, 1)
	a := terminal.New(terminal.Options{In: s.tty, Out: s.tty, Interrupt: interrupt})
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
				s.waitFor(t, "\r\n> ", i+1)
				s.typeKeys(t, k)
			}
			if r := <-got; r.err != nil || r.answer.Choice != c.want {
				t.Errorf("got %+v, %v; want %s\n%s", r.answer, r.err, c.want, s.text())
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
	s.waitFor(t, "> ", 1)
	for _, want := range []string{"cd src && rm -rf build", "recursive delete", "deletes whole directories: /data/src/build", "Directory: /data",
		"Environment: local", "elevated", "Note: why", "waiting behind this one: 2", "300 s left", "then Enter", "Enter alone denies", "Session and always are for: recursive delete", "o  once", "a  always", "d  deny"} {
		if !strings.Contains(s.text(), want) {
			t.Errorf("%q isn't shown in\n%s", want, s.text())
		}
	}
	s.typeKeys(t, "\r")
	<-got
}

func TestAsk_WhatIsNotOnOfferCantBeChosen(t *testing.T) {
	s := openScreen(t)
	q := question()
	q.Choices = []channel.Choice{channel.Once, channel.Deny}
	got := s.ask(t.Context(), q, nil)
	s.waitFor(t, "> ", 1)
	s.typeKeys(t, "always\r")
	s.waitFor(t, "\r\n> ", 2)
	s.typeKeys(t, "s\r")
	if r := <-got; r.answer.Choice != channel.Deny {
		t.Errorf("got %+v", r.answer)
	}
}

// A72: what was typed before the prompt appeared is no answer.
func TestAsk_EarlierInputIsDiscarded(t *testing.T) {
	s := openScreen(t)
	s.typeKeys(t, "once\nonce\n")
	s.waitFor(t, "once", 2) // echoed: it is in the terminal's queue
	got := s.ask(t.Context(), question(), nil)
	s.waitFor(t, "\r\n> ", 1)
	s.typeKeys(t, "d\r")
	if r := <-got; r.err != nil || r.answer.Choice != channel.Deny {
		t.Errorf("got %+v, %v", r.answer, r.err)
	}
}

func TestAsk_CtrlCDeniesAndInterrupts(t *testing.T) {
	s := openScreen(t)
	interrupted := make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	got := s.ask(ctx, question(), func() { close(interrupted); cancel() })
	s.waitFor(t, "> ", 1)
	s.typeKeys(t, "o\x03")
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
	q.Expires = time.Now().Add(10*time.Second + 20*time.Millisecond)
	ctx, cancel := context.WithCancelCause(t.Context())
	got := s.ask(ctx, q, nil)
	s.waitFor(t, "10 s left", 1)
	cancel(channel.ErrTimeout)
	if r := <-got; !errors.Is(r.err, channel.ErrTimeout) {
		t.Errorf("got %+v, %v", r.answer, r.err)
	}
}

func TestAsk_EndsWithTheContext(t *testing.T) {
	s := openScreen(t)
	ctx, cancel := context.WithCancel(t.Context())
	got := s.ask(ctx, question(), nil)
	s.waitFor(t, "> ", 1)
	cancel()
	if r := <-got; !errors.Is(r.err, context.Canceled) {
		t.Errorf("got %+v, %v", r.answer, r.err)
	}
}

func TestAsk_GivesTheTerminalBack(t *testing.T) {
	s := openScreen(t)
	before, err := unix.IoctlGetTermios(int(s.tty.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	got := s.ask(t.Context(), question(), nil)
	s.waitFor(t, "> ", 1)
	s.typeKeys(t, "\x1b")
	<-got
	after, err := unix.IoctlGetTermios(int(s.tty.Fd()), unix.TCGETS)
	if err != nil || *before != *after {
		t.Errorf("the terminal's settings changed: %v\n%+v\n%+v", err, before, after)
	}
}

func TestAsk_SecretIsNeverShown(t *testing.T) {
	s := openScreen(t)
	q := channel.Question{Kind: channel.KindSecret, Title: "Password of sudo", Command: "sudo make install", Expires: time.Now().Add(45 * time.Second)}
	got := s.ask(t.Context(), q, nil)
	s.waitFor(t, "goes on without", 1)
	s.typeKeys(t, "hunter2\r")
	if r := <-got; r.err != nil || r.answer.Secret != "hunter2" || strings.Contains(s.text(), "hunter") {
		t.Errorf("got %+v, %v, shown:\n%s", r.answer, r.err, s.text())
	}
	if !strings.Contains(s.text(), "sudo make install") {
		t.Errorf("nobody is told what the password is for:\n%s", s.text())
	}
	got = s.ask(t.Context(), q, nil)
	s.waitFor(t, "goes on without", 2)
	s.typeKeys(t, "\r")
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
	for name, o := range map[string]terminal.Options{"input": {In: r, Out: s.tty}, "output": {In: s.tty, Out: w}, "both": {In: r, Out: w}} {
		a := terminal.New(o)
		if _, err := a.Ask(t.Context(), question()); a.Available() || !errors.Is(err, terminal.ErrNoTerminal) {
			t.Errorf("no terminal for %s: available %v, %v", name, a.Available(), err)
		}
	}
	if !terminal.New(terminal.Options{In: s.tty, Out: s.tty}).Available() {
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
	s.waitFor(t, "> ", 1)
	s.typeKeys(t, "v\r")
	s.waitFor(t, "\r\n> ", 2)
	s.typeKeys(t, "d\r")
	<-got
	shown := strings.ReplaceAll(s.text(), "\r\n", "\n")
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
	s.waitFor(t, "> ", 1)
	s.typeKeys(t, "v\r")
	s.waitFor(t, "\r\n> ", 2)
	s.typeKeys(t, "d\r")
	<-got
	for line := range strings.SplitSeq(s.text(), "\r\n") {
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
	s.waitFor(t, "> ", 1)
	if text := s.text(); !strings.Contains(text, "rm -rf build; echo") || !strings.Contains(text, "bytes hidden") || len(text) > 4000 {
		t.Errorf("%d bytes shown:\n%s", len(text), text)
	}
	s.typeKeys(t, "v\r")
	s.waitFor(t, "\r\n> ", 2)
	if n := strings.Count(s.text(), "aaaaaaaa"); n < 600 {
		t.Errorf("the view shows %d of 600 pieces", n)
	}
	s.typeKeys(t, "\x1b")
	<-got
}
