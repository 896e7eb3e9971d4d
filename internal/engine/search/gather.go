package search

import (
	"bytes"
	"slices"

	"github.com/hermes-runtime/hermes/environment"
)

// gatherer picks the wanted matching lines of a file out of all, and gives each line beside them to one match: the one before if it
// is near enough, else the one behind. So the pages of a search together show each line once.
type gatherer struct {
	*job
	page    filePage
	index   int // of the next match
	last    int // line of the last match; 0 = none
	before  []environment.ContextLine
	matches []environment.Match
}

// full reports whether nothing more is wanted: the page is complete, and what follows its last match too.
func (g *gatherer) full() bool {
	return g.index > g.page.to || g.index == g.page.to && g.Context == 0
}

// match takes the next matching line.
func (g *gatherer) match(number int, line []byte, start int) {
	if g.wanted(g.index) {
		m := g.newMatch(g.page.rel, number, line, start)
		m.Context = g.before
		g.matches = append(g.matches, m)
	}
	g.before = nil
	g.index++
	g.last = number
}

func (g *gatherer) wanted(index int) bool { return g.page.from <= index && index < g.page.to }

// context takes a line that doesn't match.
func (g *gatherer) context(number int, line []byte) {
	switch {
	case g.last > 0 && number <= g.last+g.Context:
		if g.wanted(g.index - 1) {
			m := &g.matches[len(g.matches)-1]
			m.Context = append(m.Context, g.newContext(number, line))
		}
		if number == g.last+g.Context && g.index >= g.page.to {
			g.index = g.page.to + 1 // complete
		}
	case g.wanted(g.index):
		g.before = append(g.before, g.newContext(number, line))
		if n := len(g.before); n > g.Context {
			g.before = slices.Delete(g.before, 0, n-g.Context)
		}
	}
}

// between takes the lines between two matches, of which only those near to one matter.
func (g *gatherer) between(text []byte, number int) {
	n := g.Context
	if g.last == 0 || number > g.last+n {
		n = 0
	} else {
		n = g.last + n + 1 - number
	}
	for ; n > 0 && len(text) > 0; n-- {
		line, rest := cutLine(text)
		g.context(number, line)
		text = rest
		number++
	}
	if len(text) == 0 || !g.wanted(g.index) {
		return
	}
	tail := lastLines(text, g.Context)
	number += bytes.Count(text[:tail], []byte{'\n'})
	for text = text[tail:]; len(text) > 0; number++ {
		line, rest := cutLine(text)
		g.context(number, line)
		text = rest
	}
}

func cutLine(text []byte) (line, rest []byte) {
	if i := bytes.IndexByte(text, '\n'); i >= 0 {
		return text[:i], text[i+1:]
	}
	return text, nil
}

// lastLines is where the last n lines of text begin.
func lastLines(text []byte, n int) int {
	at := len(bytes.TrimSuffix(text, []byte{'\n'}))
	for ; n > 0; n-- {
		i := bytes.LastIndexByte(text[:at], '\n')
		if i < 0 {
			return 0
		}
		at = i
	}
	return at + 1
}
