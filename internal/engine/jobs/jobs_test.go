//go:build linux || darwin

package jobs_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine"
	"github.com/hermes-runtime/hermes/internal/engine/jobs"
)

// deadline bounds every wait of a test.
const deadline = time.Minute

func openTable(t testing.TB, o jobs.Options) *jobs.Table {
	t.Helper()
	if o.Dir == "" {
		o.Dir = filepath.Join(t.TempDir(), "jobs")
	}
	o.Engine.Grace = cmp.Or(o.Engine.Grace, 300*time.Millisecond)
	table, err := jobs.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := table.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return table
}

func base(t testing.TB) engine.Base {
	return engine.Base{Environ: os.Environ(), Home: t.TempDir(), Temp: os.TempDir()}
}

func start(t testing.TB, table *jobs.Table, j environment.Job) environment.Process {
	t.Helper()
	p, err := table.Start(context.Background(), jobs.Spec{Job: j, Base: base(t)})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func script(text string) environment.Job {
	return environment.Job{Command: environment.Command{Script: text}}
}

func ended(t testing.TB, p environment.Process) environment.JobInfo {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	if err := p.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	return info(t, p)
}

func info(t testing.TB, p environment.Process) environment.JobInfo {
	t.Helper()
	i, err := p.Info(context.Background(), 2000)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// until waits for something that becomes true by itself.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(deadline); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("never: " + what)
		}
	}
}

func code(i environment.JobInfo) int {
	if i.ExitCode == nil {
		return -1000
	}
	return *i.ExitCode
}

// LOG-1, LOG-3, PRT-2, PRT-3: a job's end, its output and the files that tell of both.
func TestStart_EndIsKnownAndOnDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "jobs")
	table := openTable(t, jobs.Options{Dir: dir})
	j := script("printf 'one\\n\\033[31mtwo\\033[0m\\n'; printf three; exit 7")
	j.Labels = map[string]string{"session_key": "s"}
	p := start(t, table, j)
	i := ended(t, p)
	if i.Status != environment.JobExited || code(i) != 7 || i.End != environment.EndExited || i.Preview != "one\ntwo\nthree" || i.Lines != 3 {
		t.Errorf("%+v", i)
	}
	if !strings.HasPrefix(i.ID, "proc_") || len(i.ID) != 17 || i.Labels["session_key"] != "s" {
		t.Errorf("id %q, labels %v", i.ID, i.Labels)
	}
	text, err := os.ReadFile(string(i.Log))
	if err != nil || string(text) != "one\ntwo\nthree" {
		t.Errorf("log %q, %v", text, err)
	}
	st, err := os.Stat(filepath.Join(dir, i.ID))
	if err != nil || st.Mode().Perm() != 0o700 {
		t.Errorf("directory %v, %v", st, err)
	}
	b, err := os.ReadFile(filepath.Join(dir, i.ID, "receipt.json"))
	var r map[string]any
	if err != nil || json.Unmarshal(b, &r) != nil || r["exit_code"] != 7.0 || r["completion_reason"] != "exited" {
		t.Errorf("receipt %s, %v", b, err)
	}
}

// JOB-3, LOG-2: the record is there before the command runs, which can read it.
func TestStart_RecordComesFirst(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "jobs")
	table := openTable(t, jobs.Options{Dir: dir})
	j := script("cat " + filepath.Join(dir, "first", "job.json"))
	j.ID = "first"
	i := ended(t, start(t, table, j))
	var r struct {
		ID    string `json:"session_id"`
		PID   int    `json:"pid"`
		Start uint64 `json:"pid_start"`
		Boot  string `json:"boot"`
		Scope string `json:"pid_scope"`
	}
	if err := json.Unmarshal([]byte(i.Preview), &r); err != nil || r.ID != "first" || r.PID != i.PID || r.Start == 0 || r.Boot == "" || r.Scope != "host" {
		t.Errorf("record %s: %+v, %v", i.Preview, r, err)
	}
}

