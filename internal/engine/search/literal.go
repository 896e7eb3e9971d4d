package search

import (
	"bytes"
	"regexp/syntax"
	"unicode/utf8"
)

// prefilter is text that every match holds: one of the literals. Lines without it need no closer look.
type prefilter struct {
	literals [][]byte // none = no help
	fold     bool     // they are in lower case and the text may not be
	whole    bool     // the pattern is this one literal and nothing else
}

// maxLiterals is how many alternatives are worth looking for one by one.
const maxLiterals = 12

// newPrefilter finds the best literals of a simplified pattern.
func newPrefilter(re *syntax.Regexp) prefilter {
	if re.Op == syntax.OpLiteral && re.Flags&syntax.FoldCase == 0 {
		return prefilter{literals: [][]byte{[]byte(string(re.Rune))}, whole: true}
	}
	return required(re)
}

// required gives literals one of which is in every match of re.
func required(re *syntax.Regexp) prefilter {
	switch re.Op {
	case syntax.OpLiteral:
		return literalOf(re)
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return required(re.Sub[0])
		}
	case syntax.OpConcat:
		var best prefilter
		for _, sub := range re.Sub {
			if f := required(sub); f.better(best) {
				best = f
			}
		}
		return best
	case syntax.OpAlternate:
		return alternatives(re.Sub)
	}
	return prefilter{}
}

func alternatives(subs []*syntax.Regexp) prefilter {
	var all prefilter
	for i, sub := range subs {
		f := required(sub)
		if len(f.literals) == 0 || i > 0 && f.fold != all.fold {
			return prefilter{}
		}
		all.fold = f.fold
		if all.literals = append(all.literals, f.literals...); len(all.literals) > maxLiterals {
			return prefilter{}
		}
	}
	return all
}

// literalOf is the text of a literal; without regard to case, the longest run of it that has only ASCII forms.
func literalOf(re *syntax.Regexp) prefilter {
	if re.Flags&syntax.FoldCase == 0 {
		return prefilter{literals: [][]byte{[]byte(string(re.Rune))}}
	}
	var best, run []byte
	for _, r := range re.Rune {
		low := r
		if 'A' <= r && r <= 'Z' {
			low = r + 'a' - 'A'
		}
		// k and s have a further form each, the Kelvin sign and the long s.
		if low >= utf8.RuneSelf || low == 'k' || low == 's' {
			run = nil
			continue
		}
		run = append(run, byte(low))
		if len(run) > len(best) {
			best = bytes.Clone(run)
		}
	}
	if best == nil {
		return prefilter{}
	}
	return prefilter{literals: [][]byte{best}, fold: true}
}

// shortest is the length of the weakest literal.
func (f prefilter) shortest() int {
	n := 0
	for i, l := range f.literals {
		if i == 0 || len(l) < n {
			n = len(l)
		}
	}
	return n
}

// better prefers long literals, and few of them.
func (f prefilter) better(o prefilter) bool {
	a, b := f.shortest(), o.shortest()
	if a == 0 || b == 0 {
		return a > b
	}
	return a*4-len(f.literals) > b*4-len(o.literals)
}

// lower writes src to dst in ASCII lower case and gives dst.
func lower(dst, src []byte) []byte {
	dst = append(dst[:0], src...)
	for i, c := range dst {
		if 'A' <= c && c <= 'Z' {
			dst[i] = c + 'a' - 'A'
		}
	}
	return dst
}
