//go:build unix

package script_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/hermes-runtime/hermes/internal/leaktest"
	"github.com/hermes-runtime/hermes/internal/script"
	"github.com/hermes-runtime/hermes/internal/script/python"
	"github.com/hermes-runtime/hermes/internal/script/scripttest"
	"github.com/hermes-runtime/hermes/tool"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// systemPython is the interpreter that tests run, found once: asking a version manager's wrapper is slow.
var systemPython = sync.OnceValues(func() (python.Interpreter, error) {
	return python.New(python.Options{}).Own(context.Background(), nil)
})

// fixture is a session with a runner.
type fixture struct {
	*scripttest.Host
	here   *scripttest.Env // its place, or where that of a far one takes its variables from
	t      testing.TB
	runner *script.Runner
	config *script.Config
	dir    string
	home   string
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	py, err := systemPython()
	if err != nil {
		t.Skip(err)
	}
	dir, home := t.TempDir(), t.TempDir()
	f := &fixture{Host: scripttest.New(dir, home), t: t, config: script.DefaultConfig(), dir: dir, home: home}
	f.runner = script.New(script.Options{
		Home: home, Getenv: func(string) string { return "" },
		Resolver: python.New(python.Options{Path: filepath.Dir(py.Path)}),
	})
	f.Services = []any{f.config, f.runner}
	f.here = f.Environment.(*scripttest.Env) //nolint:forcetypeassert // it was made above
	t.Cleanup(func() {
		if err := errors.Join(f.runner.Close(), f.here.Close(context.Background())); err != nil {
			t.Error(err)
		}
	})
	if strings.HasPrefix(t.Name(), farTest+"/") {
		f.Environment = newFar(t, f.here)
	}
	return f
}

func (f *fixture) run(code string) *script.Report { return f.runContext(context.Background(), code) }

func (f *fixture) runContext(ctx context.Context, code string) *script.Report {
	f.t.Helper()
	rep := f.runner.Run(ctx, f.Call("call-1"), code)
	if _, err := json.Marshal(rep); err != nil {
		f.t.Fatalf("the report can't be encoded: %v", err)
	}
	return rep
}

// write puts a file into the session's directory.
func (f *fixture) write(name, content string) string {
	f.t.Helper()
	path := filepath.Join(f.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil { //nolint:gosec // as a project has it
		f.t.Fatal(err)
	}
	return path
}

// want runs code, which must succeed and print exactly this.
func (f *fixture) want(output, code string) {
	f.t.Helper()
	if rep := f.run(code); rep.Status != script.StatusSuccess || rep.Output != output {
		f.t.Errorf("status %s, error %q, output:\n%s\nwant output:\n%s", rep.Status, rep.Error, rep.Output, output)
	}
}

// echo is a tool that returns what it was asked.
func echo(_ context.Context, r tool.Request, args map[string]any) tool.Result {
	return scripttest.Result(r, map[string]any{"output": args["command"], "exit_code": 0, "error": nil})
}

func TestRun_PrintedOutputComesBack(t *testing.T) { // XC-2
	t.Parallel()
	f := newFixture(t)
	f.want("1\n", "print(1)")
}

func TestRun_ToolCallsGoThroughTheHostAndReturnDicts(t *testing.T) { // XC-2, XR-10, XT-2
	t.Parallel()
	f := newFixture(t)
	f.Tools["terminal"] = echo
	rep := f.run("from hermes_tools import terminal\nr = terminal('hi', timeout=7)\nprint(r, 'error' in str(r))")
	if rep.Output != "{'exit_code': 0, 'output': 'hi'} False\n" || rep.ToolCallsMade != 1 {
		t.Fatalf("got %+v", rep)
	}
	call := f.Calls()[0]
	if call.ID != "call-1/1" || call.Name != "terminal" || !call.Unbounded || string(call.Arguments) != `{"command":"hi","timeout":7}` {
		t.Errorf("the call was %+v with %s", call, call.Arguments)
	}
}

func TestRun_NothingIsLeft(t *testing.T) { // XS-1, XL-11
	t.Parallel()
	f := newFixture(t)
	f.want("x\n", "import os, tempfile\nopen(tempfile.mkstemp()[1], 'w').write('x')\nos.mkdir(os.environ['TMPDIR'] + '/d', 0)\nprint('x')")
	left, err := filepath.Glob(filepath.Join(f.home, "run", "*", "*"))
	for _, p := range left {
		if name := filepath.Base(p); name != "owner.lock" && name != "elsewhere" {
			t.Errorf("left: %s", p)
		}
	}
	if err != nil || len(left) == 0 {
		t.Errorf("the owner's directory: %v, %v", left, err)
	}
}

func TestRun_InterpretersOfEveryVersionRunTheStub(t *testing.T) { // XT-13
	t.Parallel()
	home, _ := os.UserHomeDir()
	found, _ := filepath.Glob(filepath.Join(home, ".pyenv", "versions", "3.*", "bin", "python3"))
	for _, path := range append(found, "/usr/bin/python3") {
		t.Run(path, func(t *testing.T) {
			out, err := exec.Command(path, "-c", "import sys; print(sys.version_info >= (3, 8))").Output()
			if err != nil || strings.TrimSpace(string(out)) != "True" {
				t.Skip("not there, or too old")
			}
			f := newFixture(t)
			f.config.Python = path
			f.Tools["terminal"] = echo
			f.want("hi [0, 1] aio\n", `
import asyncio
from hermes_tools import terminal, aio
from hermes_tools.aio import terminal as at
import hermes_tools.aio
async def main():
    rs = await asyncio.gather(*[at(str(i)) for i in range(2)])
    return [int(r["output"]) for r in rs]
print(terminal("hi")["output"], asyncio.run(main()), "aio")
`)
		})
	}
}
