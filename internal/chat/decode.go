package chat

import (
	"strings"
	"unicode/utf8"

	"github.com/hermes-runtime/hermes/internal/ansi"
)

// stroke is one key that was pressed, or a text that was pasted.
type stroke struct {
	key  key
	text string // of typed and pasted
}

// key says what a stroke does.
type key uint8

const (
	unknown key = iota
	typed
	pasted
	enter
	newline // within the message
	backspace
	remove
	left
	right
	wordLeft
	wordRight
	home
	end
	up
	down
	killEnd
	killLine
	killWord
	clearScreen
	interrupt
	endOfInput // Ctrl-D: removes a character, on an empty line the end
	suspend
	gone // the terminal is
)

// controls are single bytes, those of the line editors that people know.
var controls = map[byte]key{
	'\r': enter, '\n': enter, 0x7f: backspace, 8: backspace, 1: home, 2: left, 3: interrupt, 4: endOfInput, 5: end, 6: right, 11: killEnd,
	12: clearScreen, 14: down, 16: up, 21: killLine, 23: killWord, 26: suspend,
}

// sequences are what stands behind an escape.
var sequences = map[string]key{
	"[A": up, "[B": down, "[C": right, "[D": left, "OA": up, "OB": down, "OC": right, "OD": left,
	"[H": home, "[F": end, "OH": home, "OF": end, "[1~": home, "[4~": end, "[7~": home, "[8~": end, "[3~": remove,
	"[1;5C": wordRight, "[1;5D": wordLeft, "[1;3C": wordRight, "[1;3D": wordLeft, "f": wordRight, "b": wordLeft,
	"\r": newline, "\n": newline, "\x7f": killWord,
}

const (
	pasteBegin = "[200~"
	pasteEnd   = "\x1b[201~"
	maxPaste   = 4 << 20 // bytes; what is pasted beyond is dropped
	maxEscape  = 32      // bytes of a sequence; a longer one is none
)

// decoder makes strokes of bytes, in whatever pieces they come.
type decoder struct {
	pending []byte // what isn't a whole stroke yet
	pasting bool
}

// feed takes bytes and gives the strokes that are whole.
func (d *decoder) feed(p []byte) (out []stroke) {
	d.pending = append(d.pending, p...)
	for len(d.pending) > 0 {
		s, n := d.next()
		if n == 0 {
			return out
		}
		d.pending = d.pending[n:]
		switch {
		case s.key == unknown:
		case s.key == typed && len(out) > 0 && out[len(out)-1].key == typed: // a word that came at once is drawn at once
			out[len(out)-1].text += s.text
		default:
			out = append(out, s)
		}
	}
	d.pending = nil
	return out
}

// idle says that nothing has followed: an escape that stands alone is a key by itself, and does nothing.
func (d *decoder) idle() {
	if !d.pasting && len(d.pending) > 0 && d.pending[0] == 0x1b {
		d.pending = nil
	}
}

// next is the first stroke and how many bytes it took; 0 = it isn't whole.
func (d *decoder) next() (stroke, int) {
	p := d.pending
	switch {
	case d.pasting:
		return d.paste()
	case p[0] == 0x1b:
		return d.escape()
	case p[0] < 0x20 || p[0] == 0x7f:
		if p[0] == '\t' {
			return stroke{typed, "\t"}, 1
		}
		return stroke{key: controls[p[0]]}, 1
	case !utf8.FullRune(p):
		return stroke{}, 0
	}
	r, n := utf8.DecodeRune(p)
	if r == utf8.RuneError && n == 1 || r >= 0x80 && r < 0xa0 {
		return stroke{}, n
	}
	return stroke{typed, string(r)}, n
}

func (d *decoder) escape() (stroke, int) {
	p := d.pending[1:]
	if len(p) == 0 {
		return stroke{}, 0
	}
	if p[0] != '[' && p[0] != 'O' {
		_, n := utf8.DecodeRune(p)
		return stroke{key: sequences[string(p[:n])]}, 1 + n
	}
	for i, c := range p[1:] {
		if c < 0x40 || c > 0x7e {
			if i > maxEscape {
				return stroke{}, 1
			}
			continue
		}
		s := string(p[:i+2])
		if s == pasteBegin {
			d.pasting = true
		}
		return stroke{key: sequences[s]}, 1 + len(s)
	}
	return stroke{}, 0
}

// paste gives what was pasted once its end is there.
func (d *decoder) paste() (stroke, int) {
	text, _, whole := strings.Cut(string(d.pending), pasteEnd)
	if !whole {
		if len(d.pending) > maxPaste+len(pasteEnd) { // what may be the beginning of the end stays
			d.pending = append(d.pending[:maxPaste:maxPaste], d.pending[len(d.pending)-len(pasteEnd)+1:]...)
		}
		return stroke{}, 0
	}
	d.pasting = false
	return stroke{pasted, harmless(text)}, len(text) + len(pasteEnd)
}

// harmless is a pasted text without what would drive a terminal, its lines ended as usual.
func harmless(s string) string {
	s = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(s)
	return strings.Map(func(r rune) rune {
		if r < 0x20 && r != '\n' && r != '\t' || r == 0x7f {
			return -1
		}
		return r
	}, strings.ToValidUTF8(ansi.Strip(s), "\ufffd"))
}
