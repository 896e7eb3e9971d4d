package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/hermes-runtime/hermes/internal/runtime"
	"github.com/hermes-runtime/hermes/tool"
)

// kinds are the calls of the great batch: lines as they come from models and scripts, with what must be in the result. MARK is a word
// that the processes of the batch carry.
var kinds = []struct{ what, line, id, result string }{
	{what: "unknown name", line: `{"id":"N","name":"no_such_tool","arguments":{}}`, result: "no_such_tool"},
	{what: "no JSON", line: `{"id":"N","name":"lab_echo"`, id: "none", result: "no JSON object"},
	{what: "no object", line: `[1,"lab_echo"]`, id: "none", result: "no JSON object"},
	{what: "nothing but NUL and broken UTF-8", line: "\x00\xff\xfe", id: "none", result: "no JSON object"},
	{what: "no name", line: `{"id":"N","arguments":{}}`, result: "names no tool"},
	{what: "wrong type of the name", line: `{"id":"N","name":{"a":1}}`, id: "none", result: "no JSON object"},
	{what: "unknown parameter", line: `{"id":"N","name":"lab_echo","arguments":{"colour":1}}`, result: "colour"},
	{what: "wrong type", line: `{"id":"N","name":"lab_echo","arguments":{"lines":"many"}}`, result: "lines"},
	{what: "arguments that are no object", line: `{"id":"N","name":"lab_echo","arguments":[1]}`, result: "object"},
	{what: "arguments as text", line: `{"id":"N","name":"lab_echo","arguments":"{\"text\":\"as text\"}"}`, result: "as text"},
	{what: "arguments cut off", line: `{"id":"N","name":"lab_echo","arguments":"{\"text\":\"as te"}`, result: "cut off"},
	{what: "arguments nested too deeply", line: `{"id":"N","name":"lab_echo","arguments":{"text":` + strings.Repeat("[", 3000) + strings.Repeat("]", 3000) + `}}`, result: "deep"},
	{what: "a quarter of a million characters", line: `{"id":"N","name":"lab_echo","arguments":{"lines":1,"text":"` + strings.Repeat("x", 1<<18) + `"}}`, result: `"lines":1`},
	{what: "panic", line: `{"id":"N","name":"lab_panic","arguments":{}}`, result: "Tool execution failed: Panic: a tool that panics"},
	{what: "failure", line: `{"id":"N","name":"lab_fail","arguments":{}}`, result: "a tool that fails"},
	{what: "deaf to cancellation", line: `{"id":"N","name":"lab_stubborn","arguments":{"milliseconds":500}}`, result: "the limit is 100ms"},
	{what: "repeated id", line: `{"id":"same","name":"lab_echo","arguments":{"text":"again"}}`, id: "same", result: "again"},
	{what: "a name nearly right", line: `{"id":"N","name":"functions.LabEcho","arguments":{"text":"near"}}`, result: "near"},
	{what: "long result", line: `{"id":"N","name":"lab_big","arguments":{"lines":6500}}`, result: "spilled"},
	{what: "a command", line: `{"id":"N","name":"terminal","arguments":{"command":"echo ran; true MARK"}}`, result: `"output":"ran"`},
	{what: "a command that fails", line: `{"id":"N","name":"terminal","arguments":{"command":"exit 3"}}`, result: `"exit_code":3`},
	{what: "a command for nobody", line: `{"id":"N","name":"terminal","arguments":{"command":"rm -rf / MARK"}}`, result: `"outcome":"floor"`},
	{what: "a command that needs consent", line: `{"id":"N","name":"terminal","arguments":{"command":"rm -rf MARK"}}`, result: `"status":"blocked"`},
	{what: "a wrong type for a command", line: `{"id":"N","name":"terminal","arguments":{"command":["ls"]}}`, result: `"exit_code":-1`},
	{what: "several problems", line: `{"id":"N","name":"terminal","arguments":{"comand":"ls","timeout":0}}`, result: "timeout"},
}

// calls is how many calls the great batch has.
const calls = 200

// greatBatch lists the lines, the kinds in turn. One command is ended by its own limit: it would outlive everything.
func greatBatch(mark string) []string {
	var lines []string
	for i := range calls {
		k := kinds[i%len(kinds)]
		line := strings.Replace(k.line, `"N"`, fmt.Sprintf(`"c%d"`, i), 1)
		lines = append(lines, strings.ReplaceAll(line, "MARK", mark))
	}
	lines[calls-1] = fmt.Sprintf(`{"id":"c%d","name":"terminal","arguments":{"command":"sh -c 'trap \"\" TERM; sleep 300; :' %s & sleep 300; wait","timeout":1}}`, calls-1, mark)
	return lines
}

