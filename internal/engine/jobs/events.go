//go:build linux || darwin

package jobs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/hermes-runtime/hermes/environment"
)

// Bounds of what all jobs together may tell.
const (
	stormEvents  = 15
	stormTime    = 10 * time.Second
	stormSilence = 30 * time.Second
	// eventKeep is how long an event waits for somebody to take it.
	eventKeep = 7 * 24 * time.Hour
	// maxHeld bounds the matches of one job that nobody takes; the end of a job is always kept.
	maxHeld = 100
)

func itoa(n int) string { return strconv.Itoa(n) }

// events are what jobs have to tell and nobody has taken. Each is on the disk before it is given: the end of a job in its receipt, all
// else in a journal beside it, where it is also noted that one was taken.
type events struct {
	within, silence time.Duration // of storms

	mu      sync.Mutex
	pending []pending
	change  chan struct{}
	recent  []time.Time // of matches, for storms
	storm   *time.Timer // nil = none
	dropped int         // in the storm
	storms  int
}

type pending struct {
	j *job // nil for those of all jobs
	e environment.JobEvent
}

// entry is a line of a journal.
type entry struct {
	Event *environment.JobEvent `json:"event,omitempty"`
	Taken string                `json:"taken,omitempty"`
}

func newEvents() *events {
	return &events{within: stormTime, silence: stormSilence, change: make(chan struct{})}
}

// add gives an event that is on the disk.
func (x *events) add(j *job, e environment.JobEvent) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.put(pending{j, e})
}

func (x *events) put(p pending) {
	x.pending = append(x.pending, p)
	close(x.change)
	x.change = make(chan struct{})
}

// watched gives an event of a watch pattern, unless there are too many of them.
func (x *events) watched(j *job, e environment.JobEvent) {
	x.mu.Lock()
	defer x.mu.Unlock()
	now := time.Now()
	if x.storm != nil && e.Type == environment.EventWatch {
		x.dropped += 1 + e.Suppressed
		return
	}
	x.recent = append(slices.DeleteFunc(x.recent, func(t time.Time) bool { return now.Sub(t) > x.within }), now)
	if len(x.recent) > stormEvents && e.Type == environment.EventWatch {
		x.dropped += 1 + e.Suppressed
		x.trip()
		return
	}
	n := 0
	for _, p := range x.pending {
		if p.j == j && p.e.Type == environment.EventWatch {
			n++
		}
	}
	if n >= maxHeld {
		return
	}
	if err := note(j.dir, entry{Event: &e}); err != nil {
		j.t.o.Log.Warn("an event is not on the disk", "job", j.rec.ID, "error", err)
	}
	x.put(pending{j, e})
}

// trip silences all patterns for a while. The caller holds mu.
func (x *events) trip() {
	x.storms++
	id := "storm." + strconv.FormatInt(time.Now().UnixNano(), 36)
	x.put(pending{e: environment.JobEvent{ID: id, Type: environment.EventTripped, Time: time.Now()}})
	x.storm = time.AfterFunc(x.silence, func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		if x.storm == nil {
			return
		}
		x.storm, x.recent = nil, nil
		x.put(pending{e: environment.JobEvent{ID: id + ".over", Type: environment.EventReleased, Time: time.Now(), Suppressed: x.dropped}})
		x.dropped = 0
	})
}

func (x *events) close() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.storm != nil {
		x.storm.Stop()
		x.storm = nil
	}
}

// note appends to a job's journal. A single write is whole or, after a crash, no line.
func note(dir string, e entry) error {
	b, err := json.Marshal(e)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(dir, eventsFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(b, '\n'))
	if err == nil && e.Taken != "" {
		err = f.Sync() // told once
	}
	return errors.Join(err, f.Close())
}

// load reads what a job has to tell after its keeper died.
func (x *events) load(j *job) {
	var told []environment.JobEvent
	taken := map[string]bool{}
	b, _ := os.ReadFile(filepath.Join(j.dir, eventsFile)) // most have none
	for line := range bytes.SplitSeq(b, []byte{'\n'}) {
		var e entry
		switch {
		case json.Unmarshal(line, &e) != nil:
		case e.Event != nil:
			told = append(told, *e.Event)
		case e.Taken != "":
			taken[e.Taken] = true
		}
	}
	if j.rcpt != nil && j.rcpt.Event != nil {
		told = append(told, *j.rcpt.Event)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, e := range told {
		if !taken[e.ID] && time.Since(e.Time) < j.rec.eventKeep() {
			x.put(pending{j, e})
		}
	}
}

// waits reports whether a job has something to tell.
func (x *events) waits(id string) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.ContainsFunc(x.pending, func(p pending) bool { return p.j != nil && p.j.rec.ID == id })
}

// drop forgets what a job has to tell.
func (x *events) drop(id string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.pending = slices.DeleteFunc(x.pending, func(p pending) bool { return p.j != nil && p.j.rec.ID == id })
}

// Events gives what nobody has taken: see environment.Keeper.
func (t *Table) Events(ctx context.Context, labels map[string]string) ([]environment.JobEvent, error) {
	x := t.events
	for {
		x.mu.Lock()
		var list []environment.JobEvent
		for _, p := range x.pending {
			if p.j == nil || has(p.e.Labels, labels) {
				list = append(list, p.e)
			}
		}
		change := x.change
		x.mu.Unlock()
		if len(list) > 0 {
			slices.SortStableFunc(list, func(a, b environment.JobEvent) int { return a.Time.Compare(b.Time) })
			return list, nil
		}
		select {
		case <-change:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-t.ctx.Done():
			return nil, &environment.Error{Kind: environment.ErrUnavailable, Op: "wait for what jobs have to tell", Err: errors.New("the table of jobs is closed")}
		}
	}
}

func has(all, some map[string]string) bool {
	for name, v := range some {
		if all[name] != v {
			return false
		}
	}
	return true
}

// Taken notes that an event was told: see environment.Keeper. One that nobody knows was taken before.
func (t *Table) Taken(_ context.Context, id string) error {
	x := t.events
	x.mu.Lock()
	defer x.mu.Unlock()
	i := slices.IndexFunc(x.pending, func(p pending) bool { return p.e.ID == id })
	if i < 0 {
		return nil
	}
	if j := x.pending[i].j; j != nil {
		if err := note(j.dir, entry{Taken: id}); err != nil {
			return err
		}
	}
	x.pending = slices.Delete(x.pending, i, i+1)
	return nil
}
