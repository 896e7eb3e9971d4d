//go:build unix

package script_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/internal/script"
	"github.com/hermes-runtime/hermes/internal/script/python"
	"github.com/hermes-runtime/hermes/internal/script/scripttest"
	"github.com/hermes-runtime/hermes/tool"
)

// handClock moves only when told to. Timers fire in the goroutine that moves it.
type handClock struct {
	mu     sync.Mutex
	now    time.Time
	timers map[int]handTimer
	next   int
	armed  chan time.Duration // told of each timer, where somebody listens
}

type handTimer struct {
	at time.Time
	f  func()
}

func newHandClock() *handClock { return &handClock{now: time.Unix(0, 0), timers: map[int]handTimer{}} }

func (c *handClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *handClock) AfterFunc(d time.Duration, f func()) func() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next++
	id := c.next
	if c.armed != nil {
		c.armed <- d
	}
	c.timers[id] = handTimer{c.now.Add(d), f}
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		_, ok := c.timers[id]
		delete(c.timers, id)
		return ok
	}
}

func (c *handClock) advance(d time.Duration) {
	c.mu.Lock()
	c.now = c.now.Add(d)
	var due []func()
	for id, t := range c.timers {
		if !t.at.After(c.now) {
			due = append(due, t.f)
			delete(c.timers, id)
		}
	}
	c.mu.Unlock()
	for _, f := range due {
		f()
	}
}

// withClock gives the fixture a runner on a clock of the test's.
func (f *fixture) withClock() *handClock {
	f.t.Helper()
	py, err := systemPython()
	if err != nil {
		f.t.Skip(err)
	}
	c := newHandClock()
	f.runner = script.New(script.Options{
		Home: f.home, Getenv: func(string) string { return "" }, Clock: c, Resolver: python.New(python.Options{Path: filepath.Dir(py.Path)}),
	})
	f.Services[1] = f.runner
	f.t.Cleanup(func() { f.runner.Close() }) //nolint:errcheck // the directory is the test's
	return c
}

const timeoutText = "Script timed out after 300s and was killed."

func TestLimits_TimeoutAtItsDefault(t *testing.T) { // XC-5, XL-2
	t.Parallel()
	f := newFixture(t)
	clock := f.withClock()
	started := make(chan struct{})
	f.Tools["terminal"] = func(ctx context.Context, r tool.Request, _ map[string]any) tool.Result {
		close(started)
		<-ctx.Done()
		if cause := context.Cause(ctx); !errors.Is(cause, context.DeadlineExceeded) {
			t.Errorf("the call ended with %v", cause)
		}
		return scripttest.Result(r, map[string]any{})
	}
	go func() {
		<-started
		clock.advance(299 * time.Second)
		clock.advance(time.Second)
	}()
	rep := f.run("from hermes_tools import terminal\nprint('before')\nterminal('x')")
	if rep.Status != script.StatusTimeout || rep.Error != timeoutText || rep.Output != "before\n"+timeoutText || rep.ToolCallsMade != 1 {
		t.Errorf("got %+v", rep)
	}
	if rep.DurationSeconds != 300 {
		t.Errorf("duration %v", rep.DurationSeconds)
	}
}

func TestLimits_TimeoutConfiguredWithNothingPrinted(t *testing.T) { // XC-5
	t.Parallel()
	f := newFixture(t)
	f.config.Timeout = 500 * time.Millisecond
	rep := f.run("import time\ntime.sleep(60)")
	const want = "Script timed out after 0.5s and was killed."
	if rep.Status != script.StatusTimeout || rep.Error != want || rep.Output != want {
		t.Errorf("got %+v", rep)
	}
	if o := rep.Outcome(); o.Status != tool.StatusTimeout || o.Type != tool.ErrTypeTimeout {
		t.Errorf("the call ended as %+v", o)
	}
}

