//go:build linux || darwin

package jobs_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine/jobs"
)

// collect takes events until one of the type comes, that included.
func collect(t *testing.T, table *jobs.Table, last environment.JobEventType) []environment.JobEvent {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	var all []environment.JobEvent
	for {
		events, err := table.Events(ctx, nil)
		if err != nil {
			t.Fatalf("no %s in %+v: %v", last, all, err)
		}
		for _, e := range events {
			if err := table.Taken(ctx, e.ID); err != nil {
				t.Fatal(err)
			}
			if all = append(all, e); e.Type == last {
				return all
			}
		}
	}
}

// none checks that nothing is left to tell.
func none(t *testing.T, table *jobs.Table) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if events, err := table.Events(ctx, nil); err == nil {
		t.Errorf("told again, or too much: %+v", events)
	}
}

// JOB-4, NTF-1: a command as short as can be gives its one event.
func TestEvents_CompletionOfTheShortest(t *testing.T) {
	table := openTable(t, jobs.Options{})
	j := script("true")
	j.Notify, j.Labels = true, map[string]string{"session_key": "s", "chat_id": "c"}
	p := start(t, table, j)
	e := collect(t, table, environment.EventCompletion)
	i := ended(t, p)
	if len(e) != 1 || e[0].Job != i.ID || *e[0].ExitCode != 0 || e[0].End != environment.EndExited || e[0].Labels["chat_id"] != "c" || e[0].Command != "true" {
		t.Errorf("%+v", e)
	}
	none(t, table)
}

// NTF-2: what nobody took is told after a restart, what was taken isn't.
func TestEvents_OnceAcrossRestarts(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "jobs")
	table := openTable(t, jobs.Options{Dir: dir})
	for _, text := range []string{"exit 1", "exit 2"} {
		j := script(text)
		j.Notify, j.Watch = true, nil
		ended(t, start(t, table, j))
	}
	w := script("echo ready; sleep 0.1")
	w.Watch = []string{"ready"}
	ended(t, start(t, table, w))
	events, err := table.Events(t.Context(), nil)
	if err != nil || len(events) != 3 {
		t.Fatalf("%+v, %v", events, err)
	}
	if err := table.Taken(t.Context(), events[0].ID); err != nil {
		t.Fatal(err)
	}
	if err := table.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	table = openTable(t, jobs.Options{Dir: dir})
	again, err := table.Events(t.Context(), nil)
	if err != nil || len(again) != 2 || again[0].ID != events[1].ID || again[1].ID != events[2].ID || again[1].Pattern != "ready" {
		t.Fatalf("%+v, %v", again, err)
	}
	for _, e := range append(again, events...) { // taking twice does no harm
		if err := table.Taken(t.Context(), e.ID); err != nil {
			t.Error(err)
		}
	}
	none(t, table)
	if err := table.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	none(t, openTable(t, jobs.Options{Dir: dir}))
}

// WCH-1, WCH-2, WCH-5: the first pattern that matches names the event, only finished lines count, matches within the window are
// counted, and the count comes before the end is told.
func TestWatch_FirstMatchThenCounts(t *testing.T) {
	table := openTable(t, jobs.Options{})
	j := script(`echo nothing; printf 'rea'; sleep 0.1; printf 'dy ERROR\n'; echo "another ERROR"; echo ready; printf 'unfinished ERROR'`)
	j.Watch, j.Notify = []string{"ready", "ERROR"}, true
	start(t, table, j)
	e := collect(t, table, environment.EventCompletion)
	if len(e) != 3 {
		t.Fatalf("%+v", e)
	}
	if e[0].Type != environment.EventWatch || e[0].Pattern != "ready" || e[0].Output != "ready ERROR" || e[0].Suppressed != 0 {
		t.Errorf("first %+v", e[0])
	}
	if e[1].Type != environment.EventWatch || e[1].Pattern != "ERROR" || e[1].Suppressed != 3 || e[1].Output != "another ERROR\nready\nunfinished ERROR" {
		t.Errorf("second %+v", e[1])
	}
	none(t, table)
}

