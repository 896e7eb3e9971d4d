package search

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"sync"
)

// pattern is a search pattern in the dialect: ripgrep's default syntax, matched line by line.
type pattern struct {
	text string
	rg   string // the same for ripgrep: $ before CRLF, and escapes that older versions don't know written plainly
	// bad says why the built-in engine can't use it, nil if it can. rgOnly: ripgrep may know the construct all the same.
	bad    *Error
	rgOnly bool

	re       *regexp.Regexp
	tree     *syntax.Regexp
	prog     *syntax.Prog
	boundary bool // holds \b or \B, which package regexp knows for ASCII only
}

// parsePattern reads text. The error is always about syntax that no engine accepts.
func parsePattern(text string) (*pattern, error) {
	t := &translator{text: []rune(text), pattern: text}
	p := &pattern{text: text}
	err := t.run()
	p.rg, p.boundary = t.rust.String(), t.boundary
	if err != nil {
		p.bad, p.rgOnly = err, t.unsupported
		if t.unsupported {
			p.rg = text
			return p, nil
		}
		return p, err
	}
	goText := "(?m)" + t.out.String()
	if p.re, p.tree, p.prog, err = compile(goText); err != nil {
		err.Text = text
		p.bad, p.rgOnly = err, true
	}
	return p, nil
}

func compile(goText string) (*regexp.Regexp, *syntax.Regexp, *syntax.Prog, *Error) {
	fail := func(err error) *Error {
		why := err.Error()
		if se, ok := err.(*syntax.Error); ok { //nolint:errorlint // returned unwrapped by regexp/syntax
			why = string(se.Code)
		}
		return &Error{What: "pattern", At: -1, Err: "the built-in search can't run it: " + why}
	}
	re, err := regexp.Compile(goText)
	if err != nil {
		return nil, nil, nil, fail(err)
	}
	tree, err := syntax.Parse(goText, syntax.Perl)
	if err != nil {
		return nil, nil, nil, fail(err)
	}
	tree = tree.Simplify()
	prog, err := syntax.Compile(tree)
	if err != nil {
		return nil, nil, nil, fail(err)
	}
	return re, tree, prog, nil
}

// translator reads a pattern and writes it twice: for package regexp and for ripgrep.
type translator struct {
	pattern string
	text    []rune
	at      int
	out     strings.Builder // for package regexp
	rust    strings.Builder // for ripgrep

	flags       flags
	groups      []group
	atom        int  // where in out the last repeatable thing begins; -1 = there is none
	repeated    bool // and it bears a repetition already
	boundary    bool
	unsupported bool // the error is about something that only ripgrep knows
}

// flags are those that change how the rest is read.
type flags struct{ fold, dotAll, verbose bool }

type group struct {
	start int   // in out
	at    int   // in text
	outer flags // to come back to
}

func (t *translator) fail(at int, format string, args ...any) *Error {
	return &Error{What: "pattern", Text: t.pattern, At: at, Err: fmt.Sprintf(format, args...)}
}

// lacking is an error that names a construct the built-in engine doesn't have.
func (t *translator) lacking(at int, what string) *Error {
	t.unsupported = true
	return t.fail(at, "%s isn't supported by the built-in search", what)
}

func (t *translator) run() *Error {
	t.atom = -1
	for t.at < len(t.text) {
		if err := t.next(); err != nil {
			return err
		}
	}
	if n := len(t.groups); n > 0 {
		return t.fail(t.groups[n-1].at, "the group that opens here is not closed")
	}
	return nil
}

// emit writes a thing that can be repeated.
func (t *translator) emit(goText, rustText string) {
	t.atom, t.repeated = t.out.Len(), false
	t.out.WriteString(goText)
	t.rust.WriteString(rustText)
}

func (t *translator) next() *Error {
	at, c := t.at, t.text[t.at]
	t.at++
	switch c {
	case '\\':
		return t.escape(at)
	case '[':
		t.at = at
		s, not, err := t.class()
		if err != nil {
			return err
		}
		if not {
			s = s.complement()
		}
		t.emit(s.text(), plainEscapes(t.text[at:t.at]))
	case '(':
		return t.open(at)
	case ')':
		return t.closeGroup(at)
	case '|':
		t.atom = -1
		t.out.WriteByte('|')
		t.rust.WriteByte('|')
	case '*', '+', '?':
		return t.repeat(at, string(c))
	case '{':
		return t.counted(at)
	case '^':
		t.emit("^", "^")
	case '$':
		// A line may end with CRLF; its return character belongs to the line break.
		t.emit(`(?:\r?$)`, `(?:\r?$)`)
	case '.':
		t.emit(`[^\n]`, ".")
	case '\n':
		return t.fail(at, "a line break can't be matched: the search goes line by line")
	default:
		if t.flags.verbose && t.comment(c) {
			return nil
		}
		t.emit(regexp.QuoteMeta(string(c)), string(c))
	}
	return nil
}

// comment skips what means nothing in verbose mode.
func (t *translator) comment(c rune) bool {
	if spaces().has(c) {
		t.rust.WriteRune(c)
		return true
	}
	if c != '#' {
		return false
	}
	for t.at < len(t.text) && t.text[t.at] != '\n' {
		t.at++
	}
	return true
}

