package cli_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/channel"
	"github.com/hermes-runtime/hermes/internal/agent"
	"github.com/hermes-runtime/hermes/internal/cli"
	"github.com/hermes-runtime/hermes/internal/config"
	hermes "github.com/hermes-runtime/hermes/internal/runtime"
	"github.com/hermes-runtime/hermes/internal/script/scripttest"
	"github.com/hermes-runtime/hermes/tool"
)

// answering is a person who always gives the same answer, after a while.
type answering struct {
	choice channel.Choice
	after  time.Duration

	mu    sync.Mutex
	asked []channel.Question
}

func (p *answering) Ask(_ context.Context, q channel.Question) (channel.Answer, error) {
	p.mu.Lock()
	p.asked = append(p.asked, q)
	p.mu.Unlock()
	time.Sleep(p.after)
	return channel.Answer{Choice: p.choice, Who: "ann"}, nil
}

func (p *answering) take() []channel.Question {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := p.asked
	p.asked = nil
	return out
}

// attended opens a runtime with a person, in a directory of its own, and a session of it.
func attended(t *testing.T, p channel.Asker, text string) (*hermes.Session, string) {
	t.Helper()
	rt, dir := attendedRuntime(t, p, text)
	return rt.Session(hermes.SessionOptions{Caller: tool.CallerModel}), dir
}

func attendedRuntime(t *testing.T, p channel.Asker, text string) (*hermes.Runtime, string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("commands need a POSIX shell")
	}
	home, dir, venv := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "venv")
	if err := scripttest.VirtualEnv(venv); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(home, "config.yaml"), text)
	rt, err := hermes.Open(t.Context(), hermes.Options{Home: home, Dir: dir, Asker: p, Environ: append(os.Environ(), "VIRTUAL_ENV="+venv, "HOME="+filepath.Join(dir, "home"))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := rt.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return rt, dir
}

func call(t *testing.T, s *hermes.Session, name string, args map[string]any) tool.Result {
	t.Helper()
	text, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	return s.Call(t.Context(), tool.Request{Name: name, Arguments: text})
}

// entrance is a way by which a model's words become an act.
type entrance struct {
	tool string
	args func(dir string) map[string]any // of a call that has to be asked about
	done func(dir string) bool           // whether it was done all the same
	row  string                          // what is asked about
}

// lay writes a file and the directories that it needs.
func lay(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, file, text)
}

func kept(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "build", "kept"))
	return err == nil
}

// entrances lists every way in. Whoever adds a tool that runs commands or changes files adds it here, with a call that must not go
// through without a question.
var entrances = map[string]entrance{
	"terminal, foreground": {"terminal", func(string) map[string]any { return map[string]any{"command": "rm -rf build"} },
		func(dir string) bool { return !kept(dir) }, "delete.recursive"},
	"terminal, called by a script": {"execute_code", func(string) map[string]any {
		return map[string]any{"code": "from hermes_tools import terminal\nc = 'rm ' + '-rf ' + 'build'\nprint(terminal(c))"}
	}, func(dir string) bool { return !kept(dir) }, "delete.recursive"},
	"a script's own acts": {"execute_code", func(dir string) map[string]any {
		return map[string]any{"code": fmt.Sprintf("import shutil\nshutil.rmtree(%q)", filepath.Join(dir, "build"))}
	}, func(dir string) bool { return !kept(dir) }, "code.delete"},
	"terminal, background": {"terminal", func(string) map[string]any { return map[string]any{"command": "rm -rf build", "background": true} },
		func(dir string) bool { return !kept(dir) }, "delete.recursive"},
	"terminal, on a terminal": {"terminal", func(string) map[string]any { return map[string]any{"command": "rm -rf build", "pty": true} },
		func(dir string) bool { return !kept(dir) }, "delete.recursive"},
	"terminal, persistent": {"terminal", func(string) map[string]any {
		return map[string]any{"command": "touch build/by; sleep 60", "background": true, "persist": true}
	}, func(dir string) bool { _, err := os.Stat(filepath.Join(dir, "build", "by")); return err == nil }, "job.persist"},
	"process, submit": {"process", func(string) map[string]any { return map[string]any{"action": "submit", "data": "rm -rf build"} },
		func(dir string) bool { return !kept(dir) }, "delete.recursive"},
	"process, write": {"process", func(string) map[string]any { return map[string]any{"action": "write", "data": "rm -rf build\n"} },
		func(dir string) bool { return !kept(dir) }, "delete.recursive"},
	"process, close": {"process", func(string) map[string]any { return map[string]any{"action": "close"} },
		func(dir string) bool { return !kept(dir) }, "delete.recursive"},
	"write_file": {"write_file", func(dir string) map[string]any { return map[string]any{"path": startup(dir), "content": "changed"} }, changed, "user.startup"},
	"patch": {"patch", func(dir string) map[string]any {
		return map[string]any{"path": startup(dir), "old_string": "plain", "new_string": "changed"}
	}, changed, "user.startup"},
}

