package analysis

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// ErrTooLarge is matched by errors of Parse about a limit; any other error is about the grammar.
var ErrTooLarge = errors.New("over a limit of the analysis")

// Script is a command text, parsed once for all who ask about it. It is immutable: several goroutines may read it.
type Script struct {
	text    string
	stmts   []*syntax.Stmt
	parsed  int   // bytes, in all passes
	offsets []int // of the parsed text in the original, when bytes had to be mapped
	err     error
	errAt   int
}

// Text returns the original text.
func (s *Script) Text() string { return s.text }

// Err returns what Parse returned: why a part of the text couldn't be read.
func (s *Script) Err() error { return s.err }

// maxParsed is the most that is read of one text in all passes, in bytes: a long one isn't mended many times.
const maxParsed = MaxText + MaxText/2

var parsers = sync.Pool{New: func() any { return syntax.NewParser(syntax.Variant(syntax.LangBash)) }}

// Parse reads a command in bash's grammar. A text with an error yields a Script too, of the statements in front of the error, since
// bash runs those; the error says what is wrong and at which byte.
func Parse(command string) (*Script, error) {
	s := &Script{text: command}
	if len(command) > MaxText {
		s.err = fmt.Errorf("%w: %d bytes of text, at most %d", ErrTooLarge, len(command), MaxText)
		return s, s.err
	}
	if depth, at := nesting(command); depth > MaxNesting {
		s.err, s.errAt = fmt.Errorf("%w: more than %d nestings at byte %d", ErrTooLarge, MaxNesting, at), at
		return s, s.err
	}
	text := endComments(s.valid())
	stmts, err := parse(text)
	s.parsed = len(text)
	for range 4 {
		next, ok := s.mend(text, err)
		if !ok || s.parsed+len(next) > maxParsed {
			break
		}
		text = next
		stmts, err = parse(text)
		s.parsed += len(text)
	}
	s.stmts = stmts
	if err != nil {
		s.fail(err)
	} else if len(stmts) == 0 && !blank(command) {
		s.err = errors.New("the text holds no command")
	}
	return s, s.err
}

// mend returns the text as bash reads it where the parser knows less of the grammar: an open here-document ends at the end of the text,
// an element of an array may be assigned in front of a command, a command may be negated twice, (( may open two subshells.
func (s *Script) mend(text string, err error) (string, bool) {
	if err == nil {
		return "", false
	}
	if end, ok := openHeredoc(err); ok {
		return strings.TrimSuffix(text, "\n") + "\n" + end + "\n", true
	}
	var at int
	var what string
	var parseErr syntax.ParseError
	var langErr syntax.LangError
	switch {
	case errors.As(err, &parseErr):
		at, what = int(parseErr.Pos.Offset()), parseErr.Text
	case errors.As(err, &langErr):
		at, what = int(langErr.Pos.Offset()), langErr.Feature
	}
	at = min(at, len(text))
	switch {
	case strings.Contains(what, "inline variables cannot be arrays"):
		return plainElements(text, at)
	case strings.Contains(what, "negate a command multiple times"):
		if i := strings.IndexByte(text[at:], '!'); i >= 0 {
			return text[:at+i] + " " + text[at+i+1:], true
		}
	case strings.Contains(what, "arithmetic"), strings.Contains(what, "matching `(` with `)`"), strings.Contains(what, "matching `((`"),
		strings.Contains(what, "matching `$((`"):
		if i := strings.LastIndex(text[:min(at+2, len(text))], "(("); i >= 0 {
			s.insertAt(text, i+1)
			return text[:i+1] + " " + text[i+1:], true
		}
	}
	return "", false
}

// insertAt notes that one byte is put into the parsed text at a place, so that offsets stay those of the original.
func (s *Script) insertAt(text string, at int) {
	if s.offsets == nil {
		s.offsets = make([]int, len(text))
		for i := range s.offsets {
			s.offsets[i] = i
		}
	}
	if at < len(s.offsets) {
		s.offsets = slices.Insert(s.offsets, at, s.offsets[at])
	}
}

