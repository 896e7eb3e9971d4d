//go:build unix

package script_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/redact"
	"github.com/hermes-runtime/hermes/internal/script"
	"github.com/hermes-runtime/hermes/internal/script/scripttest"
	"github.com/hermes-runtime/hermes/internal/secret"
	"github.com/hermes-runtime/hermes/tool"
)

func TestEnding_EveryInterruptionNamesItsCause(t *testing.T) { // XL-9, XC-5
	t.Parallel()
	for cause, want := range map[error]string{
		tool.NewMessage:          "[execution interrupted - user sent a new message]",
		tool.Stop:                "[execution interrupted - stopped by the user]",
		tool.SessionEnd:          "[execution interrupted - the session ended]",
		tool.ParentEnd:           "[execution interrupted - the call that it belongs to ended]",
		tool.Budget:              "[execution interrupted - the budget is used up]",
		tool.Shutdown:            "[execution interrupted - Hermes is shutting down]",
		context.DeadlineExceeded: "[execution interrupted - deadline]",
		errors.New("else"):       "[execution interrupted - cancelled]",
	} {
		f := newFixture(t)
		ctx, cancel := context.WithCancelCause(context.Background())
		f.Tools["terminal"] = func(ctx context.Context, r tool.Request, _ map[string]any) tool.Result {
			cancel(cause)
			<-ctx.Done()
			if !errors.Is(context.Cause(ctx), cause) {
				t.Errorf("the call in flight ended with %v", context.Cause(ctx))
			}
			return scripttest.Result(r, map[string]any{})
		}
		rep := f.runContext(ctx, "from hermes_tools import terminal\nprint('partial')\nterminal('x')")
		if rep.Status != script.StatusInterrupted || rep.Output != "partial\n"+want || rep.ToolCallsMade != 1 || rep.Error != "" {
			t.Errorf("%v: %+v", cause, rep)
		}
		var named tool.Interruption
		if errors.As(cause, &named) && rep.InterruptCause != string(named) {
			t.Errorf("%v: cause %q", cause, rep.InterruptCause)
		}
	}
}

func TestEnding_InterruptedBeforeItStarted(t *testing.T) { // XC-4
	t.Parallel()
	f := newFixture(t)
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(tool.NewMessage)
	if rep := f.runContext(ctx, "open('made', 'w')"); rep.Status != script.StatusInterrupted || rep.InterruptCause != "new_message" {
		t.Errorf("got %+v", rep)
	}
}

func TestEnding_EveryReportHasTheFourMembers(t *testing.T) { // XC-4, XC-7
	t.Parallel()
	f := newFixture(t)
	for _, code := range []string{"", "  \n\t", "```python\n```", "print(1)", "1/0", "syntax error", "import os; os.kill(os.getpid(), 11)", strings.Repeat("#", 1_000_001), "\x00"} {
		rep := f.run(code)
		text, err := json.Marshal(rep)
		var m map[string]any
		if err != nil || json.Unmarshal(text, &m) != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"status", "output", "tool_calls_made", "duration_seconds"} {
			if _, ok := m[key]; !ok {
				t.Errorf("%.20q: no %s in %s", code, key, text)
			}
		}
		if rep.Status == script.StatusError && (rep.Error == "" || strings.Contains(rep.Error, "\n")) {
			t.Errorf("%.20q: error %q", code, rep.Error)
		}
	}
	if rep := f.run(" "); !strings.Contains(rep.Error, "no code") {
		t.Errorf("blank code: %q", rep.Error)
	}
	if rep := f.run(strings.Repeat("#", 1_000_001)); !strings.Contains(rep.Error, "1000000") {
		t.Errorf("long code: %q", rep.Error)
	}
}

