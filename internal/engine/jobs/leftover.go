//go:build linux || darwin

package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine/group"
)

// Adopt gives what a command left running an entry: see environment.Keeper. It isn't refused for want of room, since it runs already.
func (t *Table) Adopt(_ context.Context, l environment.Leftover) (environment.Process, error) {
	var g group.Record
	if err := json.Unmarshal([]byte(l.Group), &g); err != nil || g.ID == "" || len(l.Left) == 0 {
		return nil, fmt.Errorf("give what a command left running an entry: %q names no group (%w)", l.Group, errors.Join(err, environment.ErrUnsupported))
	}
	j := newJob(t, NewID())
	j.rec = record{
		Format: format, ID: filepath.Base(j.dir), Command: l.Shown, Dir: l.Dir, PID: l.Left[0].PID, Boot: t.self.Boot, Scope: t.o.Scope,
		Group: g, Keeper: t.self.String(), Labels: l.Labels, Started: time.Now(), Leftover: true, Keep: l.Bounds.Keep, EventKeep: l.Bounds.EventKeep,
	}
	j.lost = &counts{}
	close(j.begun)
	if err := j.enterLeftover(); err != nil {
		return nil, fmt.Errorf("give what a command left running an entry: %w", err)
	}
	t.changed() // tend looks after it
	return j, nil
}

// enterLeftover puts the record on the disk and the job into the table.
func (j *job) enterLeftover() error {
	t := j.t
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return errors.New("the table of jobs is closed")
	}
	if err := os.Mkdir(j.dir, 0o700); err != nil {
		return err
	}
	if err := errors.Join(os.WriteFile(filepath.Join(j.dir, logName), nil, 0o600), putRecord(j.dir, j.rec)); err != nil {
		return errors.Join(err, os.RemoveAll(j.dir))
	}
	t.jobs[j.rec.ID] = j
	return nil
}
