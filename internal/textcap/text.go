// Package textcap keeps text within bounds: it decodes and filters streams of output, collects their head and tail in
// constant memory, and cuts strings by the character, at line ends where one is near.
package textcap

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"strings"
	"unicode/utf8"
	"unsafe"
)

// LineSlack is how far, in bytes, a cut moves to fall on a line end (XO-2).
const LineSlack = 200

// Chars counts the characters (code points) of s. For invalid UTF-8 it counts the bytes that aren't continuations.
func Chars(s string) int { return chars(view(s)) }

// Lines counts the lines of s: its line breaks, and one more if text follows the last.
func Lines(s string) int {
	n := strings.Count(s, "\n")
	if s != "" && s[len(s)-1] != '\n' {
		n++
	}
	return n
}

// Head returns s if it has at most n characters, else its first n and mark.
func Head(s string, n int, mark string) string {
	if len(s) <= n {
		return s
	}
	if i := offset(view(s), n); i < len(s) {
		return s[:i] + mark
	}
	return s
}

// Cut is what Middle keeps of a text, and exactly what it leaves out between the two.
type Cut struct {
	Head, Tail   string
	OmittedBytes int
	OmittedChars int
	OmittedLines int // a line left out in part counts
}

// Truncated reports whether anything was left out. If not, Head is the whole text.
func (c Cut) Truncated() bool { return c.OmittedBytes > 0 }

// Middle leaves out the middle of s if it has more than head+tail characters: at most head from its start and tail from
// its end stay, less where a line end lies within LineSlack bytes of the cut (SIZ-4 takes 1000 and 500).
func Middle(s string, head, tail int) Cut {
	if len(s) <= head+tail || Chars(s) <= head+tail {
		return Cut{Head: s}
	}
	b := view(s)
	from := headEnd(b[:offset(b, head)])
	to := offsetFromEnd(b, tail)
	to += tailStart(b[to:], to > 0 && b[to-1] == '\n')
	gone := s[from:to]
	return Cut{Head: s[:from], Tail: s[to:], OmittedBytes: len(gone), OmittedChars: Chars(gone), OmittedLines: Lines(gone)}
}

// headEnd returns where head is to be cut: after its last line break if that is near, else at its end.
func headEnd(head []byte) int {
	near := head[max(0, len(head)-LineSlack):]
	if i := bytes.LastIndexByte(near, '\n'); i >= 0 {
		return len(head) - len(near) + i + 1
	}
	return len(head)
}

// tailStart returns where tail is to begin: after its first line break if that is near and tail doesn't begin a line
// already, else at its start.
func tailStart(tail []byte, beginsLine bool) int {
	if beginsLine {
		return 0
	}
	return 1 + bytes.IndexByte(tail[:min(len(tail), LineSlack)], '\n')
}

// offset returns where the character number n (from 0) begins, or len(b).
func offset(b []byte, n int) int {
	i := 0
	for ; len(b)-i >= 64; i += 64 { // whole blocks first
		c := chars(b[i : i+64])
		if c > n {
			break
		}
		n -= c
	}
	for ; i < len(b); i++ {
		if utf8.RuneStart(b[i]) {
			if n == 0 {
				return i
			}
			n--
		}
	}
	return i
}

// offsetFromEnd returns where the last n characters of b begin.
func offsetFromEnd(b []byte, n int) int {
	if n <= 0 {
		return len(b)
	}
	i := len(b)
	for ; i >= 64; i -= 64 {
		c := chars(b[i-64 : i])
		if c >= n {
			break
		}
		n -= c
	}
	for i > 0 {
		i--
		if utf8.RuneStart(b[i]) {
			if n--; n == 0 {
				return i
			}
		}
	}
	return 0
}

// chars counts the bytes that aren't continuations, eight at a time: a byte 10xxxxxx has its high bit set and the next
// one clear.
func chars(b []byte) int {
	const low = 0x0101010101010101
	n, i := len(b), 0
	for ; len(b)-i >= 32; i += 32 { // most text has none at all
		p := b[i : i+32]
		w, x := binary.LittleEndian.Uint64(p), binary.LittleEndian.Uint64(p[8:])
		y, z := binary.LittleEndian.Uint64(p[16:]), binary.LittleEndian.Uint64(p[24:])
		if (w|x|y|z)&(low<<7) != 0 {
			n -= bits.OnesCount64(w>>7&^(w>>6)&low) + bits.OnesCount64(x>>7&^(x>>6)&low) +
				bits.OnesCount64(y>>7&^(y>>6)&low) + bits.OnesCount64(z>>7&^(z>>6)&low)
		}
	}
	for ; len(b)-i >= 8; i += 8 {
		x := binary.LittleEndian.Uint64(b[i:])
		n -= bits.OnesCount64(x >> 7 &^ (x >> 6) & low)
	}
	for ; i < len(b); i++ {
		if !utf8.RuneStart(b[i]) {
			n--
		}
	}
	return n
}

// view gives the bytes of s to read, without a copy.
func view(s string) []byte { return unsafe.Slice(unsafe.StringData(s), len(s)) }