func TestLimits_TermThenGraceThenKill(t *testing.T) { // XL-2
	t.Parallel()
	f := newFixture(t)
	clock := f.withClock()
	f.config.KillGrace = 4 * time.Second // time for a word, on any machine
	f.Tools["terminal"] = func(ctx context.Context, r tool.Request, _ map[string]any) tool.Result {
		clock.advance(300 * time.Second)
		return scripttest.Result(r, map[string]any{})
	}
	rep := f.run(`
import signal, time
from hermes_tools import terminal
signal.signal(signal.SIGTERM, lambda *a: print("TERM"))
print("ready")
try: terminal("x")
except Exception: pass
while True: time.sleep(0.01)
`)
	if rep.Output != "ready\nTERM\n"+timeoutText {
		t.Errorf("got %+v", rep)
	}
}

func TestLimits_BusyLoopIsKilled(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.config.Timeout = 300 * time.Millisecond
	if rep := f.run("while True: pass"); rep.Status != script.StatusTimeout {
		t.Errorf("got %+v", rep)
	}
}

func TestLimits_Stdout(t *testing.T) { // XO-2, XC-5
	t.Parallel()
	for _, c := range []struct {
		limit  int
		notice string
	}{{0, "[output truncated at 50KB]"}, {64_000, "[output truncated at 64KB]"}, {500, "[output truncated at 0.5KB]"}} {
		f := newFixture(t)
		if c.limit == 0 {
			c.limit = f.config.MaxStdout // the default
		} else {
			f.config.MaxStdout = c.limit
		}
		whole := strings.Repeat("x", 99) + "\n"
		rep := f.run(fmt.Sprintf("import sys\nsys.stdout.write(('x' * 99 + '\\n') * %d)", c.limit/100))
		if rep.StdoutTruncated || rep.Output != strings.Repeat(whole, c.limit/100) {
			t.Errorf("%d: at the limit exactly %d bytes are shown, cut %v", c.limit, len(rep.Output), rep.StdoutTruncated)
		}
		n := c.limit/100*100 + 1
		rep = f.run(fmt.Sprintf("import sys\nsys.stdout.write(('x' * 99 + '\\n') * %d + 'y')", c.limit/100))
		head, rest, ok := strings.Cut(rep.Output, c.notice+"\n")
		note, tail, _ := strings.Cut(rest, "\n")
		if !ok || !strings.HasSuffix(tail, "\ny") || !rep.StdoutTruncated {
			t.Fatalf("%d: %.300s … %s", c.limit, rep.Output, rep.Error)
		}
		kept := int64(len(head) + len(tail))
		if *rep.StdoutTotal != int64(n) || *rep.StdoutCaptured != kept || *rep.StdoutOmitted != int64(n)-kept || kept > int64(c.limit) {
			t.Errorf("%d: counted %d, %d, %d; kept %d", c.limit, *rep.StdoutTotal, *rep.StdoutCaptured, *rep.StdoutOmitted, kept)
		}
		if !strings.Contains(note, fmt.Sprint(*rep.StdoutOmitted)+" bytes") || !strings.Contains(note, rep.StdoutSpillPath) {
			t.Errorf("the note is %q", note)
		}
		spilled, err := os.ReadFile(rep.StdoutSpillPath)
		if err != nil || string(spilled) != strings.Repeat(whole, c.limit/100)+"y" {
			t.Errorf("%d: the spill file has %d bytes, %v", c.limit, len(spilled), err)
		}
		if rep.Status != script.StatusSuccess {
			t.Errorf("a long output is %s", rep.Status)
		}
	}
}

func TestLimits_LinesLeftOutAreNeverLessThanOne(t *testing.T) { // XO-2
	t.Parallel()
	f := newFixture(t)
	for code, want := range map[string]string{
		"print('x' * 50001, end='')": "[1 bytes, 1 lines left out; ",
		"print('x' * 60000)":         "[10001 bytes, 1 lines left out; ",
		"print('x' * 19999 + '\\n' + 'y' * 300 + '\\n' + 'z' * 30000, end='')": "[301 bytes, 1 lines left out; ",
	} {
		if rep := f.run(code); !strings.Contains(rep.Output, want) {
			_, note, _ := strings.Cut(rep.Output, "[output truncated at 50KB]\n")
			t.Errorf("%s: %.80q", code, note)
		}
	}
}

