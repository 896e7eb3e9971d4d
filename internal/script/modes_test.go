//go:build unix

package script_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/script"
)

// grants is a session's list of variables that pass.
type grants []string

func (g grants) Granted() []string { return g }

func (f *fixture) vars() map[string]string { return f.here.Vars }

func (f *fixture) environ() map[string]string {
	f.t.Helper()
	file := filepath.Join(f.dir, "environ.json") // what is printed is redacted
	rep := f.run(fmt.Sprintf("import json, os\njson.dump(dict(os.environ), open(%q, 'w'))", file))
	text, err := os.ReadFile(file)
	out := map[string]string{}
	if err != nil || json.Unmarshal(text, &out) != nil {
		f.t.Fatalf("%v in %+v", err, rep)
	}
	return out
}

func TestEnviron_EveryRuleInBothModes(t *testing.T) { // XE-1 to XE-6, XM-3
	t.Parallel()
	secrets := []string{"API_KEY", "my_token", "A_Secret_b", "DB_PASSWORD", "X_CREDENTIALS", "PASSWD", "OAUTH_STATE", "SENTRY_DSN", "SLACK_WEBHOOK_URL", "XAUTHORITY", "LC_KEYMAP", "XDG_TOKEN", "CONDA_AUTH"}
	listed := []string{
		"HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TERM", "SHELL", "NO_COLOR", "VIRTUAL_ENV", "HERMES_HOME", "HERMES_PROFILE",
		"HERMES_CONFIG", "HERMES_ENV", "LD_LIBRARY_PATH", "CUDA_VISIBLE_DEVICES", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
		"LC_ALL", "XDG_CACHE_HOME", "CONDA_DEFAULT_ENV", "HTTP_PROXY", "https_proxy", "NO_PROXY",
	}
	unlisted := []string{"TERMINAL_ENV", "PATHS", "LANGCHAIN", "FOO", "AWS_REGION", "HERMES_OTHER", "PYTHONSTARTUP", "PYTHONHOME", "HERMES_TIMEZONE", "path"}
	for _, mode := range []string{script.ModeProject, script.ModeStrict} {
		f := newFixture(t)
		f.config.Mode = mode
		f.Services = append(f.Services, grants{"GRANTED_KEY", "GRANTED_PLAIN", "GRANTED_ABSENT"})
		for _, name := range slices.Concat(secrets, listed, unlisted, []string{"GRANTED_KEY", "GRANTED_PLAIN", "GRANTED_KEY_2"}) {
			f.vars()[name] = "v-" + name
		}
		f.vars()["ALL_PROXY"] = "http://user:pass@proxy:1"
		f.vars()["http_proxy"] = "user:pass@proxy:1"
		f.vars()["HERMES_TIMEZONE"] = "Asia/Seoul"
		f.vars()["TZ"], f.vars()["TMPDIR"] = "UTC", "/elsewhere"
		f.vars()["PYTHONPATH"] = "/inherited"
		f.vars()["VIRTUAL_ENV"], f.vars()["LANG"], f.vars()["LC_ALL"] = "/nowhere", "C.UTF-8", "C.UTF-8"
		got := f.environ()
		for _, name := range slices.Concat(secrets, unlisted, []string{"GRANTED_ABSENT", "GRANTED_KEY_2", "ALL_PROXY", "http_proxy"}) {
			if v, ok := got[name]; ok {
				t.Errorf("%s: %s=%s reached the script", mode, name, v)
			}
		}
		for _, name := range append(listed, "GRANTED_KEY", "GRANTED_PLAIN", "PATH") {
			if got[name] != f.vars()[name] {
				t.Errorf("%s: %s is %q", mode, name, got[name])
			}
		}
		staging := filepath.Dir(got["TMPDIR"])
		want := map[string]string{"TZ": "Asia/Seoul", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONIOENCODING": "utf-8", "PYTHONUTF8": "1", "HERMES_SESSION_ID": "session"}
		for name, v := range want {
			if got[name] != v {
				t.Errorf("%s: %s is %q, want %q", mode, name, got[name], v)
			}
		}
		path := strings.Split(got["PYTHONPATH"], ":")
		if mode == script.ModeProject && (len(path) != 3 || path[1] != f.dir) || path[len(path)-1] != "/inherited" || mode == script.ModeStrict && len(path) != 2 {
			t.Errorf("%s: PYTHONPATH %v", mode, path)
		}
		if len(got["HERMES_RPC_COOKIE"]) != 32 || !strings.HasPrefix(got["HERMES_RPC_SOCKET"], staging) || len(got["HERMES_RPC_SOCKET"]) >= 100 {
			t.Errorf("%s: the channel is %q", mode, got["HERMES_RPC_SOCKET"])
		}
		for name := range got {
			if _, ok := f.vars()[name]; !ok && !strings.HasPrefix(name, "HERMES_RPC_") && want[name] == "" && name != "TMPDIR" && name != "LC_CTYPE" {
				t.Errorf("%s: %s came from nowhere", mode, name)
			}
		}
	}
}

func TestEnviron_TwoSessionsSeeTheirOwnGrantsOnly(t *testing.T) { // XE-6
	t.Parallel()
	f, g := newFixture(t), newFixture(t)
	f.Services, g.Services = append(f.Services, grants{"A_KEY"}), append(g.Services, grants{"B_KEY"})
	for _, x := range []*fixture{f, g} {
		x.vars()["A_KEY"], x.vars()["B_KEY"] = "a", "b"
	}
	a, b := f.environ(), g.environ()
	if a["A_KEY"] != "a" || a["B_KEY"] != "" || b["A_KEY"] != "" || b["B_KEY"] != "b" {
		t.Errorf("got %v and %v", a, b)
	}
}

// declared are variables of loaded skills: a Grants and a Declared.
type declared map[string]string

func (d declared) Granted() []string            { return slices.Collect(maps.Keys(d)) }
func (d declared) Variables() map[string]string { return d }

func TestEnviron_DeclaredVariablesComeFromTheConfiguration(t *testing.T) { // XE-4, SKL-4
	t.Parallel()
	f, g := newFixture(t), newFixture(t)
	f.Services = append(f.Services, declared{"A_KEY": "configured", "B_KEY": "configured", "C_KEY": "configured"})
	mine := "mine"
	f.vars()["B_KEY"], f.vars()["C_KEY"] = "of the place", mine
	f.State.Merge(environment.Snapshot{}, environment.Snapshot{Vars: map[string]*string{"C_KEY": &mine}})
	got, other := f.environ(), g.environ()
	if got["A_KEY"] != "configured" || got["B_KEY"] != "configured" || got["C_KEY"] != "mine" {
		t.Errorf("%v", got)
	}
	if other["A_KEY"] != "" {
		t.Errorf("another session sees %v", other)
	}
}

func TestModes_PlaceAndInterpreterOnly(t *testing.T) { // XM-1, XM-2, XM-3, XS-3
	t.Parallel()
	f := newFixture(t)
	f.write("data.txt", "project data")
	f.write("my_project.py", "foo = 'foo'")
	f.want("project data foo\n", "from my_project import foo\nprint(open('data.txt').read(), foo)")
	if py, _ := systemPython(); py.AtLeast(3, 11) {
		f.want("True True\n", "import os, sys\nprint(sys.path[0] == os.path.dirname(__file__), sys.path[1] == os.getcwd())")
	}
	other := t.TempDir()
	f.State.SetDir(environment.Path(other)) // as cd does in terminal
	f.want(other+"\n", "import os\nprint(os.getcwd())")
	f.config.Mode = " STRICT\n"
	f.State.SetDir(environment.Path(f.dir))
	f.want("['hermes_tools.py', 'script.py'] True\n", `
import os
here = os.getcwd()
print(sorted(n for n in os.listdir() if n.endswith(".py")), here == os.path.dirname(os.path.abspath(__file__)))
`)
	if rep := f.run("open('data.txt')"); !strings.Contains(rep.Hint, "strict") {
		t.Errorf("hint %q", rep.Hint)
	}
	if rep := f.run("import my_project"); rep.Status != script.StatusError {
		t.Error("strict mode imports the project's modules")
	}
	f.config.Mode = "sideways"
	rep := f.run("import os\nprint(os.getcwd())")
	if rep.Output != f.dir+"\n" || !strings.Contains(rep.Warning, "sideways") {
		t.Errorf("an unknown mode: %+v", rep)
	}
}

// venv makes an environment of the test's interpreter, without pip.
func (f *fixture) venv(name string) string {
	f.t.Helper()
	py, _ := systemPython()
	root := filepath.Join(f.dir, name)
	if err := os.MkdirAll(filepath.Join(root, "bin"), 0o755); err != nil {
		f.t.Fatal(err)
	}
	f.write(name+"/pyvenv.cfg", "home = "+filepath.Dir(py.Path)+"\ninclude-system-site-packages = false\nversion = "+py.Version+"\n")
	if err := os.Symlink(py.Path, filepath.Join(root, "bin", "python")); err != nil {
		f.t.Fatal(err)
	}
	return root
}

func TestModes_ResolverFallbacks(t *testing.T) { // XM-1, XM-4, XM-5
	t.Parallel()
	const which = "import sys\nprint(sys.prefix)"
	f := newFixture(t)
	own := f.run(which).Output
	good, conda := f.venv("good"), f.venv("conda")
	old := filepath.Join(f.dir, "old")
	f.write("old/bin/python", "#!/bin/sh\nprintf 'python 3 7 9\\n/bin/sh\\n'\n")
	f.write("alien/bin/python", "#!/bin/sh\necho hello\n")
	f.write("failing/bin/python", "#!/bin/sh\nexit 3\n")
	f.write("plain/bin/python", "not executable")
	f.write("second/bin/python3", "") // only python3 works there
	os.Remove(filepath.Join(f.dir, "second/bin/python3"))
	py, _ := systemPython()
	if err := os.Symlink(py.Path, filepath.Join(f.dir, "second/bin/python3")); err != nil {
		t.Fatal(err)
	}
	f.write("second/pyvenv.cfg", "home = "+filepath.Dir(py.Path)+"\n")
	for _, bad := range []string{"old", "alien", "failing"} {
		if err := os.Chmod(filepath.Join(f.dir, bad, "bin/python"), 0o755); err != nil { //nolint:gosec // it is to be started
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ name, virtual, conda, configured, want string }{
		{"VIRTUAL_ENV", good, conda, "", good},
		{"CONDA_PREFIX", "", conda, "", conda},
		{"configured", good, conda, conda + "/bin/python", conda},
		{"broken configured", good, "", "/nowhere/python", good},
		{"missing", "/nowhere", conda, "", conda},
		{"too old", old, conda, "", conda},
		{"not Python", filepath.Join(f.dir, "alien"), conda, "", conda},
		{"failing", filepath.Join(f.dir, "failing"), conda, "", conda},
		{"not executable", filepath.Join(f.dir, "plain"), conda, "", conda},
		{"python3 only", filepath.Join(f.dir, "second"), "", "", filepath.Join(f.dir, "second")},
		{"all broken", "/nowhere", old, "", ""},
		{"none", "", "", "", ""},
	} {
		f.vars()["VIRTUAL_ENV"], f.vars()["CONDA_PREFIX"], f.config.Python = c.virtual, c.conda, c.configured
		want := c.want + "\n"
		if c.want == "" {
			want = own
		}
		if rep := f.run(which); rep.Output != want {
			t.Errorf("%s: %s%s, want %s", c.name, rep.Output, rep.Error, want)
		}
	}
	f.vars()["VIRTUAL_ENV"], f.config.Python, f.config.Mode = good, "", script.ModeStrict
	if rep := f.run(which); rep.Output != own {
		t.Errorf("strict mode took %s", rep.Output)
	}
}

func TestModes_DirectoryThatIsGoneIsTold(t *testing.T) { // XM-6
	t.Parallel()
	f := newFixture(t)
	f.State.SetDir(environment.Path(filepath.Join(f.dir, "gone", "deeper")))
	rep := f.run("import os\nprint(os.getcwd())")
	if rep.Output != f.dir+"\n" || !strings.Contains(rep.Warning, "gone/deeper") {
		t.Errorf("got %+v", rep)
	}
}

func TestModes_ArgumentsOfAPerson(t *testing.T) { // XC-8
	t.Parallel()
	f := newFixture(t)
	const code = "import sys\nprint(sys.argv[1:], len(sys.argv), sys.stdin.read() == '')"
	f.want("[] 1 True\n", code)
	f.Services = append(f.Services, &script.Invocation{Args: []string{"a b", "-x"}})
	f.want("['a b', '-x'] 3 True\n", code)
}

func TestModes_ScriptIsARealFile(t *testing.T) { // XS-5
	t.Parallel()
	f := newFixture(t)
	f.want("__main__ script.py True 6 <class '__main__.C'>\n", `
import inspect, os, pickle
class C:
    x = 1

def g(): return 6
print(__name__, os.path.basename(__file__), "x = 1" in inspect.getsource(C), g(), pickle.loads(pickle.dumps(C)))
`)
}

// mute is a place that forwards nothing, whose files are its own.
type mute struct{ environment.Environment }

func (mute) Info() environment.Info {
	return environment.Info{Backend: "far-away", Namespace: environment.NamespaceOwn}
}

func TestModes_PlaceElsewhereRunsNothingHere(t *testing.T) { // XF-1
	t.Parallel()
	f := newFixture(t)
	f.Environment = mute{f.Environment}
	if rep := f.run("open('made', 'w')"); rep.Status != script.StatusError || !strings.Contains(rep.Error, "far-away") {
		t.Errorf("got %+v", rep)
	}
}

func TestModes_RunsShareNothing(t *testing.T) { // XQ-3
	t.Parallel()
	f := newFixture(t)
	f.config.MaxRuns = 20
	f.Tools["terminal"] = echo
	type result struct {
		i   int
		rep *script.Report
	}
	results := make(chan result)
	ctx, cancel := context.WithCancel(context.Background())
	for i := range 20 {
		go func() {
			c := f.Call(fmt.Sprint("run-", i))
			if i == 7 {
				rep := f.runner.Run(ctx, c, "import time\nprint('seven', flush=True)\ntime.sleep(60)")
				results <- result{i, rep}
				return
			}
			results <- result{i, f.runner.Run(context.Background(), c, fmt.Sprintf("from hermes_tools import terminal\nfor i in range(5): assert terminal('r%d')['output'] == 'r%d'\nprint(%d)", i, i, i))}
		}()
	}
	for n := range 20 {
		if n == 5 {
			cancel()
		}
		r := <-results
		if r.i == 7 {
			if r.rep.Status != script.StatusInterrupted {
				t.Errorf("the one that was stopped: %+v", r.rep)
			}
		} else if r.rep.Output != fmt.Sprintln(r.i) {
			t.Errorf("run %d: %+v", r.i, r.rep)
		}
	}
	cancel()
}

func TestEnviron_WithheldNamesAreTold(t *testing.T) { // XE-7
	t.Parallel()
	got := script.WithheldFrom(map[string]string{"B_KEY": "x", "A": "y", "PATH": "z", "C_TOKEN": "w"}, []string{"C_TOKEN"})
	if len(got) != 2 || got[0] != (script.Withheld{Name: "A"}) || got[1] != (script.Withheld{Name: "B_KEY", Secret: true}) {
		t.Errorf("got %+v", got)
	}
}
