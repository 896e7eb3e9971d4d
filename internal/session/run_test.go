package session_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/redact"
	"github.com/hermes-runtime/hermes/internal/secret"
	"github.com/hermes-runtime/hermes/internal/session"
	"github.com/hermes-runtime/hermes/tool"
)

// place is an environment whose runs are a script of the test.
type place struct {
	environment.Environment
	runs int
	run  func(try int, c environment.Command) (environment.Result, error)
}

func (p *place) Run(_ context.Context, c environment.Command) (environment.Result, error) {
	p.runs++
	return p.run(p.runs, c)
}

func at(run func(try int, c environment.Command) (environment.Result, error)) (environment.Place, *place) {
	p := &place{run: run}
	return environment.Place{Environment: p, State: environment.NewState("/w")}, p
}

func prints(chunks ...string) func(int, environment.Command) (environment.Result, error) {
	return func(_ int, c environment.Command) (environment.Result, error) {
		for _, s := range chunks {
			if _, err := c.Output.Write([]byte(s)); err != nil {
				return environment.Result{}, err
			}
		}
		return environment.Result{Reason: environment.Exited}, nil
	}
}

type file struct {
	bytes.Buffer
	closed int
}

func (f *file) Close() error { f.closed++; return nil }
func (f *file) Path() string { return "/tmp/whole.txt" }

func TestRun_FiltersAreStreams_ENG18(t *testing.T) {
	set := &secret.Set{}
	set.Add("MY_KEY", "s3cr3t-value-0123456789")
	p, _ := at(prints("a\x1b[3", "1mb\x1b[0m é"[:8], " caf\xc3", "\xa9 \xff! s3cr3t-va", "lue-0123456789.\n"))
	a, err := session.Run(t.Context(), session.Request{Place: p, Output: session.Output{Redactor: redact.New(set)}})
	if err != nil {
		t.Fatal(err)
	}
	got := a.Shown("terminal")
	if strings.Contains(got, "s3cr3t") || !strings.Contains(got, "MY_KEY") {
		t.Errorf("a known secret that came in two pieces: %q", got)
	}
	if !strings.HasPrefix(got, "ab") || !strings.Contains(got, "café \uFFFD!") {
		t.Errorf("output %q", got)
	}
}

func TestRun_OutputIsBoundedAndTheWholeIsInTheFile_ENG17(t *testing.T) {
	var lines []string
	for i := range 40_000 {
		lines = append(lines, fmt.Sprintf("line %d\n", i))
	}
	whole := strings.Join(lines, "")
	p, _ := at(prints(lines...))
	f := &file{}
	opened := 0
	a, err := session.Run(t.Context(), session.Request{Place: p, Output: session.Output{
		Limit: 10_000, Spill: func(context.Context) (tool.SpillFile, error) { opened++; return f, nil }}})
	if err != nil {
		t.Fatal(err)
	}
	if opened != 1 || f.closed != 1 || f.String() != whole {
		t.Errorf("file opened %d times, closed %d times, holds %d of %d bytes", opened, f.closed, f.Len(), len(whole))
	}
	if a.Spill == nil || *a.Spill != (tool.Spill{Path: "/tmp/whole.txt", Chars: len(whole), Lines: 40_000}) {
		t.Errorf("spill %+v", a.Spill)
	}
	got := a.Shown("terminal")
	if len(got) > 10_500 || !strings.HasPrefix(got, "line 0\n") || !strings.HasSuffix(got, "line 39999\n") {
		t.Errorf("%d characters are shown, from %.20q", len(got), got)
	}
	for _, word := range []string{"/tmp/whole.txt", "read_file", "terminal", fmt.Sprint(len(whole)), "40000"} { // SIZ-4
		if !strings.Contains(got, word) {
			t.Errorf("the note doesn't name %q", word)
		}
	}
	if head := strings.Index(got, "["); head < 3_700 || head > 4_000 { // SIZ-9: 40 % head
		t.Errorf("the head has %d characters of 10000", head)
	}
}

func TestRun_WithinTheLimitNothingIsOpened_SIZ1(t *testing.T) {
	p, _ := at(prints("short\n"))
	a, err := session.Run(t.Context(), session.Request{Place: p, Output: session.Output{
		Spill: func(context.Context) (tool.SpillFile, error) { return nil, errors.New("opened") }}})
	if err != nil || a.Spill != nil || a.Shown("x") != "short\n" {
		t.Errorf("%q, %v, %v", a.Shown("x"), a.Spill, err)
	}
}

