package search

import (
	"strings"
	"unicode/utf8"
)

// glob is a compiled pattern for slash-separated paths: * and ? stop at a slash, ** doesn't where it is a whole part, [a-z] [!a-z]
// are sets, {a,b} alternatives, a backslash takes the next character as it is.
type glob struct {
	alternatives []tokens
}

type tokens []token

type token struct {
	kind   tokenKind
	text   string // literal
	ranges []rune // set: pairs
	not    bool   // set: negated
}

type tokenKind uint8

const (
	literal  tokenKind = iota
	anyChar            // ?
	anyChars           // *
	anyParts           // **/ : no part or some, each with its slash
	anyRest            // ** at the end: all that is left
	charSet
)

// globLimit bounds the alternatives that braces multiply into.
const globLimit = 1000

// compileGlob compiles text. The position in the error counts characters.
func compileGlob(text string) (*glob, *Error) {
	variants, err := expandBraces(text)
	if err != nil {
		return nil, err
	}
	g := &glob{}
	for _, v := range variants {
		t, problem := tokenize(v)
		if problem != "" {
			return nil, &Error{What: "glob", Text: text, At: -1, Err: problem}
		}
		g.alternatives = append(g.alternatives, t)
	}
	return g, nil
}

// setEnd is the index behind the set that begins at i, or -1.
func setEnd(s string, i int) int {
	j := i + 1
	if j < len(s) && (s[j] == '!' || s[j] == '^') {
		j++
	}
	if j < len(s) && s[j] == ']' {
		j++
	}
	for ; j < len(s); j++ {
		if s[j] == ']' {
			return j + 1
		}
	}
	return -1
}

// tokenize splits a pattern without braces.
func tokenize(s string) (tokens, string) {
	var t tokens
	add := func(text string) {
		if n := len(t); n > 0 && t[n-1].kind == literal {
			t[n-1].text += text
			return
		}
		t = append(t, token{kind: literal, text: text})
	}
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
			add(s[i : i+1])
		case '?':
			t = append(t, token{kind: anyChar})
		case '*':
			n := 1
			for i+n < len(s) && s[i+n] == '*' {
				n++
			}
			starts, ends := i == 0 || s[i-1] == '/', i+n == len(s)
			switch {
			case n == 2 && starts && ends:
				t = append(t, token{kind: anyRest})
			case n == 2 && starts && s[i+2] == '/':
				t = append(t, token{kind: anyParts})
				n = 3
			default:
				t = append(t, token{kind: anyChars})
			}
			i += n - 1
		case '[':
			end := setEnd(s, i)
			set, problem := parseSet(s[i+1 : end-1])
			if problem != "" {
				return nil, problem
			}
			t = append(t, set)
			i = end - 1
		default:
			add(s[i : i+1])
		}
	}
	return t, ""
}

// parseSet parses what stands between the brackets.
func parseSet(s string) (token, string) {
	t := token{kind: charSet}
	if s != "" && (s[0] == '!' || s[0] == '^') {
		t.not = true
		s = s[1:]
	}
	chars := []rune(s)
	for i := 0; i < len(chars); i++ {
		low, high := chars[i], chars[i]
		if i+2 < len(chars) && chars[i+1] == '-' {
			high = chars[i+2]
			i += 2
		}
		if low > high {
			return t, "the range " + string(low) + "-" + string(high) + " is backwards"
		}
		t.ranges = append(t.ranges, low, high)
	}
	return t, ""
}

// matchMode says how wildcards are taken.
type matchMode uint8

const (
	visible   matchMode = 1 << iota // only a written dot matches the dot of a hidden name
	byteWise                        // ? and sets take a byte, as git does it and ripgrep after it
	plainMode matchMode = 0
)

// match reports whether path is what the pattern describes, all of it.
func (g *glob) match(path string, mode matchMode) bool {
	for _, t := range g.alternatives {
		if t.match(path, mode) {
			return true
		}
	}
	return false
}

// match runs the tokens with one point to come back to per * and one per **, the latest of each: more are never needed.
func (t tokens) match(path string, mode matchMode) bool {
	type retry struct{ token, at int }
	star, parts := retry{-1, 0}, retry{-1, 0}
	hiddenAt := func(at int) bool {
		return mode&visible != 0 && at < len(path) && path[at] == '.' && (at == 0 || path[at-1] == '/')
	}
	i, at := 0, 0
	for {
		if i == len(t) && at == len(path) {
			return true
		}
		if i < len(t) {
			switch k := t[i]; k.kind {
			case anyChars:
				star = retry{i + 1, at}
				i++
				continue
			case anyParts:
				parts, star = retry{i + 1, at}, retry{-1, 0}
				i++
				continue
			case anyRest:
				if at < len(path) && !(mode&visible != 0 && hasHiddenFrom(path, at)) {
					return true
				}
			default:
				if n := k.step(path[at:], mode); n > 0 && !(k.kind != literal && hiddenAt(at)) {
					i, at = i+1, at+n
					continue
				}
			}
		}
		if star.token >= 0 && star.at < len(path) && path[star.at] != '/' && !hiddenAt(star.at) {
			_, n := first(path[star.at:], mode)
			star.at += n
			i, at = star.token, star.at
			continue
		}
		star = retry{-1, 0}
		if parts.token < 0 || hiddenAt(parts.at) {
			return false
		}
		slash := strings.IndexByte(path[parts.at:], '/')
		if slash < 0 {
			return false
		}
		parts.at += slash + 1
		i, at = parts.token, parts.at
	}
}

func hasHiddenFrom(path string, at int) bool {
	for part := range strings.SplitSeq(path[at:], "/") {
		if strings.HasPrefix(part, ".") {
			return true
		}
	}
	return false
}

// first is what one wildcard takes of s.
func first(s string, mode matchMode) (rune, int) {
	if mode&byteWise != 0 {
		return rune(s[0]), 1
	}
	return utf8.DecodeRuneInString(s)
}

// step is how many bytes of s one token takes; 0 = it doesn't match.
func (k token) step(s string, mode matchMode) int {
	if k.kind == literal {
		if strings.HasPrefix(s, k.text) {
			return len(k.text)
		}
		return 0
	}
	if s == "" || s[0] == '/' {
		return 0
	}
	r, n := first(s, mode)
	if k.kind == anyChar {
		return n
	}
	in := false
	for i := 0; i < len(k.ranges); i += 2 {
		in = in || k.ranges[i] <= r && r <= k.ranges[i+1]
	}
	if in == k.not {
		return 0
	}
	return n
}