// shell starts one that reads what is written to it, and types the beginning of a line if one is to be there.
func shell(t *testing.T, s *hermes.Session, begun bool) string {
	t.Helper()
	r := call(t, s, "terminal", map[string]any{"command": "bash", "background": true, "keep_stdin": true})
	var job struct {
		ID string `json:"session_id"`
	}
	if err := json.Unmarshal([]byte(r.JSON), &job); err != nil || job.ID == "" {
		t.Fatalf("%v: %s", err, r.JSON)
	}
	if begun {
		if r := call(t, s, "process", map[string]any{"action": "write", "session_id": job.ID, "data": "rm -rf build"}); r.Status != tool.StatusOK {
			t.Fatal(r.JSON)
		}
	}
	return job.ID
}

// startup is a file that is run at the next login of the user whose home lies in dir.
func startup(dir string) string {
	return filepath.Join(dir, "home", ".config", "autostart", "x.desktop")
}

func changed(dir string) bool {
	b, _ := os.ReadFile(startup(dir))
	return strings.Contains(string(b), "changed")
}

// harmless are the tools that only look, keep an agent's own notes, ask its user, or act through the calls of others alone: a child's
// pass the gate by themselves.
var harmless = []string{"read_file", "search_files", "delegate_task", "todo", "memory", "clarify", "session_search", "skills_list", "skill_view"}

// absent are entrances that are planned: the verbs, tools and arguments by which they would show. When one appears, it needs a row above.
var absent = struct{ verbs, arguments []string }{
	verbs:     []string{"mcp", "serve", "acp"},
	arguments: []string{"stdin", "input"},
}

// What a model calls in a conversation, and what a child of it calls, passes the gate.
func TestGate_ConversationsPassIt(t *testing.T) {
	act := `{"calls":[{"name":"terminal","arguments":{"command":"rm -rf build"}}]}` + "\n" + `{"text":"so be it"}` + "\n"
	for name, tape := range map[string]string{
		"the model": act,
		"its child": `{"calls":[{"name":"delegate_task","arguments":{"goal":"clean up"}}]}` + "\n" + `{"text":"it did"}` + "\n" + strings.ReplaceAll(act, "{\"calls", "{\"session\":\"child\",\"calls") +
			`{"session":"child","text":"refused"}`,
	} {
		t.Run(name, func(t *testing.T) {
			p := &answering{choice: channel.Deny}
			rt, dir := attendedRuntime(t, p, "")
			lay(t, filepath.Join(dir, "build", "kept"), "")
			write(t, filepath.Join(dir, "tape.jsonl"), tape)
			c, err := rt.Converse(t.Context(), hermes.ConversationOptions{Model: "replay:" + filepath.Join(dir, "tape.jsonl"), Dir: dir})
			if err != nil {
				t.Fatal(err)
			}
			o := c.Turn(t.Context(), "go")
			if err := c.Close(t.Context()); err != nil || o.Status != agent.Completed {
				t.Errorf("%v; %+v", err, o)
			}
			if asked := p.take(); len(asked) != 1 || asked[0].Findings[0].ID != "delete.recursive" || asked[0].Session == "" {
				t.Errorf("asked %+v", asked)
			}
			if !kept(dir) {
				t.Error("it was done")
			}
		})
	}
}

