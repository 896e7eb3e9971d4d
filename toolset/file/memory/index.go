package memory

import (
	"sort"
	"sync"

	"github.com/hermes-runtime/hermes/environment"
)

// indexStep is how far apart the line starts that are remembered lie, in bytes.
const indexStep = 256 << 10

// Index knows where some lines of a file begin. It is safe for concurrent use.
type Index struct {
	mu    sync.Mutex
	stamp Stamp
	lines []int   // numbers, from 1
	at    []int64 // where they begin
	total int     // lines of the file; 0 = not known
}

// Index finds what is known of a file in this state. Without memory it is an Index of its own.
func (b *Book) Index(p environment.Path, s Stamp) *Index {
	if b == nil {
		return &Index{stamp: s}
	}
	b.shared.mu.Lock()
	defer b.shared.mu.Unlock()
	key := b.key(p)
	if x := b.shared.indexes.m[key]; x != nil && x.stamp.Same(s) {
		return x
	}
	x := &Index{stamp: s}
	b.shared.indexes.put(key, x)
	return x
}

// Before gives the last known start at or before a line: line 1 at 0 if nothing else is known.
func (x *Index) Before(line int) (known int, at int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	i := sort.SearchInts(x.lines, line+1)
	if i == 0 {
		return 1, 0
	}
	return x.lines[i-1], x.at[i-1]
}

// Note remembers where a line begins, if that is far enough behind what is known already.
func (x *Index) Note(line int, at int64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	last := int64(0)
	if n := len(x.at); n > 0 {
		last = x.at[n-1]
	}
	if at >= last+indexStep {
		x.lines = append(x.lines, line)
		x.at = append(x.at, at)
	}
}

// Total is the number of lines, 0 if it isn't known.
func (x *Index) Total() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.total
}

// SetTotal remembers the number of lines.
func (x *Index) SetTotal(n int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.total = n
}
