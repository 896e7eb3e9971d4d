package cli_test

import (
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

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/hermes-runtime/hermes/internal/script/scripttest"
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
			"exits": exits, "json": oneJSON, "lines": jsonLines, "field": field, "complaint": complaint, "mode": mode,
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
