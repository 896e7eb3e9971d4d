//go:build linux || darwin

package terminal_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/envs"
	"github.com/hermes-runtime/hermes/internal/process"
	"github.com/hermes-runtime/hermes/tool"
)

// keeping is a host whose tasks have jobs.
func keeping(t testing.TB) *host {
	t.Helper()
	h := here(t)
	m := h.services[0].(*envs.Manager)
	h.services = append(h.services, process.New(process.Options{Homes: func(ctx context.Context) ([]process.Home, error) {
		p, err := m.Place(ctx, "t1")
		if err != nil {
			return nil, err
		}
		return []process.Home{{Key: "default", Keep: p.Environment.(environment.Keeper)}}, nil
	}}))
	return h
}

// manage makes a call of process and gives its answer.
func manage(t testing.TB, h *host, members map[string]any) map[string]any {
	t.Helper()
	v, _, err := managed(t, h, members)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// managed gives the acts to approve besides.
func managed(t testing.TB, h *host, members map[string]any) (map[string]any, []tool.Action, error) {
	t.Helper()
	var x tool.Tool
	for _, e := range tool.Default().Entries() {
		if e.Tool.Spec().Name == "process" {
			x = e.Tool
		}
	}
	risky, ok := tool.As[tool.Risky](x)
	if !ok {
		t.Fatal("the tool tells no risks")
	}
	c := call(h, args(t, members))
	c.Name = "process"
	acts, err := risky.Risks(t.Context(), c)
	var v any
	if r, refused := errors.AsType[*tool.Refusal](err); refused {
		v = r.Result
	} else if err != nil {
		return nil, nil, err
	} else if v, err = x.Run(t.Context(), c); err != nil {
		return nil, acts, err
	}
	if o, ok := v.(tool.Outcome); ok {
		v = o.Value
	}
	text, err := json.Marshal(v)
	if err != nil {
		return nil, acts, err
	}
	var m map[string]any
	return m, acts, json.Unmarshal(text, &m)
}

func begin(t testing.TB, h *host, members map[string]any) string {
	t.Helper()
	members["background"] = true
	r := run(t, h, args(t, members))
	var s struct {
		ID string `json:"session_id"`
	}
	if err := json.Unmarshal([]byte(r.text), &s); err != nil || s.ID == "" {
		t.Fatalf("%v: %s", err, r.text)
	}
	return s.ID
}

func keysOf(m map[string]any) string {
	var list []string
	for k := range m {
		list = append(list, k)
	}
	slices.Sort(list)
	return strings.Join(list, " ")
}

// JOB-1, JOB-8, TRM-11, TRM-12: what a start answers.
func TestBackground_Answers(t *testing.T) {
	h := keeping(t)
	for _, tc := range []struct{ args, keys string }{
		{`{"command": "true", "background": true}`, "error exit_code hint output pid session_id"},
		{`{"command": "nohup true", "background": true, "notify_on_complete": true}`, "error exit_code notify_on_complete output pid session_id"},
		{`{"command": "true", "background": true, "watch_patterns": ["x", ""]}`, "error exit_code output pid session_id watch_patterns"},
		{`{"command": "true", "background": true, "watch_patterns": ["x"], "notify_on_complete": true}`, "error exit_code notify_on_complete output pid session_id watch_patterns_ignored"},
		{`{"command": "gh auth login --hostname h --with-token", "background": true, "pty": true, "notify_on_complete": true}`, "error exit_code notify_on_complete output pid pty_note session_id"},
		{`{"command": "true", "notify_on_complete": true, "watch_patterns": ["x"], "keep_stdin": true, "persist": true}`, "cwd duration_seconds error exit_code output"},
	} {
		r := run(t, h, tc.args)
		var m map[string]any
		if err := json.Unmarshal([]byte(r.text), &m); err != nil || keysOf(m) != tc.keys || m["exit_code"] != 0.0 || m["error"] != nil {
			t.Errorf("%s: %s", tc.args, r.text)
		}
	}
}

// OWN-2, ENG-16: what a command left running has an entry of its session, which lists it, sees its end and can end it.
func TestForeground_WhatIsLeftRunningIsListed(t *testing.T) {
	h := keeping(t)
	leave := func(program string) string {
		t.Helper()
		file := filepath.Join(t.TempDir(), "exit 3")
		if err := os.WriteFile(file, []byte(program+" >/dev/null 2>&1 & exit 3"), 0o600); err != nil {
			t.Fatal(err)
		}
		r := run(t, h, args(t, map[string]any{"command": "bash '" + file + "'"}))
		var m struct {
			Left []struct {
				PID     int
				Command string
				ID      string `json:"session_id"`
			} `json:"left_running"`
		}
		if err := json.Unmarshal([]byte(r.text), &m); err != nil || r.ExitCode != 3 || len(m.Left) != 1 || m.Left[0].PID == 0 || m.Left[0].ID == "" {
			t.Fatalf("%s, %v", r.text, err)
		}
		return m.Left[0].ID
	}
	gate := filepath.Join(t.TempDir(), "gate")
	if err := syscall.Mkfifo(gate, 0o600); err != nil {
		t.Fatal(err)
	}
	id, other := leave("exec sleep 600"), leave("read x <"+gate)
	list := manage(t, h, map[string]any{"action": "list"})["processes"].([]any)
	if len(list) != 2 {
		t.Errorf("%v", list)
	}
	for _, e := range list {
		if m := e.(map[string]any); m["kind"] != "leftover" || m["status"] != "running" || m["output_preview"] != "" || !strings.Contains(m["command"].(string), "exit 3") {
			t.Errorf("%v", m)
		}
	}
	if m := manage(t, h, map[string]any{"action": "write", "session_id": id, "data": "x"}); m["error"] == nil {
		t.Errorf("written to: %v", m)
	}
	if m := manage(t, h, map[string]any{"action": "kill", "session_id": id}); m["status"] != "killed" || m["survivors"] != nil {
		t.Errorf("%v", m)
	}
	if m := manage(t, h, map[string]any{"action": "poll", "session_id": id}); m["status"] != "exited" || m["completion_reason"] != "killed" || m["exit_code"] != nil {
		t.Errorf("%v", m)
	}
	if err := os.WriteFile(gate, []byte("go\n"), 0); err != nil { // it goes on to its own end
		t.Fatal(err)
	}
	if m := manage(t, h, map[string]any{"action": "wait", "session_id": other}); m["status"] != "exited" || m["completion_reason"] != "exited" || m["exit_code"] != nil {
		t.Errorf("%v", m)
	}
	gone := leave("exec sleep 600")
	table := h.services[len(h.services)-1].(*process.Table)
	ended, err := table.EndSession(t.Context(), "s1")
	if err != nil || len(ended) != 1 || ended[0].ID != gone {
		t.Errorf("the end of the session ended %+v, %v", ended, err)
	}
}

// TRM-1, PRT-9: scripts have the foreground only.
func TestBackground_NotInScripts(t *testing.T) {
	for _, p := range []string{`"background": false`, `"pty": true`, `"keep_stdin": true`, `"persist": true`, `"notify_on_complete": true`, `"watch_patterns": []`} {
		h := keeping(t)
		c := call(h, `{"command": "true", `+p+`}`)
		c.Caller = tool.CallerScript
		if r := runCall(t, t.Context(), c); r.ExitCode != -1 || !strings.Contains(r.err(), "scripts") || h.places != 0 {
			t.Errorf("%s: %s", p, r.text)
		}
	}
}

// OWN-4: going on behind the session is asked about besides the command.
func TestBackground_PersistIsAnActOfItsOwn(t *testing.T) {
	risky, _ := tool.As[tool.Risky](registered(t))
	acts, err := risky.Risks(t.Context(), call(keeping(t), `{"command": "srv", "background": true, "persist": true}`))
	if err != nil || len(acts) != 2 || acts[0].Kind != tool.ActionCommand || acts[1].Kind != tool.ActionPersist || acts[1].Text != "srv" {
		t.Errorf("%+v, %v", acts, err)
	}
}

// PRT-1: what is wrong is said, and what is allowed.
func TestProcess_BadCalls(t *testing.T) {
	h := keeping(t)
	id := begin(t, h, map[string]any{"command": "exec sleep 60"})
	for _, tc := range []struct {
		args   map[string]any
		status any
		words  []string
	}{
		{map[string]any{}, nil, []string{"action", "list, poll", "resize"}},
		{map[string]any{"action": "stop"}, nil, []string{"stop", "kill"}},
		{map[string]any{"action": "poll"}, nil, []string{"session_id"}},
		{map[string]any{"action": "poll", "session_id": "proc_000000000000"}, "not_found", []string{"proc_000000000000"}},
		{map[string]any{"action": "poll", "session_id": 17}, "not_found", []string{"17"}},
		{map[string]any{"action": "write", "session_id": id}, nil, []string{"data", "keys"}},
		{map[string]any{"action": "write", "session_id": id, "data": "x"}, nil, []string{"keep_stdin", "pty"}}, // JOB-7
		{map[string]any{"action": "close", "session_id": id}, nil, []string{"keep_stdin", "pty"}},
		{map[string]any{"action": "write", "session_id": id, "keys": []string{"up"}}, nil, []string{"terminal"}},
		{map[string]any{"action": "resize", "session_id": id, "rows": 1, "cols": 80}, nil, []string{"rows", "500"}},
		{map[string]any{"action": "wait", "session_id": id, "timeout": 0}, nil, []string{"timeout"}},
	} {
		m := manage(t, h, tc.args)
		if m["status"] != tc.status || m["error"] == nil {
			t.Errorf("%v: %v", tc.args, m)
			continue
		}
		mention(t, m["error"].(string), tc.words...)
	}
}

// PRT-2, PRT-3, PRT-4, PRT-6, PRT-7: the life of a job, with the members of each answer.
func TestProcess_LifeOfAJob(t *testing.T) {
	h := keeping(t)
	id := begin(t, h, map[string]any{"command": "while read -r x; do echo got $x; done; exit 5", "keep_stdin": true})
	do := func(action, keys string, more map[string]any) map[string]any {
		t.Helper()
		in := map[string]any{"action": action, "session_id": id}
		for k, v := range more {
			in[k] = v
		}
		m := manage(t, h, in)
		if keysOf(m) != keys {
			t.Errorf("%s: %v", action, m)
		}
		return m
	}
	if l := manage(t, h, map[string]any{"action": "list"}); len(l["processes"].([]any)) != 1 {
		t.Errorf("%v", l)
	}
	do("poll", "command log_path output_preview pid session_id status uptime_seconds", nil)
	if m := do("write", "bytes_written status", map[string]any{"data": "a\nb\n"}); m["bytes_written"] != 4.0 {
		t.Errorf("%v", m)
	}
	do("submit", "bytes_written status", map[string]any{"data": "c"})
	if m := do("wait", "output status timeout_note", map[string]any{"timeout": 1}); m["status"] != "timeout" {
		t.Errorf("%v", m)
	}
	do("close", "message status", nil)
	m := do("wait", "completion_reason exit_code output status termination_source", nil)
	if m["status"] != "exited" || m["exit_code"] != 5.0 || m["output"] != "got a\ngot b\ngot c\n" {
		t.Errorf("%v", m)
	}
	for _, tc := range []struct {
		more   map[string]any
		output string
	}{
		{nil, "got a\ngot b\ngot c\n"}, {map[string]any{"limit": 1}, "got c\n"}, {map[string]any{"offset": 1, "limit": 1}, "got b\n"},
	} {
		if m := do("log", "log_path output session_id showing status total_lines", tc.more); strings.TrimRight(m["output"].(string), "\n") != strings.TrimRight(tc.output, "\n") || m["total_lines"] != 3.0 {
			t.Errorf("%v: %v", tc.more, m)
		}
	}
	if m := do("kill", "exit_code session_id status", nil); m["status"] != "already_exited" || m["exit_code"] != 5.0 {
		t.Errorf("%v", m)
	}
	if m := do("write", "error", map[string]any{"data": "x"}); !strings.Contains(m["error"].(string), "ended") {
		t.Errorf("%v", m)
	}
	id = begin(t, h, map[string]any{"command": "exec sleep 60"})
	if m := do("kill", "completion_reason exit_code session_id status termination_source", nil); m["status"] != "killed" || m["exit_code"] != -15.0 || m["termination_source"] != "process.kill" {
		t.Errorf("%v", m)
	}
}

// PTY-1, PTY-2, PTY-3: a program on a terminal is seen as a person sees it.
func TestProcess_Terminal(t *testing.T) {
	h := keeping(t)
	id := begin(t, h, map[string]any{"command": "stty size; read x; stty size; echo got $x; sleep 60", "pty": true})
	screen := func(want string) {
		t.Helper()
		for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
			m := manage(t, h, map[string]any{"action": "poll", "session_id": id})
			if s, _ := m["screen"].(string); strings.Contains(s, want) {
				return
			} else if time.Now().After(end) {
				t.Fatalf("%q never stands on the screen: %v", want, m)
			}
		}
	}
	screen("30 120")
	if m := manage(t, h, map[string]any{"action": "resize", "session_id": id, "rows": 10, "cols": 40}); m["status"] != "ok" || m["size"] == nil {
		t.Errorf("%v", m)
	}
	manage(t, h, map[string]any{"action": "write", "session_id": id, "data": "wrx", "keys": []string{"backspace", "enter"}})
	screen("10 40")
	screen("got wr")
	if r := run(t, h, `{"command": "test -t 0 && tty | cut -c1-5; exit 4", "pty": true}`); r.Output != "/dev/" || r.ExitCode != 4 {
		t.Errorf("in the foreground: %s", r.text)
	}
}

