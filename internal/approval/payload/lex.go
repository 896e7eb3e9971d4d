package payload

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// tokenKind says what a token is.
type tokenKind uint8

const (
	tokEnd tokenKind = iota
	tokName
	tokNumber
	tokString
	tokCommand // a text between backticks or their like, which a shell runs
	tokWords   // a list of words
	tokGlob    // a pattern of file names
	tokOp
	tokMark // a part that isn't known
)

// token is one token of a program. Brackets know their partner.
type token struct {
	kind       tokenKind
	text       string // a string's is its value, when it has no parts
	parts      *[]part
	start, end int32
	col        int32 // bytes between the line's beginning and the token, when it is the line's first
	match      int32 // index of the closing bracket, or 0
	nl         bool  // first of its line
	sp         bool  // white space in front
}

// part is a piece of a string: literal text, or an expression inside it.
type part struct {
	text string
	code bool
}

// quoting says what stands inside a quote.
type quoting struct {
	open, close string
	kind        tokenKind
	escape      escapes
	inner       string // what begins an expression inside: "{", "${", "#{", "$", "$("
	line        bool   // ends with its line
}

type escapes uint8

const (
	escC       escapes = iota // \n \x41 \u0041 \101
	escRaw                    // a backslash stays, and keeps the quote from ending
	escNone                   // nothing
	escSimple                 // \\ and the quote alone
	escDoubled                // a doubled quote is a quote
)

// syntax is a language's way of writing tokens.
type syntax struct {
	comments []string    // to the end of the line
	blocks   [][2]string // comments with an end
	quotes   []quoting   // the first that fits counts
	sigils   string      // what begins a name besides letters
	inName   string      // what stands in a name besides letters and digits
	ops      []string    // of more than one character
	newline  bool        // a line's end ends a statement
	fold     bool        // names don't depend on case
	special  func(*lexer) bool

	leads [256]lead
}

// lead says what a byte may begin; a byte without a bit needs no look into the tables.
type lead uint8

const (
	leadComment lead = 1 << iota
	leadQuote
	leadOp
	leadName
)

// prepare fills leads.
func (s *syntax) prepare() {
	for c := range 256 {
		if letter(byte(c)) {
			s.leads[c] |= leadName
		}
	}
	for _, c := range s.comments {
		s.leads[c[0]] |= leadComment
	}
	for _, b := range s.blocks {
		s.leads[b[0][0]] |= leadComment
	}
	for _, q := range s.quotes {
		s.leads[q.open[0]] |= leadQuote
	}
	for _, op := range s.ops {
		s.leads[op[0]] |= leadOp
	}
}

type lexer struct {
	*syntax
	text  string
	at    int
	line  int // where the line begins
	toks  []token
	nl    bool
	sp    bool
	open  []int // brackets that aren't closed
	left  int   // tokens that may still be made
	heres []here
	fails int // expressions in strings that don't end
	quiet lexQuiet
}

// lexQuiet tells whether the text holds a word by which a program can start another, once that was looked for.
type lexQuiet uint8

const (
	lexUnasked lexQuiet = iota
	lexStarts
	lexEdits
)

// here is a here-document that begins on the next line.
type here struct {
	end    string
	indent bool
	raw    bool
	tok    int
}

func (l *lexer) run() []token {
	l.nl = true
	for l.at < len(l.text) && l.left > 0 {
		if l.blank() {
			continue
		}
		if l.special != nil && l.special(l) {
			continue
		}
		l.token()
	}
	return l.toks
}

// blank skips white space and comments.
func (l *lexer) blank() bool {
	rest := l.text[l.at:]
	switch c := rest[0]; {
	case c == '\n':
		l.at++
		l.nl, l.sp, l.line = true, true, l.at
		if len(l.heres) > 0 {
			l.documents()
		}
		return true
	case c == ' ' || c == '\t' || c == '\r' || c == '\f':
		l.at++
		l.sp = true
		return true
	case c == '\\' && len(rest) > 1 && (rest[1] == '\n' || strings.HasPrefix(rest, "\\\r\n")):
		l.at += 1 + strings.IndexByte(rest, '\n')
		l.sp = true
		return true
	}
	if l.leads[rest[0]]&leadComment == 0 {
		return false
	}
	for _, b := range l.blocks {
		if strings.HasPrefix(rest, b[0]) {
			l.at = l.after(b[1], l.at+len(b[0]))
			l.sp = true
			return true
		}
	}
	for _, c := range l.comments {
		if strings.HasPrefix(rest, c) {
			l.at = l.lineEnd(l.at)
			return true
		}
	}
	return false
}

// after returns the place behind the next occurrence of end, or the end of the text.
func (l *lexer) after(end string, from int) int {
	if from <= len(l.text) {
		if i := strings.Index(l.text[from:], end); i >= 0 {
			return from + i + len(end)
		}
	}
	return len(l.text)
}

func (l *lexer) lineEnd(from int) int {
	if i := strings.IndexByte(l.text[from:], '\n'); i >= 0 {
		return from + i
	}
	return len(l.text)
}

// add appends a token that ends at end.
func (l *lexer) add(kind tokenKind, end int, text string) *token {
	t := token{kind: kind, text: text, start: int32(l.at), end: int32(end), nl: l.nl, sp: l.sp, col: int32(l.at - l.line)}
	l.at, l.nl, l.sp = end, false, false
	l.left--
	if kind == tokOp && len(text) == 1 {
		l.bracket(text[0], &t)
	}
	if len(l.toks) == cap(l.toks) { // twice as many at once: there may be very many
		l.toks = slices.Grow(l.toks, len(l.toks)+1)
	}
	l.toks = append(l.toks, t)
	return &l.toks[len(l.toks)-1]
}

