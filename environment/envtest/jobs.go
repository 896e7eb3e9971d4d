package envtest

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/environment"
)

// place is an environment that has jobs.
type place interface {
	environment.Environment
	environment.Starter
	environment.Keeper
}

// working holds the commands that go on by themselves.
var working = []check{
	{"KPR_AJobIsFoundByItsIDUntilItsEndIsKnown", Jobs, jobIsFound},
	{"LOG_LinesAreReadByNumber", Jobs, func(t *testing.T, s *suite) {
		p := s.start(t, environment.Job{Command: environment.Command{Script: "i=0; while [ $i -lt 50 ]; do echo line $i; i=$((i+1)); done; printf end"}})
		s.ended(t, p)
		page, err := p.Log(t.Context(), 48, 2)
		if err != nil || page.Text != "line 48\nline 49" && page.Text != "line 48\nline 49\n" || page.Total != 51 || page.First != 48 {
			t.Errorf("%+v, %v", page, err)
		}
		if page, err = p.Log(t.Context(), -1, 1); err != nil || strings.TrimSpace(page.Text) != "end" {
			t.Errorf("the last: %+v, %v", page, err)
		}
	}},
	{"PRC_InputArrivesAndEnds", Jobs, jobInput},
	{"KPR_AJobHasTheStateOfItsSessionAndLeavesItAsItWas", Jobs, func(t *testing.T, s *suite) {
		d := s.dir(t)
		st := environment.NewState(s.env.Info().Temp)
		s.run(t, environment.Command{Script: "cd '" + string(d) + "'; export ENVTEST_JOB=carried", State: st})
		p := s.start(t, environment.Job{Command: environment.Command{Script: "echo $ENVTEST_JOB; pwd; export ENVTEST_JOB=changed; cd /", State: st}})
		if i := s.ended(t, p); i.Preview != "carried\n"+string(d)+"\n" {
			t.Errorf("%q", i.Preview)
		}
		if _, out := s.run(t, environment.Command{Script: "echo $ENVTEST_JOB; pwd", State: st}); out != "carried\n"+string(d)+"\n" {
			t.Errorf("afterwards %q", out)
		}
	}},
	{"ENG-14_KillEndsAllOfAJob", Jobs, killEndsAll},
	{"PRC_AJobHasALongestLife", Jobs, func(t *testing.T, s *suite) {
		p := s.start(t, environment.Job{Command: environment.Command{Script: "trap '' TERM; while :; do sleep 1; done", Timeout: 300 * time.Millisecond, Grace: 100 * time.Millisecond}})
		if i := s.ended(t, p); i.End != environment.EndTimeout {
			t.Errorf("%+v", i)
		}
	}},
	{"EVT_EndAndWatchAreToldOnce", Jobs, toldOnce},
	{"CON-9_NoJobAfterClose", Jobs, func(t *testing.T, s *suite) {
		e := keeps(t, s.open(t))
		if err := e.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := e.Start(t.Context(), environment.Job{Command: environment.Command{Script: "true"}}); !errors.Is(err, environment.ErrUnavailable) && !errors.Is(err, environment.ErrNotStarted) {
			t.Errorf("Start after Close: %v", err)
		}
	}},
	{"PTY_AProgramSeesATerminalAndItsSize", Terminals, func(t *testing.T, s *suite) {
		p := s.start(t, environment.Job{Command: environment.Command{Script: "tty >/dev/null && stty size; echo $TERM | grep -c ."}, Terminal: &environment.Size{Rows: 33, Cols: 101}})
		if i := s.ended(t, p); !strings.Contains(i.Preview, "33 101") || i.ExitCode == nil || *i.ExitCode != 0 {
			t.Errorf("%+v", i)
		}
	}},
	{"PTY_TheScreenIsWhatAPersonSees", Terminals, screenIsSeen},
}

// keeps is an environment as one that has jobs.
func keeps(t *testing.T, e environment.Environment) place {
	t.Helper()
	p, ok := e.(place)
	if !ok {
		t.Fatal("the environment has no jobs")
	}
	return p
}

// start starts a job of the check's own, which ends with it.
func (s *suite) start(t *testing.T, j environment.Job) environment.Process {
	t.Helper()
	p, err := keeps(t, s.env).Start(t.Context(), j)
	if err != nil {
		t.Fatalf("Start(%q): %v", j.Command.Script, err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if _, err := p.Kill(ctx, "envtest"); err != nil {
			t.Errorf("Kill: %v", err)
		}
	})
	return p
}

// info tells how a job stands.
func info(t *testing.T, p environment.Process) environment.JobInfo {
	t.Helper()
	i, err := p.Info(context.Background(), 4000)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

// ended waits for a job's end and tells how it came.
func (s *suite) ended(t *testing.T, p environment.Process) environment.JobInfo {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := p.Wait(ctx); err != nil {
		t.Fatalf("Wait: %v; it stands at %+v", err, info(t, p))
	}
	i := info(t, p)
	if i.Status != environment.JobExited {
		t.Errorf("after Wait %+v", i)
	}
	return i
}

// sees waits until a job has shown something.
func (s *suite) sees(t *testing.T, what string, look func() string) {
	t.Helper()
	seen := ""
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if seen = look(); strings.Contains(seen, what) {
			return
		}
	}
	t.Fatalf("%q isn't seen, but %q", what, seen)
}

