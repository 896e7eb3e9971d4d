package match

import "math/bits"

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
	if 2*float64(min(len(x), len(y)))/float64(len(x)+len(y)) < worthless {
		return 0
	}
	return 2 * float64(common(x, y)) / float64(len(x)+len(y))
}

// worthless is the likeness from which down two lines have nothing to do with each other: that of any two lines of one language.
const worthless = 0.6

// common is the length of the longest common subsequence, 64 columns of the table at a time.
func common(a, b []rune) int {
	words := (len(a) + 63) / 64
	ascii := make([]uint64, 128*words)
	var others map[rune][]uint64
	mask := func(r rune) []uint64 {
		if r < 128 {
			return ascii[int(r)*words : (int(r)+1)*words]
		}
		return others[r]
	}
	for i, r := range a {
		m := mask(r)
		if m == nil {
			if others == nil {
				others = map[rune][]uint64{}
			}
			m = make([]uint64, words)
			others[r] = m
		}
		m[i/64] |= 1 << (i % 64)
	}
	v := make([]uint64, words)
	for i := range v {
		v[i] = ^uint64(0)
	}
	for _, r := range b {
		m := mask(r)
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

// weight is how much a line counts: its length, unless it says nothing.
func weight(trimmed string) int {
	if weightless(trimmed) {
		return 0
	}
	return len(trimmed)
}
