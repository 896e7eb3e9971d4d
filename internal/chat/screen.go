package chat

import (
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/hermes-runtime/hermes/internal/agent"
	"github.com/hermes-runtime/hermes/internal/ansi"
)

// ScreenOptions says what a screen is shown on. The zero value is standard output and standard error, without colour, drawn over where
// the terminal can.
type ScreenOptions struct {
	Text  io.Writer               // what the model says; nil = standard output
	Rest  io.Writer               // everything else, on the same terminal; nil = standard error
	Size  func() (cols, rows int) // nil = of Rest
	Color bool
	Dumb  bool                     // the terminal knows no control sequences
	Emoji func(tool string) string // nil = none
}

// Screen shows a conversation. What has been said and done scrolls away above; below it stand the calls that run and the message that
// is being written, and they are drawn again as they change. It is safe for concurrent use.
type Screen struct {
	o     ScreenOptions
	clean *ansi.Writer // in front of text: what a model says can't drive the terminal

	mu      sync.Mutex
	text    track
	still   bool // nothing that stands on the screen is changed
	ours    bool // the last line is one of ours: line breaks before the text are left out
	drawn   bool
	above   int      // rows of what is drawn above the cursor, and
	lines   []string // what stands in them
	at      int      // the cursor's column
	cols    int      // the width that all that was drawn for
	echoed  string   // still: of the message, what stands behind the prompt
	calls   []*call
	waiting time.Time // since when the model is waited for; zero = it isn't
	ed      *editor
	prompt  bool     // a message is expected
	asking  bool     // a question has the terminal
	held    []func() // what came meanwhile
}

// NewScreen makes a screen. Nothing is shown yet.
func NewScreen(o ScreenOptions) *Screen {
	if o.Text == nil {
		o.Text = os.Stdout
	}
	if o.Rest == nil {
		o.Rest = os.Stderr
	}
	if o.Size == nil {
		o.Size = sizeOf(o.Rest)
	}
	if o.Emoji == nil {
		o.Emoji = func(string) string { return "" }
	}
	s := &Screen{o: o, still: o.Dumb, text: track{to: o.Text}, ed: &editor{}}
	s.clean = ansi.ForPeople(&s.text)
	return s
}

// The size of a screen that doesn't tell, or tells nonsense.
const (
	usualCols, usualRows = 80, 24
	leastCols, leastRows = 10, 3
)

func sizeOf(w io.Writer) func() (int, int) {
	f, _ := w.(*os.File)
	return func() (int, int) {
		if f != nil {
			if c, r, err := term.GetSize(int(f.Fd())); err == nil && c >= leastCols && r >= leastRows {
				return c, r
			}
		}
		return usualCols, usualRows
	}
}

// do changes the screen, or, while a question has it, afterwards.
func (s *Screen) do(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asking {
		s.held = append(s.held, f)
		return
	}
	f()
}

func (s *Screen) rest(text string) {
	if text != "" {
		_, _ = io.WriteString(s.o.Rest, text)
	}
}

// say prints text of ours, above what is drawn.
func (s *Screen) say(text string) { s.do(func() { s.line(text) }) }

// note is say for what is less important.
func (s *Screen) note(text string) { s.do(func() { s.line(s.paint(dim, text)) }) }

func (s *Screen) line(text string) {
	b := s.erase() + s.finish()
	s.ours = true
	s.rest(b + text + "\n" + s.draw())
}

// Write prints what somebody else has to say, such as a log. It never fails.
func (s *Screen) Write(p []byte) (int, error) {
	if text := strings.TrimSuffix(ansi.Visible(ansi.Strip(string(p))), "\n"); text != "" {
		s.say(text)
	}
	return len(p), nil
}

// finish ends the line that the model's text stands in.
func (s *Screen) finish() string {
	if s.text.col == 0 {
		return ""
	}
	s.text.end()
	return "\n"
}

// endText ends the text of a turn.
func (s *Screen) endText() {
	s.do(func() {
		s.rest(s.erase())
		_ = s.clean.Close()
		_, _ = io.WriteString(s.o.Text, s.finish())
		s.waiting, s.calls = time.Time{}, nil
		s.rest(s.draw())
	})
}

