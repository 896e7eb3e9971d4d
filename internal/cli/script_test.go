package cli_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hermes-runtime/hermes/internal/script/scripttest"
	"github.com/hermes-runtime/hermes/internal/store"
	"github.com/hermes-runtime/hermes/provider"
)

// TestScripts runs testdata/script: what the command line does, verb by verb, to be read as documentation. Each script has a
// directory and a HERMES_HOME of its own, no terminal, and the tools of lab_test.go.
func TestScripts(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the scripts run commands of a POSIX shell")
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script", RequireExplicitExec: true, RequireUniqueNames: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("HERMES_HOME", filepath.Join(e.WorkDir, "home"))
			for _, name := range []string{"HERMES_PROFILE", "HERMES_YOLO_MODE", "NO_COLOR"} {
				e.Setenv(name, "")
			}
			venv := filepath.Join(e.WorkDir, ".venv")
			e.Setenv("VIRTUAL_ENV", venv)
			return scripttest.VirtualEnv(venv)
		},
		Condition: func(name string) (bool, error) {
			if name == "root" {
				return os.Getuid() == 0, nil
			}
			if file, ok := strings.CutPrefix(name, "exists:"); ok {
				_, err := os.Stat(file)
				return err == nil, nil
			}
			return false, fmt.Errorf("unknown condition %q", name)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "json": oneJSON, "lines": jsonLines, "field": field, "complaint": complaint, "mode": mode, "talked": talked,
		},
	})
}

// exits CODE PROGRAM ARGS... runs a program that must exit with CODE.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARGS...")
	}
	code := 0
	err := ts.Exec(args[1], args[2:]...)
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		code = e.ExitCode()
	} else {
		ts.Check(err)
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("%q exited with %d, not %s", args[1:], code, args[0])
	}
}

// json FILE: the file is exactly one JSON document.
func oneJSON(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: json FILE")
	}
	ts.Check(document(ts.ReadFile(args[0]), new(any)))
}

func document(text string, into any) error {
	d := json.NewDecoder(strings.NewReader(text))
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("no JSON document: %w: %q", err, text)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("more than one JSON document: %q", text)
	}
	return nil
}

// lines FILE N: the file has N lines, each one a JSON document.
func jsonLines(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: lines FILE N")
	}
	lines := strings.Split(strings.TrimSuffix(ts.ReadFile(args[0]), "\n"), "\n")
	if strconv.Itoa(len(lines)) != args[1] {
		ts.Fatalf("%d lines", len(lines))
	}
	for _, l := range lines {
		ts.Check(document(l, new(any)))
	}
}

// field FILE PATH VALUE: at PATH, such as 0.result.output, the JSON of the file has VALUE: itself (\n is a line break) if it is a string, else as JSON.
// The first step into JSON lines is the number of the line. With ! nothing is there.
func field(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 || !neg && len(args) != 3 {
		ts.Fatalf("usage: [!] field FILE PATH [VALUE]")
	}
	text := ts.ReadFile(args[0])
	var at any
	if err := document(text, &at); err != nil || text[0] == '{' && strings.HasPrefix(args[1], "0.") {
		text = "[" + strings.ReplaceAll(strings.TrimSpace(text), "\n", ",") + "]"
		ts.Check(document(text, &at))
	}
	for step := range strings.SplitSeq(args[1], ".") {
		switch v := at.(type) {
		case map[string]any:
			next, ok := v[step]
			if !ok {
				if !neg {
					ts.Fatalf("there is no %s at %s in %s", step, args[1], text)
				}
				return
			}
			at = next
		case []any:
			i, err := strconv.Atoi(step)
			if ts.Check(err); i >= len(v) {
				ts.Fatalf("there is no %s at %s in %s", step, args[1], text)
			}
			at = v[i]
		default:
			ts.Fatalf("%s leads nowhere in %s", args[1], text)
		}
	}
	got, isText := at.(string)
	if !isText {
		b, err := json.Marshal(at)
		ts.Check(err)
		got = string(b)
	}
	if neg {
		ts.Fatalf("there is %q at %s", got, args[1])
	}
	if want := strings.ReplaceAll(args[2], `\n`, "\n"); got != want {
		ts.Fatalf("%q at %s, not %q", got, args[1], args[2])
	}
}

// complaint TEXT...: stdout is empty, and stderr is one line that begins with hermes: and holds each TEXT.
func complaint(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: complaint TEXT...")
	}
	if out := ts.ReadFile("stdout"); out != "" {
		ts.Fatalf("stdout: %q", out)
	}
	text := ts.ReadFile("stderr")
	if !strings.HasPrefix(text, "hermes: ") || strings.Count(text, "\n") != 1 {
		ts.Fatalf("not one line of hermes: %q", text)
	}
	for _, want := range args {
		if !strings.Contains(text, want) {
			ts.Fatalf("%q is not in %q", want, text)
		}
	}
}

// mode PERMISSIONS FILE: nobody else may read what lies there.
func mode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: mode PERMISSIONS FILE")
	}
	info, err := os.Stat(ts.MkAbs(args[1]))
	ts.Check(err)
	if got := fmt.Sprintf("%04o", info.Mode().Perm()); got != args[0] {
		ts.Fatalf("%s has mode %s", args[1], got)
	}
}

// talked FILE: three conversations were kept in the store at FILE.
func talked(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: talked FILE")
	}
	ts.Check(keepTalks(ts.MkAbs(args[0])))
}

func keepTalks(file string) (err error) {
	ctx := context.Background()
	d, err := store.Open(ctx, store.Options{File: file})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	type said = provider.Message
	for i, talk := range []struct {
		store.Session
		messages []said
	}{
		{store.Session{ID: "20260101_sum", Source: "telegram"}, []said{{Role: provider.User, Text: "what is 1+1?"}, {Role: provider.Assistant, Text: "2"}}},
		{store.Session{ID: "20260102_parser", Source: "cli", Title: "The parser", Model: "p/m"}, []said{
			{Role: provider.User, Text: "mend the parser"},
			{Role: provider.Assistant, Calls: []provider.Call{{ID: "c1", Name: "terminal", Arguments: `{"command":"go test ./parser"}`}}},
			{Role: provider.Tool, CallID: "c1", Name: "terminal", Text: "\x1b[31mred\x1b[0m\n" + strings.Repeat("a line of output\n", 60)},
			{Role: provider.Assistant, Text: "It is mended."},
		}},
		{store.Session{ID: "20260103_child", Source: "subagent", Parent: "20260102_parser"}, []said{{Role: provider.User, Text: "the password is open-sesame-1234"}}},
	} {
		talk.Started = time.Date(2026, 1, 1+i, 12, 0, 0, 0, time.UTC)
		if err := d.Begin(ctx, talk.Session); err != nil {
			return err
		}
		for _, m := range talk.messages {
			kept := store.Message{Message: m, Time: talk.Started}
			if m.Role == provider.Tool {
				kept.Status = "ok"
			}
			if _, err := d.Append(ctx, talk.ID, kept); err != nil {
				return err
			}
		}
	}
	return nil
}
