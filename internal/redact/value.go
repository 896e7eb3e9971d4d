package redact

import "bytes"

// Bounds of what may stand between a name and its value, in bytes.
const (
	maxGap       = 16
	maxBackslash = 8
	maxWord      = 64
)

// notSecret are the beginnings of names whose token opens nothing but the next page.
var notSecret = []string{"page", "page_", "page-", "next", "next_", "next-", "continuation", "continuation_",
	"continuation-", "sync", "sync_", "sync-"}

// readValue reads what a name such as password is given: password=x, password: x, "password": "x",
// \"password\":\"x\", password := 'x', 'password' => 'x'. Only the value is replaced.
func readValue(t text, at int, s *shape) (span, verdict) {
	if onlyPages(t, at) {
		return span{}, no
	}
	n := name{t: t, at: at + len(s.literal)}
	if v := n.parse(); v != yes {
		return span{}, v
	}
	switch reference(t, n.at) {
	case yes:
		return span{}, no
	case more:
		return span{}, more
	}
	switch {
	case n.quote != 0:
		if v := quotedContent(t, n.at, n); v != yes {
			return span{}, v
		}
		return span{from: n.at, to: n.at, run: run{kind: runQuoted, quote: n.quote, escapes: n.escapes}}, yes
	case n.nameQuote != "" && n.colon:
		return readNumber(t, n.at, n.nameQuote)
	case !bareChars[t.b[n.at]]:
		return span{}, no
	case n.colon || n.spaced:
		if v := worth(t, n.at, n.colon); v != yes {
			return span{}, v
		}
	}
	return span{from: n.at, to: n.at + 1, run: run{kind: runClass, chars: bareChars}}, yes
}

// readUnlessPath is readValue for a name that also stands for the working directory: PWD=/home/me is no secret.
func readUnlessPath(t text, at int, s *shape) (span, verdict) {
	found, v := readValue(t, at, s)
	if v == yes && found.from < len(t.b) && (t.b[found.from] == '/' || t.b[found.from] == '~') {
		return span{}, no
	}
	return found, v
}

func onlyPages(t text, at int) bool {
	for _, word := range notSecret {
		same := at-len(word) >= t.hidden
		for i := range len(word) {
			c := t.before(at - len(word) + i)
			if c >= 'A' && c <= 'Z' {
				c += 'a' - 'A'
			}
			same = same && c == word[i]
		}
		if same {
			return true
		}
	}
	return false
}

// name is a reader of what lies between a name and its value.
type name struct {
	t         text
	at        int    // after parse: where the value begins
	nameQuote string // with its backslashes
	colon     bool   // the sign between is one
	spaced    bool   // blanks stand around the sign
	quote     byte   // that opened the value, 0 for none
	escapes   int    // backslashes before it
}

func (n *name) parse() verdict {
	start := n.at
	_, _, v := n.readQuote()
	if v != yes {
		return v
	}
	n.nameQuote = string(n.t.b[start:n.at])
	sign := n.at
	if n.at, v = skip(n.t, n.at, classBlank, maxGap); v != yes {
		return v
	}
	n.spaced = n.at > sign
	if v = n.readSign(); v != yes {
		return v
	}
	value := n.at
	if n.at, v = skip(n.t, n.at, classBlank, maxGap); v != yes {
		return v
	}
	n.spaced = n.spaced || n.at > value
	if n.quote, n.escapes, v = n.readQuote(); v != yes {
		return v
	}
	if n.at == len(n.t.b) {
		return n.t.end()
	}
	if n.likeName() && n.escapes != len(n.nameQuote)-1 {
		return no // the string that the name stands in ends here
	}
	return yes
}

// likeName tells whether name and value have the same kind of quotes.
func (n *name) likeName() bool {
	return n.nameQuote != "" && n.nameQuote[len(n.nameQuote)-1] == n.quote
}

