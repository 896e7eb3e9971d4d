package payload

import (
	"strconv"
	"strings"
)

// quoted reads a quoted token whose inside begins at from.
func (l *lexer) quoted(q *quoting, from int) {
	text, parts, end := l.body(q, from)
	kind := q.kind
	if kind == tokEnd {
		kind = tokString
	}
	if i := strings.LastIndexByte(l.text[l.at:end], '\n'); i >= 0 {
		defer func(line int) { l.line = line }(l.at + i + 1)
	}
	if t := l.add(kind, end, text); parts != nil {
		t.parts = &parts
	}
}

// body reads the inside of a quote and returns the place behind it.
func (l *lexer) body(q *quoting, from int) (text string, parts []part, end int) {
	var b strings.Builder
	i, n, depth := from, len(l.text), 0
	nests := ""
	if len(q.close) == 1 && q.kind != tokCommand && strings.Contains(")]}>", q.close) {
		nests = opener(q.close)
	}
	for i < n {
		c := l.text[i]
		switch {
		case q.close != "" && c == q.close[0] && strings.HasPrefix(l.text[i:], q.close):
			if q.escape == escDoubled && strings.HasPrefix(l.text[i+len(q.close):], q.close) {
				b.WriteString(q.close)
				i += 2 * len(q.close)
				continue
			}
			if depth == 0 {
				return l.finish(b.String(), parts, i+len(q.close))
			}
			depth--
		case nests != "" && c == nests[0]:
			depth++
		case c == '\n' && q.line:
			return l.finish(b.String(), parts, i)
		case c == '\\' && q.escape != escNone && q.escape != escDoubled && i+1 < n:
			i = l.escape(&b, q, i)
			continue
		case q.inner != "" && (c == q.inner[0] || q.inner == "$" && c == '{' || q.inner == "$@" && c == '@'):
			if code, next, ok := l.inside(q, i); ok {
				if b.Len() > 0 {
					parts = append(parts, part{text: b.String()})
					b.Reset()
				}
				parts = append(parts, part{code, true})
				i = next
				continue
			}
			if q.inner == "{" && strings.HasPrefix(l.text[i:], "{{") {
				i++
			}
		case q.inner == "{" && c == '}' && strings.HasPrefix(l.text[i:], "}}"):
			i++
		}
		b.WriteByte(c)
		i++
	}
	return l.finish(b.String(), parts, n)
}

func opener(end string) string {
	return map[string]string{")": "(", "]": "[", "}": "{", ">": "<"}[end]
}

func (l *lexer) finish(tail string, parts []part, end int) (string, []part, int) {
	if parts == nil {
		return tail, nil, end
	}
	if tail != "" {
		parts = append(parts, part{text: tail})
	}
	return "", parts, end
}

// escape reads the escape at i and returns the place behind it.
func (l *lexer) escape(b *strings.Builder, q *quoting, i int) int {
	c := l.text[i+1]
	switch q.escape {
	case escRaw:
		b.WriteString(l.text[i : i+2])
		return i + 2
	case escSimple:
		if c != '\\' && c != q.close[0] {
			b.WriteByte('\\')
		}
		b.WriteByte(c)
		return i + 2
	}
	switch c {
	case '\n':
		return i + 2
	case 'n':
		b.WriteByte('\n')
	case 't':
		b.WriteByte('\t')
	case 'r':
		b.WriteByte('\r')
	case 'a', 'b', 'f', 'v':
		b.WriteByte(' ')
	case 'e':
		b.WriteByte(0x1b)
	case 'x', 'u', 'U':
		return l.coded(b, i+1)
	default:
		if c < '0' || c > '7' {
			b.WriteByte(c)
			return i + 2
		}
		k := i + 1
		for k < len(l.text) && k < i+4 && l.text[k] >= '0' && l.text[k] <= '7' {
			k++
		}
		writeCode(b, l.text[i+1:k], 8)
		return k
	}
	return i + 2
}

