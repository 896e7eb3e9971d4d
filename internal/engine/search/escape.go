package search

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// controls are the escapes that stand for one character.
var controls = map[rune]rune{'t': '\t', 'r': '\r', 'a': '\a', 'f': '\f', 'v': '\v', 'n': '\n'}

// escape reads what follows a backslash outside of a class.
func (t *translator) escape(at int) *Error {
	if t.at >= len(t.text) {
		return t.fail(at, "a backslash at the end escapes nothing")
	}
	c := t.text[t.at]
	switch {
	case c == 'b' || c == 'B':
		return t.wordBoundary(at)
	case c == 'A' || c == 'z':
		return t.lacking(at, `the anchor \`+string(c))
	case c == '<' || c == '>':
		return t.lacking(at, `the word boundary \`+string(c))
	case '0' <= c && c <= '9':
		return t.fail(at, `\%c: backreferences and octal numbers aren't supported`, c)
	}
	if s, ok, err := t.escapedSet(at); ok || err != nil {
		if err == nil {
			t.emit(s.text(), string(t.text[at:t.at]))
		}
		return err
	}
	r, err := t.escapedRune(at)
	if err != nil {
		return err
	}
	if r == '\n' {
		return t.fail(at, "a line break can't be matched: the search goes line by line")
	}
	t.emit(regexp.QuoteMeta(string(r)), rustRune(r))
	return nil
}

// rustRune writes a character so that every version of ripgrep reads it.
func rustRune(r rune) string {
	if r < 0x20 || r == 0x7F || r > 0x7F && !unicode.IsPrint(r) {
		return `\x{` + strconv.FormatInt(int64(r), 16) + `}`
	}
	if strings.ContainsRune(rustMeta, r) {
		return `\` + string(r)
	}
	if r == ' ' {
		return `\x20` // means something in verbose mode too
	}
	return string(r)
}

// rustMeta are the characters that every version of ripgrep lets a backslash stand before.
const rustMeta = `\.+*?()|[]{}^$#&-~`

// plainEscapes writes a class so that every version of ripgrep reads it: without the backslashes that only newer ones know.
func plainEscapes(class []rune) string {
	var b strings.Builder
	for i := 0; i < len(class); i++ {
		if class[i] == '\\' && i+1 < len(class) {
			i++
			c := class[i]
			plain := c < utf8.RuneSelf && (unicode.IsPunct(c) || unicode.IsSymbol(c)) && !strings.ContainsRune(rustMeta, c)
			if !plain {
				b.WriteByte('\\')
			}
		}
		b.WriteRune(class[i])
	}
	return b.String()
}

func (t *translator) wordBoundary(at int) *Error {
	c := t.text[t.at]
	t.at++
	if c == 'b' && t.at < len(t.text) && t.text[t.at] == '{' && t.at+1 < len(t.text) && unicode.IsLetter(t.text[t.at+1]) {
		return t.lacking(at, `the word boundary \b{…}`)
	}
	t.boundary = true
	t.emit(`\`+string(c), `\`+string(c))
	return nil
}

// escapedSet reads \d, \p{…} and the like, the backslash being read.
func (t *translator) escapedSet(at int) (s set, ok bool, err *Error) {
	c := t.text[t.at]
	if short := shortClasses[unicode.ToLower(c)]; short != nil && c < utf8.RuneSelf {
		t.at++
		if s = short(); unicode.IsUpper(c) {
			s = s.complement()
		}
		return s, true, nil
	}
	if c != 'p' && c != 'P' {
		return nil, false, nil
	}
	t.at++
	name := ""
	switch {
	case t.at >= len(t.text):
		return nil, false, t.fail(at, `\%c needs the name of a class`, c)
	case t.text[t.at] != '{':
		name = string(t.text[t.at])
		t.at++
	default:
		end := t.at
		for end < len(t.text) && t.text[end] != '}' {
			end++
		}
		if end == len(t.text) {
			return nil, false, t.fail(at, "the brace that opens here is not closed")
		}
		name = string(t.text[t.at+1 : end])
		t.at = end + 1
	}
	not := c == 'P'
	s, ok = property(name)
	if !ok {
		return nil, false, t.lacking(at, `the class \p{`+name+`}`)
	}
	if t.flags.fold {
		s = s.folded()
	}
	if not {
		s = s.complement()
	}
	return s, true, nil
}

// hexDigits are how many digits follow \x, \u and \U without braces.
var hexDigits = map[rune]int{'x': 2, 'u': 4, 'U': 8}

// escapedRune reads an escape that stands for one character, the backslash being read.
func (t *translator) escapedRune(at int) (rune, *Error) {
	c := t.text[t.at]
	t.at++
	if r, ok := controls[c]; ok {
		return r, nil
	}
	if n, ok := hexDigits[c]; ok {
		return t.hex(at, n)
	}
	if c < utf8.RuneSelf && (unicode.IsPunct(c) || unicode.IsSymbol(c)) {
		return c, nil
	}
	if c == ' ' && t.flags.verbose {
		return c, nil
	}
	return 0, t.fail(at, `there is no escape \%c`, c)
}

func (t *translator) hex(at, n int) (rune, *Error) {
	end, digits := t.at+n, ""
	if t.at < len(t.text) && t.text[t.at] == '{' {
		end = t.at + 1
		for end < len(t.text) && t.text[end] != '}' {
			end++
		}
		if end < len(t.text) {
			digits = string(t.text[t.at+1 : end])
		}
		end++
	} else if end <= len(t.text) {
		digits = string(t.text[t.at:end])
	}
	v, err := strconv.ParseUint(digits, 16, 32)
	if err != nil || !utf8.ValidRune(rune(v)) {
		return 0, t.fail(at, "this isn't the number of a character")
	}
	t.at = end
	return rune(v), nil
}
