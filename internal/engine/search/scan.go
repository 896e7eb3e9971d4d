package search

import (
	"bytes"
	"unicode/utf8"
)

// scanner finds matching lines in text that is in memory. It keeps scratch space and is for one goroutine.
type scanner struct {
	p      *pattern
	pre    prefilter
	exact  *exact
	low    []byte // the text in lower case
	hay    []byte // what the literals are looked for in
	next   []int  // per literal: where it occurs next, len(hay) = nowhere
	text   []byte
	direct bool // package regexp may run over many lines at once
}

func newScanner(p *pattern) *scanner {
	return &scanner{p: p, pre: newPrefilter(p.tree), exact: newExact(p.prog)}
}

// load prepares text, which begins at the start of a line.
func (s *scanner) load(text []byte) {
	s.text, s.hay = text, text
	n := len(s.pre.literals)
	if n == 0 {
		s.direct = isASCII(text) || !s.p.boundary && utf8.Valid(text)
		return
	}
	if s.pre.fold {
		s.low = lower(s.low, text)
		s.hay = s.low
	}
	if cap(s.next) < n {
		s.next = make([]int, n)
	}
	s.next = s.next[:n]
	for i := range s.next {
		s.next[i] = -1
	}
}

// line gives the bounds of the next matching line at or behind at, the start of a line; ok is false if there is none. The line
// break isn't in it.
func (s *scanner) line(at int) (start, end int, ok bool) {
	for at < len(s.text) {
		hit := s.candidate(at)
		if hit < 0 || hit == len(s.text) && s.text[hit-1] == '\n' { // behind the last line break is no line
			return 0, 0, false
		}
		start = bytes.LastIndexByte(s.text[at:hit], '\n') + 1 + at
		end = len(s.text)
		if n := bytes.IndexByte(s.text[hit:], '\n'); n >= 0 {
			end = hit + n
		}
		if s.sure() || s.matches(s.text[start:end]) {
			return start, end, true
		}
		at = end + 1
	}
	return 0, 0, false
}

// sure reports whether a candidate is a match already.
func (s *scanner) sure() bool { return s.pre.whole || len(s.pre.literals) == 0 && s.direct }

// candidate is a place at or behind at in the next line that may match, -1 if there is none.
func (s *scanner) candidate(at int) int {
	if len(s.pre.literals) == 0 {
		if !s.direct {
			return at
		}
		if m := s.p.re.FindIndex(s.text[at:]); m != nil {
			return at + m[0]
		}
		return -1
	}
	best := -1
	for i, l := range s.pre.literals {
		if s.next[i] < at {
			s.next[i] = len(s.hay)
			if n := bytes.Index(s.hay[at:], l); n >= 0 {
				s.next[i] = at + n
			}
		}
		if n := s.next[i]; n < len(s.hay) && (best < 0 || n < best) {
			best = n
		}
	}
	return best
}

// matches judges one line.
func (s *scanner) matches(line []byte) bool {
	if s.plain(line) {
		return s.p.re.Match(line)
	}
	start, _ := s.exact.find(line)
	return start >= 0
}

// find gives the first match in a line that is known to have one.
func (s *scanner) find(line []byte) int {
	if !s.plain(line) {
		start, _ := s.exact.find(line)
		return max(start, 0)
	}
	if m := s.p.re.FindIndex(line); m != nil {
		return m[0]
	}
	return 0
}

// plain reports whether package regexp judges line as the dialect does.
func (s *scanner) plain(line []byte) bool {
	return isASCII(line) || !s.p.boundary && utf8.Valid(line)
}

func isASCII(b []byte) bool {
	for len(b) >= 8 {
		if (uint64(b[0])|uint64(b[1])|uint64(b[2])|uint64(b[3])|uint64(b[4])|uint64(b[5])|uint64(b[6])|uint64(b[7]))&0x80 != 0 {
			return false
		}
		b = b[8:]
	}
	for _, c := range b {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
