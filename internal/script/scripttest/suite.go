//go:build unix

package scripttest

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/script"
	"github.com/hermes-runtime/hermes/internal/script/python"
	"github.com/hermes-runtime/hermes/tool"
)

// In is a session whose scripts run in a place that is not this machine.
type In struct {
	*Host
	Config *script.Config
	Runner *script.Runner
	dir    environment.Path
}

// Enter makes a session in a directory of its own in the place.
func Enter(t testing.TB, e environment.Environment) *In {
	t.Helper()
	dir := environment.Path(path.Join(string(e.Info().Temp), "scripttest-"+strings.ReplaceAll(t.Name(), "/", "-")))
	if err := e.Files().MkdirAll(t.Context(), dir, 0o755); err != nil {
		t.Fatal(err)
	}
	in := &In{
		Host:   &Host{Environment: e, State: environment.NewState(dir), Tools: map[string]Tool{}, Variables: map[string]string{}, SpillDir: t.TempDir()},
		Config: script.DefaultConfig(), dir: dir,
		Runner: script.New(script.Options{Home: t.TempDir(), Getenv: func(string) string { return "" }, Resolver: python.New(python.Options{Path: "/nowhere"})}),
	}
	in.Services = []any{in.Config, in.Runner}
	t.Cleanup(func() {
		if err := in.Runner.Close(); err != nil {
			t.Error(err)
		}
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_, _ = e.Run(ctx, environment.Command{Argv: []string{"rm", "-rf", "--", string(dir)}}) // the place goes with its test at the latest
	})
	return in
}

// Run runs a script.
func (in *In) Run(t testing.TB, code string) *script.Report {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	return in.Runner.Run(ctx, in.Call("call"), code)
}

// sh runs a shell command there and gives what it prints.
func (in *In) sh(t *testing.T, text string) string {
	t.Helper()
	var out bytes.Buffer
	if _, err := in.Environment.Run(t.Context(), environment.Command{Script: text, Output: &out, State: in.State, Timeout: time.Minute}); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return strings.TrimSpace(out.String())
}

// Conform shows that scripts run in a place as they run here: the way there and back, results, ends, and nothing that stays.
func Conform(t *testing.T, open func(t *testing.T) environment.Environment) {
	for _, name := range []string{"OPENAI_API_KEY", "SSH_AUTH_TOKEN", "HARMLESS"} {
		t.Setenv(name, planted)
	}
	e := open(t)
	for name, check := range map[string]func(t *testing.T, in *In){
		"XF-1_PrintsAndCalls": prints, "XF-1_CallsSideBySideAndLarge": callsALot, "XF-1_EndsAsHere": ends, "XL-2_IsKilledWithAllItStarted": killed,
		"XM-1_ModesDifferInPlaceOnly": modes, "XF-6_TheSessionStaysAsItWas": stays, "XO-2_LongOutput": prints1MB, "XV-1_NoSecretOfThisMachine": noSecrets,
		"XS-1_NothingStays": nothingStays,
	} {
		t.Run(name, func(t *testing.T) { check(t, Enter(t, e)) })
	}
}

// want runs a script that must print exactly this.
func (in *In) want(t *testing.T, output, code string) {
	t.Helper()
	if rep := in.Run(t, code); rep.Status != script.StatusSuccess || rep.Output != output {
		t.Errorf("%s, error %q, warning %q, output:\n%.2000s\nwant:\n%s", rep.Status, rep.Error, rep.Warning, rep.Output, output)
	}
}

// shell is terminal in the place, as far as scripts of tests need it.
func (in *In) shell(ctx context.Context, r tool.Request, args map[string]any) tool.Result {
	var out bytes.Buffer
	res, err := in.Environment.Run(ctx, environment.Command{Script: fmt.Sprint(args["command"]), Output: &out, State: in.State})
	if err != nil {
		return Failure(r, tool.ErrTypeTool, err.Error())
	}
	return Result(r, map[string]any{"output": out.String(), "exit_code": res.ExitCode})
}

func prints(t *testing.T, in *In) {
	in.want(t, "1\n", "print(1)")
	in.Tools["terminal"] = in.shell
	in.want(t, "hi\n\n0\n", "from hermes_tools import terminal\nr = terminal('echo hi')\nprint(r['output'])\nprint(r['exit_code'])")
	if c := in.Calls(); len(c) != 1 || c[0].ID != "call/1" {
		t.Errorf("%+v", c)
	}
}

