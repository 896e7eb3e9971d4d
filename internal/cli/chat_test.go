package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/internal/script/scripttest"
	"github.com/hermes-runtime/hermes/provider"
	"github.com/hermes-runtime/hermes/provider/providertest"
)

// talker runs hermes in a directory with a home of its own.
type talker struct {
	program string
	dir     string
	env     []string
}

func newTalker(t *testing.T, config string) *talker {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("commands need a POSIX shell")
	}
	home, venv := t.TempDir(), filepath.Join(t.TempDir(), "venv")
	if err := scripttest.VirtualEnv(venv); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(home, "config.yaml"), config)
	return &talker{os.Args[0], t.TempDir(), append(os.Environ(), playHermes+"=1", "HERMES_HOME="+home, "VIRTUAL_ENV="+venv, "HERMES_PROFILE=", "HERMES_YOLO_MODE=",
		"OPENAI_API_KEY=", "ANTHROPIC_API_KEY=", "OPENROUTER_API_KEY=", "OPENAI_BASE_URL=", "ANTHROPIC_BASE_URL=", "SERVER_KEY=sk-of-the-server-0123456789abcdef")}
}

// run gives stdout and the exit code.
func (k *talker) run(t *testing.T, stdin string, args ...string) (string, string, int) {
	t.Helper()
	c := exec.Command(k.program, args...)
	c.Dir, c.Env, c.Stdin = k.dir, k.env, strings.NewReader(stdin)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	err := c.Run()
	if _, exited := err.(*exec.ExitError); err != nil && !exited {
		t.Fatal(err)
	}
	return out.String(), errs.String(), c.ProcessState.ExitCode()
}

// told are the events of a run with --json.
func told(t *testing.T, out string) (events []map[string]any) {
	t.Helper()
	for i, line := range strings.Split(strings.TrimSuffix(out, "\n"), "\n") {
		var e map[string]any
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("line %d is no event: %v: %.200q", i, err, line)
		}
		if e["seq"] != float64(i+1) || e["session_id"] == "" || e["time"] == nil || e["type"] == nil {
			t.Errorf("event %d: %v", i, e)
		}
		events = append(events, e)
	}
	return events
}

// chore is a task that needs a command, files, a script, a consent that nobody gives, and a child. Whose request it is shows in the
// system prompt.
func chore(t *testing.T) providertest.Answer {
	call := func(id, name, args string) provider.Call { return provider.Call{ID: id, Name: name, Arguments: args} }
	parent := providertest.Script(t,
		providertest.Reply{Text: "Let me begin. ", Calls: []provider.Call{
			call("a1", "terminal", `{"command":"mkdir -p build && echo from-$((6*7))"}`), call("a2", "write_file", `{"path":"notes.txt","content":"zebra crossing\n"}`),
		}},
		providertest.Reply{Calls: []provider.Call{
			call("b1", "execute_code", `{"code":"from hermes_tools import read_file\nprint(read_file('notes.txt')['content'].upper())"}`),
			call("b2", "terminal", `{"command":"rm -rf build"}`),
		}},
		providertest.Reply{Calls: []provider.Call{call("c1", "delegate_task", `{"goal":"count the files here","toolsets":["terminal"]}`)}},
		providertest.Reply{Text: "Finished: the striped animal is noted."},
		providertest.Reply{Text: "It was a zebra."}, // when it is resumed
	)
	child := providertest.Script(t,
		providertest.Reply{Calls: []provider.Call{call("d1", "terminal", `{"command":"ls | wc -l"}`)}},
		providertest.Reply{Text: "2 entries"},
	)
	return func(s providertest.Seen) providertest.Reply {
		if strings.Contains(s.System, "another agent") {
			return child(s)
		}
		return parent(s)
	}
}

