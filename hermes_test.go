//go:build unix

package hermes_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	hermes "github.com/hermes-runtime/hermes"
	_ "github.com/hermes-runtime/hermes/backend/all"
	"github.com/hermes-runtime/hermes/channel"
	"github.com/hermes-runtime/hermes/internal/leaktest"
	"github.com/hermes-runtime/hermes/tool"
	_ "github.com/hermes-runtime/hermes/toolset/all"
)

func TestMain(m *testing.M) {
	hermes.Init()
	leaktest.Main(m)
}

// open makes a runtime with a home and a directory of its own.
func open(t testing.TB, o hermes.Options) (*hermes.Runtime, string) {
	t.Helper()
	dir := t.TempDir()
	if o.Home == "" {
		o.Home = filepath.Join(t.TempDir(), "home")
	}
	o.Dir = dir
	o.Environ = append(os.Environ(), "VIRTUAL_ENV="+virtualEnv(t)) // spares each test an interpreter of its own
	rt, err := hermes.New(o).Open(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range rt.Problems() {
		t.Errorf("problem: %v", p)
	}
	t.Cleanup(func() {
		if err := rt.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return rt, dir
}

// virtualEnv is an environment around the python3 of this machine.
func virtualEnv(t testing.TB) string {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Fatalf("the tests of scripts need python3: %v", err)
	}
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(python, filepath.Join(root, "bin", "python")); err != nil {
		t.Fatal(err)
	}
	return root
}

func call(t *testing.T, c interface {
	Call(context.Context, tool.Request) tool.Result
}, name string, args map[string]any) (tool.Result, map[string]any) {
	t.Helper()
	text, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	r := c.Call(context.Background(), tool.Request{Name: name, Arguments: text})
	var out map[string]any
	if err := json.Unmarshal([]byte(r.JSON), &out); err != nil {
		t.Fatalf("%s answered no object: %s", name, r.JSON)
	}
	return r, out
}

// person answers every question with the same choice and remembers what was asked.
type person struct {
	mu     sync.Mutex
	choice channel.Choice
	asked  []channel.Question
}

func (p *person) Ask(_ context.Context, q channel.Question) (channel.Answer, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = append(p.asked, q)
	return channel.Answer{Choice: p.choice, Who: "tester"}, nil
}

func (p *person) questions() []channel.Question {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked
}

// A81a, A64: an embedder's asker decides; an answer for the session opens that key and no other.
func TestApproval_AskerDecidesAndSessionIsRemembered(t *testing.T) {
	p := &person{choice: channel.Deny}
	rt, dir := open(t, hermes.Options{Asker: p})
	victim := func() string {
		d := filepath.Join(dir, "victim")
		if err := os.MkdirAll(filepath.Join(d, "below"), 0o755); err != nil {
			t.Fatal(err)
		}
		return d
	}
	d := victim()
	r, out := call(t, rt, "terminal", map[string]any{"command": "rm -rf victim"})
	if r.Status != tool.StatusDenied || out["status"] != "blocked" || out["exit_code"] != -1.0 || len(p.questions()) != 1 {
		t.Fatalf("%s, %d questions", r.JSON, len(p.questions()))
	}
	if _, err := os.Stat(d); err != nil {
		t.Fatal("a denied command ran")
	}
	if q := p.questions()[0]; len(q.Findings) != 1 || q.Findings[0].ID != "delete.recursive" || q.Command != "rm -rf victim" || q.Dir != dir {
		t.Errorf("the person was shown %+v", q)
	}
	p.choice = channel.Session
	if r, _ := call(t, rt, "terminal", map[string]any{"command": "rm -rf victim"}); r.Status != tool.StatusOK || !strings.Contains(r.JSON, `"approval"`) {
		t.Errorf("approved, and yet %s", r.JSON)
	}
	victim()
	if r, _ := call(t, rt, "terminal", map[string]any{"command": "rm -r victim"}); r.Status != tool.StatusOK || len(p.questions()) != 2 {
		t.Errorf("%s after %d questions", r.JSON, len(p.questions()))
	}
	p.choice = channel.Deny
	if r, _ := call(t, rt, "terminal", map[string]any{"command": "killall nothing-of-that-name"}); r.Status != tool.StatusDenied {
		t.Errorf("one key opened another: %s", r.JSON)
	}
	other := rt.NewSession(hermes.SessionOptions{})
	defer other.Close(context.Background())
	if r, _ := call(t, other, "terminal", map[string]any{"command": "rm -rf victim"}); r.Status != tool.StatusDenied {
		t.Errorf("one session opened another: %s", r.JSON)
	}
}

// A45, A58: without anybody to ask what is found is refused by name; the floor is refused whatever was approved before.
func TestApproval_UnattendedRefusesAndFloorHolds(t *testing.T) {
	rt, _ := open(t, hermes.Options{YesTo: []string{"recursive delete"}})
	if r, out := call(t, rt, "terminal", map[string]any{"command": "rm -rf /"}); r.Status != tool.StatusDenied || fmt.Sprint(out["approval"]) == "<nil>" || !strings.Contains(r.JSON, `"outcome":"floor"`) {
		t.Errorf("got %s", r.JSON)
	}
	if r, _ := call(t, rt, "terminal", map[string]any{"command": "systemctl stop ssh"}); r.Status != tool.StatusDenied || !strings.Contains(r.JSON, "service.stop") {
		t.Errorf("got %s", r.JSON)
	}
	if r, _ := call(t, rt, "terminal", map[string]any{"command": "mkdir x && rm -rf x"}); r.Status != tool.StatusOK {
		t.Errorf("approved in advance, and yet %s", r.JSON)
	}
}

// XA-2, DSP-1: a command in a script passes the same gate and the same hooks.
func TestScript_NestedCallsPassTheDoor(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	rt, dir := open(t, hermes.Options{Hooks: []hermes.Hook{{Name: "watch", PreToolCall: func(_ context.Context, c hermes.HookCall) (hermes.HookVerdict, error) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, c.ToolName)
		return hermes.HookVerdict{}, nil
	}}}})
	code := "from hermes_tools import terminal, write_file\nwrite_file('a.txt', 'x')\nprint(terminal('rm -rf /')['status'], terminal('cat a.txt')['output'])"
	r, out := call(t, rt, "execute_code", map[string]any{"code": code})
	if out["output"] != "blocked x\n" || out["status"] != "success" || out["tool_calls_made"] != 3.0 {
		t.Errorf("got %s", r.JSON)
	}
	if want := "execute_code write_file terminal terminal"; strings.Join(seen, " ") != want {
		t.Errorf("the hook saw %v, want %s", seen, want)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "a.txt")); err != nil || string(text) != "x" {
		t.Errorf("a.txt holds %q, %v", text, err)
	}
}