// repeat writes a repetition of the last thing, with its sign for "as few as possible".
func (t *translator) repeat(at int, sign string) *Error {
	if t.atom < 0 {
		return t.fail(at, "there is nothing to repeat before %q", sign)
	}
	t.rust.WriteString(sign)
	if t.repeated { // package regexp wants a group around what is repeated twice
		inner := t.out.String()[t.atom:]
		before := t.out.String()[:t.atom]
		t.out.Reset()
		t.out.WriteString(before + "(?:" + inner + ")")
	}
	t.out.WriteString(sign)
	if t.at < len(t.text) && t.text[t.at] == '?' {
		t.at++
		t.out.WriteByte('?')
		t.rust.WriteByte('?')
	}
	t.repeated = true
	return nil
}

// maxCount is the highest count package regexp takes.
const maxCount = 1000

// counted reads {n}, {n,} or {n,m}.
func (t *translator) counted(at int) *Error {
	if t.atom < 0 {
		return t.fail(at, "there is nothing to repeat before \"{\"")
	}
	end := t.at
	for end < len(t.text) && t.text[end] != '}' {
		end++
	}
	if end == len(t.text) {
		return t.fail(at, `the count that opens here is not closed; for a brace write \{`)
	}
	body := string(t.text[t.at:end])
	low, high, ranged := strings.Cut(body, ",")
	least, err := strconv.Atoi(strings.TrimSpace(low))
	if err != nil || least < 0 {
		return t.fail(t.at, `a count is a number; for a brace write \{`)
	}
	most := least
	if ranged && strings.TrimSpace(high) != "" {
		if most, err = strconv.Atoi(strings.TrimSpace(high)); err != nil || most < 0 {
			return t.fail(t.at, `a count is a number; for a brace write \{`)
		}
	}
	if most < least {
		return t.fail(t.at, "the counts are the wrong way round")
	}
	t.at = end + 1
	if most > maxCount {
		return t.lacking(at, fmt.Sprintf("a count above %d", maxCount))
	}
	return t.repeat(at, "{"+strings.ReplaceAll(body, " ", "")+"}")
}

func (t *translator) closeGroup(at int) *Error {
	if len(t.groups) == 0 {
		return t.fail(at, "this parenthesis closes nothing")
	}
	g := t.groups[len(t.groups)-1]
	t.groups = t.groups[:len(t.groups)-1]
	t.out.WriteByte(')')
	t.rust.WriteByte(')')
	t.flags = g.outer
	t.atom, t.repeated = g.start, false
	return nil
}

// open reads the beginning of a group or a change of flags.
func (t *translator) open(at int) *Error {
	start := t.out.Len()
	push := func(goText, rustText string) {
		t.groups = append(t.groups, group{start: start, at: at, outer: t.flags})
		t.out.WriteString(goText)
		t.rust.WriteString(rustText)
		t.atom = -1
	}
	if t.at >= len(t.text) || t.text[t.at] != '?' {
		push("(", "(")
		return nil
	}
	rest := string(t.text[t.at:])
	for _, look := range []string{"?=", "?!", "?<=", "?<!"} {
		if strings.HasPrefix(rest, look) {
			return t.fail(at, "look-around (%s isn't supported", look)
		}
	}
	for _, named := range []string{"?P<", "?<"} {
		if strings.HasPrefix(rest, named) {
			return t.named(at, len(named), push)
		}
	}
	return t.groupFlags(at, push)
}

// named reads the name of a group. It is of no use here and is left out.
func (t *translator) named(at, skip int, push func(goText, rustText string)) *Error {
	end := t.at + skip
	for end < len(t.text) && t.text[end] != '>' {
		end++
	}
	name := ""
	if end < len(t.text) {
		name = string(t.text[t.at+skip : end])
	}
	if !groupName().MatchString(name) {
		return t.fail(at, "the name of this group isn't one")
	}
	t.at = end + 1
	push("(", "(")
	return nil
}

var groupName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.\[\]]*$`) })

// groupFlags reads (?flags) and (?flags:.
func (t *translator) groupFlags(at int, push func(goText, rustText string)) *Error {
	next := t.flags
	on, kept, goFlags := true, "", ""
	for i := t.at + 1; i < len(t.text); i++ {
		c := t.text[i]
		switch c {
		case '-':
			on = false
			kept, goFlags = kept+"-", goFlags+"-"
		case 'i':
			next.fold = on
			kept, goFlags = kept+"i", goFlags+"i"
		case 'U':
			kept, goFlags = kept+"U", goFlags+"U"
		case 's':
			next.dotAll = on
			kept += "s"
		case 'x':
			next.verbose = on
			kept += "x"
		case 'm', 'u', 'R':
			if c == 'R' || !on {
				return t.lacking(at, "the flag "+map[bool]string{true: "", false: "-"}[on]+string(c))
			}
			kept += string(c)
		case ')', ':':
			if i == t.at+1 && c == ')' {
				return t.fail(at, "there are no flags in this group")
			}
			t.at = i + 1
			goFlags = strings.TrimSuffix(goFlags, "-")
			if c == ':' {
				push("(?"+goFlags+":", "(?"+kept+":")
			} else {
				t.setFlags(goFlags, kept)
			}
			t.flags = next
			return nil
		default:
			return t.fail(i, "there is no flag %q", string(c))
		}
	}
	return t.fail(at, "the group that opens here is not closed")
}

func (t *translator) setFlags(goFlags, kept string) {
	if goFlags != "" {
		t.out.WriteString("(?" + goFlags + ")")
	}
	t.rust.WriteString("(?" + kept + ")")
	t.atom = -1
}
