//go:build unix

package script_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/internal/script"
	"github.com/hermes-runtime/hermes/internal/script/scripttest"
	"github.com/hermes-runtime/hermes/tool"
)

// everyWay calls tools from threads, processes of each start method and coroutines, all at once, and checks every answer.
const everyWay = `
import asyncio, multiprocessing, subprocess, sys, threading
from concurrent.futures import ThreadPoolExecutor
from hermes_tools import terminal, aio

def one(s):
    r = terminal(s)
    return r["output"] == s

async def many(tag, n):
    rs = await asyncio.gather(*[aio.terminal("%s-%d" % (tag, i)) for i in range(n)])
    return all(r["output"] == "%s-%d" % (tag, i) for i, r in enumerate(rs))

def forked(s):
    return one(s) and asyncio.run(many(s, 3))

if __name__ == "__main__":
    with ThreadPoolExecutor(64) as pool:
        futures = [pool.submit(one, "thread-%d" % i) for i in range(128)]
        futures.append(pool.submit(lambda: asyncio.run(many("loop-in-thread", 20))))
        with multiprocessing.get_context("fork").Pool(4) as procs:
            results = procs.map(forked, ["fork-%d" % i for i in range(12)])
            results.append(asyncio.run(many("main", 40)))
        results += [f.result() for f in futures]
    child = subprocess.run([sys.executable, "-c", "from hermes_tools import terminal; print(terminal('sub')['output'])"], capture_output=True, text=True)
    results.append(child.stdout == "sub\n")
    print(len(results), all(results))
`

func TestStub_ThreadsProcessesAndCoroutinesGetTheirOwnAnswers(t *testing.T) { // XT-10, XT-11
	t.Parallel()
	f := newFixture(t)
	f.config.MaxToolCalls = 100_000
	f.Tools["terminal"] = echo
	f.want("143 True\n", everyWay) // -count repeats it
}

func TestStub_SpawnAndForkserverWork(t *testing.T) { // XS-5
	t.Parallel()
	f := newFixture(t)
	f.Tools["terminal"] = echo
	f.want("['s0', 's1'] ['f0', 'f1']\n", `
import multiprocessing, sys
from hermes_tools import terminal
def one(s):
    return terminal(s)["output"]
if __name__ == "__main__":
    out = []
    for m in ("spawn", "forkserver"):
        with multiprocessing.get_context(m).Pool(2) as p:
            out.append(p.map(one, [m[0] + "0", m[0] + "1"]))
    print(*out)
`)
}

func TestStub_ForkInTheMiddleOfACallIsSafe(t *testing.T) { // XT-11
	t.Parallel()
	f := newFixture(t)
	f.Tools["terminal"] = func(_ context.Context, r tool.Request, args map[string]any) tool.Result {
		if args["command"] == "slow" {
			time.Sleep(100 * time.Millisecond)
		}
		return scripttest.Result(r, map[string]any{"output": args["command"]})
	}
	f.want("child slow\n", `
import os, threading, time
from hermes_tools import terminal
out = []
t = threading.Thread(target=lambda: out.append(terminal("slow")["output"])); t.start()
time.sleep(0.03)
pid = os.fork()
if pid == 0:
    os.write(1, (terminal("child")["output"] + " ").encode()); os._exit(0)
os.waitpid(pid, 0)
t.join(); print(*out)
`)
}

func TestStub_CancelledCoroutineCancelsItsCall(t *testing.T) { // XT-10
	t.Parallel()
	f := newFixture(t)
	ended := make(chan struct{})
	f.Tools["terminal"] = func(ctx context.Context, r tool.Request, args map[string]any) tool.Result {
		if args["command"] == "long" {
			if err := os.WriteFile(filepath.Join(f.dir, "begun"), nil, 0o600); err != nil {
				t.Error(err)
			}
			<-ctx.Done()
			close(ended)
		}
		return scripttest.Result(r, map[string]any{"output": "done"})
	}
	f.want("cancelled\ndone\n", `
import asyncio, os
from hermes_tools.aio import terminal
async def main():
    long = asyncio.ensure_future(terminal("long"))
    while not os.path.exists("begun"): await asyncio.sleep(0.01)
    long.cancel()
    try:
        await long
    except asyncio.CancelledError:
        print("cancelled")
    print((await terminal("short"))["output"])
asyncio.run(main())
`)
	select {
	case <-ended:
	case <-time.After(time.Minute):
		t.Error("the call went on")
	}
}