// ENG-8, ENG-10: directory and variables stay in their session.
func TestSession_StateIsItsOwn(t *testing.T) {
	rt, dir := open(t, hermes.Options{})
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	call(t, rt, "terminal", map[string]any{"command": "cd sub; export COLOUR=blue"})
	if _, out := call(t, rt, "terminal", map[string]any{"command": "pwd; echo $COLOUR"}); out["output"] != filepath.Join(dir, "sub")+"\nblue" {
		t.Errorf("got %v", out)
	}
	other := rt.NewSession(hermes.SessionOptions{})
	defer other.Close(context.Background())
	if _, out := call(t, other, "terminal", map[string]any{"command": "pwd; echo $COLOUR"}); out["output"] != dir {
		t.Errorf("another session sees %v", out)
	}
}

// What one command leaves in the session is what a later one is judged by: where programs are looked for, variables.
func TestSession_WhatItCarriesIsJudged(t *testing.T) {
	rt, _ := open(t, hermes.Options{})
	run := func(command string) tool.Result {
		r, _ := call(t, rt, "terminal", map[string]any{"command": command})
		return r
	}
	for _, before := range []string{`mkdir tools; printf '#!/bin/sh\nsystemctl stop ssh\n' > tools/ls; chmod +x tools/ls`, "export PATH=$PWD/tools:$PATH PLACE=/etc"} {
		if r := run(before); r.Status != tool.StatusOK {
			t.Fatalf("%s: %s", before, r.JSON)
		}
	}
	for command, want := range map[string]string{"ls": "service.stop", `rm -rf "$PLACE"`: "delete.root", "pwd; echo $PLACE": ""} {
		r := run(command)
		if want == "" && r.Status != tool.StatusOK || want != "" && (r.Status != tool.StatusDenied || !strings.Contains(r.JSON, want)) {
			t.Errorf("%s: %s, want %q", command, r.JSON, want)
		}
	}
}

