//go:build unix

package hermes_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	hermes "github.com/hermes-runtime/hermes"
	"github.com/hermes-runtime/hermes/tool"
)

// ARG-10: a number that a tool clamps is described with its range, and taken whatever it is.
func TestArguments_WhatIsClampedIsNotEnforced(t *testing.T) {
	rt, dir := open(t, hermes.Options{})
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	text, err := rt.Definitions(context.Background(), hermes.Request{Dialect: hermes.MCP})
	if err != nil {
		t.Fatal(err)
	}
	type property struct {
		Description      string
		Minimum, Maximum *float64
	}
	var defs []struct {
		Name        string
		InputSchema struct{ Properties map[string]property }
	}
	if err := json.Unmarshal([]byte(text), &defs); err != nil {
		t.Fatal(err)
	}
	shown := map[string]property{}
	for _, d := range defs {
		for name, p := range d.InputSchema.Properties {
			shown[d.Name+"."+name] = p
		}
	}
	for _, tc := range []struct{ name, says, args string }{
		{"read_file.limit", "2000", `{"path":"a.txt","limit":1000000}`},
		{"read_file.offset", "from 1", `{"path":"a.txt","offset":-5}`},
		{"search_files.limit", "50", `{"pattern":"one","limit":1000000}`},
		{"search_files.context", "20", `{"pattern":"one","context":1000}`},
	} {
		p, ok := shown[tc.name]
		if !ok || !strings.Contains(p.Description, tc.says) || p.Minimum != nil || p.Maximum != nil {
			t.Errorf("%s is shown as %+v; want %q in its description and no bound", tc.name, p, tc.says)
		}
		toolName, _, _ := strings.Cut(tc.name, ".")
		if r := rt.Call(context.Background(), tool.Request{Name: toolName, Arguments: json.RawMessage(tc.args)}); r.Status != tool.StatusOK {
			t.Errorf("%s %s: %s", toolName, tc.args, r.JSON)
		}
	}
}

// held is a tool that takes a path as it is given, and ends when it is told to.
type held struct {
	*tool.Function
	write bool
}

func (h held) Scope(_ context.Context, c *tool.Call) ([]tool.Access, error) {
	var a struct{ Path string }
	err := json.Unmarshal(c.Args, &a)
	return []tool.Access{{Path: a.Path, Write: h.write}}, err
}