func TestEnding_ExitCodesAreTheScriptsOwn(t *testing.T) { // XC-6, XH-2
	t.Parallel()
	f := newFixture(t)
	for code, want := range map[string]struct {
		exit   int
		signal string
		error  string
	}{
		"import sys; sys.exit(124)":                                   {exit: 124, error: "the script ended with exit code 124"},
		"import sys; sys.exit(130)":                                   {exit: 130, error: "the script ended with exit code 130"},
		"import os; os._exit(137)":                                    {exit: 137, error: "the script ended with exit code 137"},
		"import sys; sys.exit('no data left')":                        {exit: 1, error: "no data left"},
		"import sys; sys.exit(0)":                                     {},
		"raise ValueError('bad\\nvalue')":                             {exit: 1, error: "ValueError: bad"},
		"class E(Exception): pass\nraise E":                           {exit: 1, error: "E"},
		"try: 1/0\nexcept Exception as e: raise KeyError('k') from e": {exit: 1, error: "KeyError: 'k'"},
		"import os, signal; os.kill(os.getpid(), 11)":                 {signal: "SIGSEGV", error: "the script was ended by SIGSEGV"},
		"import os, signal; os.kill(os.getpid(), 9)":                  {signal: "SIGKILL", error: "the script was ended by SIGKILL"},
	} {
		rep := f.run(code)
		status := script.StatusError
		if want.error == "" {
			status = script.StatusSuccess
		}
		if rep.Status != status || rep.Error != want.error || rep.Signal != want.signal || want.signal == "" && *rep.ExitCode != want.exit || want.signal != "" && rep.ExitCode != nil {
			t.Errorf("%q: %+v", code, rep)
		}
	}
}

func TestEnding_TracebacksSpeakOfTheScript(t *testing.T) { // XH-1
	t.Parallel()
	f := newFixture(t)
	f.Tools["terminal"] = func(_ context.Context, r tool.Request, _ map[string]any) tool.Result {
		return scripttest.Failure(r, tool.ErrTypeTool, "it broke")
	}
	for name, c := range map[string]struct {
		code string
		want []string
	}{
		"exception": {"x = 1\n\ndef f():\n    return x / 0\n\nf()", []string{`File "script.py", line 6, in <module>`, `File "script.py", line 4, in f`, "    return x / 0", "ZeroDivisionError"}},
		"syntax":    {"x = 1\nprint((1)\ny = 2 +", []string{`File "script.py", line 2`, "    print((1)", "^", "SyntaxError"}},
		"fenced":    {"```python\nx = 1\n1/0\n```", []string{`File "script.py", line 3`, "    1/0"}},
		"tildes":    {"\n~~~py\nx = 1\n1/0\n~~~\n", []string{`File "script.py", line 4`, "    1/0"}},
		"check":     {"from hermes_tools import terminal, check\ncheck(terminal('x'))", []string{`line 2, in <module>`, "check(terminal('x'))", "HermesToolError: it broke"}},
		"thread":    {"import threading\nfrom hermes_tools import *\nraise_errors()\nt = threading.Thread(target=lambda: terminal('x'))\nt.start(); t.join(); 1/0", []string{`File "script.py", line 4, in <lambda>`}},
		"coroutine": {"import asyncio\nfrom hermes_tools import *\nraise_errors()\nasync def main():\n    await aio.terminal('x')\nasyncio.run(main())", []string{`File "script.py", line 5, in main`, "await aio.terminal('x')"}},
		"printed":   {"import sys, traceback\ntry: 1/0\nexcept Exception: traceback.print_exc(file=sys.stdout)\nsys.exit(3)", []string{`File "script.py", line 2`}},
		"warning":   {"import warnings, sys\nwarnings.warn('old')\nsys.exit(2)", []string{"script.py:2: UserWarning: old"}},
	} {
		rep := f.run(c.code)
		for _, w := range c.want {
			if !strings.Contains(rep.Output, w) {
				t.Errorf("%s: %q is not in\n%s", name, w, rep.Output)
			}
		}
		for _, bad := range []string{"hermes_tools.py", f.home, "/script.py"} {
			if strings.Contains(rep.Output, bad) {
				t.Errorf("%s: %q is in\n%s", name, bad, rep.Output)
			}
		}
		if strings.Count(rep.Output, "Traceback") > 1 && name != "thread" {
			t.Errorf("%s: more than one traceback in\n%s", name, rep.Output)
		}
	}
}

func TestEnding_ExceptionsNameNoStagingPath(t *testing.T) { // XH-1
	t.Parallel()
	f := newFixture(t)
	rep := f.run("import os\nos.unlink(os.path.join(os.path.dirname(__file__), 'hermes_tools.py/'))")
	if !strings.Contains(rep.Error, "'hermes_tools.py/'") || strings.Contains(rep.Error+rep.Output, f.home) {
		t.Errorf("%s\n%s", rep.Error, rep.Output)
	}
}

