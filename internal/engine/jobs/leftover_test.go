//go:build linux || darwin

package jobs_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine"
	"github.com/hermes-runtime/hermes/internal/engine/jobs"
)

// leave runs a command that leaves someone running.
func leave(t *testing.T) environment.Leftover {
	t.Helper()
	e := engine.New(engine.Options{})
	t.Cleanup(func() { _ = e.Close(context.Background()) })
	r, err := e.Run(t.Context(), environment.Command{Script: "sleep 600 >/dev/null 2>&1 &"}, base(t))
	if err != nil || len(r.Left) != 1 || r.LeftGroup == "" {
		t.Fatalf("%+v, %v", r, err)
	}
	return environment.Leftover{Group: r.LeftGroup, Left: r.Left, Shown: "sleep 600 &", Dir: r.Dir, Labels: map[string]string{"owner": "s"}}
}

// OWN-2, IDN-2: what a command left running is found again by the next keeper, and ends by being killed.
func TestAdopt_SurvivesTheKeeper(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "jobs")
	l := leave(t)
	first := openTable(t, jobs.Options{Dir: dir})
	p, err := first.Adopt(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	id := info(t, p).ID
	second := openTable(t, jobs.Options{Dir: dir}) // as after a restart: the record is all that it has
	if p, err = second.Attach(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if i := info(t, p); i.Status != environment.JobRunning || i.PID != l.Left[0].PID || i.Labels["owner"] != "s" || i.Command != l.Shown {
		t.Errorf("%+v", i)
	}
	if err := second.Forget(t.Context(), id); err == nil {
		t.Error("what runs is forgotten")
	}
	if left, err := p.Kill(t.Context(), "test"); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
	if i := ended(t, p); i.End != environment.EndKilled || i.ExitCode != nil || i.Source != "test" {
		t.Errorf("%+v", i)
	}
}

func TestAdopt_RefusesWhatNamesNoGroup(t *testing.T) {
	table := openTable(t, jobs.Options{})
	for _, g := range []string{"", "x", "{}", `{"id": 1}`} {
		if _, err := table.Adopt(t.Context(), environment.Leftover{Group: g, Left: []environment.ProcessRef{{PID: 1}}}); !errors.Is(err, environment.ErrUnsupported) {
			t.Errorf("%q: %v", g, err)
		}
	}
}

// LOG-6: what has ended can be forgotten before its time, and is gone from the disk.
func TestForget_TakesTheLogToo(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "jobs")
	table := openTable(t, jobs.Options{Dir: dir})
	i := ended(t, start(t, table, script("echo secret")))
	for range 2 {
		if err := table.Forget(t.Context(), i.ID); err != nil {
			t.Error(err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// LIM-1, LOG-4, LOG-6: a start brings its own bounds; they hold for that job and stand in its record.
func TestStart_BringsItsBounds(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "jobs")
	table := openTable(t, jobs.Options{Dir: dir, LogHead: 1000})
	first := start(t, table, script("exec sleep 60"))
	j := script("true")
	j.Bounds = environment.JobBounds{Running: 1}
	_, err := table.Start(t.Context(), jobs.Spec{Job: j, Base: base(t)})
	limit, ok := errors.AsType[*jobs.LimitError](err)
	if !ok || limit.Key != "process.max_running" || limit.Limit != 1 || limit.Running != 1 || limit.Oldest != info(t, first).ID {
		t.Errorf("%v", err)
	}
	j = script("seq 1 100000")
	j.Bounds = environment.JobBounds{LogBytes: 2000, Keep: 7, EventKeep: 9}
	i := ended(t, start(t, table, j))
	if i.Lines != 100000 || i.Dropped < 99000 {
		t.Errorf("%d lines, %d dropped", i.Lines, i.Dropped)
	}
	var r struct {
		Keep      int `json:"keep"`
		EventKeep int `json:"event_keep"`
	}
	b, err := os.ReadFile(filepath.Join(dir, i.ID, "job.json"))
	if err != nil || json.Unmarshal(b, &r) != nil || r.Keep != 7 || r.EventKeep != 9 {
		t.Errorf("%+v, %v", r, err)
	}
}
