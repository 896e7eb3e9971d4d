package dispatch

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/hermes-runtime/hermes/tool"
)

// CallBatch makes the calls of one model turn. Calls that don't conflict run side by side, at most MaxParallelCalls of them;
// results come back in the order of the calls, exactly one for each, whatever happens.
func (d *Door) CallBatch(ctx context.Context, s *Session, t tool.Batch) []tool.Result {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	whole := &ticket{cancel: cancel}
	s.Calls.enter(whole)
	defer s.Calls.leave(whole)
	b := &batch{door: d, session: s, jobs: make([]*job, len(t.Calls))}
	b.changed = sync.NewCond(&b.mu)
	ids := map[string]bool{}
	for i, r := range t.Calls {
		r.ID = uniqueID(r.ID, ids, d.newID)
		b.jobs[i] = &job{index: i, flight: d.prepare(ctx, s, r)}
		b.jobs[i].flight.follow(i, t)
	}
	b.plan(ctx)
	for _, j := range b.jobs {
		if j.same == nil {
			j.flight.count()
		}
	}
	stop := context.AfterFunc(ctx, func() { b.mu.Lock(); b.changed.Broadcast(); b.mu.Unlock() })
	defer stop()
	var wg sync.WaitGroup
	for b.next(ctx, func(j *job) { wg.Go(func() { b.run(ctx, j) }) }) {
	}
	wg.Wait()
	results := make([]tool.Result, len(b.jobs))
	for i, j := range b.jobs {
		results[i] = j.result
	}
	d.fitBatch(context.WithoutCancel(ctx), s, results)
	return results
}

// uniqueID makes ids that are missing and tells repeated ones apart by _2, _3 and so on.
func uniqueID(id string, taken map[string]bool, fresh func() string) string {
	if id == "" {
		id = fresh()
	}
	unique := id
	for n := 2; taken[unique]; n++ {
		unique = fmt.Sprintf("%s_%d", id, n)
	}
	taken[unique] = true
	return unique
}

type jobState int

const (
	waiting jobState = iota
	running
	paused // a hook changed its arguments: it goes on when every earlier call has ended and nothing else runs
	ended
)

// job is one call of a batch and what it touches.
type job struct {
	index     int
	flight    *flight
	effects   tool.Effects
	paths     []access
	same      *job // an earlier identical read whose result serves this call too
	conflicts []*job
	state     jobState
	result    tool.Result
}

// access is a resolved path that a call reads or writes.
type access struct {
	path  string
	write bool
}

// batch runs jobs. Its lock is held only while states change.
type batch struct {
	door    *Door
	session *Session
	jobs    []*job
	mu      sync.Mutex
	changed *sync.Cond
}

// plan finds out what each call touches, and which earlier calls it has to wait for.
func (b *batch) plan(ctx context.Context) {
	for i, j := range b.jobs {
		j.effects, j.paths = b.door.touches(ctx, j.flight)
		for _, earlier := range b.jobs[:i] {
			if conflict(earlier, j) {
				j.conflicts = append(j.conflicts, earlier)
			}
		}
		j.same = b.sameRead(i)
		if j.same != nil {
			j.conflicts = append(j.conflicts, j.same)
		}
	}
}

// sameRead finds an earlier identical call that only reads, with nothing between them that could change its answer.
func (b *batch) sameRead(i int) *job {
	j := b.jobs[i]
	if j.flight.refused() || !readsOnly(j) {
		return nil
	}
	for k := i - 1; k >= 0; k-- {
		e := b.jobs[k]
		if conflict(e, j) {
			return nil
		}
		if !e.flight.refused() && readsOnly(e) && e.flight.call.Name == j.flight.call.Name && string(e.flight.call.Args) == string(j.flight.call.Args) {
			if e.same != nil {
				return e.same
			}
			return e
		}
	}
	return nil
}

func readsOnly(j *job) bool {
	if j.effects == tool.Exclusive {
		return false
	}
	for _, p := range j.paths {
		if p.write {
			return false
		}
	}
	return true
}

// conflict reports whether two calls can't run side by side.
func conflict(a, b *job) bool {
	if a.flight.refused() || b.flight.refused() {
		return false
	}
	if a.effects == tool.Exclusive || b.effects == tool.Exclusive {
		return true
	}
	for _, x := range a.paths {
		for _, y := range b.paths {
			if (x.write || y.write) && overlap(x.path, y.path) {
				return true
			}
		}
	}
	return false
}

// overlap reports whether two paths are equal or one lies above the other.
func overlap(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	return strings.HasPrefix(b, a) && (len(a) == len(b) || b[len(a)] == '/' || strings.HasSuffix(a, "/"))
}

// next starts every call that may start now and waits for the next change; false when all have been started or answered.
func (b *batch) next(ctx context.Context, start func(*job)) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	left := false
	active := 0
	for _, j := range b.jobs {
		active += btoi(j.state == running)
	}
	held := false // by a paused call: those behind it wait
	for _, j := range b.jobs {
		if j.state != waiting {
			held = held || j.state == paused
			continue
		}
		switch {
		case ctx.Err() != nil:
			j.result = b.door.neverStarted(ctx, j.flight)
			j.state = ended
		case !held && active < b.door.config.MaxParallelCalls && ready(j):
			j.state = running
			active++
			start(j)
		default:
			left = true
		}
	}
	if left {
		b.changed.Wait()
	}
	return left
}

func ready(j *job) bool {
	for _, c := range j.conflicts {
		if c.state != ended {
			return false
		}
	}
	return true
}

func (b *batch) run(ctx context.Context, j *job) {
	if j.same != nil {
		j.result = b.door.shared(j.flight, j.same.result)
	} else {
		j.flight.alone = func() { b.alone(j) }
		j.result = b.door.finish(ctx, j.flight)
	}
	b.mu.Lock()
	j.state = ended
	b.changed.Broadcast()
	b.mu.Unlock()
}

// alone waits until every earlier call of the batch has ended and none of the later ones runs; until it ends, none of those starts.
// A call whose arguments a hook has changed touches what nobody planned for. One that was given up while its hook thought holds
// nobody up.
func (b *batch) alone(j *job) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if j.state == ended {
		return
	}
	j.state = paused // until it ends
	b.changed.Broadcast()
	for j.state != ended && !b.mayGoOn(j) {
		b.changed.Wait()
	}
}

func (b *batch) mayGoOn(j *job) bool {
	for _, o := range b.jobs {
		if o.state == running || o.index < j.index && o.state != ended {
			return false
		}
	}
	return true
}

func btoi(v bool) int {
	if v {
		return 1
	}
	return 0
}