// Every way in passes the gate: each is asked about, and a no holds.
func TestGate_EveryEntrancePassesIt(t *testing.T) {
	covered := map[string]bool{}
	for name, e := range entrances {
		covered[e.tool] = true
		t.Run(name, func(t *testing.T) {
			p := &answering{choice: channel.Deny}
			s, dir := attended(t, p, "")
			lay(t, filepath.Join(dir, "build", "kept"), "")
			lay(t, startup(dir), "plain")
			args := e.args(dir)
			if args["action"] != nil {
				args["session_id"] = shell(t, s, args["action"] == "close")
			}
			r := call(t, s, e.tool, args)
			asked := p.take()
			if e.done(dir) {
				t.Errorf("it was done: %s", r.JSON)
			}
			if len(asked) != 1 || asked[0].Findings[0].ID != e.row {
				t.Errorf("asked %+v, want one question about %s; %s", asked, e.row, r.JSON)
			}
		})
	}
	s, _ := attended(t, nil, "")
	for _, name := range s.Scope().Names() {
		if !covered[name] && !slices.Contains(harmless, name) && !strings.HasPrefix(name, "lab_") {
			t.Errorf("the tool %s is no known entrance: add a call of it that has to be asked about, or list it as one that only looks", name)
		}
	}
	for verb := range cli.HelpExamples() {
		words := strings.Fields(verb)
		if len(words) > 1 && slices.Contains(absent.verbs, words[1]) {
			t.Errorf("%s is a new entrance: add it to the table", verb)
		}
	}
	schema, err := os.ReadFile(filepath.Join("testdata", "golden", "mcp.json"))
	if err != nil {
		t.Fatal(err)
	}
	var defs []struct {
		Name        string `json:"name"`
		InputSchema struct {
			Properties map[string]any `json:"properties"`
		} `json:"inputSchema"`
	}
	if err := json.Unmarshal(schema, &defs); err != nil || len(defs) == 0 {
		t.Fatalf("%d definitions, %v", len(defs), err)
	}
	for _, d := range defs {
		for _, a := range absent.arguments {
			if d.InputSchema.Properties[a] != nil {
				t.Errorf("the argument %s of %s is a new entrance: add it to the table", a, d.Name)
			}
		}
	}
}

// A60, A61, A82: a script's call asks as the main path would, the wait isn't charged to the script, and a refusal is an answer that the
// script can use.
func TestGate_AScriptsCallAsksLikeTheMainPath(t *testing.T) {
	const code = `from hermes_tools import terminal
r = terminal("rm -rf " + "build")
print("exit", r["exit_code"], r.get("status"), "BLOCKED" in (r.get("error") or ""))
print("after")`
	p := &answering{choice: channel.Deny, after: 6500 * time.Millisecond} // longer than the script may take
	s, dir := attended(t, p, "code_execution: {timeout: 6}\n")
	lay(t, filepath.Join(dir, "build", "kept"), "")
	r := call(t, s, "execute_code", map[string]any{"code": code})
	if !strings.Contains(r.JSON, "exit -1 blocked True") || !strings.Contains(r.JSON, "after") || r.Status != tool.StatusOK || !kept(dir) {
		t.Errorf("refused: %s %s", r.Status, r.JSON)
	}
	inScript := p.take()
	p.after = 0
	call(t, s, "terminal", map[string]any{"command": "rm -rf build"})
	main := p.take()
	if len(inScript) != 1 || len(main) != 1 || inScript[0].Command != main[0].Command || inScript[0].Findings[0].ID != main[0].Findings[0].ID ||
		!slices.Equal(inScript[0].Choices, main[0].Choices) {
		t.Errorf("in the script %+v, on the main path %+v", inScript, main)
	}
	p.choice = channel.Session
	r = call(t, s, "execute_code", map[string]any{"code": code})
	if !strings.Contains(r.JSON, "exit 0") || kept(dir) {
		t.Errorf("approved: %s", r.JSON)
	}
	if call(t, s, "terminal", map[string]any{"command": "rm -rf build"}); len(p.take()) != 1 {
		t.Error("the session's answer in a script doesn't hold outside")
	}
}

