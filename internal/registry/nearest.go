package registry

import (
	"cmp"
	"slices"
	"strings"
)

// alike is the least share of common letter pairs at which two names are called near to each other.
const alike = 0.25

// pairs are the pairs of neighbouring letters of a name without its separators, its ends included, sorted.
func pairs(name string) []uint16 {
	key := "^" + fold1(name) + "$"
	out := make([]uint16, 0, len(key))
	for i := 1; i < len(key); i++ {
		out = append(out, uint16(key[i-1])<<8|uint16(key[i]))
	}
	slices.Sort(out)
	return out
}

// likeness is the share of pairs that two names have in common, from 0 to 1.
func likeness(a, b []uint16) float64 {
	common := 0
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] < b[j]:
			i++
		case a[i] > b[j]:
			j++
		default:
			common++
			i++
			j++
		}
	}
	return 2 * float64(common) / float64(len(a)+len(b))
}

// candidate is a name that may be meant.
type candidate struct {
	name  string
	pairs []uint16
}

// nearest gives up to n of the names that resemble one, best first.
func nearest(name string, among []candidate, n int) []string {
	type scored struct {
		name  string
		score float64
	}
	want := pairs(name)
	var found []scored
	for _, c := range among {
		if score := likeness(want, c.pairs); score >= alike {
			found = append(found, scored{c.name, score})
		}
	}
	slices.SortFunc(found, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.score, a.score), strings.Compare(a.name, b.name))
	})
	out := make([]string, 0, n)
	for _, f := range found[:min(n, len(found))] {
		out = append(out, f.name)
	}
	return out
}

func candidates(names []string) []candidate {
	out := make([]candidate, len(names))
	for i, name := range names {
		out[i] = candidate{name, pairs(name)}
	}
	return out
}