func TestStub_ManyLoopsOneAfterTheOther(t *testing.T) { // XT-10
	t.Parallel()
	f := newFixture(t)
	f.Tools["terminal"] = echo
	f.want("ok\n", `
import asyncio
from hermes_tools import aio
for i in range(20):
    assert asyncio.run(aio.terminal(str(i)))["output"] == str(i)
print("ok")
`)
}

func TestStub_HelpersDoWhatTheySay(t *testing.T) { // XT-8, XT-9
	t.Parallel()
	f := newFixture(t)
	var tries atomic.Int32
	f.Tools["terminal"] = func(_ context.Context, r tool.Request, args map[string]any) tool.Result {
		switch args["command"] {
		case "flaky":
			if tries.Add(1) < 3 {
				return scripttest.Failure(r, tool.ErrTypeTool, "not yet")
			}
			return scripttest.Result(r, map[string]any{"output": "now"})
		case "denied":
			tries.Add(1)
			res := scripttest.Failure(r, tool.ErrTypeApprovalDenied, "nobody consented")
			res.Status = tool.StatusDenied
			return res
		case "wrong":
			tries.Add(1)
			return scripttest.Failure(r, tool.ErrTypeInvalidArguments, "no such thing")
		}
		return scripttest.Failure(r, tool.ErrTypeTool, "it broke")
	}
	f.want("ok\n", `
import pickle, time
from hermes_tools import *
from hermes_tools import HermesToolError
assert json_parse('{"a": "x\ny"}') == {"a": "x\ny"} and json_parse(' [1] ') == [1] and json_parse({"b": 1}) == {"b": 1}
for bad in ("", "{", "{} x", "nope"):
    try: json_parse(bad)
    except ValueError: pass
    else: raise AssertionError(bad)
import shlex
for s in ("", "a b", "it's", "$x;\n", "plain-1.txt", "é"):
    assert shlex.split(shell_quote(s)) == [s], s
assert retry(lambda: terminal("flaky"), delay=0)["output"] == "now"
t = time.monotonic()
assert retry(lambda: terminal("denied"), delay=5)["denied"] is True
assert retry(lambda: terminal("wrong"), delay=5)["error"]
assert time.monotonic() - t < 4
assert retry(lambda: terminal("broken"), max_attempts=2, delay=0)["error"] == "it broke"
n = []
def fails(): n.append(1); raise KeyError("k")
try: retry(fails, max_attempts=2, delay=0)
except KeyError: assert len(n) == 2
try: retry(fails, max_attempts=0)
except ValueError: pass
else: raise AssertionError("no ValueError")
r = terminal("broken")
try: check(r)
except RuntimeError as e: assert (e.tool, e.result, e.type, str(e)) == ("terminal", {"error": "it broke"}, "tool_error", "it broke")
assert check({"output": 1}) == {"output": 1}
assert pickle.loads(pickle.dumps(r)) == r and isinstance(pickle.loads(pickle.dumps(HermesToolError("x", "t"))), HermesToolError)
with raise_errors():
    try: terminal("broken")
    except HermesToolError as e: assert e.type == "tool_error"
    else: raise AssertionError("nothing raised")
assert terminal("broken")["error"]
raise_errors()
try: terminal("broken")
except HermesToolError: print("ok")
`)
}