// A83: what is written to a shell, an interpreter or an SQL client is judged as its program text, line by line as it is sent off.
func TestProcess_InputIsJudged(t *testing.T) {
	type step struct {
		data string
		keys []string
		acts []string // what each act holds
	}
	for name, tc := range map[string]struct {
		command string
		pty     bool
		steps   []step
	}{
		"a shell":             {"bash", false, []step{{"rm -rf ", nil, nil}, {"build\n", nil, []string{"bash <<'HERMES_INPUT'\nrm -rf build\n"}}}},
		"two lines":           {"bash", false, []step{{"a\nb\n", nil, []string{"\na\nb\n"}}}},
		"a line that goes on": {"bash", false, []step{{"rm \\\n", nil, []string{"rm \\"}}, {"-rf x\n", nil, []string{"rm \\\n-rf x"}}}},
		"behind cd":           {"cd / && exec cat", false, []step{{"x\n", nil, []string{"x"}}}},
		"edited":              {"PS1='$ ' bash --norc --noprofile", true, []step{{"m -rf", []string{"home"}, nil}, {"r", []string{"end"}, nil}, {" x", []string{"enter"}, []string{"rm -rf x"}}}},
		"taken back":          {"PS1='$ ' bash --norc --noprofile", true, []step{{"rm", []string{"ctrl-u"}, nil}, {"ls", []string{"enter"}, []string{"\nls\n"}}}},
		"a name given before": {"sh", false, []step{{"alias zz=rm\n", nil, []string{"alias"}}, {"ls\n", nil, []string{"\nls\n"}}, {"zz -rf /etc/x\n", nil, []string{"alias zz=rm\nzz -rf"}}}},
		"a directory entered": {"sh", false, []step{{"cd /etc\n", nil, []string{"cd"}}, {"rm -rf x\n", nil, []string{"cd /etc\nrm -rf x"}}}},
		"asked about before":  {"sh", false, []step{{"d=x; rm -rf $d\n", nil, []string{"rm"}}, {"echo $d\n", nil, []string{"INPUT'\necho $d\n"}}}},
		"Python":              {"python3 -i", false, []step{{"import os\n", nil, []string{"python3 -i <<'HERMES_INPUT'\nimport os"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			h := keeping(t)
			id := begin(t, h, map[string]any{"command": tc.command, "pty": tc.pty, "keep_stdin": !tc.pty})
			for _, s := range tc.steps {
				m, acts, err := managed(t, h, map[string]any{"action": "write", "session_id": id, "data": s.data, "keys": s.keys})
				if err != nil || m["status"] != "ok" || len(acts) != len(s.acts) {
					t.Fatalf("%+v: %v, %+v, %v", s, m, acts, err)
				}
				for i, a := range acts {
					if a.Kind != tool.ActionCommand || !strings.Contains(a.Text, s.acts[i]) {
						t.Errorf("%q is not in %+v", s.acts[i], a)
					}
				}
			}
		})
	}
	h := keeping(t)
	id := begin(t, h, map[string]any{"command": "bash --norc", "pty": true})
	if m := manage(t, h, map[string]any{"action": "write", "session_id": id, "keys": []string{"up", "enter"}}); m["error"] == nil {
		t.Errorf("a line that nobody knows is sent off: %v", m)
	}
}
