package chat

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// cells is how many columns a character takes: none for marks that stand upon the one before, two for wide ones.
func cells(r rune) int {
	switch {
	case r < 0x20 || r == 0x7f:
		return 0
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, unicode.Variation_Selector):
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// columns is how many columns a text of one line takes.
func columns(s string) (n int) {
	for _, r := range s {
		n += cells(r)
	}
	return n
}

// fit cuts a text of one line to a number of columns.
func fit(s string, most int) string {
	if columns(s) <= most {
		return s
	}
	var b strings.Builder
	n := 1 // the mark of the cut
	for _, r := range s {
		if n += cells(r); n > most {
			break
		}
		b.WriteRune(r)
	}
	return b.String() + "…"
}

// advance is the column behind a text that is printed from a column on, on a screen so wide. Equal to the width: the line is full, and
// the next character begins another.
func advance(col, wide int, s string) int {
	for _, r := range s {
		switch n := cells(r); {
		case r == '\n':
			col = 0
		case r == '\t':
			col = min(wide-1, (col/8+1)*8)
		case col+n > wide:
			col = n
		default:
			col += n
		}
	}
	return col
}