func TestStub_ImportOfWhatIsNotThereSaysWhy(t *testing.T) { // XT-6
	t.Parallel()
	f := newFixture(t)
	f.Tools["terminal"], f.Tools["read_file"] = echo, echo
	f.Missing = map[string]string{"web_search": "no search provider is configured"}
	for name, want := range map[string]string{
		"web_search":    "no search provider is configured",
		"patch":         "not enabled in this session",
		"execute_code":  "never be called from a script",
		"delegate_task": "never be called from a script",
		"nonsense":      "no such tool or helper",
	} {
		for _, module := range []string{"hermes_tools", "hermes_tools.aio"} {
			if module != "hermes_tools" && name != "web_search" {
				continue // it is the same code
			}
			rep := f.run("import hermes_tools.aio\nfrom " + module + " import " + name)
			if rep.Status != script.StatusError || !strings.Contains(rep.Error, want) || !strings.Contains(rep.Error, "read_file, terminal, json_parse") || !strings.HasPrefix(rep.Error, "ImportError") {
				t.Errorf("%s of %s: %s", name, module, rep.Error)
			}
			if !strings.Contains(rep.Hint, "from hermes_tools import read_file, terminal") {
				t.Errorf("%s: the hint is %q", name, rep.Hint)
			}
			if strings.Contains(rep.Output, "hermes_tools.py") || strings.Contains(rep.Output, f.home) {
				t.Errorf("a frame of ours is shown:\n%s", rep.Output)
			}
		}
	}
	f.want("['HermesToolError', 'aio', 'check', 'json_parse', 'raise_errors', 'read_file', 'retry', 'shell_quote', 'terminal']\n",
		"before = set(dir())\nfrom hermes_tools import *\nprint(sorted(set(dir()) - before - {'before'}))")
}

func TestStub_WrongArgumentIsATypeErrorAtTheScriptsLine(t *testing.T) { // XT-7
	t.Parallel()
	f := newFixture(t)
	f.Tools["terminal"] = echo
	for _, call := range []string{"terminal()", "terminal('x', nonsense=1)", "terminal({1})"} {
		rep := f.run("from hermes_tools import terminal\n\n" + call)
		if !strings.HasPrefix(rep.Error, "TypeError") || !strings.Contains(rep.Output, `File "script.py", line 3`) || strings.Contains(rep.Output, "hermes_tools.py") {
			t.Errorf("%s: %s\n%s", call, rep.Error, rep.Output)
		}
	}
	if len(f.Calls()) > 0 {
		t.Error("a wrong call was made")
	}
}

func TestStub_ModulesOfTheProjectDoNotComeBetween(t *testing.T) { // XS-4
	t.Parallel()
	f := newFixture(t)
	f.Tools["terminal"] = echo
	for _, name := range []string{"json", "socket", "types", "hermes_tools", "struct", "threading"} {
		f.write(name+".py", "raise RuntimeError('the project own "+name+" was taken')")
	}
	f.write("my_project.py", "foo = 'foo'")
	f.want("hi foo 1 not JSON\n", `
from hermes_tools import terminal, json_parse
from my_project import foo
try: json_parse("nope")
except ValueError: bad = "not JSON"
print(terminal("hi")["output"], foo, json_parse("[1]")[0], bad)
`)
}

func TestStub_TheScriptsOwnImportsFollowPythonsRule(t *testing.T) { // XS-3, XS-4
	t.Parallel()
	f := newFixture(t)
	f.Tools["terminal"] = echo
	f.write("json.py", "mine = 'mine'\nprint('loaded')")
	const use = `
from hermes_tools import terminal, json_parse
parsed = json_parse('{"a": 1}')
try: json_parse('{"a" 1}')
except ValueError as e: parsed[type(e).__name__] = 2
print(terminal("hi")["output"], parsed)
`
	f.want("hi {'a': 1, 'JSONDecodeError': 2}\nloaded\nmine\n", use+"import json\nprint(json.mine)")
	f.want("loaded\nmine\nhi {'a': 1, 'JSONDecodeError': 2}\nmine\n", "import json\nprint(json.mine)\n"+use+"import json\nprint(json.mine)")
	f.config.Mode = script.ModeStrict // the project isn't there to stand before anything
	f.want("hi {'a': 1, 'JSONDecodeError': 2}\n[1]\n", use+"import json\nprint(json.loads('[1]'))")
	f.config.Mode = script.ModeProject
	rep := f.run("import json\nprint(json.dumps(1))")
	if !strings.Contains(rep.Hint, f.dir+"/json.py") || !strings.Contains(rep.Hint, "standard library") {
		t.Errorf("hint %q for %s", rep.Hint, rep.Error)
	}
	f.write("types.py", "raise RuntimeError('for what it is')")
	if rep := f.run("import enum"); !strings.Contains(rep.Hint, f.dir+"/types.py") {
		t.Errorf("hint %q for %s", rep.Hint, rep.Error)
	}
}

