//go:build linux || darwin

package jobs

import (
	"bytes"
	"fmt"
	"io"
	"strconv"
)

// Questions of CSI n and CSI t, by their first parameter.
const (
	askStatus     = 5
	askTextArea   = 18
	askScreenSize = 19
)

// answerQuestions has the emulator answer what it leaves unanswered, or answers in a form that nobody asked for. The rest it answers by
// itself: device attributes, the cursor, the three default colours.
func (s *screen) answerQuestions() {
	say := func(format string, args ...any) bool {
		_, _ = fmt.Fprintf(s.em.InputPipe(), format, args...) // fails only when closed
		return true
	}
	onCSI(s.em.RegisterCsiHandler, 'n', func(n int) bool { return n == askStatus && say("\x1b[0n") })
	onCSI(s.em.RegisterCsiHandler, 't', func(n int) bool {
		switch n {
		case askTextArea, askScreenSize:
			return say("\x1b[%d;%d;%dt", n-10, s.em.Height(), s.em.Width())
		}
		return false
	})
	s.em.RegisterOscHandler(4, func(data []byte) bool { return answerPalette(s.em.InputPipe(), data, s.colour) })
}

// colour gives a colour of the palette, each part from 0 to 0xffff.
func (s *screen) colour(i int) (r, g, b uint32) {
	r, g, b, _ = s.em.IndexedColor(i).RGBA()
	return r, g, b
}

// answerPalette answers OSC 4: numbers of colours, each with a question mark. What sets a colour is left to who handles that.
func answerPalette(to io.Writer, data []byte, colour func(int) (r, g, b uint32)) bool {
	parts := bytes.Split(data, []byte{';'})[1:]
	answered := false
	for ; len(parts) > 1; parts = parts[2:] {
		i, err := strconv.Atoi(string(parts[0]))
		if err != nil || i < 0 || i > 255 || string(parts[1]) != "?" {
			continue
		}
		r, g, b := colour(i)
		_, _ = fmt.Fprintf(to, "\x1b]4;%d;rgb:%04x/%04x/%04x\a", i, r, g, b) // fails only when closed
		answered = true
	}
	return answered
}