func TestRun_FileThatCantBeWrittenIsTold(t *testing.T) {
	p, _ := at(prints(strings.Repeat("x\n", 5000)))
	a, err := session.Run(t.Context(), session.Request{Place: p, Output: session.Output{
		Limit: 1000, Spill: func(context.Context) (tool.SpillFile, error) { return nil, errors.New("disk full") }}})
	if err != nil || a.Spill != nil {
		t.Fatalf("%v, %v", a.Spill, err)
	}
	if got := a.Shown("terminal"); !strings.Contains(got, "could not be kept") {
		t.Errorf("%q", got)
	}
}

func TestRun_UnknownEncodingRunsNothing_ENG19(t *testing.T) {
	p, lab := at(prints("x"))
	_, err := session.Run(t.Context(), session.Request{Place: p, Output: session.Output{Encoding: "klingon"}})
	if !errors.Is(err, environment.ErrConfig) || lab.runs != 0 {
		t.Errorf("%v after %d runs", err, lab.runs)
	}
	p, _ = at(prints("\x83\x65\x83\x58\x83\x67"))
	if a, err := session.Run(t.Context(), session.Request{Place: p, Output: session.Output{Encoding: "shift_jis"}}); err != nil || a.Shown("x") != "テスト" {
		t.Errorf("%q, %v", a.Shown("x"), err)
	}
}

func TestRun_OnlyWhatDidNotStartIsRepeated_CON3(t *testing.T) {
	for _, tc := range []struct {
		err     error
		timeout time.Duration
		runs    int
		took    time.Duration
	}{
		{environment.ErrNotStarted, 0, 4, 14 * time.Second},
		{environment.ErrNotStarted, 5 * time.Second, 2, 2 * time.Second},
		{environment.ErrLost, 0, 1, 0},
		{environment.ErrGone, 0, 1, 0},
		{environment.ErrUnavailable, 0, 1, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			p, lab := at(func(int, environment.Command) (environment.Result, error) {
				return environment.Result{}, &environment.Error{Kind: tc.err, Op: "run"}
			})
			begin := time.Now()
			_, err := session.Run(t.Context(), session.Request{Place: p, Command: environment.Command{Timeout: tc.timeout}})
			if !errors.Is(err, tc.err) || lab.runs != tc.runs || time.Since(begin) != tc.took {
				t.Errorf("%v with %v: %v after %d runs in %v, want %d in %v", tc.err, tc.timeout, err, lab.runs, time.Since(begin), tc.runs, tc.took)
			}
		})
	}
}

func TestRun_WaitEndsWithTheContext_CON3(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		p, lab := at(func(int, environment.Command) (environment.Result, error) {
			cancel(tool.Stop)
			return environment.Result{}, environment.ErrNotStarted
		})
		_, err := session.Run(ctx, session.Request{Place: p})
		if !errors.Is(err, tool.Stop) || lab.runs != 1 {
			t.Errorf("%v after %d runs", err, lab.runs)
		}
	})
}

func TestRun_GonePlaceIsReplacedOnceIfNothingStarted_MGR6(t *testing.T) {
	gone := func(int, environment.Command) (environment.Result, error) {
		return environment.Result{}, &environment.Error{Kind: environment.ErrGone, Op: "run", Err: environment.ErrNotStarted}
	}
	old, _ := at(gone)
	anew, lab := at(prints("here\n"))
	renewed := 0
	renew := func(_ context.Context, was environment.Environment) (environment.Place, error) {
		renewed++
		if was != old.Environment {
			t.Error("another environment was said to be gone")
		}
		return anew, nil
	}
	a, err := session.Run(t.Context(), session.Request{Place: old, Renew: renew})
	if err != nil || !a.Recreated || renewed != 1 || lab.runs != 1 || a.Shown("x") != "here\n" || a.Place.Environment != anew.Environment {
		t.Errorf("%+v, %v", a, err)
	}
}

func TestRun_LateOutputIsDropped(t *testing.T) {
	var late func([]byte) (int, error)
	p, _ := at(func(_ int, c environment.Command) (environment.Result, error) {
		late = c.Output.Write
		return environment.Result{}, environment.ErrLost
	})
	a, _ := session.Run(t.Context(), session.Request{Place: p})
	if n, err := late([]byte("late")); n != 4 || err != nil || a.Shown("x") != "" {
		t.Errorf("%d, %v, %q", n, err, a.Shown("x"))
	}
}
