package redact

import (
	"bytes"
	"math/bits"
	"strings"
)

type runKind uint8

const (
	runNone   runKind = iota
	runClass          // as long as there are bytes of a class
	runQuoted         // to the closing quote or the end of the line
	runPEM            // to the end of the block
)

// run is the rest of a secret whose start has been recognised; it may be longer than what is ever held.
type run struct {
	kind    runKind
	chars   *class // runClass
	quote   byte   // runQuoted
	escapes int    // runQuoted: backslashes before the opening quote
	left    int    // runPEM: bytes it may still take
}

// extend returns where in the text the run ends, or how far it surely goes and false.
func (r *run) extend(t text, at int) (int, bool) {
	t.final = t.final && !t.goesOn
	switch r.kind {
	case runClass:
		for at < len(t.b) && r.chars[t.b[at]] {
			at++
		}
		return at, at < len(t.b) || t.final
	case runQuoted:
		return r.quoted(t, at)
	case runPEM:
		return r.pem(t, at)
	}
	return at, true
}

// closing tells whether a quote behind n backslashes closes a string that a quote behind as many as escapes opened, or
// one around that, and how many of the backslashes are the quote's own. A quote has 0 of them in JSON, 1 in JSON within
// a string of JSON, then 3, 7 and so on; a backslash before it has twice as many as that quote and its own one, so the
// lowest bits of n, as far as they are set, are the quote's.
func closing(n, escapes int) (own int, ok bool) {
	level := bits.TrailingZeros(^uint(n))
	return 1<<level - 1, level <= bits.TrailingZeros(^uint(escapes))
}

// quoted looks for the closing quote.
func (r *run) quoted(t text, at int) (int, bool) {
	for at < len(t.b) {
		n := 0
		for at+n < len(t.b) && t.b[at+n] == '\\' {
			n++
		}
		if at+n == len(t.b) {
			if t.final || n > maxBackslash {
				return at + n, t.final
			}
			return at, false // the next byte decides whose the backslashes are
		}
		switch t.b[at+n] {
		case '\n':
			return at + n, true
		case r.quote:
			if own, ok := closing(n, r.escapes); ok {
				return at + n - own, true
			}
		case '"': // within single quotes: it may end a string of JSON around them
			next := at + n + 1
			if next == len(t.b) && !t.final {
				return at, false
			}
			if n%2 == 0 && (next == len(t.b) || jsonAfterString[t.b[next]]) {
				return at + n, true
			}
		}
		at += n + 1
	}
	return at, t.final
}

// pem looks for the last line of the block; text that can't be part of one ends it, too.
func (r *run) pem(t text, at int) (int, bool) {
	for at < len(t.b) && r.left > 0 {
		c := t.b[at]
		if !pemBody[c] {
			return at, true
		}
		var end int
		var v verdict
		switch c {
		case '-':
			end, v = pemLast(t, at)
		case '\\':
			end, v = pemEscape(t, at)
		}
		switch v {
		case yes:
			return end, true
		case more:
			return at, false
		}
		at++
		r.left--
	}
	return at, r.left <= 0 || t.final
}

// pemEscape ends the block before the backslashes at at unless they are those of a written-out line end.
func pemEscape(t text, at int) (int, verdict) {
	i := at
	for i < len(t.b) && t.b[i] == '\\' {
		i++
	}
	if i == len(t.b) && i <= at+maxBackslash {
		return at, t.end()
	}
	if i > at+maxBackslash || strings.IndexByte("nrt", t.b[i]) < 0 {
		return at, yes
	}
	return 0, no
}

func pemLast(t text, at int) (int, verdict) {
	b := t.b[at:]
	if len(b) < len(pemEnd) {
		if bytes.HasPrefix([]byte(pemEnd), b) {
			return 0, t.end()
		}
		return 0, no
	}
	if !bytes.HasPrefix(b, []byte(pemEnd)) {
		return 0, no
	}
	i := len(pemEnd)
	for i < len(b) && i < len(pemEnd)+maxPEMLabel && pemLabel[b[i]] {
		i++
	}
	if i+len(pemDashes) > len(b) && i < len(pemEnd)+maxPEMLabel {
		return 0, t.end()
	}
	if !bytes.HasPrefix(b[i:], []byte(pemDashes)) {
		return 0, no
	}
	return at + i + len(pemDashes), yes
}
