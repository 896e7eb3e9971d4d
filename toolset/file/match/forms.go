package match

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/hermes-runtime/hermes/toolset/file/text"
)

// unescape reads \n, \t and \xNN of control characters as the characters that they stand for. ok is false if there are none.
func unescape(s string) (out string, ok bool) {
	if strings.IndexByte(s, '\\') < 0 {
		return s, false
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 >= len(s) {
			b.WriteByte(s[i])
			continue
		}
		switch {
		case s[i+1] == '\\': // an escaped backslash begins no escape
			b.WriteString(`\\`)
			i++
		case s[i+1] == 'n':
			b.WriteByte('\n')
			i, ok = i+1, true
		case s[i+1] == 't':
			b.WriteByte('\t')
			i, ok = i+1, true
		case s[i+1] == 'x' && i+3 < len(s) && isControl(s[i+2:i+4]):
			v, _ := strconv.ParseUint(s[i+2:i+4], 16, 8)
			b.WriteByte(byte(v))
			i, ok = i+3, true
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String(), ok
}

func isControl(hex string) bool {
	v, err := strconv.ParseUint(hex, 16, 8)
	return err == nil && (v < ' ' || v == 0x7F)
}

// escapeNormalized takes escapes in what is looked for as the characters that they stand for. The literal form doesn't occur: exact
// comes before.
func (s *search) escapeNormalized() ([]place, error) {
	old, ok := unescape(s.req.Old)
	if !ok || old == "" {
		return nil, nil
	}
	var out []place
	for _, at := range occurrences(s.doc.Text, old, s.req.All) {
		out = append(out, place{chars: &text.Edit{Start: at, End: at + len(old)}})
	}
	if len(out) == 0 {
		return nil, nil
	}
	fresh, err := s.escapedNew(old)
	if err != nil {
		return nil, err
	}
	for i := range out {
		out[i].chars.New = fresh
	}
	return out, nil
}

// escapedNew is the new text where the old one was written with escapes. A tab is made where the text has one at the same place or
// begins its lines with them; a line break is never made of two characters.
func (s *search) escapedNew(old string) (string, error) {
	if strings.Contains(s.req.New, `\n`) && !strings.Contains(old, `\n`) && strings.Contains(s.req.Old, `\n`) {
		return "", &Refused{Why: `old_string is found only if its \n are read as line breaks, and new_string has \n too: send real line breaks in both`}
	}
	if !strings.Contains(s.req.New, `\t`) || !strings.Contains(old, "\t") {
		return s.req.New, nil
	}
	tabbed := false
	for _, l := range strings.Split(old, "\n") {
		tabbed = tabbed || strings.HasPrefix(l, "\t")
	}
	var b strings.Builder
	common := len(commonPrefix(s.req.Old, s.req.New))
	leading := true
	for i := 0; i < len(s.req.New); i++ {
		c := s.req.New[i]
		switch {
		case c == '\\' && i+1 < len(s.req.New) && s.req.New[i+1] == 't' && (i < common || leading && tabbed):
			b.WriteByte('\t')
			i++
		case c == '\\' && i+1 < len(s.req.New) && s.req.New[i+1] == '\\':
			b.WriteString(`\\`)
			i++
			leading = false
		default:
			b.WriteByte(c)
			leading = c == '\n' || leading && (c == ' ' || c == '\t')
		}
	}
	return b.String(), nil
}

// folds are characters that are written for each other.
var folds = map[rune]string{
	'‘': "'", '’': "'", '‚': "'", '‛': "'", '′': "'", '“': `"`, '”': `"`, '„': `"`, '‟': `"`, '″': `"`, '«': `"`, '»': `"`,
	'‐': "-", '‑': "-", '‒': "-", '–': "-", '—': "-", '―': "-", '−': "-", '…': "...",
	'\u00A0': " ", '\u2002': " ", '\u2003': " ", '\u2007': " ", '\u2009': " ", '\u202F': " ", '\u3000': " ", '\u200B': "", '\uFEFF': "",
}

// folded is s with such characters as one, composed. at gives for places in it the place in s; nil = the same.
func folded(s string) (out string, at []int) {
	if isASCII(s) {
		return s, nil
	}
	var b strings.Builder
	put := func(piece string, from, to int) {
		for i := range len(piece) {
			if i == 0 {
				at = append(at, from)
			} else {
				at = append(at, -1)
			}
		}
		b.WriteString(piece)
		_ = to
	}
	for i := 0; i < len(s); {
		if s[i] < utf8.RuneSelf && (i+1 >= len(s) || s[i+1] < utf8.RuneSelf) {
			put(s[i:i+1], i, i+1)
			i++
			continue
		}
		n := norm.NFC.NextBoundaryInString(s[i:], true)
		if n <= 0 {
			n = 1
		}
		piece := norm.NFC.String(s[i : i+n])
		if r, size := utf8.DecodeRuneInString(piece); size == len(piece) {
			if f, ok := folds[r]; ok {
				piece = f
			}
		}
		put(piece, i, i+n)
		i += n
	}
	return b.String(), append(at, len(s))
}

func foldOf(s string) string {
	out, _ := folded(s)
	return out
}

// unicodeNormalized compares with quotes, dashes, blanks and composition made equal: as characters, else as trimmed lines.
func (s *search) unicodeNormalized() ([]place, error) {
	if isASCII(s.req.Old) && isASCII(s.doc.Text) { // nothing to be made equal
		return nil, nil
	}
	old := foldOf(s.req.Old)
	file, at := folded(s.doc.Text)
	if at == nil && old == s.req.Old {
		return nil, nil
	}
	var out []place
	for _, i := range occurrences(file, old, s.req.All) {
		start, end := i, i+len(old)
		if at != nil {
			start, end = at[i], at[i+len(old)]
			if start < 0 || end < 0 { // inside of one character
				continue
			}
		}
		e := &text.Edit{Start: start, End: end, New: s.req.New}
		s.keepEnds(e)
		out = append(out, place{chars: e})
	}
	if len(out) > 0 {
		return out, nil
	}
	return s.placesAt(sequence(s.file, s.old, func(l string) string { return runsAsOne(foldOf(l)) })), nil
}

// keepEnds takes off an edit what old and new text have in common at both ends, so that the file's own characters stay there.
func (s *search) keepEnds(e *text.Edit) {
	was := s.doc.Text[e.Start:e.End]
	fold, at := folded(was)
	old, fresh := foldOf(s.req.Old), s.req.New
	if fold != old {
		return
	}
	place := func(i int) int {
		if at == nil {
			return i
		}
		return at[i]
	}
	n := len(commonPrefix(s.req.Old, fresh))
	for n > 0 && !utf8.RuneStart(byteAt(fresh, n)) {
		n--
	}
	head := len(foldOf(s.req.Old[:n]))
	if head > len(fold) || place(head) < 0 {
		n, head = 0, 0
	}
	oldRest, newRest := s.req.Old[n:], fresh[n:]
	m := 0
	for m < len(oldRest) && m < len(newRest) && oldRest[len(oldRest)-1-m] == newRest[len(newRest)-1-m] {
		m++
	}
	for m > 0 && !utf8.RuneStart(newRest[len(newRest)-m]) {
		m--
	}
	tail := len(fold) - len(foldOf(oldRest[len(oldRest)-m:]))
	if tail < head || place(tail) < 0 {
		m, tail = 0, len(fold)
	}
	e.End = e.Start + place(tail)
	e.Start += place(head)
	e.New = newRest[:len(newRest)-m]
}

// byteAt is the byte at i, or one that begins a character behind the end.
func byteAt(s string, i int) byte {
	if i < len(s) {
		return s[i]
	}
	return 0
}
