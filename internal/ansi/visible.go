package ansi

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Visible writes out what a terminal would obey or hide: control characters but the line break, escapes, direction marks, characters
// without width, spaces that look like others, and bytes that are no UTF-8. The text can then do nothing but be read.
func Visible(s string) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n <= 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case r == '\n':
			b.WriteByte('\n')
		case r == '\t':
			b.WriteString("    ")
		case r < 0x80 && unicode.IsControl(r):
			fmt.Fprintf(&b, `\x%02x`, r)
		case hides(r) && r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		case hides(r):
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	return b.String()
}

func plain(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x7f || s[i] < 0x20 && s[i] != '\n' {
			return false
		}
	}
	return true
}

// hides tells whether a character isn't seen as itself: controls, formats (direction and width-less marks among them), private and
// unassigned ones, fillers, and separators other than the space.
func hides(r rune) bool {
	switch r {
	case 0x115f, 0x1160, 0x3164, 0xffa0, 0x2800: // fillers that are letters by category
		return true
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Cs, unicode.Zl, unicode.Zp, unicode.Variation_Selector) ||
		r != ' ' && unicode.Is(unicode.Zs, r) || !unicode.IsGraphic(r)
}