// readQuote passes over a quote, if there is one, with the backslashes it has in a string of JSON.
func (n *name) readQuote() (quote byte, escapes int, v verdict) {
	i := n.at
	for i < len(n.t.b) && n.t.b[i] == '\\' {
		if i++; i > n.at+maxBackslash {
			return 0, 0, no
		}
	}
	if i == len(n.t.b) {
		return 0, 0, n.t.end()
	}
	if c := n.t.b[i]; c == '"' || c == '\'' {
		escapes, n.at = i-n.at, i+1
		return c, escapes, yes
	}
	if i > n.at {
		return 0, 0, no
	}
	return 0, 0, yes
}

// readSign passes over = : := or =>, not over == or ::.
func (n *name) readSign() verdict {
	b := n.t.b[n.at:]
	if b[0] != '=' && b[0] != ':' {
		return no
	}
	if len(b) == 1 {
		if n.t.final {
			return no
		}
		return more
	}
	n.colon = b[0] == ':'
	two := string(b[:2])
	switch two {
	case "==", "::", "=~":
		return no
	case ":=", "=>":
		n.colon = false
		n.spaced = true
		n.at++
	}
	n.at++
	return yes
}

// reference says yes to a value that only refers to one, as ${NAME}, $(command) and {{name}} do, and to a mark.
func reference(t text, at int) verdict {
	b := t.b[at:]
	if len(b) == 0 {
		return no
	}
	switch b[0] {
	case '$', '{':
		if len(b) == 1 {
			return t.end()
		}
		if b[0] == '$' && (b[1] == '{' || b[1] == '(') || b[0] == '{' && b[1] == '{' {
			return yes
		}
	case '[':
		if markLen(b) > 0 {
			return yes
		}
		if !t.final && len(b) < len(markStart)+maxMarkName+1 && maybeMark(b) {
			return more
		}
	}
	return no
}

// maybeMark tells whether b is the start of a mark.
func maybeMark(b []byte) bool {
	if len(b) <= len(markStart) {
		return bytes.HasPrefix([]byte(markStart), b)
	}
	if !bytes.HasPrefix(b, []byte(markStart)) {
		return false
	}
	for _, c := range b[len(markStart):] {
		if !isMarkName[c] {
			return false
		}
	}
	return true
}

// quotedContent says no to an empty string.
func quotedContent(t text, at int, n name) verdict {
	i := at
	for i < len(t.b) && t.b[i] == '\\' && i < at+maxBackslash {
		i++
	}
	if i == len(t.b) {
		return t.end()
	}
	if own, ok := closing(i-at, n.escapes); t.b[i] == '\n' && i == at || t.b[i] == n.quote && ok && own == i-at {
		return no
	}
	if n.quote != '"' || n.likeName() {
		return yes
	}
	// Unless the name has such a quote, too, this one may as well end a string of JSON that the name stands in.
	i, v := skip(t, at, classBlank, maxGap)
	if v == yes && jsonAfterString[t.b[i]] {
		return no
	}
	return v
}

// jsonAfterString may follow a string in JSON.
var jsonAfterString = classOf(",}]:")

// readNumber reads a number in JSON; true, null and the like are no secrets.
func readNumber(t text, at int, quote string) (span, verdict) {
	i := at
	for i < len(t.b) && i < at+maxWord && numberChars[t.b[i]] {
		i++
	}
	if i == len(t.b) && !t.final {
		return span{}, more
	}
	if i == at || !alnum[t.b[at]] && t.b[at] != '-' || i == at+maxWord || i < len(t.b) && tokenChars[t.b[i]] {
		return span{}, no
	}
	return span{from: at, to: i, wrap: quote}, yes
}

// worth tells whether a bare value that stands apart from its sign is one at all, and not code (a call) or, after a
// colon, prose.
func worth(t text, at int, prose bool) verdict {
	onlyLetters := true
	for i := at; i < at+maxWord; i++ {
		if i == len(t.b) && !t.final {
			return more
		}
		if i == len(t.b) || !bareChars[t.b[i]] {
			if prose && onlyLetters {
				return no
			}
			return yes
		}
		if t.b[i] == '(' {
			return no
		}
		onlyLetters = onlyLetters && plainWord[t.b[i]]
	}
	return yes
}
