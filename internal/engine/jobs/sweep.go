//go:build linux || darwin

package jobs

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// sweep removes the jobs that ended too long ago, and the oldest ones beyond what all may take on the disk. One that runs, or has left
// someone running, or has something to tell that nobody took, stays.
func (t *Table) sweep() {
	type old struct {
		j     *job
		ended time.Time
		size  int64
	}
	var done []old
	var size int64
	for _, j := range t.all() {
		j.mu.Lock()
		r, after := j.rcpt, j.after || j.away
		j.mu.Unlock()
		if r == nil || after || j.rec.Format > format {
			continue
		}
		n := sizeOf(j.dir)
		size += n
		done = append(done, old{j, r.Ended, n})
	}
	slices.SortFunc(done, func(a, b old) int { return a.ended.Compare(b.ended) })
	for _, d := range done {
		waits := t.events.waits(d.j.rec.ID)
		keep := cmp.Or(d.j.rec.Keep, t.o.Keep)
		if waits {
			keep = max(keep, d.j.rec.eventKeep())
		}
		if time.Since(d.ended) <= keep && (size <= t.o.KeepBytes || waits) {
			continue
		}
		t.forget(d.j)
		size -= d.size
	}
}

// Forget removes a job that has ended: see environment.Keeper.
func (t *Table) Forget(_ context.Context, id string) error {
	j := t.find(id)
	switch {
	case j == nil:
		return nil
	case j.holds() || j.lingers():
		return fmt.Errorf("forget the job %s: it has not ended", id)
	}
	t.forget(j)
	return nil
}

func (t *Table) forget(j *job) {
	t.mu.Lock()
	delete(t.jobs, j.rec.ID)
	t.mu.Unlock()
	t.events.drop(j.rec.ID)
	if err := os.RemoveAll(j.dir); err != nil {
		t.o.Log.Warn("an old job can't be removed", "id", j.rec.ID, "error", err)
	}
}

func sizeOf(dir string) int64 {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0
	}
	var n int64
	for _, e := range entries {
		if i, err := os.Stat(filepath.Join(dir, e.Name())); err == nil {
			n += i.Size()
		}
	}
	return n
}