func TestEnding_Hints(t *testing.T) { // XH-3, XM-7
	t.Parallel()
	f := newFixture(t)
	f.Tools["terminal"], f.Tools["read_file"] = echo, echo
	f.vars()["STRIPE_API_KEY"] = "x"
	f.write(".venv/lib/python3.11/site-packages/onlythere/__init__.py", "")
	for code, want := range map[string]string{
		"from hermes_tools import nonsense": "from hermes_tools import read_file, terminal",
		"terminal('x')":                     "used without an import",
		"json_parse('x')":                   "used without an import",
		"import surely_absent_module":       "surely_absent_module",
		"import onlythere":                  ".venv has onlythere",
		"from hermes_tools import read_file\nread_file('x')['text']":                                "content, total_lines",
		"from hermes_tools import terminal\nterminal('x').output":                                   "output, exit_code",
		"import os\nfrom hermes_tools import terminal\nterminal('x')\nos.environ['STRIPE_API_KEY']": "terminal.env_passthrough",
		"import os\nos.environ['STRIPE_API_KEY']":                                                   "terminal.env_passthrough",
		"from hermes_tools import terminal\nterminal('x', background=True)":                         "foreground only",
		"input()":                                "no stdin",
		"import asyncio\nawait asyncio.sleep(1)": "asyncio.run(main())",
		"import asyncio\nasync def f(): asyncio.run(g())\nasync def g(): pass\nasyncio.run(f())": "asyncio.run(main())",
		"raise OSError(27, 'File too large')":                                                    "limits.file_size_mb", // Python's form of SIGXFSZ
		"raise RuntimeError(\"can't start new thread\")":                                         "limits.processes",
		"raise MemoryError":     "limits.memory_mb",
		"import os\nos.abort()": "native extension",
		"open('/nowhere/x')":    "",
		"1/0":                   "",
	} {
		rep := f.run(code)
		if rep.Status != script.StatusError || want == "" && rep.Hint != "" || !strings.Contains(rep.Hint, want) {
			t.Errorf("%q: %s, hint %q, want %q", code, rep.Error, rep.Hint, want)
		}
		if len([]rune(rep.Hint)) > 400 {
			t.Errorf("%q: the hint has %d characters", code, len([]rune(rep.Hint)))
		}
	}
}

func TestEnding_SilentSuccessIsToldPlainly(t *testing.T) { // XO-6
	t.Parallel()
	f := newFixture(t)
	f.Tools["terminal"] = echo
	for code, want := range map[string][]string{
		"x = 1": {"printed nothing"},
		"from hermes_tools import terminal\nterminal('x')":           {"1 tool calls", "not printed"},
		"import sys\nsys.stderr.write('a' * 1000 + 'the end of it')": {"printed nothing", "the end of it"},
		"print('something')": {},
	} {
		rep := f.run(code)
		for _, w := range want {
			if !strings.Contains(rep.Warning, w) {
				t.Errorf("%q: warning %q, want %q", code, rep.Warning, w)
			}
		}
		if len(want) == 0 && rep.Warning != "" || rep.Status != script.StatusSuccess {
			t.Errorf("%q: %+v", code, rep)
		}
	}
}

func TestEnding_ThirdTimeIsTold(t *testing.T) { // XO-7
	t.Parallel()
	f := newFixture(t)
	for i := range 4 {
		rep := f.run("print('same')")
		if told := strings.Contains(rep.Warning, "times in this session"); told != (i >= 2) {
			t.Errorf("time %d: warning %q", i+1, rep.Warning)
		}
	}
	if rep := f.run("print('other')"); rep.Warning != "" {
		t.Errorf("another script: %q", rep.Warning)
	}
}

