package match

import (
	"math/bits"
	"unicode/utf8"
)

// maxCompared bounds the lines that are compared character by character; longer ones are alike only if they are equal.
const maxCompared = 2048

// alike is the part of two lines that is equal, from 0 to 1: twice their longest common subsequence over both lengths.
func alike(a, b string) float64 {
	if a == b {
		return 1
	}
	if len(a) == 0 || len(b) == 0 || len(a) > maxCompared || len(b) > maxCompared {
		return 0
	}
	x, y := []rune(a), []rune(b)
	short, long := min(len(x), len(y)), max(len(x), len(y))
	if 2*float64(short)/float64(short+long) < worthless {
		return 0
	}
	return 2 * float64(common(x, y)) / float64(len(x)+len(y))
}

// worthless is the likeness from which down two lines have nothing to do with each other: that of any two lines of one language.
const worthless = 0.6

// common is the length of the longest common subsequence, 64 columns of the table at a time.
func common(a, b []rune) int {
	words := (len(a) + 63) / 64
	masks := make(map[rune][]uint64, 64)
	for i, r := range a {
		m := masks[r]
		if m == nil {
			m = make([]uint64, words)
			masks[r] = m
		}
		m[i/64] |= 1 << (i % 64)
	}
	v := make([]uint64, words)
	for i := range v {
		v[i] = ^uint64(0)
	}
	for _, r := range b {
		m := masks[r]
		if m == nil {
			continue
		}
		var carry uint64
		for w := range v {
			u := v[w] & m[w]
			var sum uint64
			sum, carry = bits.Add64(v[w], u, carry)
			v[w] = sum | v[w]&^u
		}
	}
	zeros := 0
	for w, x := range v {
		if w == words-1 && len(a)%64 != 0 {
			x |= ^uint64(0) << (len(a) % 64)
		}
		zeros += bits.OnesCount64(^x)
	}
	return zeros
}

// weightless lines say nothing about a place: blank ones and lone brackets.
func weightless(trimmed string) bool {
	for i := 0; i < len(trimmed); i++ {
		switch trimmed[i] {
		case '(', ')', '[', ']', '{', '}', ',', ';', ' ', '\t':
		default:
			return false
		}
	}
	return true
}

func runes(s string) int { return utf8.RuneCountInString(s) }
