package chat

import (
	"fmt"
	"strings"

	"github.com/hermes-runtime/hermes/internal/ansi"
)

// redraw shows what stands below the text as it is now.
func (s *Screen) redraw() {
	if s.still {
		s.rest(s.echo())
		return
	}
	s.rest(s.erase() + s.draw())
}

// erase takes away what is drawn, or leaves it where nothing is drawn over; the cursor is then behind the text.
func (s *Screen) erase() string {
	if !s.drawn {
		return ""
	}
	s.drawn = false
	if s.still {
		return "\n"
	}
	cols, _ := s.size()
	b := "\r"
	if s.above > 0 {
		b = fmt.Sprintf("\x1b[%dA\r", s.above)
	}
	b += "\x1b[J"
	switch {
	case s.text.col >= cols: // the text's next character begins this line
		s.text.end()
	case s.text.col > 0:
		b += fmt.Sprintf("\x1b[A\x1b[%dG", s.text.col+1)
	}
	return b
}

// size is that of the screen. Where its width has changed, the terminal has broken anew what stands on it: rows that became too long take
// several. (One that cuts them off instead shows a row less of what has scrolled by.)
func (s *Screen) size() (cols, rows int) {
	cols, rows = s.o.Size()
	if s.cols == cols {
		return cols, rows
	}
	if s.cols > 0 {
		s.above = s.at / cols
		for _, l := range s.lines {
			s.above += max(1, (columns(ansi.Strip(l))+cols-1)/cols)
		}
		s.text.col = advance(0, cols, s.text.line)
	}
	s.cols, s.text.cols = cols, cols
	return cols, rows
}

// fitted draws anew on a screen whose width has changed.
func (s *Screen) fitted() {
	s.do(func() {
		if cols, _ := s.o.Size(); cols != s.cols {
			s.redraw()
		}
	})
}

// promptSign stands before a message.
const promptSign = "> "

// draw shows the calls that run, and the message where one is expected or begun.
func (s *Screen) draw() string {
	if s.still {
		return s.echo()
	}
	cols, rows := s.size()
	lines := s.running(cols-1, rows/2)
	back := ""
	s.above, s.at = len(lines)-1, 0
	if s.prompt || !s.ed.empty() {
		message, row, col := s.message(cols-1, max(1, rows/3))
		s.above += 1 + row
		s.at = col
		if n := len(message) - 1 - row; n > 0 {
			back = fmt.Sprintf("\x1b[%dA", n)
		}
		back += "\r"
		if col > 0 {
			back += fmt.Sprintf("\x1b[%dC", col)
		}
		message[0] = s.paint(bold, promptSign) + strings.TrimPrefix(message[0], promptSign)
		lines = append(lines, message...)
	}
	if len(lines) == 0 {
		return ""
	}
	s.drawn = true
	s.lines = lines[:max(0, s.above)]
	b := strings.Join(lines, "\n") + back
	if s.text.col > 0 {
		b = "\n" + b
	}
	return b
}

// message breaks the message into rows and says where in them the cursor stands. Of a long one the rows around the cursor are shown.
func (s *Screen) message(cols, most int) (rows []string, row, col int) {
	var line strings.Builder
	wide := 0
	put := func(text string) {
		for _, r := range text {
			if wide+cells(r) > cols {
				rows = append(rows, line.String())
				line.Reset()
				wide = 0
			}
			line.WriteRune(r)
			wide += cells(r)
		}
	}
	put(promptSign + shown(s.ed.text[:s.ed.at]))
	row, col = len(rows), wide
	put(shown(s.ed.text[s.ed.at:]))
	rows = append(rows, line.String())
	if over := len(rows) - most; over > 0 {
		from := min(max(0, row-most/2), over)
		rows, row = rows[from:from+most], row-from
	}
	return rows, row, col
}

// echo shows the message where nothing is drawn over: it adds, takes back at the end, or begins a line anew.
func (s *Screen) echo() string {
	if !s.prompt {
		return ""
	}
	now := shown(s.ed.text)
	before := s.echoed
	s.echoed = now
	added, longer := strings.CutPrefix(now, before)
	removed, shorter := strings.CutPrefix(before, now)
	switch {
	case !s.drawn:
		s.drawn = true
		return promptSign + now
	case longer:
		return added
	case shorter:
		return strings.Repeat("\b \b", columns(removed))
	}
	return "\n" + promptSign + now
}