func TestEnding_OutputIsFiltered(t *testing.T) { // XO-4, XO-8, XR-2
	t.Parallel()
	f := newFixture(t)
	secrets := &secret.Set{}
	secrets.Add("MY_SECRET", "hunter2hunter2")
	f.Services = append(f.Services, redact.New(secrets))
	rep := f.run(`
import os, sys, time
out = sys.stdout.buffer
out.write(b"\x1b[31mred\x1b[0m tab\tbell\a nul\0 end\r\n"); out.flush()
for part in (b"hunter2", b"hunter2 ", "é".encode()[:1], "é".encode()[1:], b"\xff\n", b"\x1b[3", b"2mgreen\n"):
    out.write(part); out.flush(); time.sleep(0.01)
print(os.environ["HERMES_RPC_COOKIE"][:4] != "")
`)
	if !strings.HasPrefix(rep.Output, "red tab\tbell nul end\r\n") || strings.Contains(rep.Output, "hunter2") || !strings.Contains(rep.Output, "é\uFFFD\ngreen\n") {
		t.Errorf("got %q", rep.Output)
	}
}

func TestEnding_TokenIsNeverShown(t *testing.T) { // XR-2
	t.Parallel()
	f := newFixture(t)
	rep := f.run("import os\nc = os.environ['HERMES_RPC_COOKIE']\nprint('a', c, 'b')\nprint(repr(os.environ))\nraise ValueError(c)")
	for _, word := range strings.FieldsFunc(rep.Output+" "+rep.Error, func(r rune) bool { return !strings.ContainsRune("0123456789abcdef", r) }) {
		if len(word) == 32 {
			t.Errorf("the token is shown: %s", word)
		}
	}
}

// waiting lets a test say when somebody is asked.
type waiting struct {
	mu      sync.Mutex
	changed func(int)
	id      string
	stopped bool
}

func (w *waiting) WatchWaiting(id string, changed func(int)) func() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.id, w.changed = id, changed
	changed(0)
	return func() { w.mu.Lock(); w.stopped = true; w.mu.Unlock() }
}

func (w *waiting) say(open int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.changed(open)
}

func TestEnding_ClockStandsStillWhileAPersonIsAsked(t *testing.T) { // XA-6, XL-1
	t.Parallel()
	f := newFixture(t)
	clock := f.withClock()
	w := &waiting{}
	f.Services = append(f.Services, w)
	f.Tools["terminal"] = func(_ context.Context, r tool.Request, args map[string]any) tool.Result {
		clock.advance(200 * time.Second)
		w.say(1)
		clock.advance(1000 * time.Second)
		w.say(2)
		w.say(0)
		clock.advance(99 * time.Second)
		return scripttest.Result(r, map[string]any{"output": "approved"})
	}
	rep := f.run("from hermes_tools import terminal\nprint(terminal('x')['output'])")
	if rep.Output != "approved\n" || rep.ApprovalWait == nil || *rep.ApprovalWait != 1000 || rep.DurationSeconds != 1299 {
		t.Errorf("got %+v", rep)
	}
	if w.id != "call-1" || !w.stopped {
		t.Errorf("watched %q, stopped %v", w.id, w.stopped)
	}
}

func TestEnding_ALongRunGivesASignOfLifeEveryTenSeconds(t *testing.T) { // XL-10
	t.Parallel()
	f := newFixture(t)
	clock := f.withClock()
	w := &waiting{}
	f.Services = append(f.Services, w)
	f.Tools["terminal"] = func(_ context.Context, r tool.Request, args map[string]any) tool.Result {
		if args["command"] == "short" {
			return scripttest.Result(r, map[string]any{"output": "done"})
		}
		clock.advance(9 * time.Second)
		clock.advance(time.Second) // a sign is due
		w.say(1)
		clock.advance(10 * time.Second)
		w.say(0)
		clock.advance(10 * time.Second)
		return scripttest.Result(r, map[string]any{"output": "done"})
	}
	f.want("done\n", "from hermes_tools import terminal\nterminal('short')\nprint(terminal('long')['output'])")
	var signs []string
	for _, told := range f.Told() {
		if strings.Contains(told, "tool calls made") {
			signs = append(signs, told)
		}
	}
	want := []string{"10 s, 2 tool calls made, 1 open", "20 s, 2 tool calls made, 1 open, waiting for a person", "30 s, 2 tool calls made, 1 open"}
	if !slices.Equal(signs, want) {
		t.Errorf("told %q", signs)
	}
	clock.advance(time.Minute)
	if n := len(f.Told()); n > len(signs)+1 { // the line printed
		t.Errorf("a run that is over tells of itself: %q", f.Told())
	}
}