// WCH-1: a long line is matched in pieces that overlap.
func TestWatch_LongLine(t *testing.T) {
	table := openTable(t, jobs.Options{})
	for _, before := range []int{8180, 8185, 8192, 16380, 30000} {
		j := script(fmt.Sprintf(`head -c %d /dev/zero | tr '\0' x; printf 'needle in it'; head -c 9000 /dev/zero | tr '\0' y; echo`, before))
		j.Watch = []string{"needle in it"}
		start(t, table, j)
		if e := collect(t, table, environment.EventWatch); len(e[0].Output) > 8100 || e[0].Pattern != "needle in it" {
			t.Errorf("behind %d bytes: %d bytes of output", before, len(e[0].Output))
		}
	}
}

// WCH-2, WCH-3: a pending count is told when the window ends; three windows in a row with more end the watching, and the end is told.
func TestWatch_ThreeStrikes(t *testing.T) {
	table := openTable(t, jobs.Options{})
	table.StopClocks()
	j := script("while :; do echo hit; sleep 0.01; done")
	j.Watch = []string{"hit"}
	p := start(t, table, j)
	id := info(t, p).ID
	for range 3 {
		until(t, "it matches again and again", func() bool { return table.EndWindow(id) })
	}
	e := collect(t, table, environment.EventWatchDisabled)
	if len(e) != 5 || e[0].Suppressed != 0 || e[1].Suppressed == 0 || e[3].Suppressed == 0 || strings.Count(e[1].Output, "\n") > 19 {
		t.Errorf("%+v", e)
	}
	if _, err := p.Kill(t.Context(), "process.kill"); err != nil {
		t.Fatal(err)
	}
	if end := collect(t, table, environment.EventCompletion); len(end) != 1 || end[0].End != environment.EndKilled {
		t.Errorf("after that: %+v", end)
	}
}

// WCH-4: above 15 events in 10 s of all jobs together there is silence, which ends with the count.
func TestWatch_Storm(t *testing.T) {
	table := openTable(t, jobs.Options{})
	table.StopClocks()
	for range 20 {
		j := script("echo hit")
		j.Watch = []string{"hit"}
		ended(t, start(t, table, j))
	}
	table.EndSilence()
	e := collect(t, table, environment.EventReleased)
	n, tripped := 0, 0
	for _, e := range e {
		switch e.Type {
		case environment.EventWatch:
			n++
		case environment.EventTripped:
			tripped++
		}
	}
	if last := e[len(e)-1]; n != 15 || tripped != 1 || last.Suppressed != 5 {
		t.Errorf("%d matches told, tripped %d times, released with %d", n, tripped, last.Suppressed)
	}
}

// IDN-1: a process that has the number of a job's, but not its start time, is someone else's: no signal, and the job is lost.
func TestOpen_SomeoneElsesProcess(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "jobs")
	other := openTable(t, jobs.Options{})
	stranger := start(t, other, script("sleep 60"))
	pid := info(t, stranger).PID
	boot := boot(t, filepath.Dir(filepath.Dir(string(info(t, stranger).Log))), info(t, stranger).ID)
	for id, b := range map[string]string{"reused": boot, "rebooted": "another"} {
		if err := os.MkdirAll(filepath.Join(dir, id), 0o700); err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf(`{"format":1,"session_id":%q,"command":"x","boot":%q,"keeper":"hermes-a-%s-1-1","pid":%d,"pid_start":17,"notify_on_complete":true,
			"group":{"id":"hermes-a-%s-1-1.7","leader":%d,"start":17},"started_at":"2026-01-02T03:04:05Z"}`, id, b, b, pid, b, pid)
		if err := os.WriteFile(filepath.Join(dir, id, "job.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	table := openTable(t, jobs.Options{Dir: dir, Keep: 1 << 60})
	for _, id := range []string{"reused", "rebooted"} {
		p, err := table.Attach(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if i := info(t, p); i.Status != environment.JobExited || i.End != environment.EndLost || i.ExitCode != nil {
			t.Errorf("%+v", i)
		}
		if _, err := p.Kill(t.Context(), "test"); err != nil {
			t.Error(err)
		}
	}
	if e := collect(t, table, environment.EventCompletion); e[0].End != environment.EndLost {
		t.Errorf("%+v", e)
	}
	if i := info(t, stranger); i.Status != environment.JobRunning {
		t.Errorf("the stranger was ended: %+v", i)
	}
}

func boot(t *testing.T, dir, id string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, id, "job.json"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(b), `"boot":"`)
	value, _, _ := strings.Cut(rest, `"`)
	return value
}
