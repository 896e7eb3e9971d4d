package file

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// numbered shows lines as a model reads them: each with its number, bounded, without control characters.
func numbered(lines []shownLine, first, maxLine int) (out string, undecodable bool) {
	var b strings.Builder
	for i, l := range lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(strconv.Itoa(first + i))
		b.WriteByte('|')
		undecodable = showLine(&b, l, maxLine) || undecodable
	}
	return b.String(), undecodable
}

// showLine writes one line without its break.
func showLine(b *strings.Builder, l shownLine, maxLine int) (undecodable bool) {
	s := string(l.text)
	if !l.cut {
		s = strings.TrimSuffix(s, "\n")
		s = strings.TrimSuffix(s, "\r")
	}
	if maxLine > 0 && l.chars > maxLine && (l.cut || utf8.RuneCountInString(s) > maxLine) {
		undecodable = show(b, headOf(s, maxLine))
		fmt.Fprintf(b, "… [this line has %d characters; %d are shown]", l.chars, maxLine)
		return undecodable
	}
	return show(b, s)
}

// headOf is the first n characters.
func headOf(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// show writes text with control characters escaped and bytes that are no text as replacement marks.
func show(b *strings.Builder, s string) (undecodable bool) {
	plain := true
	for i := 0; i < len(s) && plain; i++ {
		plain = s[i] >= ' ' && s[i] < 0x7F || s[i] == '\t'
	}
	if plain {
		b.WriteString(s)
		return false
	}
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			b.WriteRune(utf8.RuneError)
			undecodable = true
		case r < ' ' && r != '\t' && r != '\n', r == 0x7F:
			fmt.Fprintf(b, `\x%02x`, r)
		case 0x80 <= r && r < 0xA0:
			fmt.Fprintf(b, `\u%04x`, r)
		default:
			b.WriteString(s[i : i+n])
		}
		i += n
	}
	return undecodable
}

// marked puts a replacement mark in place of each byte that is no text.
func marked(s string) (out string, undecodable bool) {
	if utf8.ValidString(s) {
		return s, false
	}
	var b strings.Builder
	b.Grow(len(s) + 64)
	for _, r := range s {
		b.WriteRune(r)
	}
	return b.String(), true
}