func TestEnding_StandstillIsBounded(t *testing.T) { // XA-6
	t.Parallel()
	f := newFixture(t)
	f.config.MaxApprovalWait = 100 * time.Second
	clock := f.withClock()
	w := &waiting{}
	f.Services = append(f.Services, w)
	f.Tools["terminal"] = func(ctx context.Context, r tool.Request, args map[string]any) tool.Result {
		w.say(1)
		clock.advance(100 * time.Second)
		clock.advance(299 * time.Second)
		if ctx.Err() != nil {
			t.Error("ended too early")
		}
		clock.advance(time.Second)
		<-ctx.Done()
		return scripttest.Result(r, map[string]any{})
	}
	if rep := f.run("from hermes_tools import terminal\nprint(terminal('x')['output'])"); rep.Status != script.StatusTimeout {
		t.Errorf("got %+v", rep)
	}
}

func TestEnding_DeniedCommandIsNotAskedAgain(t *testing.T) { // XA-5
	t.Parallel()
	f := newFixture(t)
	f.Tools["terminal"] = func(_ context.Context, r tool.Request, args map[string]any) tool.Result {
		if args["command"] == "rm" {
			res := scripttest.Failure(r, tool.ErrTypeApprovalDenied, "nobody consented")
			res.Status = tool.StatusDenied
			return res
		}
		return scripttest.Result(r, map[string]any{"output": "ran"})
	}
	rep := f.run(`
from hermes_tools import terminal
for r in (terminal("rm"), terminal("rm", timeout=5), terminal("ls"), terminal("rm", workdir="/x")): print(r)
`)
	const denied = "{'denied': True, 'error': 'nobody consented'}\n"
	if rep.Output != denied+denied+"{'output': 'ran'}\n"+denied || len(f.Calls()) != 3 {
		t.Errorf("%d calls, %s", len(f.Calls()), rep.Output)
	}
}

func TestEnding_OriginTellsTheLine(t *testing.T) { // XA-5
	t.Parallel()
	f := newFixture(t)
	f.Tools["terminal"] = func(_ context.Context, r tool.Request, args map[string]any) tool.Result {
		o, ok := f.runner.Origin(r.ID)
		if !ok || o.Parent != "call-1" || o.Number != 2 && o.Number != 1 || args["command"] == "b" && (o.Line != 4 || o.Text != `return terminal("b")`) {
			t.Errorf("%s: %+v", r.ID, o)
		}
		return scripttest.Result(r, map[string]any{})
	}
	f.want("ok\n", "from hermes_tools import terminal\nterminal('a')\ndef f():\n    return terminal(\"b\")\nf()\nprint('ok')")
	if _, ok := f.runner.Origin("call-1/1"); ok {
		t.Error("remembered after the call")
	}
}

func TestEnding_AttacksHarmOnlyTheirOwnResult(t *testing.T) { // XV-2, XL-5, XL-6
	t.Parallel()
	f := newFixture(t)
	f.Tools["terminal"] = echo
	f.config.Timeout = 2 * time.Minute
	for name, code := range map[string]string{
		"deletes its directory": "import os, shutil\nshutil.rmtree(os.path.dirname(os.path.abspath(__file__)))\nprint('done')",
		"closes stdout":         "import os\nprint('done', flush=True)\nos.close(1)\nos.close(2)",
		"leaves a child":        "import subprocess\nsubprocess.Popen(['sleep', '60'])\nprint('done')",
		"wrong token":           rawClient[:strings.LastIndex(rawClient, "send(")] + "try: send({'v': 1, 'token': 'x' * 32}); send({'id': 1, 'tool': 'terminal', 'args': {'command': 'x'}}); print(recv())\nexcept Exception: print('done')",
		"half a frame":          rawClient + "s.sendall(b'\\0\\0\\1\\0abc')\ns.close()\nprint('done')",
		"absurd length":         rawClient + "s.sendall(b'\\xff\\xff\\xff\\xff')\ntry: recv()\nexcept Exception: print('done')",
		"unread answers":        rawClient + "for i in range(1, 40): send({'id': i, 'tool': 'terminal', 'args': {'command': 'x' * 100000}})\nprint('done')",
	} {
		rep := f.run(code)
		if rep.Output != "done\n" || rep.Status != script.StatusSuccess {
			t.Errorf("%s: %+v", name, rep)
		}
	}
	left, _ := filepath.Glob(filepath.Join(f.home, "run", "*", "[0-9]*"))
	if len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	for _, c := range f.Calls() {
		if !strings.Contains(string(c.Arguments), "xxxxx") {
			t.Errorf("%s was called with %s", c.Name, c.Arguments)
		}
	}
	f.want("still good\n", "from hermes_tools import terminal\nprint(terminal('still good')['output'])")
}