// bracket pairs brackets. A closing one that fits none but an outer one closes those between.
func (l *lexer) bracket(c byte, t *token) {
	switch c {
	case '(', '[', '{':
		l.open = append(l.open, len(l.toks))
	case ')', ']', '}':
		for k := len(l.open) - 1; k >= 0 && k > len(l.open)-8; k-- {
			i := l.open[k]
			if pairs(l.toks[i].text[0], c) {
				l.toks[i].match = int32(len(l.toks))
				l.open = l.open[:k]
				return
			}
		}
	}
}

func pairs(open, end byte) bool {
	return open == '(' && end == ')' || open == '[' && end == ']' || open == '{' && end == '}'
}

func letter(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= utf8.RuneSelf
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

// token reads a token of the common kinds.
func (l *lexer) token() {
	rest := l.text[l.at:]
	c := rest[0]
	if c == 0 {
		l.add(tokMark, min(l.at+2, len(l.text)), "")
		return
	}
	if l.leads[c]&leadName != 0 || strings.IndexByte(l.sigils, c) >= 0 && len(rest) > 1 && (letter(rest[1]) || strings.HasPrefix(rest[1:], "::")) {
		l.name()
		return
	}
	for i := 0; i < len(l.quotes) && l.leads[c]&leadQuote != 0; i++ {
		if strings.HasPrefix(rest, l.quotes[i].open) {
			l.quoted(&l.quotes[i], l.at+len(l.quotes[i].open))
			return
		}
	}
	if digit(c) || c == '.' && len(rest) > 1 && digit(rest[1]) && !l.afterValue() {
		n := 1
		for n < len(rest) && (letter(rest[n]) && rest[n] < utf8.RuneSelf || digit(rest[n]) || rest[n] == '.' && n+1 < len(rest) && digit(rest[n+1])) {
			n++
		}
		l.add(tokNumber, l.at+n, rest[:n])
		return
	}
	if l.leads[c]&leadOp != 0 {
		for _, op := range l.ops {
			if op[0] == c && strings.HasPrefix(rest, op) {
				l.add(tokOp, l.at+len(op), op)
				return
			}
		}
	}
	_, n := utf8.DecodeRuneInString(rest)
	l.add(tokOp, l.at+n, rest[:n])
}

func (l *lexer) name() {
	n := l.at + 1
	for n < len(l.text) {
		c := l.text[n]
		switch {
		case letter(c) || digit(c):
			n++
			continue
		case strings.IndexByte(l.inName, c) < 0:
		case c != ':' && c != '\\':
			n++
			continue
		case c == '\\' && n+1 < len(l.text) && letter(l.text[n+1]):
			n += 2
			continue
		case n+2 < len(l.text) && l.text[n+1] == ':' && letter(l.text[n+2]):
			n += 3
			continue
		}
		break
	}
	name := l.text[l.at:n]
	if l.fold {
		name = strings.ToLower(name)
	}
	l.add(tokName, n, name)
}

// afterValue tells whether the token in front is the end of an expression, so that a slash divides and a bracket indexes.
func (l *lexer) afterValue() bool {
	if len(l.toks) == 0 {
		return false
	}
	t := &l.toks[len(l.toks)-1]
	switch t.kind {
	case tokOp:
		return t.text == ")" || t.text == "]" || t.text == "}"
	case tokName:
		return !operatorWords[t.text]
	}
	return true
}

// operatorWords are names in front of an expression.
var operatorWords = map[string]bool{"return": true, "if": true, "unless": true, "and": true, "or": true, "not": true, "in": true, "while": true,
	"until": true, "case": true, "when": true, "else": true, "elsif": true, "elif": true, "typeof": true, "void": true, "delete": true, "split": true,
	"grep": true, "map": true, "print": true, "puts": true, "await": true, "yield": true, "join": true, "for": true, "foreach": true, "echo": true}

// documents reads the here-documents that the last line announced.
func (l *lexer) documents() {
	for _, h := range l.heres {
		var b strings.Builder
		for l.at < len(l.text) {
			end := l.lineEnd(l.at)
			line := l.text[l.at:end]
			l.at = min(end+1, len(l.text))
			mark := strings.TrimRight(line, "\r")
			if h.indent {
				mark = strings.TrimSpace(mark)
			}
			if mark == h.end || strings.TrimRight(mark, ";),") == h.end {
				break
			}
			if h.indent {
				line = strings.TrimLeft(line, " \t")
			}
			b.WriteString(line)
			b.WriteByte('\n')
		}
		t := &l.toks[h.tok]
		if h.raw {
			t.text = b.String()
		} else {
			q := quoting{escape: escC, inner: l.innerOf()}
			sub := lexer{syntax: l.syntax, text: b.String()}
			var parts []part
			t.text, parts, _ = sub.body(&q, 0)
			if parts != nil {
				t.parts = &parts
			}
		}
	}
	l.heres, l.line = nil, l.at
}

// innerOf is how the language's double quotes hold expressions.
func (l *lexer) innerOf() string {
	for _, q := range l.quotes {
		if q.open == `"` {
			return q.inner
		}
	}
	return ""
}