func TestBatch_TwoHundredMixedCalls(t *testing.T) { // BAT-1, BAT-5, BAT-6, BAT-12
	if testing.Short() {
		t.Skip("takes seconds")
	}
	dir := t.TempDir()
	mark := fmt.Sprintf("hermes-batch-%d-%d", os.Getpid(), time.Now().UnixNano())
	input, conf := filepath.Join(dir, "calls.jsonl"), filepath.Join(dir, "hasty.yaml")
	write(t, input, strings.Join(greatBatch(mark), "\n"))
	write(t, conf, hasty)
	c := exec.Command(os.Args[0], "--config", conf, "-C", dir, "tools", "batch", input)
	c.Env = append(os.Environ(), playHermes+"=1", "HERMES_HOME="+filepath.Join(dir, "home"), "TMPDIR="+dir, "HERMES_YOLO_MODE=", "HERMES_PROFILE=")
	var errs bytes.Buffer
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, errs.String())
	}
	lines := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(lines) != calls {
		t.Fatalf("%d lines", len(lines))
	}
	ids := map[string]bool{}
	for i, l := range lines {
		var r struct {
			ID, Name string
			Result   json.RawMessage
		}
		k := kinds[i%len(kinds)]
		if i == calls-1 {
			k.what, k.result = "a command that is ended", `"exit_code":124`
		}
		if err := json.Unmarshal([]byte(l), &r); err != nil || len(r.Result) == 0 || r.Result[0] != '{' {
			t.Errorf("%d, %s: no result: %v: %.200q", i, k.what, err, l)
			continue
		}
		if !strings.Contains(string(r.Result), k.result) {
			t.Errorf("%d, %s: %.300s", i, k.what, r.Result)
		}
		switch want := fmt.Sprintf("c%d", i); {
		case k.id == "none" && r.ID != "" || k.id == "" && r.ID != want || k.id == "same" && !strings.HasPrefix(r.ID, "same"):
			t.Errorf("%d, %s: id %q", i, k.what, r.ID)
		case r.ID != "" && ids[r.ID]:
			t.Errorf("%d, %s: id %q twice", i, k.what, r.ID)
		}
		ids[r.ID] = true
	}
	for end := time.Now().Add(time.Minute); len(carrying(t, mark)) > 0; time.Sleep(10 * time.Millisecond) { // each had its KILL
		if time.Now().After(end) {
			t.Fatalf("left behind: %v", carrying(t, mark))
		}
	}
	if names, err := os.ReadDir(filepath.Join(dir, "home", "run")); err == nil && len(names) > 0 {
		for _, n := range names {
			if !n.IsDir() {
				t.Errorf("left behind: run/%s", n.Name())
			}
		}
	}
}

// The same calls in this process: what they hold must be let go.
func TestBatch_LeavesNothingInItsProcess(t *testing.T) { // BAT-5, ASY-4
	if testing.Short() {
		t.Skip("takes seconds")
	}
	before := goleak.IgnoreCurrent()
	dir := t.TempDir()
	conf := filepath.Join(dir, "hasty.yaml")
	write(t, conf, hasty)
	mark := fmt.Sprintf("hermes-batch-%d-%d", os.Getpid(), time.Now().UnixNano())
	var requests []tool.Request
	for _, l := range greatBatch(mark) {
		var r struct {
			ID, Name  string
			Arguments json.RawMessage
		}
		if json.Unmarshal([]byte(l), &r) == nil {
			requests = append(requests, tool.Request{ID: r.ID, Name: r.Name, Arguments: r.Arguments})
		}
	}
	open := descriptors(t)
	for range 2 {
		rt, err := runtime.Open(t.Context(), runtime.Options{Home: filepath.Join(dir, "home"), ConfigFile: conf, Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		results := rt.Session(runtime.SessionOptions{}).CallBatch(t.Context(), tool.Batch{Calls: requests})
		if len(results) != len(requests) {
			t.Errorf("%d results for %d calls", len(results), len(requests))
		}
		for i, r := range results {
			if !json.Valid([]byte(r.JSON)) {
				t.Errorf("%d: no JSON: %.200q", i, r.JSON)
			}
		}
		if err := rt.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) { // what is on its way out goes
		err, left, now := goleak.Find(before), carrying(t, mark), descriptors(t)
		if err == nil && len(left) == 0 && slices.Equal(now, open) {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%v\nleft behind: %v\ndescriptors before: %v\nafter: %v", err, left, open, now)
		}
	}
}

// hasty is a configuration under which the deaf don't hold the others up for long.
const hasty = "runtime: {interrupt_grace: 0.05}\n"

// carrying lists the living processes that have a word among their arguments.
func carrying(t *testing.T, word string) (found []string) {
	t.Helper()
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range dirs {
		line, _ := os.ReadFile(filepath.Join(d, "cmdline"))
		stat, _ := os.ReadFile(filepath.Join(d, "stat"))
		if bytes.Contains(line, []byte(word)) && !bytes.Contains(stat, []byte(") Z ")) {
			found = append(found, filepath.Base(d)+": "+strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}

// descriptors lists what this process has open, without what the Go runtime keeps for itself.
func descriptors(t *testing.T) (open []string) {
	t.Helper()
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		to, err := os.Readlink("/proc/self/fd/" + n.Name())
		if err == nil && !strings.HasPrefix(to, "anon_inode:") && !strings.HasPrefix(to, "/proc/") {
			open = append(open, n.Name()+" "+to)
		}
	}
	return open
}