// BAT-3: the file system decides which names are one file.
func TestBatch_NamesOfOneFileConflict(t *testing.T) {
	began := make(chan struct{}, 1) // the second call
	var alone time.Duration         // how long the first one waits for it
	run := func(ctx context.Context, c *tool.Call, _ struct {
		Path string `json:"path"`
	}) (any, error) {
		if c.ID == "second" {
			began <- struct{}{}
			return "", nil
		}
		select {
		case <-began:
			return "beside another", nil
		case <-time.After(alone):
			return "alone", nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	named := func(name string, write bool) tool.Tool {
		return held{tool.Func(tool.Spec{Name: name, Toolset: "test", Description: "Held.", Effects: tool.PathScoped}, run), write}
	}
	rt, dir := open(t, hermes.Options{Tools: []tool.Tool{named("look", false), named("edit", true)}})
	_, told := call(t, rt, "terminal", map[string]any{"command": "echo ~"})
	home := fmt.Sprint(told["output"])
	for _, d := range []string{"sub/deep", "real"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("real", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		first, path, second, other string
		conflict                   bool
	}{
		{"edit", "notes.txt", "look", "sub/../notes.txt", true},
		{"edit", "./notes.txt", "look", filepath.Join(dir, "notes.txt"), true},
		{"edit", "real/a.txt", "look", "link/a.txt", true},
		{"edit", "link/new/a.txt", "edit", "real/new", true},
		{"look", ".", "edit", "sub/deep/x.txt", true},
		{"look", "link", "edit", "real/x.txt", true},
		{"edit", "~/x", "edit", filepath.Join(home, "x"), true},
		{"edit", "notes", "edit", "notes.txt", false},
		{"edit", "real/a.txt", "edit", "link/b.txt", false},
		{"look", "sub", "look", "sub/deep", false},
		{"look", "sub", "edit", "real/x.txt", false},
	} {
		request := func(id, name, path string) tool.Request {
			args, _ := json.Marshal(map[string]string{"path": path})
			return tool.Request{ID: id, Name: name, Arguments: args}
		}
		alone = time.Minute
		if tc.conflict {
			alone = 40 * time.Millisecond // long enough for a call that doesn't wait to begin, mostly
		}
		rs := rt.CallBatch(context.Background(), []tool.Request{request("first", tc.first, tc.path), request("second", tc.second, tc.other)})
		if len(began) > 0 {
			<-began
		}
		want := `{"result":"beside another"}`
		if tc.conflict {
			want = `{"result":"alone"}`
		}
		if rs[0].JSON != want || rs[1].Status != tool.StatusOK {
			t.Errorf("%s %s, %s %s: got %s, %s; want %s", tc.first, tc.path, tc.second, tc.other, rs[0].JSON, rs[1].JSON, want)
		}
	}
}

// BAT-3: a call sees what an earlier one of its batch wrote under another name.
func TestBatch_LaterCallsSeeEarlierWrites(t *testing.T) {
	rt, dir := open(t, hermes.Options{})
	for _, d := range []string{"sub", "real"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("real", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	request := func(name string, args map[string]any) tool.Request {
		text, _ := json.Marshal(args)
		return tool.Request{Name: name, Arguments: text}
	}
	rs := rt.CallBatch(context.Background(), []tool.Request{
		request("write_file", map[string]any{"path": "notes.txt", "content": "violet\n"}),
		request("read_file", map[string]any{"path": "sub/../notes.txt"}),
		request("write_file", map[string]any{"path": "real/a.txt", "content": "indigo\n"}),
		request("read_file", map[string]any{"path": "link/a.txt"}),
		request("search_files", map[string]any{"pattern": "indigo", "path": "."}),
		request("patch", map[string]any{"mode": "patch", "path": "elsewhere.txt", "patch": "*** Begin Patch\n*** Update File: notes.txt\n-violet\n+crimson\n*** End Patch"}),
		request("read_file", map[string]any{"path": "./notes.txt"}),
	})
	for i, want := range map[int]string{1: "violet", 3: "indigo", 4: "real/a.txt", 6: "crimson"} {
		if rs[i].Status != tool.StatusOK || !strings.Contains(rs[i].JSON, want) {
			t.Errorf("call %d: %s lacks %s", i, rs[i].JSON, want)
		}
	}
}

// SIZ-7: read_file keeps within its budget by itself, loses no line, and says where to go on.
func TestReadFile_KeepsItsBudgetAndNamesTheNextOffset(t *testing.T) {
	rt, dir := open(t, hermes.Options{})
	var b strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&b, "%d %s\n", i+1, strings.Repeat("x", 190))
	}
	if err := os.WriteFile(filepath.Join(dir, "long.txt"), []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	const budget = 100_000 // file_read_max_chars
	at, reads := 1, 0
	for more := true; more; reads++ {
		r, out := call(t, rt, "read_file", map[string]any{"path": "long.txt", "offset": at, "limit": 2000})
		content := fmt.Sprint(out["content"])
		if r.Status != tool.StatusOK || r.Spill != nil || len(content) > budget {
			t.Fatalf("offset %d: %d characters, spill %v: %.200s", at, len(content), r.Spill, r.JSON)
		}
		lines := strings.Split(content, "\n")
		if want := fmt.Sprintf("%d|%d x", at, at); !strings.HasPrefix(lines[0], want) {
			t.Fatalf("offset %d begins with %.20q", at, lines[0])
		}
		at += len(lines)
		if more = out["truncated"] == true; more && !strings.Contains(fmt.Sprint(out["hint"]), fmt.Sprintf("offset=%d", at)) {
			t.Fatalf("%v does not name offset %d", out["hint"], at)
		}
		if reads > 20 {
			t.Fatal("it never ends")
		}
	}
	if at != 2001 || reads < 4 {
		t.Errorf("%d lines in %d reads", at-1, reads)
	}
}

// CON-7: a backend that doesn't exist is named, beside those that do, and nothing runs.
func TestBackend_UnknownNameIsAnErrorThatListsTheKnown(t *testing.T) {
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "config.yaml"), []byte("terminal:\n  backend: dokcer\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	rt, err := hermes.New(hermes.Options{Home: home, Dir: t.TempDir()}).Open(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer rt.Close(context.Background())
	r := rt.Call(context.Background(), tool.Request{Name: "terminal", Arguments: json.RawMessage(`{"command":"true"}`)})
	for _, want := range []string{"dokcer", "local", "terminal.backend"} {
		if r.Status == tool.StatusOK || !strings.Contains(r.JSON, want) {
			t.Errorf("%s lacks %q", r.JSON, want)
		}
	}
}

// TRM-1: in a script the terminal has its foreground form only; whatever else is asked for is refused by its name, and nothing runs.
func TestScript_TerminalIsForegroundOnly(t *testing.T) {
	rt, dir := open(t, hermes.Options{})
	for _, name := range []string{"background", "pty", "notify_on_complete", "watch_patterns"} {
		code := "from hermes_tools import terminal\ntry:\n    print(terminal('touch ran', " + name + "=True))\nexcept Exception as e:\n    print('raised', e)\n"
		r, out := call(t, rt, "execute_code", map[string]any{"code": code})
		if says := fmt.Sprint(out["output"]); !strings.Contains(says, name) || !strings.Contains(says, "raised") && !strings.Contains(says, "error") {
			t.Errorf("%s: %s", name, r.JSON)
		}
		if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
			t.Fatalf("%s: the command ran", name)
		}
	}
}
