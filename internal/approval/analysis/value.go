package analysis

import (
	"slices"
	"strings"
)

// Marks stand in a folded text for what isn't literal. They begin with NUL, which no shell word can hold.
const (
	mark        = '\x00'
	markUnknown = "\x00u" // any text, perhaps none
	markSome    = "\x00c" // some text, never none
	markJob     = "\x00j" // the process id of a background job
	markStar    = "\x00*" // glob: any text
	markAny     = "\x00?" // glob: one character
	markSet     = "\x00[" // glob: a character of a set, its rest follows literally
)

// Exact returns the word's text if it is fully known and has one value.
func (w Word) Exact() (string, bool) {
	return w.Text, len(w.Alts) == 0 && strings.IndexByte(w.Text, mark) < 0
}

// Is tells whether one of the word's values is text.
func (w Word) Is(text string) bool { return w.Text == text || slices.Contains(w.Alts, text) }

// IsJob tells whether the word names a background job: $! or %n.
func (w Word) IsJob() bool {
	return strings.Contains(w.Text, markJob) || strings.HasPrefix(w.Text, "%")
}

// Values lists the possible texts, with marks.
func (w Word) Values() []string {
	if len(w.Alts) == 0 { // nearly always, and then it costs nothing where the list isn't kept
		return []string{w.Text}
	}
	return w.several()
}

func (w Word) several() []string { return append([]string{w.Text}, w.Alts...) }

// Known tells whether text has no unknown part (a glob counts as known).
func Known(text string) bool {
	return !strings.Contains(text, markUnknown) && !strings.Contains(text, markSome) && !strings.Contains(text, markJob)
}

// Literal tells whether text has no marks at all.
func Literal(text string) bool { return strings.IndexByte(text, mark) < 0 }

// Head returns the literal beginning of text.
func Head(text string) string {
	if i := strings.IndexByte(text, mark); i >= 0 {
		return text[:i]
	}
	return text
}

// Emptied returns text with its unknown parts taken as empty, and whether there are any that may be.
func Emptied(text string) (string, bool) {
	return strings.ReplaceAll(text, markUnknown, ""), strings.Contains(text, markUnknown)
}

// shown is how people read what a mark stands for, by the byte behind it.
func shown(mark byte) string {
	switch mark {
	case 'u', 'c':
		return "…"
	case 'j':
		return "$!"
	}
	return globPlain(mark)
}

// replaceMarks puts what the function gives in the place of each mark, and leaves those that it gives nothing for.
func replaceMarks(text string, by func(byte) string) string {
	var b strings.Builder
	b.Grow(len(text))
	for {
		i := strings.IndexByte(text, mark)
		if i < 0 || i+1 == len(text) {
			b.WriteString(text)
			return b.String()
		}
		b.WriteString(text[:i])
		if s := by(text[i+1]); s != "" {
			b.WriteString(s)
			text = text[i+2:]
			continue
		}
		b.WriteByte(mark)
		text = text[i+1:]
	}
}

// Show returns text for people: marks as they would be written, … for what isn't known.
func Show(text string) string {
	if Literal(text) {
		return text
	}
	return replaceMarks(text, shown)
}

// Plain returns a text with its glob marks as the characters they are in any place but a file name.
func Plain(text string) string {
	if Literal(text) {
		return text
	}
	return replaceMarks(text, globPlain)
}

func globPlain(mark byte) string {
	switch mark {
	case '*':
		return "*"
	case '?':
		return "?"
	case '[':
		return "["
	}
	return ""
}

// MatchesName tells whether a marked text can be name: unknown and * match anything, ? and [ one character. It goes back to the
// last star only, so its time is at most the product of both lengths.
func MatchesName(text, name string) bool {
	if longer(text, len(name)) {
		return false
	}
	t, n := 0, 0
	starT, starN := -1, 0
	for n < len(name) || t < len(text) {
		if t < len(text) {
			next, one, many := pattern(text, t, name, n)
			if many {
				starT, starN = next, n
				t = next
				continue
			}
			if one {
				t, n = next, n+1
				continue
			}
		}
		if starT < 0 || starN >= len(name) {
			return false
		}
		starN++
		t, n = starT, starN
	}
	return true
}

// longer tells whether a pattern asks for more than n characters, without reading much more of it.
func longer(text string, n int) bool {
	for t := 0; t < len(text) && n >= 0; {
		next, _, many := pattern(text, t, "", 0)
		if !many {
			n--
		}
		t = next
	}
	return n < 0
}

// pattern reads the element of a marked text at t: one tells that it matches the byte of name at n, many that it matches any text.
func pattern(text string, t int, name string, n int) (next int, one, many bool) {
	if text[t] != mark || t+1 >= len(text) {
		return t + 1, n < len(name) && text[t] == name[n], false
	}
	switch text[t+1] {
	case '?':
		return t + 2, n < len(name), false
	case '[':
		end := strings.IndexByte(text[t+2:], ']')
		if end < 0 {
			return t + 2, n < len(name), false
		}
		return t + 3 + end, n < len(name) && inSet(text[t+2:t+2+end], name[n]), false
	}
	return t + 2, false, true
}

func inSet(set string, c byte) bool {
	negated := strings.HasPrefix(set, "!") || strings.HasPrefix(set, "^")
	if negated {
		set = set[1:]
	}
	found := false
	for i := 0; i < len(set); i++ {
		if i+2 < len(set) && set[i+1] == '-' {
			found = found || set[i] <= c && c <= set[i+2]
			i += 2
			continue
		}
		found = found || set[i] == c
	}
	return found != negated
}

// join returns every pairing of heads and tails; over the limit, what they share and an unknown rest.
func join(heads, tails []string) []string {
	switch {
	case len(tails) == 0:
		return heads
	case len(heads) == 0:
		return tails
	case len(heads) == 1 && len(tails) == 1:
		return []string{heads[0] + tails[0]}
	case len(heads)*len(tails) > MaxValues:
		return []string{commonHead(heads) + markUnknown}
	}
	all := make([]string, 0, len(heads)*len(tails))
	for _, h := range heads {
		for _, t := range tails {
			all = append(all, h+t)
		}
	}
	return all
}

func commonHead(texts []string) string {
	head := Head(texts[0])
	for _, t := range texts[1:] {
		for !strings.HasPrefix(t, head) {
			head = head[:len(head)-1]
		}
	}
	return head
}

// union returns the values of both, without repeats; over the limit, unknown.
func union(a, b []string) []string {
	out := slices.Clone(a)
	for _, t := range b {
		if !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	if len(out) > MaxValues {
		return []string{markUnknown}
	}
	return out
}
