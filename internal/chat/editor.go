package chat

import (
	"slices"
	"strings"
	"unicode"
)

// editor is the message that is being written, and those that were. The zero value is ready.
type editor struct {
	text    []rune
	at      int // the character that the cursor stands on
	history []string
	turned  int    // how many messages back the text was taken from; 0 = it is new
	draft   []rune // the new text meanwhile
}

// String is the text.
func (e *editor) String() string { return string(e.text) }

func (e *editor) empty() bool { return len(e.text) == 0 }

// set replaces the text.
func (e *editor) set(s string) {
	e.text = []rune(s)
	e.at = len(e.text)
}

// take gives the text and begins another.
func (e *editor) take() string {
	s := e.String()
	e.text, e.at, e.turned, e.draft = nil, 0, 0, nil
	if strings.TrimSpace(s) != "" && (len(e.history) == 0 || e.history[len(e.history)-1] != s) {
		e.history = append(e.history, s)
	}
	return s
}

// press edits the text. It reports whether the stroke is one of an editor's.
func (e *editor) press(s stroke) bool {
	switch s.key {
	case typed, pasted:
		e.insert(s.text)
	case newline:
		e.insert("\n")
	case backspace:
		e.cut(e.at-1, e.at)
	case remove, endOfInput:
		e.cut(e.at, e.at+1)
	case left:
		e.at = max(0, e.at-1)
	case right:
		e.at = min(len(e.text), e.at+1)
	case wordLeft:
		e.at = e.wordStart()
	case wordRight:
		e.at = e.wordEnd()
	case home:
		e.at = e.lineStart()
	case end:
		e.at = e.lineEnd()
	case killEnd:
		e.cut(e.at, e.lineEnd())
	case killLine:
		e.cut(e.lineStart(), e.at)
	case killWord:
		e.cut(e.wordStart(), e.at)
	case up:
		e.turn(1)
	case down:
		e.turn(-1)
	default:
		return false
	}
	return true
}

func (e *editor) insert(s string) {
	r := []rune(s)
	e.text = slices.Insert(e.text, e.at, r...)
	e.at += len(r)
}

// cut removes characters, and with the one that a mark stands upon, the mark.
func (e *editor) cut(from, to int) {
	if from < 0 || from >= len(e.text) {
		return
	}
	to = min(to, len(e.text))
	for to-from == 1 && from > 0 && cells(e.text[from]) == 0 && e.text[from] >= 0x20 {
		from--
	}
	for to < len(e.text) && cells(e.text[to]) == 0 && e.text[to] >= 0x20 {
		to++
	}
	e.text = slices.Delete(e.text, from, to)
	e.at = from
}

func (e *editor) wordStart() int {
	i := e.at
	for i > 0 && !word(e.text[i-1]) {
		i--
	}
	for i > 0 && word(e.text[i-1]) {
		i--
	}
	return i
}

func (e *editor) wordEnd() int {
	i := e.at
	for i < len(e.text) && !word(e.text[i]) {
		i++
	}
	for i < len(e.text) && word(e.text[i]) {
		i++
	}
	return i
}

func word(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

func (e *editor) lineStart() int {
	i := e.at
	for i > 0 && e.text[i-1] != '\n' {
		i--
	}
	return i
}

func (e *editor) lineEnd() int {
	i := e.at
	for i < len(e.text) && e.text[i] != '\n' {
		i++
	}
	return i
}

// turn goes through the messages that were written.
func (e *editor) turn(back int) {
	n := e.turned + back
	if n < 0 || n > len(e.history) {
		return
	}
	if e.turned == 0 {
		e.draft = e.text
	}
	if e.turned = n; n == 0 {
		e.set(string(e.draft))
		return
	}
	e.set(e.history[len(e.history)-n])
}

// shown is a text of the editor, which holds no other controls, as one line.
func shown(r []rune) string { return strings.NewReplacer("\n", "⏎", "\t", "    ").Replace(string(r)) }