func callsALot(t *testing.T, in *In) {
	text := strings.Repeat("0123456789abcde\n", 3<<16)
	in.Tools["read_file"] = func(_ context.Context, r tool.Request, args map[string]any) tool.Result {
		return Result(r, map[string]any{"content": fmt.Sprint(args["path"], text)})
	}
	in.Tools["write_file"] = func(_ context.Context, r tool.Request, args map[string]any) tool.Result {
		return Result(r, map[string]any{"bytes_written": len(fmt.Sprint(args["content"]))})
	}
	in.want(t, "[3145729, 3145729, 3145729, 3145729] True\n3145728\n", `
from concurrent.futures import ThreadPoolExecutor
from hermes_tools import read_file, write_file
with ThreadPoolExecutor(4) as p:
    all = [r["content"] for r in p.map(read_file, "abcd")]
print([len(a) for a in all], [a[0] for a in all] == list("abcd"))
print(write_file("x", all[0][1:])["bytes_written"])
`)
}

func ends(t *testing.T, in *In) {
	rep := in.Run(t, "import sys\nprint('out')\nprint('err', file=sys.stderr)\nraise ValueError('no good')")
	if rep.Status != script.StatusError || rep.Error != "ValueError: no good" || !strings.HasPrefix(rep.Output, "out\n") || !strings.Contains(rep.Output, "err\n") ||
		!strings.Contains(rep.Output, `File "script.py", line 4, in <module>`) || rep.ExitCode == nil || *rep.ExitCode != 1 {
		t.Errorf("%+v", rep)
	}
	if rep := in.Run(t, "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)"); rep.Status != script.StatusError || rep.Signal != "SIGKILL" {
		t.Errorf("%+v", rep)
	}
	if rep := in.Run(t, "raise SystemExit(124)"); rep.Status != script.StatusError || rep.ExitCode == nil || *rep.ExitCode != 124 {
		t.Errorf("%+v", rep)
	}
}

func killed(t *testing.T, in *In) {
	in.Config.Timeout, in.Config.KillGrace = 3*time.Second, 300*time.Millisecond
	rep := in.Run(t, `
import os, signal, subprocess
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen(["sh", "-c", "trap '' TERM; while :; do sleep 1; done"], start_new_session=True)
open("pids", "w").write("%d %d" % (os.getpid(), child.pid))
print("before")
while True: pass
`)
	const text = "Script timed out after 3s and was killed."
	if rep.Status != script.StatusTimeout || rep.Error != text || rep.Output != "before\n"+text {
		t.Errorf("%+v", rep)
	}
	if left := in.sh(t, `for p in $(cat pids); do [ "$(cut -d' ' -f3 /proc/$p/stat 2>/dev/null || echo Z)" = Z ] || echo $p; done; cat pids | wc -w`); left != "2" {
		t.Errorf("still there: %s", left)
	}
	in.Config.Timeout = time.Minute
	rep = in.Run(t, "import subprocess\nsubprocess.Popen(['sleep', '600'], start_new_session=True)\nprint('done')")
	if rep.Status != script.StatusSuccess || !strings.Contains(rep.Warning, "1 process left running") {
		t.Errorf("%+v", rep)
	}
}

func modes(t *testing.T, in *In) {
	in.sh(t, "echo 'X = 7' > ours.py")
	in.want(t, string(in.dir)+" 7\n", "import os, ours\nprint(os.path.realpath(os.getcwd()), ours.X)")
	in.Config.Mode = script.ModeStrict
	in.want(t, "['hermes_tools.py', 'script.py'] True\n",
		"import os, sys\nprint(sorted(n for n in os.listdir() if n.endswith('.py')), os.path.realpath(sys.path[0]) == os.path.realpath(os.getcwd()))")
}

func stays(t *testing.T, in *In) {
	in.sh(t, "export KEPT=1")
	before := in.State.Snapshot()
	in.want(t, "None\n", "import os\nprint(os.environ.get('KEPT'))\nos.chdir('/')\nos.environ['NEW'] = '1'")
	if after := in.State.Snapshot(); after.Dir != before.Dir || len(after.Vars) != len(before.Vars) {
		t.Errorf("it was %+v and is %+v", before, after)
	}
	if got := in.sh(t, `echo "$KEPT$NEW"; pwd`); got != "1\n"+string(in.dir) {
		t.Errorf("the session has %q", got)
	}
}

