package terminal

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// keyEnter is the name of the key that sends a line off.
const keyEnter = "enter"

// line is what was typed and not sent off yet, as the program's line editor has it. The zero value is an empty one.
type line struct {
	text []rune
	at   int  // where the cursor stands
	odd  bool // something was pressed that the text doesn't tell: history, completion
	last rune // what was pressed last
}

// typist types into a line and collects the lines that are sent off.
type typist struct {
	line
	terminal bool // without one, only line breaks have a meaning
	sent     []string
	recalled bool // a line was sent off whose text only the screen tells
	fresh    bool // and that was pressed in this very call
	pressed  bool // something odd was pressed in this call
	runs     bool // a key was pressed that runs what no line shows
}

// edits are what control characters do in the line editors of shells and interpreters, whose keys are those of emacs.
var edits = map[rune]func(*typist){
	'\r': (*typist).enter, '\n': (*typist).enter, 0x04: (*typist).end, 0x0f: (*typist).enterAndNext,
	0x03: (*typist).clear, 0x1c: (*typist).clear,
	0x01: func(t *typist) { t.at = 0 }, 0x05: func(t *typist) { t.at = len(t.text) },
	0x02: func(t *typist) { t.at = max(0, t.at-1) }, 0x06: func(t *typist) { t.at = min(len(t.text), t.at+1) },
	0x08: (*typist).back, 0x7f: (*typist).back,
	0x15: (*typist).killBack, 0x0b: func(t *typist) { t.text = t.text[:t.at] },
	0x0c: func(*typist) {},
}

// prefix is ctrl-x, which begins the names of many things that a line editor does.
const prefix = 0x18

// named are the keys that are typed by name, where a control character does the same.
var named = map[string]rune{
	keyEnter: '\r', "home": 0x01, "end": 0x05, "left": 0x02, "right": 0x06, "backspace": 0x7f, "space": ' ',
}

func (t *typist) enter() {
	text := string(t.text)
	if t.odd {
		t.recalled = true
		t.fresh = t.fresh || t.pressed
	}
	t.sent = append(t.sent, text)
	t.clear()
}

// end is ctrl-d: the terminal gives what stands on the line to a program that edits none itself; a line editor takes the character
// under the cursor away, and does nothing at the end of a line.
func (t *typist) end() {
	kept := t.line
	t.enter()
	if t.line = kept; t.at < len(t.text) {
		t.text = slices.Delete(slices.Clone(t.text), t.at, t.at+1)
		t.strange()
	}
}

// enterAndNext is ctrl-o, behind which the line of the history that followed the one sent off stands.
func (t *typist) enterAndNext() {
	t.enter()
	t.strange()
}

// killBack is ctrl-u. Some shells take the rest of the line away, too.
func (t *typist) killBack() {
	if t.at > 0 && t.at < len(t.text) {
		t.strange()
	}
	t.text, t.at = t.text[t.at:], 0
}

func (t *typist) clear() { t.line = line{} }

func (t *typist) back() {
	if t.at > 0 {
		t.text = slices.Delete(t.text, t.at-1, t.at)
		t.at--
	}
}

func (t *typist) strange() { t.odd, t.pressed = true, true }

func (t *typist) rune(r rune) {
	if !t.terminal {
		if r == '\n' || r == '\r' {
			t.enter()
			return
		}
		t.insert(r)
		return
	}
	last := t.last
	t.last = r
	if last == prefix && (r == 0x05 || r == 'e') { // ctrl-x ctrl-e: what an editor leaves; ctrl-x e: the keys of a macro
		t.runs = true
	}
	if edit := edits[r]; edit != nil {
		edit(t)
		return
	}
	if r < ' ' {
		t.strange()
		return
	}
	t.insert(r)
}

func (t *typist) insert(r rune) {
	if len(t.text) < maxLine {
		t.text = slices.Insert(t.text, t.at, r)
		t.at++
	}
}

// maxLine bounds a line that is typed, in characters. What is typed beyond it makes the line one that isn't known.
const maxLine = 64 << 10

// sequences are what keys send that have an edit's meaning. Any other sequence is something strange.
var sequences = map[string]string{"H": "home", "F": "end", "D": "left", "C": "right"}

// sequence types what begins with an escape and gives what stands behind it.
func (t *typist) sequence(s string) string {
	if s == "" || s[0] != '[' && s[0] != 'O' {
		t.strange()
		return s
	}
	end := strings.IndexFunc(s[1:], func(r rune) bool { return r >= '@' && r <= '~' })
	if end < 0 {
		t.strange()
		return ""
	}
	if name := sequences[s[1:end+2]]; name != "" {
		t.rune(named[name])
	} else {
		t.strange()
	}
	return s[end+2:]
}

// data types text.
func (t *typist) data(s string) {
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		s = s[size:]
		if r == 0x1b && t.terminal {
			s = t.sequence(s)
			continue
		}
		if len(t.text) >= maxLine {
			t.strange()
		}
		t.rune(r)
	}
}

// key presses a key.
func (t *typist) key(name string) {
	low := strings.ToLower(name)
	if r, ok := named[low]; ok {
		t.rune(r)
		return
	}
	if c, ok := strings.CutPrefix(low, "ctrl-"); ok && len(c) == 1 {
		t.rune(rune(c[0] & 0x1f))
		return
	}
	t.strange()
}
