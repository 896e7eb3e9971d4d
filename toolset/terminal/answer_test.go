package terminal_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/session"
	"github.com/hermes-runtime/hermes/tool"
)

// printed ends well after printing text.
func printed(text string) func(context.Context, environment.Command) (environment.Result, error) {
	return func(_ context.Context, c environment.Command) (environment.Result, error) {
		_, err := c.Output.Write([]byte(text))
		return environment.Result{Reason: environment.Exited, Dir: "/w", Elapsed: 1234567 * time.Microsecond}, err
	}
}

func TestTerminal_AnswerOfACommandThatRan(t *testing.T) {
	r := run(t, told(printed("  a\n\nb\r\n\n")), command(t, "x"))
	if r.Output != "  a\n\nb" || r.ExitCode != 0 || r.Cwd != "/w" || *r.DurationSeconds != 1.235 || r.Status != "" || r.outcome.Status != "" {
		t.Errorf("%s", r.text)
	}
	if !strings.Contains(r.text, `"error":null`) {
		t.Errorf("a model always reads the member error: %s", r.text)
	}
}

func TestTerminal_ErrorsAreNotEscapedForHTML_DSP5(t *testing.T) {
	c := call(told(exited(0)), command(t, "sleep 9 &"))
	x, err := registered(t).Run(t.Context(), c)
	o, ok := x.(tool.Outcome)
	if err != nil || !ok {
		t.Fatal(x, err)
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(o.Value); err != nil || !strings.Contains(b.String(), "started with & and") {
		t.Errorf("%s, %v", b.String(), err)
	}
}

func TestTerminal_ScriptsReadNoWordOfError_XT2(t *testing.T) {
	c := call(told(printed("fine\n")), command(t, "x"))
	c.Caller = tool.CallerScript
	if r := runCall(t, t.Context(), c); strings.Contains(r.text, "error") || strings.Contains(r.text, "null") {
		t.Errorf("%s", r.text)
	}
}

func TestTerminal_ScriptsGetTheWhole_XT4(t *testing.T) {
	long := strings.Repeat("0123456789abcde\n", 20_000)
	h := told(printed(long))
	c := call(h, command(t, "x"))
	c.Caller = tool.CallerScript
	if r := runCall(t, t.Context(), c); r.Output != strings.TrimRight(long, "\n") || r.Truncated || len(h.spills) != 0 {
		t.Errorf("%d of %d characters, truncated %v, %d files", len(r.Output), len(long), r.Truncated, len(h.spills))
	}
	c = call(told(printed(strings.Repeat(long, 16))), command(t, "x"))
	c.Caller = tool.CallerScript
	if r := runCall(t, t.Context(), c); !r.Truncated || len(r.Output) > session.Whole || len(r.Output) < session.Whole-1000 || strings.Contains(r.Output, "[") {
		t.Errorf("%d characters, truncated %v", len(r.Output), r.Truncated)
	}
}

func TestTerminal_LongOutputGoesToAFile_SIZ4(t *testing.T) {
	long := strings.Repeat("0123456789abcde\n", 20_000)
	h := told(printed(long))
	h.services = []any{&session.Config{MaxBytes: 4000}}
	r := run(t, h, command(t, "x"))
	if r.Spilled == nil || *r.Spilled != (tool.Spill{Path: "/tmp/hermes-results/call.txt", Chars: len(long), Lines: 20_000, Field: "output"}) {
		t.Fatalf("spilled %+v", r.Spilled)
	}
	if len(r.Output) > 4500 || h.spills[0].String() != long || !h.spills[0].closed {
		t.Errorf("%d characters are shown, %d of %d kept", len(r.Output), h.spills[0].Len(), len(long))
	}
	mention(t, r.Output, r.Spilled.Path, "read_file", "max_bytes")
}

func TestTerminal_LooksOfSecretsAreTakenOutUnlessSwitchedOff_RED2(t *testing.T) {
	const key = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
	h := told(printed(key + "\n"))
	if r := run(t, h, command(t, "x")); strings.Contains(r.Output, key) {
		t.Errorf("%s", r.text)
	}
	h.services = []any{&session.Secrecy{Redact: "off"}}
	if r := run(t, h, command(t, "x")); r.Output != key {
		t.Errorf("%s", r.text)
	}
}

func TestTerminal_TimeoutAndInterruptionKeepTheOutput_TRM4(t *testing.T) {
	for _, tc := range []struct {
		reason environment.Reason
		code   int
		status tool.Status
		kind   tool.ErrorType
		word   string
	}{
		{environment.TimedOut, 124, tool.StatusTimeout, tool.ErrTypeTimeout, "7 s"},
		{environment.Interrupted, 130, tool.StatusCancelled, tool.ErrTypeInterrupted, "interrupted"},
	} {
		h := told(func(_ context.Context, c environment.Command) (environment.Result, error) {
			if c.Timeout != 7*time.Second {
				t.Errorf("timeout %v", c.Timeout)
			}
			_, _ = c.Output.Write([]byte("half a line"))
			return environment.Result{ExitCode: tc.code, Reason: tc.reason, Elapsed: 7100 * time.Millisecond, Dir: "/w"}, nil
		})
		r := run(t, h, `{"command": "make", "timeout": 7}`)
		if r.ExitCode != tc.code || r.outcome.Status != tc.status || r.outcome.Type != tc.kind || r.Error != nil {
			t.Errorf("%s, %+v", r.text, r.outcome)
		}
		lines := strings.Split(r.Output, "\n")
		if len(lines) != 2 || lines[0] != "half a line" {
			t.Errorf("output %q", r.Output)
		}
		mention(t, lines[1], tc.word)
	}
}

func TestTerminal_ProgramsOwn124IsNoTimeout_EXC1(t *testing.T) {
	for _, code := range []int{124, 130} {
		if r := run(t, told(exited(code)), command(t, "x")); r.ExitCode != code || r.Output != "" || r.outcome.Status != "" {
			t.Errorf("%s, %+v", r.text, r.outcome)
		}
	}
}

func TestTerminal_WhatThePlaceRefusedRanNothing(t *testing.T) {
	h := told(func(_ context.Context, c environment.Command) (environment.Result, error) {
		_, err := io.WriteString(c.Output, "hermes: the command is too long\n")
		return environment.Result{ExitCode: -1, Reason: environment.Exited, Dir: "/w"}, err
	})
	r := run(t, h, command(t, "x"))
	if r.ExitCode != -1 || r.Status != "error" || r.Output != "" || r.err() != "the command is too long" || r.DurationSeconds != nil || r.outcome.Status != tool.StatusError {
		t.Errorf("%s", r.text)
	}
}

func TestTerminal_WhatElseTheResultTells(t *testing.T) {
	h := told(func(context.Context, environment.Command) (environment.Result, error) {
		return environment.Result{ExitCode: 137, Reason: environment.LimitHit, Limit: "memory 64 MB", Dir: "/w", DirNote: "/gone was removed", Recreated: true, VarsNote: "A is too large",
			Left: []environment.ProcessRef{{PID: 7, Command: "srv"}}}, nil
	})
	c := call(h, command(t, "x"))
	c.Approval = &tool.Approval{Outcome: "approved", Who: "me", Asked: true}
	r := runCall(t, t.Context(), c)
	if r.Limit != "memory 64 MB" || r.CwdNote == "" || r.Note != "A is too large" || !r.EnvironmentRecreated || len(r.LeftRunning) != 1 || r.LeftRunning[0].PID != 7 || r.Approval == nil || r.Approval.Who != "me" {
		t.Errorf("%s", r.text)
	}
	c.Approval = &tool.Approval{Outcome: "approved"}
	if r := runCall(t, t.Context(), c); r.Approval != nil {
		t.Errorf("nobody was asked: %s", r.text)
	}
}

func TestTerminal_CallThatEndsBeforeTheStart(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(tool.NewMessage)
	h := told(func(ctx context.Context, _ environment.Command) (environment.Result, error) {
		return environment.Result{}, ctx.Err()
	})
	if r := runCall(t, ctx, call(h, command(t, "x"))); r.ExitCode != -1 || r.outcome.Status != tool.StatusCancelled || r.err() == "" {
		t.Errorf("%s, %+v", r.text, r.outcome)
	}
}

// renewer has a new place.
type renewer struct{ place environment.Place }

func (r renewer) Renew(context.Context, string, environment.Environment) (environment.Place, error) {
	return r.place, nil
}

func TestTerminal_GoneEnvironmentIsMadeAnewAndSaidOnce_MGR6(t *testing.T) {
	anew, _ := told(printed("here")).Place(t.Context())
	h := told(func(context.Context, environment.Command) (environment.Result, error) {
		return environment.Result{}, errors.Join(environment.ErrGone, environment.ErrNotStarted)
	})
	h.services = []any{renewer{anew}}
	if r := run(t, h, command(t, "x")); !r.EnvironmentRecreated || r.Output != "here" {
		t.Errorf("%s", r.text)
	}
}

func TestTerminal_ChildrenGetTheVariablesUnlessSet_TRM13(t *testing.T) {
	var env map[string]string
	var state environment.State
	h := &host{place: func(context.Context) (environment.Place, error) {
		p := &toldPlace{run: func(_ context.Context, c environment.Command) (environment.Result, error) {
			env = c.Env
			return environment.Result{Reason: environment.Exited}, nil
		}, namespace: environment.NamespaceHost}
		return environment.Place{Environment: p, State: &state}, nil
	}}
	h.services = []any{tracer("00-trace-01")}
	run(t, h, command(t, "x"))
	want := map[string]string{"HERMES_AGENT": "1", "AI_AGENT": "hermes", "HERMES_SESSION_ID": "s1", "TRACEPARENT": "00-trace-01",
		"PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0", "TERM": "dumb"}
	for k, v := range want {
		if env[k] != v {
			t.Errorf("%s=%q, want %q", k, env[k], v)
		}
	}
	if len(env) != len(want) {
		t.Errorf("variables %v", env)
	}
	v := "xterm"
	state.Merge(environment.Snapshot{}, environment.Snapshot{Vars: map[string]*string{"TERM": &v, "AI_AGENT": nil}})
	h.env = map[string]string{"PAGER": "less"}
	run(t, h, command(t, "x"))
	for _, k := range []string{"TERM", "AI_AGENT", "PAGER"} {
		if have, set := env[k]; set {
			t.Errorf("%s=%q although the user set it", k, have)
		}
	}
}

type tracer string

func (s tracer) Traceparent(context.Context) string { return string(s) }

func TestTerminal_DescriptionTellsWhatPersists_TRM14(t *testing.T) {
	mention(t, registered(t).Spec().Description, "virtual environment once", "exported variables", "directory", "files")
}

// declared are variables of the skills that a session has loaded.
type declared map[string]string

func (d declared) Variables() map[string]string { return d }

// SKL-4: they go with each command, wherever it runs, and are no part of what the session carries; what it set itself stays.
func TestTerminal_DeclaredVariablesGoWithTheCommand(t *testing.T) {
	for _, where := range []environment.Namespace{environment.NamespaceHost, environment.NamespaceOwn} {
		var got environment.Command
		var state environment.State
		mine := "mine"
		state.Merge(environment.Snapshot{}, environment.Snapshot{Vars: map[string]*string{"B_KEY": &mine, "C_KEY": nil}})
		h := &host{services: []any{declared{"A_KEY": "a", "B_KEY": "b", "C_KEY": "c"}}, place: func(context.Context) (environment.Place, error) {
			p := &toldPlace{run: func(_ context.Context, c environment.Command) (environment.Result, error) {
				got = c
				return environment.Result{Reason: environment.Exited}, nil
			}, namespace: where}
			return environment.Place{Environment: p, State: &state}, nil
		}}
		run(t, h, command(t, "x"))
		_, b := got.Env["B_KEY"]
		_, c := got.Env["C_KEY"]
		if got.Env["A_KEY"] != "a" || b || c || got.Environ != nil {
			t.Errorf("%s: %v", where, got.Env)
		}
		if _, carried := state.Snapshot().Vars["A_KEY"]; carried {
			t.Errorf("%s: it is carried", where)
		}
	}
}
