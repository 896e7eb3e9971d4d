//go:build linux || darwin

package jobs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine/group"
)

const (
	detachedNote = "the process that kept it died: it can be ended, and what it printed since is missing"
	keptNote     = "another version of hermes keeps it until it ends: it can be read and ended from here, and not be written to"
	leftoverNote = "a command left it running: it can be ended, and what it prints goes where it was sent"
)

// tendEvery is how often jobs are looked at whose end nothing tells.
const tendEvery = time.Second

// sweepEvery is how often old jobs are removed.
const sweepEvery = 10 * time.Minute

// load reads all records.
func (t *Table) load() error {
	entries, err := os.ReadDir(t.o.Dir)
	if err != nil {
		return fmt.Errorf("read the jobs: %w", err)
	}
	for _, e := range entries {
		if e.IsDir() && isID(e.Name()) {
			t.read(e.Name())
		}
	}
	t.sweep()
	return nil
}

// refresh finds jobs that another keeper has started meanwhile.
func (t *Table) refresh() {
	entries, err := os.ReadDir(t.o.Dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if e.IsDir() && isID(e.Name()) && t.find(e.Name()) == nil {
			t.read(e.Name())
		}
	}
}

// read takes one directory in. One that can't be read is set aside, and no other suffers.
func (t *Table) read(id string) {
	t.reading.Lock()
	defer t.reading.Unlock()
	if t.find(id) != nil {
		return
	}
	j := newJob(t, id)
	rec, err := getRecord(j.dir)
	if errors.Is(err, fs.ErrNotExist) {
		t.unborn(j)
		return
	}
	var r *receipt
	if err == nil {
		r, err = getReceipt(j.dir)
	}
	if err != nil {
		t.aside(j.dir, err)
		return
	}
	j.rec, j.rcpt = rec, r
	close(j.begun)
	if r != nil {
		close(j.over)
	}
	if j.away = j.kept() && rec.Format <= format; !j.away {
		t.events.load(j)
		j.adopt()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.jobs[id] = j
}

// unborn removes what was left of a start that wrote no record: its command never got its go. A start that is under way is young.
func (t *Table) unborn(j *job) {
	if i, err := os.Stat(j.dir); err == nil && time.Since(i.ModTime()) > time.Minute {
		_ = os.RemoveAll(j.dir)
	}
}

func (t *Table) aside(dir string, why error) {
	to := filepath.Join(filepath.Dir(dir), "."+filepath.Base(dir)+".unreadable")
	t.o.Log.Warn("the record of a job can't be read and was set aside", "job", filepath.Base(dir), "at", to, "error", why)
	if err := os.Rename(dir, to); err != nil {
		t.o.Log.Warn("set a record aside", "error", err)
	}
}

// adopt finds out what became of a job whose keeper is gone.
func (j *job) adopt() {
	if j.rec.Format > format {
		return
	}
	switch g := j.group(); {
	case j.rcpt == nil && j.lives():
		j.recount()
	case j.rcpt == nil:
		j.recount()
		j.loseOr(g, environment.EndLost)
	case !j.rcpt.GroupOver:
		j.mu.Lock()
		j.left = members(g)
		j.after = len(j.left) > 0
		j.mu.Unlock()
	}
}

// within reports whether the processes that the record names are those of this table's own place: numbers of a sandbox mean nothing on
// the host, nor the other way round.
func (j *job) within() bool { return j.rec.Scope == j.t.o.Scope }

// kept reports whether another process holds the job.
func (j *job) kept() bool {
	o, err := group.ParseOwner(j.rec.Keeper)
	return err == nil && j.within() && o != j.t.self && o.Alive()
}

// leads reports whether the job's own process lives: the same process, not one that has its number.
func (j *job) leads() bool {
	return j.within() && j.rec.PID != 0 && j.rec.Start != 0 && group.Owner{PID: j.rec.PID, Start: j.rec.Start, Boot: j.rec.Boot}.Alive()
}

// lives reports whether there is something of the job that hasn't come to its end.
func (j *job) lives() bool {
	if j.rec.Leftover {
		return len(members(j.group())) > 0
	}
	return j.leads()
}

// group finds the group, nil where it can't be told from others'. Where the first process is gone, its number may be another's by now:
// then only the mark and the control group count.
func (j *job) group() *group.Group {
	if !j.within() || j.rec.Boot != j.t.self.Boot || j.rec.Group.ID == "" {
		return nil
	}
	r := j.rec.Group
	if !j.leads() {
		r.Leader, r.Start = 0, 0
	}
	return group.Find(r)
}

func members(g *group.Group) []environment.ProcessRef {
	if g == nil {
		return nil
	}
	return g.Members()
}

// stamp is what changes when a log is written.
type stamp struct {
	size     int64
	modified time.Time
}

func stampOf(dir string) stamp {
	i, err := os.Stat(filepath.Join(dir, logName))
	if err != nil {
		return stamp{}
	}
	return stamp{i.Size(), i.ModTime()}
}

// follow counts a log that another process writes, if it was written since.
func (j *job) follow() {
	now := stampOf(j.dir)
	j.mu.Lock()
	same := j.lost != nil && j.seen == now
	j.mu.Unlock()
	if !same {
		j.recount()
	}
}

// recount counts a log as it is now.
func (j *job) recount() {
	seen := stampOf(j.dir) // before it is read: what is written meanwhile is found the next time
	c, err := recount(j.dir)
	if err != nil {
		j.t.o.Log.Warn("the log of a job can't be read", "id", j.rec.ID, "error", err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.lost, j.seen = &c, seen
}

// detached reports whether nothing tells of the job's end but looking.
func (j *job) detached() bool {
	if !j.ready() {
		return false
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.st == nil && j.rcpt == nil
}

// loseOr writes the receipt of a job whose end nobody of us saw. as is lost, or how its end was seen from outside.
func (j *job) loseOr(g *group.Group, as environment.JobEnd) {
	since := j.rec.Started
	if i, err := os.Stat(filepath.Join(j.dir, logName)); err == nil {
		since = i.ModTime()
	}
	left := members(g)
	r := receipt{
		Format: format, End: as, Ended: time.Now(), GroupOver: len(left) == 0,
		Note: "the process that kept it died: output is missing from " + since.Format(time.RFC3339) + " on, and nobody saw the exit code",
	}
	if j.rec.Leftover {
		r.Note = "a command had left it running, and nobody saw the exit code"
	}
	if as == environment.EndLost {
		r.Ended = since
	}
	j.mu.Lock()
	if j.rcpt != nil {
		j.mu.Unlock()
		return
	}
	if e := j.ending; e != nil {
		r.End, r.Source = e.As, e.Source
	}
	if j.lost != nil {
		r.Output = *j.lost
	}
	j.rcpt = &r // nobody else completes it
	j.mu.Unlock()
	j.complete(&r, left)
}

// killDetached ends a job that this process doesn't hold.
func (j *job) killDetached(time.Duration) []environment.ProcessRef {
	g := j.group()
	if g == nil {
		j.look()
		return nil
	}
	if j.elsewhere() {
		j.announce()
	}
	left := g.End(j.t.o.Engine.Grace)
	g.Close()
	if j.elsewhere() && len(left) == 0 { // its keeper writes the receipt
		ctx, cancel := context.WithTimeout(j.t.ctx, endTime)
		defer cancel()
		_ = j.Wait(ctx)
	}
	j.look()
	return left
}

// look sees whether something has changed that nothing tells of.
func (j *job) look() {
	switch {
	case j.elsewhere():
		j.reread()
	case j.detached() && !j.lives():
		j.loseOr(j.group(), environment.EndExited)
	case j.lingers():
		j.mu.Lock()
		st := j.st
		j.mu.Unlock()
		var left []environment.ProcessRef
		if st != nil {
			left = st.Members()
		} else {
			left = members(j.group())
		}
		j.mu.Lock()
		j.left = left
		j.mu.Unlock()
		if len(left) == 0 {
			j.finish()
		}
	}
}

// elsewhere reports whether another process keeps the job.
func (j *job) elsewhere() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.away
}

// reread takes the receipt that another keeper has written, and the whole job once that keeper has gone.
func (j *job) reread() {
	gone := !j.kept()
	r, err := getReceipt(j.dir)
	j.mu.Lock()
	if err == nil && r != nil && (j.rcpt == nil || r.GroupOver) {
		if j.rcpt == nil {
			close(j.over)
		}
		j.rcpt = r
	}
	takes := gone && j.away
	j.away = j.away && !gone
	j.mu.Unlock()
	if takes {
		j.t.events.load(j)
		j.adopt()
	}
}

// tend looks after what nothing tells of, and removes what is old.
func (t *Table) tend(ctx context.Context) {
	old := time.NewTicker(sweepEvery)
	defer old.Stop()
	for {
		var next <-chan time.Time
		for _, j := range t.all() {
			if j.detached() || j.lingers() || j.elsewhere() {
				next = time.After(tendEvery)
				break
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-t.wake:
		case <-old.C:
			t.sweep()
		case <-next:
			for _, j := range t.all() {
				j.look()
			}
		}
	}
}
