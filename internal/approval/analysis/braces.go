package analysis

import (
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// braces expands the brace lists of a word.
func (r *reader) braces(w *syntax.Word) []*syntax.Word {
	has := false
	for _, p := range w.Parts {
		if lit, ok := p.(*syntax.Lit); ok && strings.IndexByte(lit.Value, '{') >= 0 {
			has = true
		}
	}
	if !has {
		return []*syntax.Word{w}
	}
	split := &syntax.Word{Parts: slices.Clone(w.Parts)}
	if !syntax.SplitBraces(split) {
		return []*syntax.Word{w}
	}
	all := r.expandBraces(split)
	if len(all) > MaxBraces {
		r.limit("more than 1024 words from one brace expansion", r.at)
		return all[:MaxBraces]
	}
	return all
}

func (r *reader) expandBraces(w *syntax.Word) []*syntax.Word {
	words := []*syntax.Word{{}}
	for _, p := range w.Parts {
		be, ok := p.(*syntax.BraceExp)
		if !ok {
			for _, w := range words {
				w.Parts = append(w.Parts, p)
			}
			continue
		}
		var elems []*syntax.Word
		if be.Sequence {
			elems = sequence(be)
			r.spend(stepsNode * len(elems))
		} else {
			for _, e := range be.Elems {
				elems = append(elems, r.expandBraces(e)...)
				if len(elems) > MaxBraces {
					break
				}
			}
		}
		var next []*syntax.Word
		for _, w := range words {
			for _, e := range elems {
				if len(next) > MaxBraces {
					return next
				}
				if !r.spend(stepsNode + len(w.Parts) + len(e.Parts)) {
					return next
				}
				next = append(next, &syntax.Word{Parts: slices.Concat(w.Parts, e.Parts)})
			}
		}
		words = next
	}
	return words
}

// sequence expands {x..y} and {x..y..step}.
func sequence(be *syntax.BraceExp) []*syntax.Word {
	ends := make([]int, 0, 3)
	chars := false
	for i, e := range be.Elems {
		text := e.Lit()
		n, err := strconv.Atoi(text)
		if err != nil && len(text) == 1 && i < 2 {
			n, err, chars = int(text[0]), nil, true
		}
		if err != nil {
			return nil
		}
		ends = append(ends, n)
	}
	step := 1
	if len(ends) > 2 && ends[2] != 0 {
		step = max(ends[2], -ends[2])
	}
	var words []*syntax.Word
	for n, k := ends[0], 0; k <= MaxBraces; k++ {
		text := strconv.Itoa(n)
		if chars {
			text = string(rune(n))
		}
		words = append(words, &syntax.Word{Parts: []syntax.WordPart{&syntax.Lit{Value: text, ValuePos: be.Pos(), ValueEnd: be.End()}}})
		if ends[0] <= ends[1] {
			n += step
			if n > ends[1] {
				break
			}
		} else {
			n -= step
			if n < ends[1] {
				break
			}
		}
	}
	return words
}
