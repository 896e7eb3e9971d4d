package chat_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/hermes-runtime/hermes/internal/chat"
	"github.com/hermes-runtime/hermes/tool"
)

// A message that is written while the model speaks stands below; the text goes on where it was.
func TestScreen_TextGoesOnAboveTheMessage(t *testing.T) {
	for name, text := range map[string]string{
		"short": "One two ", "wide": "日本語の テキスト ", "full row": strings.Repeat("x", 80), "longer": strings.Repeat("word ", 30), "row and a bit": strings.Repeat("é", 81),
		"lines": "a\nb\n", "tab": "a\tb",
	} {
		t.Run(name, func(t *testing.T) {
			wait := make(chan struct{})
			p := &play{lines: []line{{text: text, wait: wait, then: "three."}}}
			s := p.sit(t, chat.ScreenOptions{}, chat.Options{})
			s.say("go")
			text = strings.ReplaceAll(text, "\n", "\r\n")
			s.shows(screen(text)) // as the terminal itself would break it
			s.Type(t, "ho")
			s.shows("\n> ho")
			s.Type(t, "p\x7f\x7fi")
			s.shows("\n> hi")
			close(wait)
			s.shows("> go\n" + screen(text+"three.") + "\n> hi")
			s.Type(t, "\x15/exit\r")
			s.leaves(0, "s1")
		})
	}
}

func TestScreen_TheMessageIsEdited(t *testing.T) {
	digits := strings.Repeat("0123456789", 20)
	s := (&play{}).sit(t, chat.ScreenOptions{}, chat.Options{})
	s.prompt()
	for _, c := range [][2]string{
		{"日本語\x1b[D\x1b[DX", "> 日X本語"},
		{"\x05!\x01>", "> >日X本語!"},
		{"\x05\x15" + digits, "> " + digits[:77] + "\n" + digits[77:156] + "\n" + digits[156:]},
		{"\x01start ", "> start " + digits[:71] + "\n" + digits[71:150] + "\n" + digits[150:]},
		{"\x0b\x0c", "> start"},
		{"\x1b\rnext", "> start ⏎next"},
	} {
		s.Type(t, c[0])
		s.shows(c[1])
	}
	s.Type(t, "\x03\x04")
	s.leaves(0)
}

// A message that is larger than the screen is shown around the cursor, and nothing is left of it.
func TestScreen_ALargeMessage(t *testing.T) {
	p := &play{lines: []line{{text: "I see."}}}
	s := p.sit(t, chat.ScreenOptions{}, chat.Options{})
	s.prompt()
	var big strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&big, "line %d\n", i)
	}
	s.Type(t, "\x1b[200~"+big.String()+"\x1b[201~")
	s.shows("line 2999⏎")
	s.Type(t, "\x01")
	s.Type(t, strings.Repeat("\x1b[D", 3)+"\x1b[A\r") // history is empty: nothing happens
	s.shows("I see.\n>")
	if h := p.said(); len(h) != 1 || h[0] != big.String() {
		t.Errorf("the model heard %d bytes of %d", len(strings.Join(h, "")), big.Len())
	}
	s.say("/exit")
	s.leaves(0, "s1")
}

// CHAT-2: however many calls run, they fit on the screen.
func TestScreen_AHundredCalls(t *testing.T) {
	var names []string
	for i := range 100 {
		names = append(names, fmt.Sprintf(`work {"command":"job %d"}`, i))
	}
	wait := make(chan struct{})
	p := &play{
		lines: []line{{calls: calls(names...)}, {text: "All done."}},
		tools: tools{"work": func(context.Context, *performance) (string, tool.Status) { <-wait; return `{}`, tool.StatusOK }},
	}
	s := p.sit(t, chat.ScreenOptions{}, chat.Options{})
	s.say("go")
	s.shows("… and 89 more")
	close(wait)
	s.shows("All done.\n>")
	for row := range strings.SplitSeq(screen(s.Text()), "\n") {
		if strings.HasPrefix(row, "🔧") && !strings.Contains(row, "✓") {
			t.Errorf("a line is left over: %s", row)
		}
	}
	s.say("/exit")
	s.leaves(0, "s1")
}