// DEF-1, DEF-5: definitions are what was asked for, and the same bytes each time.
// MGR-1, MGR-2: a session starts where it is told to, at once, and unknown keys and backends are named.
func TestSession_OverridesItsEnvironment(t *testing.T) {
	rt, dir := open(t, hermes.Options{})
	elsewhere, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s, other := rt.NewSession(hermes.SessionOptions{}), rt.NewSession(hermes.SessionOptions{})
	pwd := func(s *hermes.Session, in string) string {
		t.Helper()
		r := s.Call(t.Context(), tool.Request{Name: "terminal", Arguments: json.RawMessage(`{"command":"pwd; echo $CARRIED; export CARRIED=yes; ` + in + `"}`)})
		var out struct{ Output, Error string }
		if err := json.Unmarshal([]byte(r.JSON), &out); err != nil {
			t.Fatal(err)
		}
		return out.Output + out.Error
	}
	pwd(s, "cd /")
	for _, step := range []struct {
		override map[string]string
		want     string // of the output
	}{
		{map[string]string{"cwd": elsewhere}, elsewhere + "\nyes"},            // replaces the carried directory, and nothing else
		{map[string]string{"cwd": elsewhere, "env_type": "local"}, elsewhere}, // a place of its own
		{map[string]string{"env_type": "nowhere"}, "\"nowhere\" is not known"},
		{nil, dir},
	} {
		if err := s.Override(step.override); err != nil {
			t.Errorf("%v: %v", step.override, err)
		}
		if got := pwd(s, "true"); !strings.Contains(got, step.want) {
			t.Errorf("%v: %q, want %q", step.override, got, step.want)
		}
	}
	if got := pwd(other, "true"); got != dir {
		t.Errorf("another session: %q", got)
	}
	if err := s.Override(map[string]string{"docker_imgae": "x"}); err == nil || !strings.Contains(err.Error(), "docker_imgae") {
		t.Errorf("an unknown key: %v", err)
	}
}

// A session that leaves a container for this machine is judged by what it can reach now.
func TestSession_OverriddenPlaceIsWhatIsJudged(t *testing.T) {
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "config.yaml"), []byte("terminal:\n  backend: docker\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	rt, _ := open(t, hermes.Options{Home: home})
	s := rt.NewSession(hermes.SessionOptions{})
	if err := s.Override(map[string]string{"env_type": "local"}); err != nil {
		t.Fatal(err)
	}
	r := s.Call(t.Context(), tool.Request{Name: "terminal", Arguments: json.RawMessage(`{"command":"mkfs.ext4 /dev/nosuchdisk0"}`)})
	if r.Status != tool.StatusDenied {
		t.Errorf("%s: %s", r.Status, r.JSON)
	}
}

func TestDefinitions_AsAskedAndStable(t *testing.T) {
	rt, _ := open(t, hermes.Options{})
	ctx := context.Background()
	all, err := rt.Definitions(ctx, hermes.Request{})
	if err != nil || !strings.Contains(all, `"name":"terminal"`) || !json.Valid([]byte(all)) {
		t.Fatalf("%v: %s", err, all)
	}
	if again, _ := rt.Definitions(ctx, hermes.Request{}); again != all {
		t.Error("equal questions got different bytes")
	}
	if some, _ := rt.Definitions(ctx, hermes.Request{Enabled: []string{"file"}, Dialect: hermes.Anthropic}); strings.Contains(some, "terminal\"") || !strings.Contains(some, "input_schema") {
		t.Errorf("got %s", some)
	}
	if none, _ := rt.Definitions(ctx, hermes.Request{Enabled: []string{}}); none != "[]" {
		t.Errorf("no sets gave %s", none)
	}
}

// REG-2, REG-4: a tool of the embedder stands in for the built-in of its name.
func TestTools_EmbedderReplacesABuiltIn(t *testing.T) {
	mine := tool.Func(tool.Spec{Name: "terminal", Toolset: "terminal", Description: "Mine."},
		func(context.Context, *tool.Call, struct {
			Command string `json:"command"`
		}) (any, error) {
			return "mine", nil
		})
	rt, _ := open(t, hermes.Options{Tools: []tool.Tool{mine}})
	if r, _ := call(t, rt, "terminal", map[string]any{"command": "true"}); r.JSON != `{"result":"mine"}` {
		t.Errorf("got %s", r.JSON)
	}
}