// The agent works through a task with either API, everything is stored and found again, and the key is nowhere.
func TestChat_ATaskWithEitherAPI(t *testing.T) {
	for mode, server := range map[string]func(testing.TB, providertest.Answer) *providertest.Server{
		"chat_completions": providertest.OpenAI, "anthropic_messages": providertest.Anthropic,
	} {
		t.Run(mode, func(t *testing.T) {
			s := server(t, chore(t))
			s.Key = "sk-of-the-server-0123456789abcdef"
			k := newTalker(t, fmt.Sprintf("model:\n  provider: custom\n  default: test-model\n  base_url: %s\n  api_key_env: SERVER_KEY\n  api_mode: %s\n", s.URL(), mode))
			out, errs, code := k.run(t, "", "chat", "-q", "note the striped animal", "--json")
			if code != 0 {
				t.Fatalf("exit %d: %s\n%s", code, errs, out)
			}
			events := told(t, out)
			results, text, approvals := map[string]string{}, "", []string{}
			for _, e := range events {
				switch e["type"] {
				case "approval":
					approvals = append(approvals, fmt.Sprint(e["call_id"], " ", e["text"], " ", e["status"]))
				case "tool_end":
					results[e["call_id"].(string)] = e["status"].(string) + " " + e["result"].(string)
				case "text":
					text += e["text"].(string)
				}
			}
			for id, want := range map[string]string{"a1": `ok {"output":"from-42"`, "a2": `ok {"bytes_written":15`, "b1": `ZEBRA CROSSING`, "b2": `denied {"error":"BLOCKED`, "c1": `"summary":"2 entries"`} {
				if !strings.Contains(results[id], want) {
					t.Errorf("call %s: %s", id, results[id])
				}
			}
			done := events[len(events)-1]
			outcome, _ := done["outcome"].(map[string]any)
			if done["type"] != "done" || outcome["status"] != "completed" || outcome["exit_reason"] != "completed" || outcome["text"] != text || outcome["api_calls"] != 4.0 || outcome["tool_calls"] != 5.0 || !strings.HasSuffix(text, "is noted.") {
				t.Errorf("%v", done)
			}
			if got := strings.Join(approvals, "; "); got != "b2 rm -rf build <nil>; b2 rm -rf build deny" || strings.Count(out, `"type":"done"`) != 1 { // CHAT-8
				t.Errorf("approvals: %s", got)
			}
			if _, err := os.Stat(filepath.Join(k.dir, "build")); err != nil {
				t.Errorf("what nobody consented to was done: %v", err)
			}
			stored(t, k, done["session_id"].(string))
			resumed(t, k, s)
			if out, _, _ := k.run(t, "", "sessions", "list", "--json"); strings.Contains(out, `"subagent"`) {
				t.Error("the child's session is listed among the user's")
			}
			if all := out + errs; strings.Contains(all, s.Key) {
				t.Error("the key shows")
			}
		})
	}
}

// stored checks what is kept of the task: the conversation, its child, and that it is found.
func stored(t *testing.T, k *talker, id string) {
	t.Helper()
	out, errs, code := k.run(t, "", "sessions", "show", id, "--json")
	if code != 0 {
		t.Fatalf("exit %d: %s", code, errs)
	}
	for _, want := range []string{"note the striped animal", "from-42", "ZEBRA CROSSING", "BLOCKED", "2 entries", "is noted."} {
		if !strings.Contains(out, want) {
			t.Errorf("%q isn't stored", want)
		}
	}
	out, _, code = k.run(t, "", "tools", "call", "session_search", `{"query":"striped animal is noted"}`)
	if code != 0 || !strings.Contains(out, id) || !strings.Contains(out, ">>>") {
		t.Errorf("exit %d: %s", code, out)
	}
}

// resumed goes on with the conversation: the next request holds all of it.
func resumed(t *testing.T, k *talker, s *providertest.Server) {
	t.Helper()
	before := len(s.Requests())
	out, errs, code := k.run(t, "which?", "chat", "--resume", "last")
	if code != 0 || out != "It was a zebra.\n" {
		t.Errorf("exit %d: %q %s", code, out, errs)
	}
	all := s.Requests()
	if len(all) != before+1 {
		t.Fatalf("%d requests more", len(all)-before)
	}
	if ms := all[before].Messages; len(ms) != 11 || ms[0].Text != "note the striped animal" || ms[10].Text != "which?" {
		t.Errorf("%d messages: %+v", len(ms), ms)
	}
}

