package search

import "unicode/utf8"

// braces writes {a,b} out, nested ones too.
type braces struct {
	text    string
	stack   []openBrace
	current []string // all that the text so far may mean, since the last open brace or comma
}

type openBrace struct {
	at     int
	before []string // what stood before it
	done   []string // its finished alternatives
}

func expandBraces(text string) ([]string, *Error) {
	b := &braces{text: text, current: []string{""}}
	for i := 0; i < len(text); {
		next, err := b.step(i)
		if err != nil {
			return nil, err
		}
		i = next
	}
	if n := len(b.stack); n > 0 {
		return nil, b.fail(b.stack[n-1].at, "the brace that opens here is not closed")
	}
	return b.current, nil
}

func (b *braces) fail(at int, why string) *Error {
	return &Error{What: "glob", Text: b.text, At: utf8.RuneCountInString(b.text[:at]), Err: why}
}

// step takes what stands at i and gives where to go on.
func (b *braces) step(i int) (int, *Error) {
	next := i + 1
	switch c := b.text[i]; {
	case c == '\\' && next == len(b.text):
		return 0, b.fail(i, "a backslash at the end escapes nothing")
	case c == '\\':
		next++
	case c == '[':
		if next = setEnd(b.text, i); next < 0 {
			return 0, b.fail(i, "the set that begins here is not closed")
		}
	case c == '{':
		b.stack = append(b.stack, openBrace{at: i, before: b.current})
		b.current = []string{""}
		return next, nil
	case c == ',' && len(b.stack) > 0:
		top := &b.stack[len(b.stack)-1]
		top.done = append(top.done, b.current...)
		b.current = []string{""}
		return next, nil
	case c == '}':
		return next, b.close(i)
	}
	for n := range b.current {
		b.current[n] += b.text[i:next]
	}
	return next, nil
}

// close multiplies what stood before the brace with what it holds.
func (b *braces) close(i int) *Error {
	if len(b.stack) == 0 {
		return b.fail(i, "this brace closes nothing")
	}
	top := b.stack[len(b.stack)-1]
	b.stack = b.stack[:len(b.stack)-1]
	ends := append(top.done, b.current...)
	if len(top.before)*len(ends) > globLimit {
		return b.fail(top.at, "the braces give too many alternatives")
	}
	b.current = nil
	for _, p := range top.before {
		for _, e := range ends {
			b.current = append(b.current, p+e)
		}
	}
	return nil
}