// plainElements makes names of the array elements that are assigned in front of a command: nothing looks at them there.
func plainElements(text string, at int) (string, bool) {
	b := []byte(text)
	for i := at; i < len(b) && b[i] != '='; i++ {
		switch c := b[i]; {
		case c == ' ' || c == '\n' || c == '(':
			return "", false
		case !(c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'):
			b[i] = '_'
		}
	}
	return string(b), string(b) != text
}

// endComments ends comments at their line: a backslash there continues nothing, but the parser thinks so.
func endComments(text string) string {
	if !strings.Contains(text, "\\\n") || strings.IndexByte(text, '#') < 0 {
		return text
	}
	n := nester{text: text}
	n.run()
	if len(n.continued) == 0 {
		return text
	}
	b := []byte(text)
	for _, i := range n.continued {
		b[i] = ' '
	}
	return string(b)
}

func (s *Script) fail(err error) {
	var parseErr syntax.ParseError
	var langErr syntax.LangError
	switch {
	case errors.As(err, &parseErr):
		s.errAt = s.offset(parseErr.Pos)
		s.err = fmt.Errorf("at byte %d: %s", s.errAt, parseErr.Text)
	case errors.As(err, &langErr):
		s.errAt = s.offset(langErr.Pos)
		s.err = fmt.Errorf("at byte %d: not in bash's grammar: %s", s.errAt, langErr.Feature)
	default:
		s.err = err
	}
}

func parse(text string) (stmts []*syntax.Stmt, err error) {
	p, ok := parsers.Get().(*syntax.Parser)
	if !ok {
		p = syntax.NewParser(syntax.Variant(syntax.LangBash))
	}
	defer func() {
		if v := recover(); v != nil { // the parser isn't given back: its state is unknown
			err = fmt.Errorf("the shell parser failed: %v", v)
			return
		}
		parsers.Put(p)
	}()
	for stmt, wrong := range p.StmtsSeq(&timedReader{text: text, end: time.Now().Add(patience(text))}) {
		switch { // never left early: the parser may yield once more after an error, and panics when nobody takes it
		case err != nil:
		case wrong != nil:
			err = wrong
		default:
			stmts = append(stmts, stmt)
		}
	}
	return stmts, err
}

// patience is how long one pass over a text may take.
func patience(text string) time.Duration {
	if len(text) < shortText {
		return MaxTimeShort
	}
	return MaxTime
}

// timedReader feeds the parser and stops it when its time is over: the parser can't be interrupted otherwise.
type timedReader struct {
	text string
	end  time.Time
	read bool
}

func (r *timedReader) Read(p []byte) (int, error) {
	if r.text == "" {
		return 0, io.EOF
	}
	if r.read && time.Now().After(r.end) {
		return 0, fmt.Errorf("%w: parsing took too long", ErrTooLarge)
	}
	r.read = true
	n := copy(p, r.text)
	r.text = r.text[n:]
	return n, nil
}

// valid returns the text as valid UTF-8: each byte above 127 becomes one rune when the whole isn't.
func (s *Script) valid() string {
	if utf8.ValidString(s.text) {
		return s.text
	}
	var b strings.Builder
	for i := 0; i < len(s.text); i++ {
		r := rune(s.text[i])
		for range utf8.RuneLen(r) {
			s.offsets = append(s.offsets, i)
		}
		b.WriteRune(r)
	}
	return b.String()
}

func (s *Script) offset(p syntax.Pos) int {
	at := int(p.Offset())
	if s.offsets != nil {
		if at >= len(s.offsets) {
			return len(s.text)
		}
		return s.offsets[at]
	}
	return min(at, len(s.text))
}

func openHeredoc(err error) (string, bool) {
	var parseErr syntax.ParseError
	if !errors.As(err, &parseErr) {
		return "", false
	}
	end, ok := strings.CutPrefix(parseErr.Text, "unclosed here-document ")
	if !ok || len(end) < 2 {
		return "", false
	}
	end = end[1 : len(end)-1]
	end = strings.Map(func(r rune) rune {
		if strings.ContainsRune(`\"'`, r) {
			return -1
		}
		return r
	}, end)
	return end, end != ""
}

// blank tells whether a text is white space and comments only.
func blank(text string) bool {
	for line := range strings.Lines(text) {
		if t := strings.Trim(line, " \t\r\n\x00"); t != "" && t[0] != '#' {
			return false
		}
	}
	return true
}
