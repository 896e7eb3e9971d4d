//go:build linux || darwin

package jobs

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"

	"github.com/hermes-runtime/hermes/environment"
)

// Info tells how it stands.
func (j *job) Info(_ context.Context, preview int) (environment.JobInfo, error) {
	j.look()
	i := j.info(preview)
	j.mu.Lock()
	i.Typed = bytes.Clone(j.typed)
	j.mu.Unlock()
	if j.screen != nil && i.Status == environment.JobRunning {
		i.Waiting = waiting(j.handle().Terminal())
	}
	return i, nil
}

// Standing tells how it stands.
func (j *job) Standing() environment.JobInfo {
	i, _ := j.Info(context.Background(), environment.DescribedPreview) // never fails
	return i
}

func (j *job) info(preview int) environment.JobInfo {
	j.mu.Lock()
	r := j.rec
	i := environment.JobInfo{
		ID: r.ID, Command: r.Command, Dir: r.Dir, PID: r.PID, Started: r.Started, Status: environment.JobRunning, Terminal: r.Terminal,
		KeepStdin: r.KeepStdin, Detached: j.ready() && j.st == nil && j.rcpt == nil,
		Log: environment.Path(filepath.Join(j.dir, logName)), Labels: r.Labels,
	}
	if j.after {
		i.StillRunning = j.left
	}
	if x := j.rcpt; x != nil {
		i.Status, i.Ended, i.ExitCode, i.End, i.Source, i.Limit, i.Note = environment.JobExited, x.Ended, x.ExitCode, x.End, x.Source, x.Limit, x.Note
	} else if i.Detached {
		i.Note = detachedNote
		if r.Leftover {
			i.Note = leftoverNote
		}
	}
	j.mu.Unlock()
	if !j.ready() {
		return i
	}
	if i.Detached && j.kept() {
		i.Detached, i.Note = false, keptNote
		j.follow() // it goes on there
	}
	if j.screen != nil {
		z := j.screen.size()
		i.Terminal = &z
	}
	c := j.counts()
	i.Lines, i.Chars, i.Dropped = c.total(), c.Chars, c.dropped()
	if preview <= 0 || c.Chars == 0 {
		return i // no file is opened for nothing
	}
	if log, _ := j.output(); log != nil {
		i.Preview, c = log.end(preview)
	} else if v, err := j.view(); err == nil { // an unreadable log shows nothing
		defer v.close()
		i.Preview, _ = v.end(preview)
		c = v.counts
	}
	i.Lines, i.Chars, i.Dropped = c.total(), c.Chars, c.dropped()
	return i
}

// output tells where the log stands: in a journal that is written, or else what was counted.
func (j *job) output() (*journal, counts) {
	j.mu.Lock()
	defer j.mu.Unlock()
	switch {
	case j.rcpt != nil && (!j.after || j.st == nil):
		return nil, j.rcpt.Output
	case j.lost != nil:
		return nil, *j.lost
	}
	return j.log, counts{}
}

func (j *job) counts() counts {
	log, c := j.output()
	if log != nil {
		return log.tally()
	}
	return c
}

// view opens the log as it is.
func (j *job) view() (*view, error) {
	log, c := j.output()
	if log != nil {
		return log.view()
	}
	return openView(j.dir, c)
}

// Log reads lines of its output.
func (j *job) Log(_ context.Context, offset, limit int) (environment.LogPage, error) {
	v, err := j.view()
	if err != nil {
		return environment.LogPage{}, fmt.Errorf("read the log of %s: %w", j.rec.ID, err)
	}
	defer v.close()
	return v.page(offset, limit)
}