// JOB-5: a job that can't start is an error, and the entry says so.
func TestStart_FailedStartIsAnEntry(t *testing.T) {
	table := openTable(t, jobs.Options{})
	j := script("true")
	j.Command.Dir = "/no/such/directory"
	_, err := table.Start(t.Context(), jobs.Spec{Job: j, Base: base(t)})
	if !errors.Is(err, environment.ErrNotStarted) || !strings.Contains(err.Error(), "/no/such/directory") {
		t.Errorf("error %v", err)
	}
	list, err := table.Jobs(t.Context(), 10)
	if err != nil || len(list) != 1 || list[0].End != environment.EndFailedStart || list[0].Note == "" {
		t.Errorf("%+v, %v", list, err)
	}
}

// JOB-6: the timeout of the command is the longest life of the job.
func TestStart_LongestLife(t *testing.T) {
	table := openTable(t, jobs.Options{})
	j := script("sleep 60")
	j.Command.Timeout = 50 * time.Millisecond
	if i := ended(t, start(t, table, j)); i.End != environment.EndTimeout || code(i) != 124 || i.Source != "timeout" {
		t.Errorf("%+v", i)
	}
}

// PRT-6: killed is killed: -15, or -9 where TERM wasn't enough; a signal from outside is none of ours; twice is as good as once.
func TestKill_Codes(t *testing.T) {
	table := openTable(t, jobs.Options{})
	for name, c := range map[string]struct {
		text  string
		want  int
		grace time.Duration
	}{
		"TERM": {"echo up; sleep 60", -15, deadline}, // enough to die of it on any machine
		"KILL": {"trap '' TERM; echo up; while :; do sleep 60; done", -9, 0},
	} {
		t.Run(name, func(t *testing.T) {
			table := openTable(t, jobs.Options{Engine: engine.Options{Grace: c.grace}})
			p := start(t, table, script(c.text))
			until(t, "it is up", func() bool { return info(t, p).Preview != "" })
			left, err := p.Kill(t.Context(), "process.kill")
			i := info(t, p)
			if err != nil || len(left) > 0 || i.End != environment.EndKilled || code(i) != c.want || i.Source != "process.kill" {
				t.Errorf("%+v, left %v, %v", i, left, err)
			}
			if left, err = p.Kill(t.Context(), "again"); err != nil || len(left) > 0 || info(t, p).Source != "process.kill" {
				t.Errorf("again: %v, %v", left, err)
			}
		})
	}
	i := ended(t, start(t, table, script("kill -9 $$")))
	if i.End != environment.EndExited || code(i) != 137 || i.Source != "SIGKILL" {
		t.Errorf("from outside: %+v", i)
	}
}

// GRP-4: the command's end is told at once; who goes on is named, and ended by kill.
func TestEnd_StillRunning(t *testing.T) {
	table := openTable(t, jobs.Options{})
	p := start(t, table, script("(sleep 1; echo late; sleep 60) & echo first; exit 3"))
	i := ended(t, p)
	if code(i) != 3 || len(i.StillRunning) == 0 || table.Busy() != 1 {
		t.Fatalf("%+v", i)
	}
	until(t, "what they print is kept", func() bool { return strings.Contains(info(t, p).Preview, "late") })
	if left, err := p.Kill(t.Context(), "process.kill"); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
	i = info(t, p)
	if code(i) != 3 || i.End != environment.EndExited || len(i.StillRunning) > 0 || table.Busy() != 0 || i.Preview != "first\nlate\n" {
		t.Errorf("%+v", i)
	}
}

// JOB-7, PRT-7: input is kept open on demand; without it the error says what to do.
func TestWrite_NeedsInput(t *testing.T) {
	table := openTable(t, jobs.Options{})
	p := start(t, table, script("sleep 60"))
	if _, err := p.Write(t.Context(), []byte("x")); !errors.Is(err, io.ErrClosedPipe) || !strings.Contains(err.Error(), "keep_stdin") {
		t.Errorf("without input: %v", err)
	}
	j := script("cat")
	j.KeepStdin = true
	p = start(t, table, j)
	if n, err := p.Write(t.Context(), []byte("hello\n")); n != 6 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if err := p.CloseInput(t.Context()); err != nil {
		t.Error(err)
	}
	if i := ended(t, p); i.Preview != "hello\n" || code(i) != 0 {
		t.Errorf("%+v", i)
	}
	if _, err := p.Write(t.Context(), []byte("x")); !errors.Is(err, io.ErrClosedPipe) || !strings.Contains(err.Error(), "ended") {
		t.Errorf("after the end: %v", err)
	}
}