// coded reads \x41, \x{41}, \u0041, \u{41}, \U00000041; i is the letter's place.
func (l *lexer) coded(b *strings.Builder, i int) int {
	most := map[byte]int{'x': 2, 'u': 4, 'U': 8}[l.text[i]]
	k := i + 1
	if k < len(l.text) && l.text[k] == '{' {
		if end := strings.IndexByte(l.text[k:min(k+12, len(l.text))], '}'); end > 0 {
			writeCode(b, strings.TrimSpace(l.text[k+1:k+end]), 16)
			return k + end + 1
		}
	}
	for k < len(l.text) && k <= i+most && strings.IndexByte("0123456789abcdefABCDEF", l.text[k]) >= 0 {
		k++
	}
	writeCode(b, l.text[i+1:k], 16)
	return k
}

func writeCode(b *strings.Builder, digits string, base int) {
	if v, err := strconv.ParseUint(digits, base, 32); err == nil && v != 0 {
		b.WriteRune(rune(v))
	}
}

// inside reads the expression that stands in a string at i.
func (l *lexer) inside(q *quoting, i int) (code string, next int, ok bool) {
	rest := l.text[i:]
	switch q.inner {
	case "{":
		if strings.HasPrefix(rest, "{{") {
			return "", 0, false
		}
		return l.braced(i, i+1)
	case "${", "#{":
		if strings.HasPrefix(rest, q.inner) {
			return l.braced(i, i+2)
		}
	case "$":
		if rest[0] == '{' {
			if !strings.HasPrefix(rest, "{$") {
				return "", 0, false
			}
			return l.braced(i, i+1)
		}
		return l.variable(q, i)
	case "$@":
		if rest[0] == '@' {
			if !strings.HasPrefix(rest, "@{") {
				return "", 0, false
			}
			return l.braced(i, i+2)
		}
		return l.variable(q, i)
	}
	return "", 0, false
}

// braced reads to the brace that closes.
func (l *lexer) braced(i, from int) (string, int, bool) {
	depth := 0
	open, end := l.text[from-1], byte('}')
	if open == '(' {
		end = ')'
	}
	if l.fails > maxFails {
		return "", i, false
	}
	most := min(len(l.text), from+maxInner)
	for k := from; k < most; k++ {
		switch c := l.text[k]; {
		case c == open:
			depth++
		case c == end && depth == 0:
			return l.text[from:k], k + 1, true
		case c == end:
			depth--
		}
	}
	l.fails++
	return "", i, false
}

// An expression in a string is short. One that is longer, or doesn't end, is read as text, so that texts full of openings cost no
// more than others.
const (
	maxInner = 16 << 10
	maxFails = 64
)

// variable reads $name, ${name}, $name[…], $name->…, {$…}, @{[…]}, $(…) as shells, Perl, PHP and Julia write them.
func (l *lexer) variable(q *quoting, i int) (string, int, bool) {
	rest := l.text[i:]
	switch {
	case strings.HasPrefix(rest, "${"):
		code, next, ok := l.braced(i, i+2)
		if ok && code != "" && letter(code[0]) && strings.Trim(code, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") == "" {
			code = "$" + code
		}
		return code, next, ok
	case strings.HasPrefix(rest, "$("):
		return l.braced(i, i+2)
	}
	k := i + 1
	for k < len(l.text) && (letter(l.text[k]) || digit(l.text[k])) {
		k++
	}
	if k == i+1 {
		return "", 0, false
	}
	for k < len(l.text) && (l.text[k] == '[' || l.text[k] == '{') && q.inner[0] == '$' && l.sigils != "" {
		end := strings.IndexByte(l.text[k:min(len(l.text), k+80)], closer(l.text[k]))
		if end < 0 {
			break
		}
		k += end + 1
	}
	code := l.text[i:k]
	if l.sigils == "" || q.inner == "$" && strings.IndexByte(l.sigils, '$') < 0 {
		code = code[1:]
	}
	return code, k, true
}

func closer(open byte) byte {
	if open == '[' {
		return ']'
	}
	return '}'
}
