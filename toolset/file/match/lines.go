package match

import (
	"strings"

	"github.com/hermes-runtime/hermes/toolset/file/text"
)

// search is one Find under way. Lines are split once, and compared by numbers that stand for their forms.
type search struct {
	doc    *text.Doc
	req    Request
	file   []string // lines of the text
	old    []string // lines of what is looked for
	fresh  []string // lines of what comes in its place
	broken bool     // Old ends with a line break
	memo   map[[2]int]float64
	ids    []int // of the file's lines; see numbers
	oldIDs []int

	trim, oldTrim     []string // lines without outer blanks; set with ids
	weight, oldWeight []int    // what they count

	looked bool  // starts is set
	starts []int // see trimmedAt
}

// place is a match: lines of the file that stand for those looked for, or a span of characters.
type place struct {
	first, last int   // lines, last not included
	pairs       []int // for each line looked for the one in the file, -1 = none; nil = one by one from first
	chars       *text.Edit
}

func newSearch(d *text.Doc, r Request) *search {
	s := &search{doc: d, req: r, file: d.Lines(), memo: map[[2]int]float64{}}
	s.old, s.broken = splitLines(r.Old)
	s.fresh, _ = splitLines(r.New)
	return s
}

// splitLines gives the lines of s and whether the last one had a break.
func splitLines(s string) ([]string, bool) {
	if s == "" {
		return nil, false
	}
	body, ended := strings.CutSuffix(s, "\n")
	return strings.Split(body, "\n"), ended
}

// trimBlank takes blanks off both ends.
func trimBlank(s string) string {
	from, to := 0, len(s)
	for from < to && isBlank(s[from]) {
		from++
	}
	for from < to && isBlank(s[to-1]) {
		to--
	}
	return s[from:to]
}

// isBlank leaves the blanks of Unicode to the strategy that is about them.
func isBlank(r byte) bool { return r == ' ' || r == '\t' || r == '\v' || r == '\f' }

// indentOf is the blanks that a line begins with.
func indentOf(s string) string {
	n := 0
	for n < len(s) && isBlank(s[n]) {
		n++
	}
	return s[:n]
}

// runsAsOne makes each run of blanks one, and takes those at the ends off.
func runsAsOne(s string) string {
	s = trimBlank(s)
	if !strings.ContainsAny(s, "\t\v\f") && !strings.Contains(s, "  ") {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	gap := false
	for i := 0; i < len(s); i++ {
		if isBlank(s[i]) {
			gap = true
			continue
		}
		if gap {
			b.WriteByte(' ')
			gap = false
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func isASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// sequence finds where the pattern's lines stand in the file one after the other, each compared by its form.
func sequence(file, pattern []string, form func(string) string) []int {
	if len(pattern) == 0 || len(pattern) > len(file) {
		return nil
	}
	number := make(map[string]int, len(pattern))
	lengths := uint64(0) // of the forms, as far as 64 bits tell them apart
	p := make([]int, len(pattern))
	for i, l := range pattern {
		f := form(l)
		n, ok := number[f]
		if !ok {
			n = len(number) + 1
			number[f] = n
			lengths |= 1 << (len(f) & 63)
		}
		p[i] = n
	}
	return occursIn(len(file), p, func(i int) int {
		f := form(file[i])
		if lengths>>(len(f)&63)&1 == 0 {
			return 0
		}
		return number[f] // 0 = no line of the pattern
	})
}

// occursIn finds a row of numbers in another, n long, by Knuth, Morris and Pratt.
func occursIn(n int, p []int, at func(i int) int) []int {
	fail := failures(p)
	var out []int
	k := 0
	for i := range n {
		v := at(i)
		for k > 0 && p[k] != v {
			k = fail[k-1]
		}
		if p[k] == v {
			k++
		}
		if k == len(p) {
			out = append(out, i-k+1)
			k = fail[k-1]
		}
	}
	return out
}

// failures is the table of Knuth, Morris and Pratt: how much of the pattern still matches behind a mismatch.
func failures(p []int) []int {
	out := make([]int, len(p))
	for i, k := 1, 0; i < len(p); i++ {
		for k > 0 && p[i] != p[k] {
			k = out[k-1]
		}
		if p[i] == p[k] {
			k++
		}
		out[i] = k
	}
	return out
}

// placesAt makes places of starts.
func (s *search) placesAt(starts []int) []place {
	out := make([]place, len(starts))
	for i, at := range starts {
		out[i] = place{first: at, last: at + len(s.old)}
	}
	return out
}

// trimmedAt is where the lines are equal without outer blanks. Two further strategies choose among these places.
func (s *search) trimmedAt() []int {
	if !s.looked {
		file, old := s.numbers()
		s.starts, s.looked = nil, true
		if len(old) > 0 && len(old) <= len(file) {
			s.starts = occursIn(len(file), old, func(i int) int { return file[i] })
		}
	}
	return s.starts
}

func (s *search) lineTrimmed() ([]place, error) { return s.placesAt(s.trimmedAt()), nil }

func (s *search) whitespaceNormalized() ([]place, error) {
	return s.placesAt(sequence(s.file, s.old, runsAsOne)), nil
}

// indentationFlexible wants equal lines once the indent that all have in common is off.
func (s *search) indentationFlexible() ([]place, error) {
	want := dedent(s.old)
	var out []int
	for _, at := range s.trimmedAt() {
		got := dedent(s.file[at : at+len(s.old)])
		same := true
		for i := range want {
			same = same && got[i] == want[i]
		}
		if same {
			out = append(out, at)
		}
	}
	return s.placesAt(out), nil
}

func dedent(lines []string) []string {
	common, any := "", false
	for _, l := range lines {
		if trimBlank(l) == "" {
			continue
		}
		if in := indentOf(l); !any {
			common, any = in, true
		} else {
			common = commonPrefix(common, in)
		}
	}
	out := make([]string, len(lines))
	for i, l := range lines {
		if trimBlank(l) != "" {
			out[i] = strings.TrimPrefix(l, common)
		}
	}
	return out
}

func commonPrefix(a, b string) string {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return a[:n]
}

// trimmedBoundary compares first and last line without outer blanks, those between as they are.
func (s *search) trimmedBoundary() ([]place, error) {
	n := len(s.old)
	if n < 3 {
		return nil, nil
	}
	var out []int
	for _, at := range s.trimmedAt() {
		if equal(s.file[at+1:at+n-1], s.old[1:n-1]) {
			out = append(out, at)
		}
	}
	return s.placesAt(out), nil
}