func jobIsFound(t *testing.T, s *suite) {
	k := keeps(t, s.env)
	p := s.start(t, environment.Job{Command: environment.Command{Script: "echo begun; read x; exit 7"}, KeepStdin: true, Labels: map[string]string{"envtest": "found"}})
	id := info(t, p).ID
	again, err := k.Attach(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if i := info(t, again); i.Status != environment.JobRunning || i.PID == 0 || i.Labels["envtest"] != "found" {
		t.Errorf("%+v", i)
	}
	if _, err := again.Write(t.Context(), []byte("\n")); err != nil {
		t.Error(err)
	}
	if i := s.ended(t, again); i.End != environment.EndExited || i.ExitCode == nil || *i.ExitCode != 7 || i.Preview != "begun\n" {
		t.Errorf("%+v", i)
	}
	list, err := k.Jobs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, i := range list {
		if i.ID == id && i.Status == environment.JobExited {
			found++
		}
	}
	if found != 1 {
		t.Errorf("it is listed %d times", found)
	}
	if _, err := k.Attach(t.Context(), "proc_000000000000"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an unknown job: %v", err)
	}
}

func jobInput(t *testing.T, s *suite) {
	p := s.start(t, environment.Job{Command: environment.Command{Script: "cat; echo over"}, KeepStdin: true})
	for _, text := range []string{"one\n", "two\x00\xff\n"} {
		if n, err := p.Write(t.Context(), []byte(text)); err != nil || n != len(text) {
			t.Errorf("%q: %d, %v", text, n, err)
		}
	}
	if got := info(t, p).Typed; string(got) != "one\ntwo\x00\xff\n" { // what stands on its line is known to whoever asks next
		t.Errorf("typed %q", got)
	}
	if err := p.CloseInput(t.Context()); err != nil {
		t.Error(err)
	}
	if i := s.ended(t, p); !strings.HasPrefix(i.Preview, "one\ntwo") || !strings.HasSuffix(i.Preview, "\nover\n") {
		t.Errorf("%q", i.Preview)
	}
	p = s.start(t, environment.Job{Command: environment.Command{Script: "cat; sleep 60"}})
	if _, err := p.Write(t.Context(), []byte("x")); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("without input: %v", err)
	}
	if _, err := p.Screen(t.Context()); !errors.Is(err, environment.ErrUnsupported) {
		t.Errorf("a screen without a terminal: %v", err)
	}
}

func killEndsAll(t *testing.T, s *suite) {
	d := s.dir(t)
	p := s.start(t, environment.Job{Command: environment.Command{Grace: 100 * time.Millisecond, Script: `trap '' TERM
setsid sh -c 'trap "" TERM; echo $$ >` + string(d) + `/away; while :; do sleep 1; done' &
sh -c 'trap "" TERM; echo $$ >` + string(d) + `/child; while :; do sleep 1; done' &
while [ ! -s ` + string(d) + `/away ] || [ ! -s ` + string(d) + `/child ]; do sleep 0.05; done; echo ready
while :; do sleep 1; done`}})
	s.sees(t, "ready", func() string { return info(t, p).Preview })
	if _, err := p.Kill(t.Context(), "somebody"); err != nil {
		t.Error(err)
	}
	if i := s.ended(t, p); i.End != environment.EndKilled || i.Source != "somebody" {
		t.Errorf("%+v", i)
	}
	for _, f := range []string{"away", "child"} {
		s.gone(t, s.pidIn(t, join(d, f)))
	}
}

func toldOnce(t *testing.T, s *suite) {
	k := keeps(t, s.env)
	p := s.start(t, environment.Job{Command: environment.Command{Script: "echo almost; echo it is there; exit 4"}, Notify: true, Watch: []string{"is there"}})
	id := info(t, p).ID
	s.ended(t, p)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	told := map[environment.JobEventType]int{}
	for told[environment.EventCompletion] == 0 || told[environment.EventWatch] == 0 {
		events, err := k.Events(ctx, nil)
		if err != nil || ctx.Err() != nil {
			t.Fatalf("told %v, %v", told, err)
		}
		for _, e := range events {
			if e.Job != id {
				continue // a neighbour's
			}
			told[e.Type]++
			if e.Type == environment.EventCompletion && (e.ExitCode == nil || *e.ExitCode != 4) {
				t.Errorf("%+v", e)
			}
			if err := k.Taken(ctx, e.ID); err != nil {
				t.Error(err)
			}
		}
	}
	none, stop := context.WithCancel(t.Context())
	stop()
	events, _ := k.Events(none, nil) // what is there at once
	for _, e := range events {
		if e.Job == id {
			t.Errorf("told again: %+v", e)
		}
	}
}

func screenIsSeen(t *testing.T, s *suite) {
	p := s.start(t, environment.Job{
		Command:  environment.Command{Script: `printf '\033[2J\033[3;5Hhere\033[6n'; IFS= read -r -d R answer 2>/dev/null; printf '\033[5;1Hasked'; read line; printf 'typed %s' "$line"; read line`},
		Terminal: &environment.Size{Rows: 10, Cols: 40},
	})
	screen := func() string {
		sc, err := p.Screen(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return sc.Text
	}
	s.sees(t, "    here", screen)
	if !s.lacking[Bash] { // only bash reads up to the end of the terminal's answer
		s.sees(t, "asked", screen)
		if _, err := p.Write(t.Context(), []byte("abc")); err != nil {
			t.Error(err)
		}
		if err := p.Keys(t.Context(), []string{"enter"}); err != nil {
			t.Error(err)
		}
		s.sees(t, "typed abc", screen)
	}
	if err := p.Resize(t.Context(), environment.Size{Rows: 12, Cols: 60}); err != nil {
		t.Error(err)
	}
	if sc, err := p.Screen(t.Context()); err != nil || sc.Size.Rows != 12 || sc.Size.Cols != 60 {
		t.Errorf("%+v, %v", sc, err)
	}
}
