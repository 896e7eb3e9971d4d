// Package match finds the place that an edit means in a text, by nine strategies from exact to loose, and says how the edit is to be
// done there. It finds the one right place or says why it doesn't.
package match

import (
	"fmt"
	"strings"

	"github.com/hermes-runtime/hermes/toolset/file/text"
)

// Strategy is a way to compare.
type Strategy string

// The strategies, in the order in which they are tried.
const (
	Exact                Strategy = "exact"
	LineTrimmed          Strategy = "line_trimmed"
	WhitespaceNormalized Strategy = "whitespace_normalized"
	IndentationFlexible  Strategy = "indentation_flexible"
	EscapeNormalized     Strategy = "escape_normalized"
	TrimmedBoundary      Strategy = "trimmed_boundary"
	UnicodeNormalized    Strategy = "unicode_normalized"
	BlockAnchor          Strategy = "block_anchor"
	ContextAware         Strategy = "context_aware"
)

// Request is an edit: Old is to become New. Line breaks in both are "\n".
type Request struct {
	Old, New string
	All      bool // every place, not the only one
}

// Found is where the edit is done, and how.
type Found struct {
	Strategy Strategy
	Matches  int
	Edits    []text.Edit // in order, apart
}

// The reasons why an edit isn't done.
type (
	// NotFound says that no strategy finds Old.
	NotFound struct{ Near []Place }
	// Ambiguous says that several places are meant equally.
	Ambiguous struct {
		Strategy Strategy
		Count    int
		Lines    []int // of the first places
	}
	// Refused says that a place was found, but what New means there isn't clear.
	Refused struct{ Why string }
)

func (e *NotFound) Error() string { return "old_string was not found" }
func (e *Refused) Error() string  { return e.Why }
func (e *Ambiguous) Error() string {
	var b strings.Builder
	for i, l := range e.Lines {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprint(&b, l)
	}
	if e.Count > len(e.Lines) {
		b.WriteString(", …")
	}
	return fmt.Sprintf("old_string is found %d times (%s), at lines %s: give more of the lines around the one that you mean, or set replace_all", e.Count, e.Strategy, b.String())
}

// Place is a part of the text that resembles what was looked for.
type Place struct {
	Line  int // of the first one
	Lines []string
}

// maxCounted is how many places are counted where one is wanted.
const maxCounted = 1000

// maxShownLines is how many places an error names.
const maxShownLines = 10

// Find looks for Old in d. The first strategy that finds it decides: no looser one is asked to get fewer places.
func Find(d *text.Doc, r Request) (Found, error) {
	if spans := occurrences(d.Text, r.Old, r.All); len(spans) > 0 {
		return exact(d, r, spans)
	}
	if strings.TrimSpace(r.Old) == "" { // blanks match anywhere, once they needn't be equal
		return Found{}, &NotFound{}
	}
	s := newSearch(d, r)
	for _, try := range strategies {
		if r.All && try.single {
			continue
		}
		places, err := try.find(s)
		if err != nil {
			return Found{}, err
		}
		if len(places) > 0 {
			return s.settle(try.name, places)
		}
	}
	return Found{}, &NotFound{Near: s.near()}
}

// strategies are those behind exact.
var strategies = []struct {
	name   Strategy
	find   func(s *search) ([]place, error)
	single bool // never for all places
}{
	{LineTrimmed, (*search).lineTrimmed, false},
	{WhitespaceNormalized, (*search).whitespaceNormalized, false},
	{IndentationFlexible, (*search).indentationFlexible, false},
	{EscapeNormalized, (*search).escapeNormalized, false},
	{TrimmedBoundary, (*search).trimmedBoundary, false},
	{UnicodeNormalized, (*search).unicodeNormalized, false},
	{BlockAnchor, (*search).blockAnchor, true},
	{ContextAware, (*search).contextAware, true},
}

// occurrences are where old stands in s: for all edits those apart, from the top; else also those that overlap.
func occurrences(s, old string, apart bool) []int {
	if old == "" { // what is left of characters that are none
		return nil
	}
	var out []int
	step := 1
	if apart {
		step = len(old)
	}
	rare := rarest(s, old)
	for at := 0; at <= len(s)-len(old); {
		i := index(s[at:], old, rare)
		if i < 0 || !apart && len(out) > maxCounted {
			break
		}
		out = append(out, at+i)
		at += i + step
	}
	return out
}

// sample is how much of a text tells which bytes are rare in it.
const sample = 4 << 10

// rarest is where in old the byte stands that is rarest in s.
func rarest(s, old string) int {
	var seen [256]uint16
	for i := range min(len(s), sample) {
		seen[s[i]]++
	}
	best := 0
	for i := range min(len(old), sample) {
		if seen[old[i]] < seen[old[best]] {
			best = i
		}
	}
	return best
}

// index is strings.Index, which looks for the first byte: in a file whose lines begin alike that one is everywhere, the one at rare
// isn't. A text that deceives it is left to the other.
func index(s, old string, rare int) int {
	for at, wrong := rare, 0; at < len(s); at++ {
		i := strings.IndexByte(s[at:], old[rare])
		if i < 0 {
			return -1
		}
		at += i
		if strings.HasPrefix(s[at-rare:], old) {
			return at - rare
		}
		if wrong++; wrong > 64+at/16 {
			from := at - rare + 1
			if i := strings.Index(s[from:], old); i >= 0 {
				return from + i
			}
			return -1
		}
	}
	return -1
}

func exact(d *text.Doc, r Request, spans []int) (Found, error) {
	if len(spans) > 1 && !r.All {
		e := &Ambiguous{Strategy: Exact, Count: len(spans)}
		for _, at := range spans[:min(len(spans), maxShownLines)] {
			e.Lines = append(e.Lines, d.LineAt(at))
		}
		return Found{}, e
	}
	f := Found{Strategy: Exact, Matches: len(spans)}
	for _, at := range spans {
		f.Edits = append(f.Edits, text.Edit{Start: at, End: at + len(r.Old), New: r.New})
	}
	return f, nil
}