// A server of one's own needs no configuration and no key: its address and a name are enough.
func TestChat_AServerOfOnesOwnNeedsItsAddressAlone(t *testing.T) {
	s := providertest.OpenAI(t, providertest.Script(t, providertest.Reply{Text: "Nothing yet."}))
	k := newTalker(t, "")
	k.env = append(k.env, "OPENAI_BASE_URL="+s.URL())
	if out, errs, code := k.run(t, "", "chat", "-m", "openai/qwen3", "-q", "What is in this directory?"); code != 0 || out != "Nothing yet.\n" {
		t.Errorf("exit %d: %q %s", code, out, errs)
	}
	if got := s.Requests()[0]; got.Model != "qwen3" || len(got.Tools) < 8 {
		t.Errorf("%s with %q", got.Model, got.Tools)
	}
}

// CHAT-5: the exit code is that of the outcome; nothing to say, no model and a wrong flag are told in one line.
func TestChat_ExitCodes(t *testing.T) {
	k := newTalker(t, "")
	tape := func(text string) string {
		f := filepath.Join(t.TempDir(), "tape.jsonl")
		write(t, f, text)
		return "replay:" + f
	}
	for name, tc := range map[string]struct {
		stdin string
		args  []string
		code  int
		says  string
	}{
		"completed":      {args: []string{"-q", "x", "-m", tape(`{"text":"fine"}`)}},
		"piped":          {stdin: "x", args: []string{"-m", tape(`{"text":"fine"}`)}},
		"nothing to say": {args: []string{"-m", tape(`{"text":"fine"}`)}, code: 2, says: "-q PROMPT"},
		"no model":       {args: []string{"-q", "x"}, code: 1, says: "OPENAI_API_KEY"},
		"no tape":        {args: []string{"-q", "x", "-m", "replay:nowhere.jsonl"}, code: 1, says: "nowhere.jsonl"},
		"failed":         {args: []string{"-q", "x", "-m", tape(`{"error":{"type":"auth"}}`)}, code: 1, says: "auth"},
		"cut short":      {args: []string{"-q", "x", "--max-turns", "1", "-m", tape(`{"calls":[{"name":"todo","arguments":{}}]}` + "\n" + `{"text":"half"}`)}, code: 1, says: "max_iterations"},
		"unknown":        {args: []string{"-q", "x", "--resume", "nothing", "-m", tape(`{"text":"fine"}`)}, code: 1, says: "nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			out, errs, code := k.run(t, tc.stdin, append([]string{"chat"}, tc.args...)...)
			if code != tc.code || !strings.Contains(errs, tc.says) || tc.code == 0 && out != "fine\n" || strings.Contains(errs, "goroutine") {
				t.Errorf("exit %d\n%s\n%s", code, out, errs)
			}
			if begun := tc.code == 0 || name == "failed" || name == "cut short"; begun != parting.MatchString(errs) { // CHAT-4
				t.Errorf("the last line: %s", errs)
			}
		})
	}
}

// parting is the last line of a conversation that can be gone on with.
var parting = regexp.MustCompile(`\nhermes: session s_[0-9a-f]+; go on with: [^\n]*\n$|^hermes: session s_[0-9a-f]+; go on with: [^\n]*\n$`)

// volatile is what differs from one run to the next: times, ids, and sizes of texts that hold them.
var volatile = regexp.MustCompile(`"(result_bytes|input|output|id|request_id|time|seconds|duration|duration_seconds|total_duration_seconds|uptime_seconds|done|started_at|pid)":("[0-9TZ:.-]*"|"[0-9a-f]{32}"|[0-9.e-]+)|(s|proc|turn)_[0-9a-f]{12,16}`)

