//go:build linux || darwin

package jobs_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine"
	"github.com/hermes-runtime/hermes/internal/engine/group"
	"github.com/hermes-runtime/hermes/internal/engine/jobs"
)

// moved changes members of the record of a job that runs and puts it where another table finds it, with a log last written an hour ago.
func moved(t *testing.T, change map[string]any) (first *jobs.Table, p environment.Process, log string, last time.Time) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "jobs")
	first = openTable(t, jobs.Options{Dir: dir})
	runs := info(t, start(t, first, script("echo out; exec sleep 600")))
	b, err := os.ReadFile(filepath.Join(dir, runs.ID, "job.json"))
	if err != nil {
		t.Fatal(err)
	}
	var record map[string]any
	if err := json.Unmarshal(b, &record); err != nil {
		t.Fatal(err)
	}
	for name, v := range change {
		record[name] = v
	}
	if b, err = json.Marshal(record); err != nil {
		t.Fatal(err)
	}
	last = time.Now().Add(-time.Hour).Truncate(time.Second)
	other := filepath.Join(t.TempDir(), "jobs")
	to := filepath.Join(other, runs.ID)
	log = filepath.Join(to, "log")
	for _, err := range []error{
		os.MkdirAll(to, 0o700), os.WriteFile(filepath.Join(to, "job.json"), b, 0o600), os.WriteFile(log, []byte("out\n"), 0o600), os.Chtimes(log, last, last),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if p, err = openTable(t, jobs.Options{Dir: other}).Attach(t.Context(), runs.ID); err != nil {
		t.Fatal(err)
	}
	return first, p, log, last
}

// found is what another table makes of a job with such a record, once it was told to end it.
func found(t *testing.T, change map[string]any) (environment.Process, time.Time) {
	t.Helper()
	first, p, _, last := moved(t, change)
	if left, err := p.Kill(t.Context(), "test"); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
	if now := info(t, must(first.Attach(t.Context(), info(t, p).ID))); now.Status != environment.JobRunning {
		t.Errorf("somebody else's process was ended: %+v", now)
	}
	return p, last
}

// A job that a keeper of an older version holds goes on there. Its log is counted when it was written, not at every look.
func TestInfo_LogOfAnotherKeeperIsCountedWhenItWasWritten(t *testing.T) {
	_, p, log, last := moved(t, map[string]any{"keeper": group.Self("another").String()})
	write := func(text string, at time.Time) {
		t.Helper()
		if err := errors.Join(os.WriteFile(log, []byte(text), 0o600), os.Chtimes(log, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	counted := func(lines int, why string) {
		t.Helper()
		if i := info(t, p); i.Status != environment.JobRunning || i.Detached || i.Lines != lines {
			t.Errorf("%s: %+v", why, i)
		}
	}
	counted(1, "as found")
	write("\n\n\n\n\n", last)
	counted(5, "more of it")
	write("a\nbb\n", last) // as nothing that writes a log does: it shows whether it is read
	counted(5, "neither longer nor later")
	write("a\nbb\n", last.Add(time.Second))
	counted(2, "later")
	write("a\nbb\nc\n", last.Add(time.Second))
	counted(3, "longer")
}

func must(p environment.Process, _ error) environment.Process { return p }

// IDN-3, IDN-5: a record from before the machine was started, or of another place, names no process of today: it is lost, with the time
// of its last output, and nobody is signalled.
func TestOpen_NumbersOfElsewhereMeanNothing(t *testing.T) {
	for name, change := range map[string]map[string]any{
		"another boot":   {"boot": "another", "keeper": "gone"},
		"a sandbox":      {"pid_scope": "sandbox", "keeper": "gone"},
		"kept elsewhere": {"pid_scope": "sandbox"},
	} {
		t.Run(name, func(t *testing.T) {
			p, last := found(t, change)
			if i := info(t, p); i.End != environment.EndLost || i.ExitCode != nil || !i.Ended.Equal(last) || i.Preview != "out\n" || !strings.Contains(i.Note, "nobody saw") {
				t.Errorf("%+v", i)
			}
		})
	}
}

// GRP-3: a thousand processes, and one that goes on starting them, are ended in one go, with control groups and without.
func TestKill_ForkingTarget(t *testing.T) {
	n := "1000"
	if testing.Short() || raceEnabled {
		n = "100"
	}
	for name, o := range map[string]engine.Options{"": {}, "without control groups": {NoCgroup: true, Subreaper: false}} {
		t.Run(name, func(t *testing.T) {
			table := openTable(t, jobs.Options{Engine: o})
			p := start(t, table, script("trap '' TERM; n=0; while [ $n -lt "+n+" ]; do sleep 600 & n=$((n+1)); done; echo all; while :; do sleep 600 & sleep 0.01; done"))
			until(t, "all are there", func() bool { return info(t, p).Preview == "all\n" })
			if _, err := p.Kill(t.Context(), "test"); err != nil {
				t.Error(err)
			}
			if i := ended(t, p); i.End != environment.EndKilled {
				t.Errorf("%+v", i)
			}
			until(t, "they are gone", func() bool { return len(info(t, p).StillRunning) == 0 }) // at once, but for a machine that is busy
		})
	}
}

// LOG-5: a job that prints as fast as it can holds no other one up.
func TestTable_AFloodIsNobodyElsesMatter(t *testing.T) {
	if _, err := exec.LookPath("yes"); err != nil {
		t.Skip("there is no yes")
	}
	table := openTable(t, jobs.Options{LogHead: 1 << 20, LogTail: 1 << 20})
	flood := start(t, table, script("exec yes 'a line that comes again and again'"))
	until(t, "it has printed more than is kept", func() bool { return info(t, flood).Dropped > 0 })
	for range 5 {
		if i := ended(t, start(t, table, script("echo mine"))); i.Preview != "mine\n" {
			t.Errorf("%+v", i)
		}
	}
	before := info(t, flood).Chars
	until(t, "it goes on", func() bool { return info(t, flood).Chars > before })
}
