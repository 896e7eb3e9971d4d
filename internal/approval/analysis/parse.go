package analysis

import (
	"errors"
	"fmt"
	"io"
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
	offsets []int // of the parsed text in the original, when bytes had to be mapped
	err     error
	errAt   int
}

// Text returns the original text.
func (s *Script) Text() string { return s.text }

// Err returns what Parse returned: why a part of the text couldn't be read.
func (s *Script) Err() error { return s.err }

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
	text := s.valid()
	stmts, err := parse(text)
	for range 4 { // bash ends an open here-document at the end of the text
		end, ok := openHeredoc(err)
		if !ok {
			break
		}
		text = strings.TrimSuffix(text, "\n") + "\n" + end + "\n"
		stmts, err = parse(text)
	}
	s.stmts = stmts
	if err != nil {
		s.fail(err)
	} else if len(stmts) == 0 && !blank(command) {
		s.err = errors.New("the text holds no command")
	}
	return s, s.err
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