// waited is there where a machine was busy while a call was judged.
var waited = regexp.MustCompile(`,"approval_wait_seconds":[0-9.]+`)

// homes are directories that tests make.
var homes = regexp.MustCompile(`/[^ "]*/TestChat_[^/"]*/\d+`)

// REC-3: the tour of the README, more than thirty replies with real tools, plays offline and twice the same.
func TestChat_TheTourPlaysTwiceTheSame(t *testing.T) {
	tour, err := filepath.Abs("../../examples/tour.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	play := func() string {
		k := newTalker(t, "")
		out, errs, code := k.run(t, "", "chat", "-m", "replay:"+tour, "-q", "Show me around", "--json")
		if code != 0 {
			t.Fatalf("exit %d: %s", code, errs)
		}
		for _, name := range []string{"prices.txt", "total.sh", "summary.md"} {
			if _, err := os.Stat(filepath.Join(k.dir, ".cache", "tour", name)); err != nil {
				t.Error(err)
			}
		}
		events := told(t, out)
		if n := events[len(events)-1]["outcome"].(map[string]any)["api_calls"].(float64); n < 30 {
			t.Errorf("only %v replies", n)
		}
		kept, errs, code := k.run(t, "", "sessions", "export", events[0]["session_id"].(string))
		if code != 0 {
			t.Fatalf("exit %d: %s", code, errs)
		}
		kept = homes.ReplaceAllString(strings.ReplaceAll(strings.ReplaceAll(kept, `\"`, `"`), k.dir, "DIR"), "TMP")
		return volatile.ReplaceAllString(waited.ReplaceAllString(kept, ""), "~")
	}
	one, two := play(), play()
	if one != two {
		a, b := strings.Split(one, "\n"), strings.Split(two, "\n")
		for i := range min(len(a), len(b)) {
			if a[i] != b[i] {
				t.Fatalf("line %d:\n%s\n%s", i, a[i], b[i])
			}
		}
		t.Fatalf("%d and %d lines", len(a), len(b))
	}
}

// CHAT-9: nothing that a model says or calls reaches the terminal as a control, as text, as an event or when it is shown again; events mean
// what was said.
func TestChat_WhatAModelSaysIsCleanEverywhere(t *testing.T) {
	k := newTalker(t, "")
	said := "see \u202egnp.exe\u2069\x1b[2J \u009b1m\x08done"
	line, err := json.Marshal(map[string]any{"text": said, "calls": []any{map[string]any{"name": "no\x1b[31m\u202esuch", "arguments": map[string]string{"\u202ea": "\u009b"}}}})
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(k.dir, "t.jsonl"), string(line)+"\n"+`{"text":"over"}`+"\n")
	for _, args := range [][]string{{"chat", "-q", "hi", "-m", "replay:t.jsonl"}, {"chat", "-q", "hi", "-m", "replay:t.jsonl", "--json"}, {"sessions", "show", "last"}, {"sessions", "list"}, {"sessions", "show", "last", "--json"}} {
		out, errs, code := k.run(t, "", args...)
		if code != 0 || !strings.Contains(out, "hi") && !strings.Contains(out, "over") {
			t.Errorf("%v: %d, %q, %q", args, code, out, errs)
		}
		if i := strings.IndexFunc(out+errs, func(r rune) bool {
			return r < ' ' && r != '\n' || r >= 0x7f && r <= 0x9f || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
		}); i >= 0 {
			t.Errorf("%v: %q", args, (out + errs)[max(0, i-40):min(len(out)+len(errs), i+40)])
		}
		if args[len(args)-1] == "--json" && args[0] == "chat" {
			var text strings.Builder
			for _, e := range told(t, out) {
				if e["type"] == "text" {
					text.WriteString(e["text"].(string))
				}
			}
			if !strings.HasPrefix(text.String(), said) {
				t.Errorf("the events say %q, want %q", text.String(), said)
			}
		}
	}
}