// BAT-8, INT-7: closing the runtime answers the calls under way and leaves no process.
func TestClose_AnswersWhatRuns(t *testing.T) {
	rt, dir := open(t, hermes.Options{})
	fifo := filepath.Join(dir, "pid")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	in, err := os.OpenFile(fifo, os.O_RDWR|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var r tool.Result
	var wg sync.WaitGroup
	wg.Go(func() {
		r = rt.Call(context.Background(), tool.Request{Name: "terminal", Arguments: json.RawMessage(`{"command":"trap '' TERM; echo $$ > pid; while :; do sleep 1; done"}`)})
	})
	if err := in.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	text, err := bufio.NewReader(in).ReadString('\n')
	if err != nil {
		t.Fatalf("the command did not start: %v", err)
	}
	if err := rt.Close(context.Background()); err != nil {
		t.Error(err)
	}
	wg.Wait()
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) { // it had its KILL; a machine that is busy takes its time
		if _, err := os.Stat("/proc/" + strings.TrimSpace(text)); err != nil {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("process %s lives on", text)
		}
	}
	if r.Status != tool.StatusCancelled || !strings.Contains(r.JSON, `"exit_code":130`) {
		t.Errorf("the call was answered %s %s", r.Status, r.JSON)
	}
	if r := rt.Call(context.Background(), tool.Request{Name: "terminal", Arguments: json.RawMessage(`{"command":"true"}`)}); r.Status != tool.StatusCancelled {
		t.Errorf("a call after the end got %s", r.JSON)
	}
}

// RED-1: a key of the environment doesn't leave, and the child doesn't get a secret of .env.
func TestSecrets_StayHere(t *testing.T) {
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, ".env"), []byte("OPENAI_API_KEY=sk-from-the-file-123456\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(home, "note.txt"), []byte("the key is sk-from-the-file-123456"), 0o600); err != nil {
		t.Fatal(err)
	}
	rt, _ := open(t, hermes.Options{Home: home})
	for name, args := range map[string]map[string]any{
		"terminal":     {"command": "echo [$OPENAI_API_KEY]; cat " + filepath.Join(home, "note.txt")},
		"read_file":    {"path": filepath.Join(home, "note.txt")},
		"execute_code": {"code": "import os\nprint(os.environ.get('OPENAI_API_KEY'), open(" + fmt.Sprintf("%q", filepath.Join(home, "note.txt")) + ").read())"},
	} {
		r, _ := call(t, rt, name, args)
		if strings.Contains(r.JSON, "sk-from-the-file") || !strings.Contains(r.JSON, "OPENAI_API_KEY") {
			t.Errorf("%s gave %s", name, r.JSON)
		}
	}
	text, err := os.ReadFile(filepath.Join(home, "audit", "calls.jsonl"))
	if err != nil || strings.Contains(string(text), "sk-from-the-file") {
		t.Errorf("the audit: %v\n%s", err, text)
	}
}

// SIZ-2, SIZ-3: what is too long is in a file that read_file reads on.
func TestSpill_ReadFileReadsOn(t *testing.T) {
	long := tool.Func(tool.Spec{Name: "long", Toolset: "mine", Description: "Long."}, func(context.Context, *tool.Call, struct{}) (any, error) {
		var b strings.Builder
		for i := range 20_000 {
			fmt.Fprintf(&b, "line %d\n", i+1)
		}
		return map[string]string{"content": b.String()}, nil
	})
	rt, _ := open(t, hermes.Options{Tools: []tool.Tool{long}})
	r, _ := call(t, rt, "long", nil)
	if r.Spill == nil || r.Spill.Lines != 20_000 {
		t.Fatalf("got %s", r.JSON)
	}
	defer os.Remove(r.Spill.Path)
	if info, err := os.Stat(r.Spill.Path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", info, err)
	}
	if r, out := call(t, rt, "read_file", map[string]any{"path": r.Spill.Path, "offset": 15_000, "limit": 1}); out["content"] != "15000|line 15000" {
		t.Errorf("got %s", r.JSON)
	}
}

// A configuration with a bad value works with the default, and says so; one that can't be read is an error.
func TestOpen_BadConfiguration(t *testing.T) {
	home := t.TempDir()
	write := func(text string) {
		if err := os.WriteFile(filepath.Join(home, "config.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("runtime:\n  max_parallel_calls: many\n")
	rt, err := hermes.New(hermes.Options{Home: home}).Open(context.Background())
	if err != nil || len(rt.Problems()) != 1 || !strings.Contains(rt.Problems()[0].Error(), "config.yaml:2:23: runtime.max_parallel_calls") {
		t.Fatalf("%v: %v", err, rt.Problems())
	}
	if err := rt.Close(context.Background()); err != nil {
		t.Error(err)
	}
	write("runtime: [\n")
	if _, err := hermes.New(hermes.Options{Home: home}).Open(context.Background()); err == nil || !strings.Contains(err.Error(), "config.yaml:") {
		t.Errorf("got %v", err)
	}
}