func TestLimits_LongOutputIsCountedExactlyInConstantMemory(t *testing.T) { // XO-5, XO-3
	t.Parallel()
	f := newFixture(t)
	f.config.SpillMax = 100_000
	rep := f.run(`
import sys
print("first")
for i in range(300): sys.stdout.write("0123456789abcdef" * 4096 + "\n")
print("last")
`)
	want := int64(6 + 300*65537 + 5)
	if *rep.StdoutTotal != want || !strings.HasPrefix(rep.Output, "first\n") || !strings.HasSuffix(rep.Output, "\nlast\n") {
		t.Errorf("counted %d, want %d", *rep.StdoutTotal, want)
	}
	if i, err := os.Stat(rep.StdoutSpillPath); err != nil || i.Size() != 100_000 {
		t.Errorf("the spill file: %v, %v", i, err)
	}
}

func TestLimits_StderrOnFailure(t *testing.T) { // XO-1
	t.Parallel()
	f := newFixture(t)
	for _, limit := range []int{f.config.MaxStderr, 1000} {
		f.config.MaxStderr = limit
		rep := f.run("import sys\nprint('out')\nsys.stderr.write('e' * 99 + '\\n')\nfor i in range(1000): sys.stderr.write('-' * 99 + '\\n')\n1/0")
		out, errs, ok := strings.Cut(rep.Output, "--- stderr ---\n")
		if !ok || out != "out\n" || !strings.HasPrefix(errs, "eeee") || !strings.HasSuffix(errs, "ZeroDivisionError: division by zero\n") {
			t.Fatalf("got %s", rep.Output)
		}
		if len(errs) > limit+100 || len(errs) < limit/2 {
			t.Errorf("%d bytes of stderr at a limit of %d", len(errs), limit)
		}
		if rep.Error != "ZeroDivisionError: division by zero" || rep.Status != script.StatusError || *rep.ExitCode != 1 {
			t.Errorf("got %+v", rep)
		}
	}
	f.want("out\n", "import sys\nprint('out')\nsys.stderr.write('not shown')")
}

func TestLimits_ToolCalls(t *testing.T) { // XR-8, XR-9
	t.Parallel()
	for _, limit := range []int{50, 3, 0} {
		f := newFixture(t)
		var calls atomic.Int32
		if limit == 50 && f.config.MaxToolCalls != 50 {
			t.Error("the default is not 50")
		}
		f.config.MaxToolCalls = limit
		f.Tools["terminal"] = func(_ context.Context, r tool.Request, _ map[string]any) tool.Result {
			calls.Add(1)
			return scripttest.Result(r, map[string]any{"output": "x"})
		}
		rep := f.run(fmt.Sprintf(`
from concurrent.futures import ThreadPoolExecutor
from hermes_tools import terminal
with ThreadPoolExecutor(64) as p: rs = list(p.map(terminal, map(str, range(64))))
bad = [r["error"] for r in rs if "error" in r]
print(len(rs) - len(bad), all("limit of %d tool calls" in e for e in bad), "error" in terminal("y"))
`, limit))
		if rep.Output != fmt.Sprintf("%d True True\n", limit) || int(calls.Load()) != limit || rep.ToolCallsMade != limit || rep.Status != script.StatusSuccess {
			t.Errorf("limit %d: %d calls, %+v", limit, calls.Load(), rep)
		}
	}
}

