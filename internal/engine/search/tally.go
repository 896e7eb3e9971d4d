package search

import (
	"os"
	"slices"
	"sync"

	"github.com/hermes-runtime/hermes/environment"
)

// tally turns the counts of files into one page, in the order of paths.
type tally struct {
	j       *job
	ordered bool // add is called in order, so that counting can stop once the page and CountLimit are full
	files   []tallied
	lines   int
	pages   []filePage // the matching lines to extract

	mu     sync.Mutex
	closed bool // an engine that was given up may still call add
}

type tallied struct {
	rel   string
	lines int
}

func newTally(j *job, ordered bool) *tally { return &tally{j: j, ordered: ordered} }

// add takes one file and says whether more are wanted.
func (t *tally) add(rel string, lines int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return false
	}
	t.files = append(t.files, tallied{rel, lines})
	t.lines += lines
	return !t.ordered || t.size() <= t.most()
}

// size is the number of what is counted: lines or files.
func (t *tally) size() int {
	if t.j.Mode == environment.SearchFiles || t.j.Mode == environment.SearchCount {
		return len(t.files)
	}
	return t.lines
}

// most is how far counting goes. Without a limit all is wanted.
func (t *tally) most() int {
	if t.j.Limit == 0 {
		return int(^uint(0) >> 1)
	}
	return t.j.Offset + t.j.Limit + t.j.CountLimit
}

// matches makes the page, but for matching lines themselves: pages says which to extract.
func (t *tally) matches() environment.Matches {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	if !t.ordered {
		slices.SortFunc(t.files, func(a, b tallied) int { return comparePaths(a.rel, b.rel) })
	}
	total := t.size()
	m := environment.Matches{Total: min(total, t.most()), TotalIsMin: total > t.most()}
	from, to := page(t.j.Query, total)
	m.More = to < total
	switch t.j.Mode {
	case environment.SearchFiles:
		for _, f := range t.files[from:to] {
			m.Files = append(m.Files, t.j.path(f.rel))
		}
	case environment.SearchCount:
		for _, f := range t.files[from:to] {
			m.Counts = append(m.Counts, environment.FileCount{Path: t.j.path(f.rel), Count: f.lines})
		}
	default:
		t.paginate(from, to)
	}
	return m
}

// paginate finds the files in which the lines from to to lie.
func (t *tally) paginate(from, to int) {
	before := 0
	for _, f := range t.files {
		a, b := max(from-before, 0), min(to-before, f.lines)
		before += f.lines
		if a < b {
			t.pages = append(t.pages, filePage{f.rel, a, b})
		}
		if before >= to {
			return
		}
	}
}

// page gives the bounds of the page within total items.
func page(q environment.Query, total int) (from, to int) {
	from = min(q.Offset, total)
	to = total
	if q.Limit > 0 && q.Limit < total-from {
		to = from + q.Limit
	}
	return from, to
}

// comparePaths orders paths as a walk meets them: by the names of directories and files from the root on.
func comparePaths(a, b string) int {
	for i := 0; i < len(a) && i < len(b); i++ {
		if a[i] != b[i] {
			switch {
			case isSeparator(a[i]):
				return -1
			case isSeparator(b[i]):
				return 1
			}
			return int(a[i]) - int(b[i])
		}
	}
	return len(a) - len(b)
}

func isSeparator(c byte) bool { return c == '/' || c == os.PathSeparator }