func prints1MB(t *testing.T, in *In) {
	rep := in.Run(t, "import sys\nfor i in range(20000): print('%049d' % i)\nprint('é' * 10, file=sys.stderr)")
	if rep.Status != script.StatusSuccess || !rep.StdoutTruncated || *rep.StdoutTotal != 1_000_000 || *rep.StdoutCaptured > 50_000 ||
		!strings.HasPrefix(rep.Output, strings.Repeat("0", 49)+"\n") || !strings.Contains(rep.Output, "[output truncated at 50KB]") || !strings.HasSuffix(rep.Output, "19999\n") {
		t.Errorf("%s %s %v %d", rep.Status, rep.Error, rep.StdoutTruncated, len(rep.Output))
	}
}

// planted are credentials of this machine that no place sees.
const planted = "planted-credential"

func noSecrets(t *testing.T, in *In) {
	in.Variables["ANTHROPIC_API_KEY"] = planted
	in.Tools["terminal"] = in.shell
	rep := in.Run(t, `
import glob, os
from hermes_tools import terminal
word = "planted" + "-" + "credential"
cookie = os.environ["HERMES_RPC_COOKIE"]
terminal("true")
found = []
here = [os.path.dirname(os.environ["TMPDIR"]), os.path.dirname(__file__), os.path.expanduser("~/.cache/hermes")]
for f in glob.glob("/proc/[0-9]*/cmdline") + [f for d in here for f in glob.glob(d + "/**", recursive=True)]:
    try:
        text = open(f, errors="replace").read()
    except OSError:
        continue
    if word in text or cookie in text:
        found.append(f)
print(found, word in str(dict(os.environ)), sorted(n for n in os.environ if "KEY" in n or "TOKEN" in n))
`)
	if rep.Status != script.StatusSuccess || rep.Output != "[] False []\n" {
		t.Errorf("%s %s: %s", rep.Status, rep.Error, rep.Output)
	}
}

func nothingStays(t *testing.T, in *In) {
	var places sync.Map
	in.Tools["terminal"] = func(_ context.Context, r tool.Request, args map[string]any) tool.Result {
		places.Store(args["command"], true)
		return Result(r, map[string]any{"exit_code": 0})
	}
	in.Config.Timeout = 20 * time.Second
	note := "import os\nfrom hermes_tools import terminal\nfor p in os.environ['TMPDIR'], os.environ['HERMES_RPC_SOCKET'], __file__: terminal(p)\nopen(os.environ['TMPDIR'] + '/x', 'w')\nos.mkdir(os.environ['TMPDIR'] + '/y', 0)\n"
	for _, end := range []string{"", "raise SystemExit(3)", "os.kill(os.getpid(), 9)"} {
		in.Run(t, note+end)
	}
	n := 0
	places.Range(func(p, _ any) bool {
		n++
		if _, err := in.Environment.Files().Stat(t.Context(), environment.Path(fmt.Sprint(p))); err == nil {
			t.Errorf("%s is still there", p)
		}
		return true
	})
	if n != 9 {
		t.Errorf("%d places were named", n)
	}
}

// BenchmarkCalls measures one tool call of a script, there and back.
func (in *In) BenchmarkCalls(b *testing.B) {
	const calls = 500
	in.Config.MaxToolCalls = 1_000_000
	in.Unrecorded = true
	in.Tools["terminal"] = func(context.Context, tool.Request, map[string]any) tool.Result {
		return tool.Result{JSON: `{"output":"x","exit_code":0}`, Status: tool.StatusOK}
	}
	var sum float64
	for b.Loop() {
		rep := in.Run(b, fmt.Sprintf(`
import time
from hermes_tools import terminal
for i in range(20): terminal("x")
t = time.perf_counter()
for i in range(%d): terminal("x")
print((time.perf_counter() - t) / %d * 1e6)
`, calls, calls))
		v, err := strconv.ParseFloat(strings.TrimSpace(rep.Output), 64)
		if err != nil {
			b.Fatal(rep.Error)
		}
		sum += v
	}
	b.ReportMetric(sum/float64(b.N), "µs/call")
}
