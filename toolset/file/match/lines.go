package match

import (
	"strings"
	"unicode"

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
	ids    []int // of trimmed lines; see fileIDs
	oldIDs []int
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

// trimBlank takes blanks off both ends, no-break ones too.
func trimBlank(s string) string { return strings.TrimFunc(s, isBlank) }

func isBlank(r rune) bool { return r == ' ' || r == '\t' || r != '\n' && unicode.IsSpace(r) }

// indentOf is the blanks that a line begins with.
func indentOf(s string) string { return s[:len(s)-len(strings.TrimLeftFunc(s, isBlank))] }

// runsAsOne makes each run of blanks one, and takes those at the ends off.
func runsAsOne(s string) string {
	s = trimBlank(s)
	if strings.IndexByte(s, '\t') < 0 && !strings.Contains(s, "  ") && isASCII(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	gap := false
	for _, r := range s {
		if isBlank(r) {
			gap = true
			continue
		}
		if gap {
			b.WriteByte(' ')
			gap = false
		}
		b.WriteRune(r)
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
	p := make([]int, len(pattern))
	for i, l := range pattern {
		f := form(l)
		n, ok := number[f]
		if !ok {
			n = len(number) + 1
			number[f] = n
		}
		p[i] = n
	}
	fail := failures(p)
	var out []int
	k := 0
	for i, l := range file {
		n := number[form(l)] // 0 = no line of the pattern
		for k > 0 && p[k] != n {
			k = fail[k-1]
		}
		if p[k] == n {
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

func (s *search) lineTrimmed() ([]place, error) {
	return s.placesAt(sequence(s.file, s.old, trimBlank)), nil
}

func (s *search) whitespaceNormalized() ([]place, error) {
	return s.placesAt(sequence(s.file, s.old, runsAsOne)), nil
}

// indentationFlexible wants equal lines once the indent that all have in common is off.
func (s *search) indentationFlexible() ([]place, error) {
	want := dedent(s.old)
	var out []int
	for _, at := range sequence(s.file, s.old, trimBlank) {
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
	inner := sequence(s.file, s.old[1:n-1], func(l string) string { return l })
	var out []int
	for _, at := range inner {
		first, last := at-1, at+n-2
		if first >= 0 && last < len(s.file) && trimBlank(s.file[first]) == trimBlank(s.old[0]) && trimBlank(s.file[last]) == trimBlank(s.old[n-1]) {
			out = append(out, first)
		}
	}
	return s.placesAt(out), nil
}