func TestStub_LargeMessagesBothWays(t *testing.T) { // XR-6
	t.Parallel()
	f := newFixture(t)
	f.config.MaxMessage = 4 << 20
	f.Tools["read_file"] = func(_ context.Context, r tool.Request, args map[string]any) tool.Result {
		n := len(args["path"].(string)) //nolint:forcetypeassert // the test's own
		return scripttest.Result(r, map[string]any{"content": strings.Repeat("é", n)})
	}
	f.want("1500000 True\n", "from hermes_tools import read_file\nc = read_file('x' * 1500000)['content']\nprint(len(c), set(c) == {'é'})")
	for _, code := range []string{"read_file('x' * 3000000)", "read_file('x' * 5000000)", "asyncio.run(aio.read_file('x' * 5000000))"} {
		rep := f.run("import asyncio\nfrom hermes_tools import read_file, aio\nprint(" + code + "['error'])\nprint(len(read_file('abc')['content']))")
		if !strings.Contains(rep.Output, "4194304") || !strings.HasSuffix(rep.Output, "\n3\n") {
			t.Errorf("%s: %s %s", code, rep.Output, rep.Error)
		}
	}
}

func TestStub_PathsAndOddTextTravel(t *testing.T) { // XR-7
	t.Parallel()
	f := newFixture(t)
	f.Tools["terminal"] = echo
	f.want("True\n", `
import pathlib
from hermes_tools import terminal
ok = [terminal(s)["output"] == s for s in ("", "\0\x1f", "é\u2028\U0001f600", '"\\', "a" * 70000)]
ok.append(terminal(pathlib.Path("/tmp/x"))["output"] == "/tmp/x")
terminal("\udcff")
try: terminal(float("nan"))
except ValueError: ok.append(True)
print(all(ok))
`)
}

func TestStub_OutsideARunCallsSayHowToRunIt(t *testing.T) { // XT-12
	t.Parallel()
	f := newFixture(t)
	f.Tools["terminal"] = echo
	rep := f.run(`
import os, subprocess, sys
env = {k: v for k, v in os.environ.items() if not k.startswith("HERMES_RPC")}
p = subprocess.run([sys.executable, "-c", "from hermes_tools import terminal; terminal('x')"], env=env, capture_output=True, text=True)
print(p.stderr.splitlines()[-1])
`)
	if !strings.Contains(rep.Output, "HermesToolError: ") || !strings.Contains(rep.Output, "hermes exec") {
		t.Errorf("got %s", rep.Output)
	}
}

func TestStub_LostChannelRaises(t *testing.T) { // XT-9
	t.Parallel()
	f := newFixture(t)
	f.Tools["terminal"] = echo
	rep := f.run(`
import os
from hermes_tools import terminal, HermesToolError
os.unlink(os.environ["HERMES_RPC_SOCKET"])
try: terminal("x")
except HermesToolError as e: print(e.type, e)
`)
	if !strings.HasPrefix(rep.Output, "channel the channel to Hermes is lost: ") {
		t.Errorf("got %s %s", rep.Output, rep.Error)
	}
}

func TestStub_MoreConnectionsThanTheServerHolds(t *testing.T) { // XR-4
	t.Parallel()
	f := newFixture(t)
	f.config.MaxToolCalls = 10_000
	f.Tools["terminal"] = echo
	f.want("300\n", fmt.Sprintf(`
import threading
from hermes_tools import terminal
n = %d
ok, barrier = [], threading.Barrier(n)
def work(i):
    barrier.wait()
    if terminal(str(i))["output"] == str(i): ok.append(i)
ts = [threading.Thread(target=work, args=(i,)) for i in range(n)]
[t.start() for t in ts]; [t.join() for t in ts]
print(len(ok))
`, 300))
}
