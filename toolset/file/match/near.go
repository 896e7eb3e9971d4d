package match

import (
	"cmp"
	"math/bits"
	"slices"
)

// Bounds of what is shown when nothing was found.
const (
	maxNear      = 3
	maxNearLines = 6
	maxWeighed   = 400 // lines that are compared in full
	minNear      = 0.5
)

// near finds places that resemble what was looked for, by its longest line.
func (s *search) near() []Place {
	key := 0
	for i, l := range s.old {
		if len(trimBlank(l)) > len(trimBlank(s.old[key])) {
			key = i
		}
	}
	want := trimBlank(s.old[key])
	if weightless(want) {
		return nil
	}
	type candidate struct {
		line  int
		score float64
	}
	var list []candidate
	mask := letters(want)
	for i, l := range s.file {
		if len(l) < len(want)/2 || len(l) > 3*len(want)+40 {
			continue
		}
		have := letters(l)
		if all := bits.OnesCount64(have | mask); all > 0 {
			if score := float64(bits.OnesCount64(have&mask)) / float64(all); score >= minNear {
				list = append(list, candidate{i, score})
			}
		}
	}
	byScore := func(a, b candidate) int { return cmp.Compare(b.score, a.score) }
	slices.SortStableFunc(list, byScore)
	list = list[:min(len(list), maxWeighed)]
	memo := map[string]float64{}
	for i := range list {
		have := trimBlank(s.file[list[i].line])
		score, known := memo[have]
		if !known {
			score = alike(want, have)
			memo[have] = score
		}
		list[i].score = score
	}
	slices.SortStableFunc(list, byScore)
	var out []Place
	for _, c := range list {
		if len(out) == maxNear || c.score < minNear {
			break
		}
		from := max(0, c.line-key)
		to := min(len(s.file), from+min(max(len(s.old), 1), maxNearLines))
		if to <= c.line {
			from, to = c.line, min(len(s.file), c.line+1)
		}
		if !slices.ContainsFunc(out, func(p Place) bool { return p.Line == from+1 }) {
			out = append(out, Place{Line: from + 1, Lines: s.file[from:to]})
		}
	}
	return out
}

// letters is the set of characters of a line, as far as 64 bits tell them apart.
func letters(s string) uint64 {
	var m uint64
	for i := 0; i < len(s); i++ {
		if s[i] != ' ' && s[i] != '\t' {
			m |= 1 << (s[i] & 63)
		}
	}
	return m
}