// event shows what happens in a turn.
func (s *Screen) event(e agent.Event) {
	s.do(func() {
		switch e.Type {
		case agent.EventText:
			s.stream(e.Text)
		case agent.EventToolStart:
			s.begin(e)
		case agent.EventProgress:
			s.progress(e)
		case agent.EventToolEnd:
			s.ended(e)
		case agent.EventNotice:
			s.line(s.paint(dim, ansi.Visible(e.Text)))
		}
	})
}

// stream prints the next piece of what the model says.
func (s *Screen) stream(text string) {
	if s.ours {
		text = strings.TrimLeft(text, "\n")
	}
	text = strings.ReplaceAll(text, "\r", "")
	if text == "" {
		return
	}
	s.waiting = time.Time{}
	s.ours = false
	s.rest(s.erase())
	s.size()
	_, _ = io.WriteString(s.clean, text)
	s.rest(s.draw())
}

// track follows where the model's text stands.
type track struct {
	to   io.Writer
	cols int    // of the screen
	col  int    // behind the last line
	line string // that line, as far as it wasn't ended
}

func (t *track) Write(p []byte) (int, error) {
	t.col = advance(t.col, t.cols, string(p))
	t.line += string(p)
	t.line = t.line[strings.LastIndexByte(t.line, '\n')+1:]
	if len(t.line) > mostLine {
		t.line = t.line[len(t.line)-mostLine/2:]
	}
	return t.to.Write(p)
}

// mostLine is how many bytes of a line count when the screen's width changes.
const mostLine = 16 * 1024

// end is told that the line was ended by another.
func (t *track) end() { t.col, t.line = 0, "" }

// expect shows whether a message is expected. While a turn runs, one that is being written is shown all the same.
func (s *Screen) expect(on bool) {
	s.do(func() {
		if s.prompt == on {
			return
		}
		b := s.erase()
		if s.prompt = on; on {
			b += s.finish()
		}
		s.rest(b + s.draw())
	})
}

// awaited says that the model is waited for.
func (s *Screen) awaited() { s.do(func() { s.waiting = time.Now(); s.redraw() }) }

// edited shows the message as it is now.
func (s *Screen) edited() { s.do(s.redraw) }

// edit changes the message.
func (s *Screen) edit(k stroke) {
	s.mu.Lock()
	s.ed.press(k)
	s.mu.Unlock()
	s.edited()
}

// take gives the message, and begins another.
func (s *Screen) take() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ed.take()
}

// unsend gives messages back to the person, before what is being written.
func (s *Screen) unsend(texts []string) {
	if len(texts) == 0 {
		return
	}
	s.mu.Lock()
	if now := s.ed.String(); now != "" {
		texts = append(slices.Clone(texts), now)
	}
	s.ed.set(strings.Join(texts, "\n"))
	s.mu.Unlock()
	s.edited()
}

// leave takes away what is drawn, for good.
func (s *Screen) leave() {
	s.expect(false)
	s.do(func() {
		s.ed, s.calls, s.waiting = &editor{}, nil, time.Time{}
		s.redraw()
	})
}

// sent leaves the message as it was written on the screen. None is expected any more.
func (s *Screen) sent(text string) {
	s.do(func() {
		there := s.still && s.prompt // as it was typed
		b := s.erase() + s.finish()
		if !there {
			b += promptSign + shown([]rune(text)) + "\n"
		}
		s.ours, s.prompt = true, false
		s.rest(b + s.draw())
	})
}

// clear empties the screen.
func (s *Screen) clear() {
	s.do(func() {
		if !s.still {
			s.drawn = false
			s.text.end()
			s.rest("\x1b[H\x1b[2J" + s.draw())
		}
	})
}

// tick shows the time, and a width that has changed unnoticed.
func (s *Screen) tick() {
	s.do(func() {
		cols, _ := s.o.Size()
		if !s.still && (len(s.calls) > 0 || !s.waiting.IsZero() || cols != s.cols) {
			s.redraw()
		}
	})
}

// pause gives the terminal to a question; what comes until resume is called is shown then.
func (s *Screen) pause() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rest(s.erase() + s.finish())
	s.asking, s.ours = true, true
}

func (s *Screen) resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asking = false
	for _, f := range s.held {
		f()
	}
	s.held = nil
	s.redraw()
}