// A68: two processes in which people choose "always" at one moment both end up in the file, with every comment of it.
func TestGate_TwoProcessesChooseAlwaysAtOnce(t *testing.T) {
	if home := os.Getenv("HERMES_TEST_ALWAYS_HOME"); home != "" {
		chooseAlways(t, home, os.Getenv("HERMES_TEST_ALWAYS_COMMAND"))
		return
	}
	if runtime.GOOS == "windows" {
		t.Skip("commands need a POSIX shell")
	}
	home := t.TempDir()
	file := filepath.Join(home, "config.yaml")
	text := "# mine\nterminal: # how\n  timeout: 60 # seconds\ncommand_allowlist: # opened\n  - git.clean # by hand\n# end\n"
	write(t, file, text)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	type process struct {
		cmd *exec.Cmd
		in  io.WriteCloser
		out *bufio.Reader
	}
	var all []process
	for _, command := range []string{"rm -rf gone", "find . -name gone -delete"} {
		cmd := exec.CommandContext(t.Context(), exe, "-test.run=^TestGate_TwoProcessesChooseAlwaysAtOnce$")
		cmd.Env, cmd.Dir = append(os.Environ(), "HERMES_TEST_ALWAYS_HOME="+home, "HERMES_TEST_ALWAYS_COMMAND="+command), t.TempDir()
		cmd.Stderr = os.Stderr
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		all = append(all, process{cmd, in, bufio.NewReader(out)})
	}
	for _, p := range all { // both have asked before either is answered
		if line, err := p.out.ReadString('\n'); err != nil || line != "asked\n" {
			t.Fatalf("%q, %v", line, err)
		}
	}
	for _, p := range all {
		_ = p.in.Close()
	}
	for _, p := range all {
		rest, _ := io.ReadAll(p.out)
		if err := p.cmd.Wait(); err != nil {
			t.Errorf("%v\n%s", err, rest)
		}
	}
	d, err := config.Load(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	for _, i := range d.Items("command_allowlist") {
		keys = append(keys, fmt.Sprint(i.Value))
	}
	slices.Sort(keys)
	if !slices.Equal(keys, []string{"bulk delete", "git.clean", "recursive delete"}) {
		t.Errorf("the list holds %q", keys)
	}
	got, _ := os.ReadFile(file)
	for line := range strings.Lines(text) {
		if !strings.Contains(string(got), line) {
			t.Errorf("the line %q is gone:\n%s", line, got)
		}
	}
}

// chooseAlways runs a command in a session whose person answers "always" when standard input ends.
func chooseAlways(t *testing.T, home, command string) {
	ask := channel.AskerFunc(func(context.Context, channel.Question) (channel.Answer, error) {
		fmt.Println("asked")
		_, err := io.Copy(io.Discard, os.Stdin)
		return channel.Answer{Choice: channel.Always, Who: "ann"}, err
	})
	rt, err := hermes.Open(t.Context(), hermes.Options{Home: home, Asker: ask})
	if err != nil {
		t.Fatal(err)
	}
	s := rt.Session(hermes.SessionOptions{Caller: tool.CallerModel})
	if r := call(t, s, "terminal", map[string]any{"command": command}); r.Status != tool.StatusOK {
		t.Errorf("%s", r.JSON)
	}
	if err := rt.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

// A41, A89: the figures of the live path over the repository's corpus, as users get them; they may not fall below what is promised.
func TestApprovals_TheCorpusKeepsItsFigures(t *testing.T) {
	if testing.Short() {
		t.Skip("judges thousands of commands")
	}
	files, err := filepath.Glob(filepath.Join("..", "approval", "testdata", "*.jsonl"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no corpus: %v", err)
	}
	var all []io.Reader
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		all = append(all, f, strings.NewReader("\n"))
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe, "approvals", "test", "--stdin", "--score", "--cwd", "/data/app")
	cmd.Env = append(os.Environ(), playHermes+"=1", "HOME=/home/ann", "HERMES_HOME="+t.TempDir(), "HERMES_PROFILE=", "HERMES_YOLO_MODE=")
	cmd.Stdin, cmd.Stderr = io.MultiReader(all...), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var s struct {
		Dangerous, Harmless, Floor int
		Recall                     float64
		FalsePositives             float64 `json:"false_positive_rate"`
		FloorDenied                int     `json:"floor_denied"`
		HarmlessDenied             int     `json:"harmless_denied"`
		P50                        float64 `json:"p50_us"`
		P99                        float64 `json:"p99_us"`
	}
	if err := json.Unmarshal(out, &s); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%d dangerous, recall %.4f; %d harmless, %.4f asked; %d of %d floor commands denied; p50 %.0f µs, p99 %.0f µs",
		s.Dangerous, s.Recall, s.Harmless, s.FalsePositives, s.FloorDenied, s.Floor, s.P50, s.P99)
	if s.Dangerous+s.Harmless < 1500 || s.Recall < 0.97 || s.FalsePositives > 0.02 || s.FloorDenied < s.Floor || s.HarmlessDenied > 0 {
		t.Errorf("below what is promised: %s", out)
	}
}