// Where nothing may be changed that stands on the screen, no cursor is moved; a dumb terminal gets no control sequence at all.
func TestScreen_StillTerminals(t *testing.T) {
	for name, dumb := range map[string]bool{"dumb": true, "still": false} {
		t.Run(name, func(t *testing.T) {
			work := make(chan struct{})
			p := &play{
				lines: []line{{text: "I try.", calls: calls(`work {"command":"make"}`)}, {text: "Done."}},
				tools: tools{"work": func(context.Context, *performance) (string, tool.Status) { <-work; return `{}`, tool.StatusOK }},
			}
			look := chat.ScreenOptions{Dumb: dumb}
			s := p.sit(t, look, chat.Options{Still: !dumb})
			s.prompt()
			s.Type(t, "gox\x7f")
			s.Until(t, "the last character isn't taken back", func(shown string) bool { return strings.HasSuffix(shown, "\b \b") })
			s.Type(t, "\r")
			s.shows("> go\nI try.\n🔧 work make …")
			s.Type(t, "more")
			close(work)
			s.shows("> go\nI try.\n🔧 work make …\n🔧 work make ✓ N s\nDone.\n> more")
			s.Type(t, "\x15")
			s.Type(t, "/exit\r")
			s.leaves(0, "s1")
			sent := strings.NewReplacer("\x1b[?2004h", "", "\x1b[?2004l", "").Replace(s.Text())
			if dumb {
				sent = s.Text()
			}
			if strings.Contains(sent, "\x1b") {
				t.Errorf("a control sequence: %q", sent)
			}
		})
	}
}

// Where there are no marks around what is pasted, lines that come at once are one message.
func TestScreen_PasteIntoADumbTerminal(t *testing.T) {
	p := &play{lines: []line{{text: "Aha."}}}
	s := p.sit(t, chat.ScreenOptions{Dumb: true}, chat.Options{})
	s.say("one\rtwo\rthree")
	s.shows("Aha.\n>")
	if h := p.said(); len(h) != 1 || h[0] != "one\ntwo\nthree" {
		t.Errorf("the model heard %q", h)
	}
	s.say("/exit")
	s.leaves(0, "s1")
}

var colour = regexp.MustCompile(`\x1b\[[0-9;]*m`)

func TestScreen_ColourOnlyWhereItIsWanted(t *testing.T) {
	for _, want := range []bool{true, false} {
		p := &play{
			lines: []line{{text: "I \x1b[31mtry.", calls: calls(`work {"command":"make"}`)}, {text: "Done."}},
			tools: tools{"work": func(context.Context, *performance) (string, tool.Status) { return `{}`, tool.StatusDenied }},
		}
		s := p.sit(t, chat.ScreenOptions{Color: want}, chat.Options{})
		s.say("go")
		s.shows("🔧 work make ✗ N s denied\nDone.\n>")
		s.say("/exit")
		s.leaves(0, "s1")
		if got := colour.MatchString(s.Text()); got != want {
			t.Errorf("colour %v, want %v: %q", got, want, s.Text())
		}
	}
}

// CHAT-2: on a screen that has become narrower, or wider, what is drawn is drawn anew, and nothing is left of what was. The narrow
// terminal is one that saw all from the beginning: it stands as one does that has broken its rows anew.
func TestScreen_ANewWidth(t *testing.T) {
	sent := strings.Repeat("0123456789", 9)
	for name, text := range map[string]string{"short": "One two", "more than a row": strings.Repeat("words ", 10), "full row": strings.Repeat("x", 39), "wide": "日本語の テキスト"} {
		t.Run(name, func(t *testing.T) {
			wait := make(chan struct{})
			p := &play{lines: []line{{text: text + " ", wait: wait, then: "three."}}}
			s := p.sit(t, chat.ScreenOptions{}, chat.Options{})
			s.say("go")
			s.shows(screen(text))
			s.Type(t, "\x1b[200~"+sent+"\x1b[201~")
			s.shows("\n> " + sent[:77] + "\n" + sent[77:])
			s.Resize(t, 40, 24)
			if err := syscall.Kill(syscall.Getpid(), syscall.SIGWINCH); err != nil {
				t.Fatal(err)
			}
			message := "\n> " + sent[:37] + "\n" + sent[37:76] + "\n" + sent[76:]
			narrow := func(text string) {
				t.Helper()
				want := "> go\n" + screenOf(40, text) + message
				s.Until(t, fmt.Sprintf("it doesn't show %q", want), func(shown string) bool { return strings.HasSuffix(screenOf(40, shown), want) })
			}
			narrow(text)
			close(wait)
			narrow(text + " three.")
			s.Resize(t, 100, 24)
			s.Type(t, "\x15/exit\r")
			s.leaves(0, "s1")
		})
	}
}