func TestLimits_CallsBeforeTheDoorDoNotCount(t *testing.T) { // XR-8, XA-1, XA-3
	t.Parallel()
	f := newFixture(t)
	f.Tools["terminal"] = echo
	f.Missing = map[string]string{"web_search": "no search provider is configured"}
	rep := f.run(rawClient + `
for name, tool, args in [
    ("unknown", "execute_code", {"code": "1"}), ("delegate", "delegate_task", {}), ("mcp", "mcp_x_y", {}), ("off", "web_search", {"query": "x"}),
    ("absent", "patch", {}), ("list", "terminal", ["x"]), ("null", "terminal", None),
    ("bg", "terminal", {"command": "x", "background": False}), ("pty", "terminal", {"command": "x", "PTY": None}),
    ("notify", "terminal", {"command": "x", "notifyOnComplete": True}), ("watch", "terminal", {"command": "x", "watch_patterns": []}),
    ("keep", "terminal", {"command": "x", "keep-stdin": True}), ("persist", "terminal", {"command": "x", "persist": True}),
]:
    print(name, call(tool, args)["result"]["error"])
print(call("terminal", {"command": "good"})["result"]["output"])
`)
	if rep.ToolCallsMade != 1 || len(f.Calls()) != 1 || !strings.HasSuffix(rep.Output, "\ngood\n") {
		t.Fatalf("got %+v", rep)
	}
	for _, want := range []string{
		`unknown "execute_code" can't be called`, "off web_search is not available: no search provider", "absent patch is not available",
		"list The arguments of terminal must be", "null The arguments", "bg background is not available in scripts", "pty pty is not", "notify notify_on_complete is not",
		"watch watch_patterns is not", "keep keep_stdin is not", "persist persist is not",
	} {
		if !strings.Contains(rep.Output, want) {
			t.Errorf("%q is not in\n%s", want, rep.Output)
		}
	}
}

// rawClient speaks the protocol without the stub.
const rawClient = `
import json, os, socket, struct
s = socket.socket(socket.AF_UNIX); s.connect(os.environ["HERMES_RPC_SOCKET"])
n = 0
def send(o): b = json.dumps(o).encode(); s.sendall(struct.pack(">I", len(b)) + b)
def recv():
    k = struct.unpack(">I", s.recv(4, socket.MSG_WAITALL))[0]
    return json.loads(s.recv(k, socket.MSG_WAITALL))
def call(tool, args):
    global n
    n += 1
    send({"id": n, "tool": tool, "args": args})
    return recv()
send({"v": 1, "token": os.environ["HERMES_RPC_COOKIE"]})
`

func TestLimits_BadConfigurationStartsNothing(t *testing.T) { // XC-9, XC-4
	t.Parallel()
	for name, c := range map[string]struct {
		set  func(*script.Config)
		want []string
	}{
		"negative calls": {func(c *script.Config) { c.MaxToolCalls = -1 }, []string{"max_tool_calls", "-1", "0 to"}},
		"no time":        {func(c *script.Config) { c.Timeout = -time.Second }, []string{"timeout", "-1s"}},
		"zero stdout":    {func(c *script.Config) { c.MaxStdout = 0 }, []string{"max_stdout_bytes"}},
		"from the file":  {func(c *script.Config) { c.Problem = errors.New("config.yaml:3: code_execution.timeout is soon") }, []string{"config.yaml:3"}},
	} {
		f := newFixture(t)
		c.set(f.config)
		rep := f.run("open('made', 'w')")
		if _, err := os.Stat(f.dir + "/made"); err == nil || rep.Status != script.StatusError {
			t.Errorf("%s: the script ran: %+v", name, rep)
		}
		for _, w := range c.want {
			if !strings.Contains(rep.Error, w) {
				t.Errorf("%s: %q is not in %q", name, w, rep.Error)
			}
		}
	}
}

func TestLimits_RunsBeyondTheLimitQueueInOrder(t *testing.T) { // XQ-2
	t.Parallel()
	f := newFixture(t)
	f.config.MaxRuns = 2
	var now, most atomic.Int32
	f.Tools["terminal"] = func(_ context.Context, r tool.Request, _ map[string]any) tool.Result {
		if n := now.Add(1); n > most.Load() {
			most.Store(n)
		}
		time.Sleep(30 * time.Millisecond)
		now.Add(-1)
		return scripttest.Result(r, map[string]any{})
	}
	var wg sync.WaitGroup
	for i := range 5 {
		wg.Go(func() {
			rep := f.runner.Run(context.Background(), f.Call(fmt.Sprint("run-", i)), "from hermes_tools import terminal\nterminal('x')\nprint(1)")
			if rep.Output != "1\n" {
				t.Errorf("run %d: %+v", i, rep)
			}
		})
	}
	wg.Wait()
	if most.Load() > 2 {
		t.Errorf("%d ran at once", most.Load())
	}
	if !strings.Contains(strings.Join(f.Told(), "\n"), "max_concurrent_runs 2") {
		t.Errorf("the wait was not told: %v", f.Told())
	}
}
