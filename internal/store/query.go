package store

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// terms are what a message must hold to be found: the words of a query, and what stands in double quotes. Each is a part of the query, so
// that a query that was copied out of a message finds it, whatever it is.
func terms(query string) []string {
	query = clean(firstOf(query, MaxQuery))
	var out []string
	add := func(s string) {
		if s != "" && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	rest := query
	for {
		before, after, opened := strings.Cut(rest, `"`)
		for _, w := range strings.Fields(before) {
			add(w)
		}
		if !opened {
			break
		}
		phrase, after2, closed := strings.Cut(after, `"`)
		if !closed {
			for _, w := range strings.Fields(after) {
				add(w)
			}
			break
		}
		add(phrase)
		rest = after2
	}
	if len(out) == 0 { // quotes, blanks: they are what is looked for
		add(query)
	}
	return out
}

// firstOf gives the first n characters.
func firstOf(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// trigram is the length of the shortest text that the index knows, in characters.
const trigram = 3

// expression is a query of FTS5 for the terms that the index knows, and the others.
func expression(terms []string) (match string, short []string) {
	var long []string
	for _, t := range terms {
		if utf8.RuneCountInString(t) < trigram {
			short = append(short, t)
			continue
		}
		long = append(long, `"`+strings.ReplaceAll(t, `"`, `""`)+`"`)
	}
	return strings.Join(long, " AND "), short
}

// likes are patterns of LIKE for texts that hold a term in any case: LIKE knows the cases of ASCII only.
func likes(term string) []string {
	out := []string{"%"}
	for _, r := range term {
		var next []string
		for _, v := range variants(r) {
			for _, o := range out {
				next = append(next, o+v)
			}
		}
		out = next
	}
	for i := range out {
		out[i] += "%"
	}
	return out
}

// variants are the cases of a character, ready for a pattern; those of ASCII are one to LIKE.
func variants(r rune) []string {
	out := []string{pattern(r)}
	for v := unicode.SimpleFold(r); v != r; v = unicode.SimpleFold(v) {
		if v >= utf8.RuneSelf || r >= utf8.RuneSelf {
			out = append(out, pattern(v))
		}
	}
	return out
}

func pattern(r rune) string {
	if strings.ContainsRune(`%_\`, r) {
		return `\` + string(r)
	}
	return string(r)
}

// fold gives one character for all its cases.
func fold(r rune) rune {
	if r < utf8.RuneSelf && !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z') {
		return r
	}
	least := r
	for v := unicode.SimpleFold(r); v != r; v = unicode.SimpleFold(v) {
		least = min(least, v)
	}
	return least
}

const (
	// Snippets mark what was found, so that the model sees it among the rest.
	markBegin, markEnd = ">>>", "<<<"

	snippetBefore = 80 // characters, around the first match
	snippetAfter  = 160
)

// span is a match, in characters.
type span struct{ from, to int }

// snippet is what stands around the first match of any term in the first of the texts that has one.
func snippet(terms []string, texts ...string) string {
	for _, text := range texts {
		chars := []rune(text)
		if found := matches(chars, terms); len(found) > 0 {
			return mark(chars, found)
		}
	}
	for _, text := range texts { // the index knows cases that this doesn't
		if text != "" {
			return cut(flat([]rune(firstOf(text, snippetAfter+1))), snippetAfter)
		}
	}
	return ""
}

// matches finds the terms in a text, in order and joined where they touch.
func matches(text []rune, terms []string) []span {
	folded := make([]rune, len(text))
	for i, r := range text {
		folded[i] = fold(r)
	}
	var found []span
	for _, t := range terms {
		want := []rune(t)
		for i := range want {
			want[i] = fold(want[i])
		}
		for i := 0; i+len(want) <= len(folded); {
			if !slices.Equal(folded[i:i+len(want)], want) {
				i++
				continue
			}
			found = append(found, span{i, i + len(want)})
			i += len(want)
		}
	}
	slices.SortFunc(found, func(a, b span) int { return a.from - b.from })
	joined := found[:0]
	for _, s := range found {
		if n := len(joined); n > 0 && s.from <= joined[n-1].to {
			joined[n-1].to = max(joined[n-1].to, s.to)
			continue
		}
		joined = append(joined, s)
	}
	return joined
}

// mark writes what stands around the first match, with marks around every match in it.
func mark(text []rune, found []span) string {
	from := max(0, found[0].from-snippetBefore)
	to := min(len(text), max(found[0].from+snippetAfter, found[0].to))
	var b strings.Builder
	if from > 0 {
		b.WriteString("…")
	}
	at := from
	for _, s := range found {
		if s.to > to {
			break
		}
		b.WriteString(flat(text[at:s.from]) + markBegin + flat(text[s.from:s.to]) + markEnd)
		at = s.to
	}
	b.WriteString(flat(text[at:to]))
	if to < len(text) {
		b.WriteString("…")
	}
	return b.String()
}

// flat writes characters on one line.
func flat(text []rune) string {
	out := make([]rune, 0, len(text))
	for _, r := range text {
		if unicode.IsSpace(r) || unicode.IsControl(r) {
			if n := len(out); n > 0 && out[n-1] == ' ' {
				continue
			}
			r = ' '
		}
		out = append(out, r)
	}
	return string(out)
}