func TestEnding_RecordedConversationIsOfNoUseLater(t *testing.T) { // XR-2
	t.Parallel()
	f := newFixture(t)
	f.Tools["terminal"] = echo
	rep := f.run(rawClient + "print(call('terminal', {'command': 'x'})['result']['output'])\nopen('old', 'w').write(os.environ['HERMES_RPC_COOKIE'])")
	if rep.Output != "x\n" {
		t.Fatal(rep)
	}
	replay := strings.Replace(rawClient, `os.environ["HERMES_RPC_COOKIE"]`, "open('old').read()", 1)
	rep = f.run(replay + "try: print(call('terminal', {'command': 'replayed'}))\nexcept Exception: print('refused')")
	if rep.Output != "refused\n" || len(f.Calls()) != 1 {
		t.Errorf("got %+v", rep)
	}
}

func TestEnding_ManyRunsLeaveNothing(t *testing.T) { // XL-11
	f := newFixture(t)
	f.Tools["terminal"] = echo
	f.config.Timeout, f.config.KillGrace = 150*time.Millisecond, 50*time.Millisecond
	f.run("print(1)")
	before := descriptors(t)
	for i := range 6 {
		switch i % 3 {
		case 0:
			f.run("import os\nfrom hermes_tools import terminal\nos.fork()\nterminal('x')")
		case 1:
			f.run("import time\ntime.sleep(9)")
		case 2:
			ctx, cancel := context.WithTimeoutCause(context.Background(), 30*time.Millisecond, tool.Stop)
			f.runContext(ctx, "import time\ntime.sleep(9)")
			cancel()
		}
	}
	for end := time.Now().Add(time.Minute); descriptors(t) > before; time.Sleep(5 * time.Millisecond) { // what is on its way out goes
		if time.Now().After(end) {
			t.Fatalf("%d descriptors before, %d after", before, descriptors(t))
		}
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		t.Skip(err)
	}
	return len(entries)
}

func TestEnding_LinesAreToldAsTheyCome(t *testing.T) { // XL-8
	t.Parallel()
	f := newFixture(t)
	f.Tools["terminal"] = func(_ context.Context, r tool.Request, _ map[string]any) tool.Result {
		deadline := time.Now().Add(time.Minute)
		for !strings.Contains(strings.Join(f.Told(), "\n"), "first half and second") && time.Now().Before(deadline) {
			time.Sleep(time.Millisecond)
		}
		return scripttest.Result(r, map[string]any{"output": strings.Join(f.Told(), "\n")})
	}
	rep := f.run("from hermes_tools import terminal\nprint('first half', end='')\nprint(' and second')\nprint('told' if 'first half and second' in terminal('x')['output'] else 'silent')")
	if !strings.HasSuffix(rep.Output, "told\n") {
		t.Errorf("got %+v", rep)
	}
}

// broken is a place that fails inside.
type broken struct{ *scripttest.Env }

func (broken) Run(context.Context, environment.Command) (environment.Result, error) { panic("broken") }

func TestEnding_PanicIsAReportAndLeavesNothing(t *testing.T) { // XC-4
	t.Parallel()
	f := newFixture(t)
	f.Environment = broken{f.here}
	rep := f.run("print(1)")
	if rep.Status != script.StatusError || !strings.Contains(rep.Error, "inside Hermes") {
		t.Errorf("got %+v", rep)
	}
	if left, _ := filepath.Glob(filepath.Join(f.home, "run", "*", "[0-9]*")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

func TestEnding_ClosedRunnerRunsNothing(t *testing.T) { // XC-4
	t.Parallel()
	f := newFixture(t)
	if err := f.runner.Close(); err != nil {
		t.Fatal(err)
	}
	if rep := f.run("open('made', 'w')"); rep.Status != script.StatusInterrupted || rep.InterruptCause != "shutdown" {
		t.Errorf("got %+v", rep)
	}
}
