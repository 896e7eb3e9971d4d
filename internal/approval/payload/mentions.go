package payload

import "strings"

// mentions remembers which words a program holds anywhere: calls of one kind, of which there may be thousands, ask for the same ones.
type mentions struct {
	fold  bool // the case of letters doesn't count, and words are in lower case
	text  string
	found map[string]bool
}

// holds tells whether a text holds a word.
func (m *mentions) holds(text, word string) bool {
	if m.text != text || m.found == nil {
		m.text, m.found = text, map[string]bool{}
	}
	found, ok := m.found[word]
	if !ok {
		if m.fold {
			text = strings.ToLower(text)
		}
		found = strings.Contains(text, word)
		m.found[word] = found
	}
	return found
}
