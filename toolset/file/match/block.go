package match

import (
	"github.com/hermes-runtime/hermes/toolset/file/text"
)

// Blocks finds blocks of whole lines in one text, as patches of lines need them.
type Blocks struct {
	doc   *text.Doc
	lines []string
}

// NewBlocks splits a text.
func NewBlocks(d *text.Doc) *Blocks { return &Blocks{doc: d, lines: d.Lines()} }

// Lines are the lines of the text.
func (b *Blocks) Lines() []string { return b.lines }

// Range is where a block may be.
type Range struct {
	From, To int  // lines, from 0; To not included
	AtEnd    bool // the block ends with the text
}

// Block is where a block was found.
type Block struct {
	Strategy Strategy
	Starts   []int // all places, the only one if there is one
	indents  *indents
}

// blockStrategies are those that compare line by line.
var blockStrategies = []struct {
	name Strategy
	find func(s *search) ([]place, error)
}{
	{Exact, func(s *search) ([]place, error) {
		return s.placesAt(sequence(s.file, s.old, func(l string) string { return l })), nil
	}},
	{LineTrimmed, (*search).lineTrimmed},
	{WhitespaceNormalized, (*search).whitespaceNormalized},
	{IndentationFlexible, (*search).indentationFlexible},
	{TrimmedBoundary, (*search).trimmedBoundary},
	{UnicodeNormalized, func(s *search) ([]place, error) {
		return s.placesAt(sequence(s.file, s.old, func(l string) string { return runsAsOne(foldOf(l)) })), nil
	}},
}

// Find looks for lines by the first strategy that finds them in the range. Nothing found leaves Starts empty.
func (b *Blocks) Find(old []string, r Range) Block {
	to := min(r.To, len(b.lines))
	if r.From > to {
		return Block{}
	}
	if r.AtEnd {
		r.From = max(r.From, to-len(old))
	}
	s := &search{doc: b.doc, file: b.lines[r.From:to], old: old, memo: map[[2]int]float64{}}
	for _, try := range blockStrategies {
		places, err := try.find(s)
		if err != nil || len(places) == 0 {
			continue
		}
		out := Block{Strategy: try.name}
		for _, p := range places {
			out.Starts = append(out.Starts, p.first+r.From)
		}
		whole := &search{doc: b.doc, file: b.lines, old: old}
		out.indents = whole.indents(place{first: out.Starts[0], last: out.Starts[0] + len(old)})
		return out
	}
	return Block{}
}

// Indent gives a new line of the block the indent of the text. An exact match leaves it as it is.
func (b *Block) Indent(l string) string {
	if b.Strategy == Exact || b.indents == nil {
		return l
	}
	return b.indents.move(l)
}
