package memory

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hermes-runtime/hermes/environment"
)

// reading is what a task saw of a file last.
type reading struct {
	stamp Stamp
	at    uint64
	dir   environment.Path // the session's directory then
	name  string           // as the call gave it
	total int              // lines of the file; 0 = not known
	spans [][2]int         // lines seen, first to last, sorted and apart
	whole bool
}

// Seen says what a read showed.
type Seen struct {
	Name        string
	Dir         environment.Path
	First, Last int // lines, from 1; Last < First = none
	Total       int // 0 = not known
	Whole       bool
}

// Read remembers that the task saw part of a file in this state.
func (b *Book) Read(p environment.Path, s Stamp, seen Seen) {
	if b == nil {
		return
	}
	at := b.shared.tick()
	t := b.task
	t.mu.Lock()
	defer t.mu.Unlock()
	key := b.key(p)
	r := &reading{stamp: s, at: at, dir: seen.Dir, name: seen.Name, total: seen.Total, whole: seen.Whole}
	if old := t.reads.m[key]; old != nil && old.stamp.Same(s) {
		r.spans = old.spans
		r.whole = r.whole || old.whole
		if r.stamp.Hash == 0 {
			r.stamp.Hash = old.stamp.Hash
		}
	}
	if seen.Last >= seen.First {
		r.spans = join(append(slices.Clone(r.spans), [2]int{seen.First, seen.Last}))
	}
	if r.total > 0 && len(r.spans) == 1 && r.spans[0] == [2]int{1, r.total} {
		r.whole = true
	}
	t.reads.put(key, r)
}

// join merges spans that touch.
func join(spans [][2]int) [][2]int {
	slices.SortFunc(spans, func(a, b [2]int) int { return a[0] - b[0] })
	out := spans[:1]
	for _, s := range spans[1:] {
		if last := &out[len(out)-1]; s[0] <= last[1]+1 {
			last[1] = max(last[1], s[1])
		} else {
			out = append(out, s)
		}
	}
	return out
}

// Wrote remembers the state that a write of this task left. The task knows the whole content if it gave it, else as much as before.
func (b *Book) Wrote(p environment.Path, s Stamp, seen Seen) {
	if b == nil {
		return
	}
	at := b.shared.tick()
	key := b.key(p)
	b.shared.mu.Lock()
	b.shared.writes.put(key, writing{task: b.name, at: at})
	b.shared.indexes.drop(key)
	b.shared.mu.Unlock()
	t := b.task
	t.mu.Lock()
	defer t.mu.Unlock()
	old := t.reads.m[key]
	if old == nil && !seen.Whole {
		return
	}
	r := &reading{stamp: s, at: at, dir: seen.Dir, name: seen.Name, total: seen.Total, whole: seen.Whole || old != nil && old.whole}
	if old != nil {
		r.spans = old.spans
	}
	t.reads.put(key, r)
}

// Removed forgets a path that is gone.
func (b *Book) Removed(p environment.Path) {
	if b == nil {
		return
	}
	at := b.shared.tick()
	key := b.key(p)
	b.shared.mu.Lock()
	b.shared.writes.put(key, writing{task: b.name, at: at})
	b.shared.indexes.drop(key)
	b.shared.mu.Unlock()
	b.task.mu.Lock()
	b.task.reads.drop(key)
	b.task.mu.Unlock()
}

// HasRead tells whether the task has seen something of the file at an absolute path.
func (t *task) HasRead(path string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key := range t.reads.m {
		if strings.HasSuffix(key, placeEnd+path) {
			return true
		}
	}
	return false
}

// Generation changes with every write of a path that went through the tools, also within one tick of the file system's clock.
func (b *Book) Generation(p environment.Path) uint64 {
	if b == nil {
		return 0
	}
	b.shared.mu.Lock()
	defer b.shared.mu.Unlock()
	return b.shared.writes.m[b.key(p)].at
}

// Stale says why what the task knows of a file may no longer hold, "" if it does or if the task never read it. now is the state
// before the write, relative and dir tell how the call named the file.
func (b *Book) Stale(p environment.Path, now Stamp, relative bool, dir environment.Path) string {
	if b == nil {
		return ""
	}
	key := b.key(p)
	b.task.mu.Lock()
	r := b.task.reads.m[key]
	b.task.mu.Unlock()
	if r == nil {
		return ""
	}
	b.shared.mu.Lock()
	w := b.shared.writes.m[key]
	b.shared.mu.Unlock()
	switch {
	case w.at > r.at && w.task != b.name:
		return fmt.Sprintf("%s was written by another agent (task %s) after you read it; read it again before you change more", p, w.task)
	case !r.stamp.Same(now):
		return fmt.Sprintf("%s changed on disk after you read it; read it again before you change more", p)
	case !r.whole:
		return fmt.Sprintf("you have read only a part of %s", p)
	case relative && r.dir != dir:
		return fmt.Sprintf("the session's directory moved from %s to %s since you read the file: %s is now meant", r.dir, dir, p)
	}
	return ""
}

// Failed counts failed edits of a path in a row.
func (b *Book) Failed(p environment.Path) int {
	if b == nil {
		return 0
	}
	b.task.mu.Lock()
	defer b.task.mu.Unlock()
	n := b.task.failed.m[b.key(p)] + 1
	b.task.failed.put(b.key(p), n)
	return n
}

// Succeeded ends such a row.
func (b *Book) Succeeded(p environment.Path) {
	if b == nil {
		return
	}
	b.task.mu.Lock()
	defer b.task.mu.Unlock()
	b.task.failed.drop(b.key(p))
}