// JOB-2: output comes as it is printed; a job's state is a copy.
func TestStart_Environment(t *testing.T) {
	table := openTable(t, jobs.Options{})
	st := environment.NewState("")
	one := "1"
	st.Merge(environment.Snapshot{}, environment.Snapshot{Vars: map[string]*string{"CARRIED": &one}})
	j := script("echo $PYTHONUNBUFFERED $CARRIED; export CARRIED=2")
	j.Command.State = st
	if i := ended(t, start(t, table, j)); i.Preview != "1 1\n" || *st.Snapshot().Vars["CARRIED"] != "1" {
		t.Errorf("%q", i.Preview)
	}
}

// LIM-1: above the limit a job is refused, with the number and the oldest.
func TestStart_Limits(t *testing.T) {
	table := openTable(t, jobs.Options{MaxRunning: 3, MaxPerOwner: 2})
	own := func(who string) environment.Job {
		j := script("sleep 60")
		j.Labels = map[string]string{jobs.LabelOwner: who}
		return j
	}
	first := start(t, table, own("a"))
	start(t, table, own("a"))
	var limit *jobs.LimitError
	_, err := table.Start(t.Context(), jobs.Spec{Job: own("a"), Base: base(t)})
	if !errors.As(err, &limit) || !errors.Is(err, environment.ErrNotStarted) || limit.Running != 2 || limit.Oldest != info(t, first).ID {
		t.Errorf("of one owner: %v", err)
	}
	start(t, table, own("b"))
	if _, err = table.Start(t.Context(), jobs.Spec{Job: own("b"), Base: base(t)}); !errors.As(err, &limit) || limit.Limit != 3 {
		t.Errorf("of all: %v", err)
	}
	if _, err := first.Kill(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	start(t, table, own("b"))
}

func TestAttach_UnknownDoesNotExist(t *testing.T) {
	table := openTable(t, jobs.Options{})
	if _, err := table.Attach(t.Context(), "proc_000000000000"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	for _, id := range []string{"../x", "", ".", "a/b", "-a", "_a", "a b", "é", strings.Repeat("a", 65)} {
		if _, err := table.Attach(t.Context(), id); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q: %v", id, err)
		}
		j := script("true")
		if j.ID = id; id == "" {
			continue
		}
		if _, err := table.Start(t.Context(), jobs.Spec{Job: j, Base: base(t)}); !errors.Is(err, environment.ErrNotStarted) {
			t.Errorf("%q starts: %v", id, err)
		}
	}
}

// LOG-6: a job is remembered from its end on, and across a restart.
func TestOpen_FinishedJobsAreRemembered(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "jobs")
	table := openTable(t, jobs.Options{Dir: dir})
	p := start(t, table, script("seq 1 100; exit 4"))
	was := ended(t, p)
	if err := table.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	table = openTable(t, jobs.Options{Dir: dir})
	again, err := table.Attach(t.Context(), was.ID)
	if err != nil {
		t.Fatal(err)
	}
	i := info(t, again)
	if code(i) != 4 || i.Lines != 100 || !strings.HasSuffix(i.Preview, "99\n100\n") || i.Started.UnixNano() != was.Started.UnixNano() {
		t.Errorf("%+v", i)
	}
	if err := table.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	table = openTable(t, jobs.Options{Dir: dir, Keep: time.Nanosecond})
	if _, err := table.Attach(t.Context(), was.ID); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("too old: %v", err)
	}
}

// IDN-4: a record that can't be read is set aside; one of a newer version is shown and left alone.
func TestOpen_UnreadableRecords(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "jobs")
	for id, text := range map[string]string{
		"broken": "{", "newer": `{"format":99,"session_id":"newer","command":"x","boot":"b","keeper":"k","started_at":"2026-01-02T03:04:05Z"}`,
	} {
		if err := os.MkdirAll(filepath.Join(dir, id), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, id, "job.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	table := openTable(t, jobs.Options{Dir: dir, Keep: time.Nanosecond})
	list, err := table.Jobs(t.Context(), 0)
	if err != nil || len(list) != 1 || list[0].ID != "newer" {
		t.Errorf("%+v, %v", list, err)
	}
	if _, err := os.Stat(filepath.Join(dir, ".broken.unreadable", "job.json")); err != nil {
		t.Error(err)
	}
}
