package config

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func write(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
	return file
}

func holds(t *testing.T, file, want string) {
	t.Helper()
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
}

// A68: entries with a scope are maps, and each says when it came.
func TestAddItems_MapsAndComments(t *testing.T) {
	file := write(t, "# mine\ncommand_allowlist:   # approved\n  - 'a'  # first\n  # between\n  - b\nz: 1\n")
	err := AddItems(t.Context(), file, "command_allowlist", NewItem{Text: Quoted("c d"), Comment: "added 2026-01-31 by ann"},
		NewItem{Text: `{key: "e", exact: "cat \"x\" | sh"}`}, NewItem{Text: Quoted("a")})
	if err != nil {
		t.Fatal(err)
	}
	holds(t, file, "# mine\ncommand_allowlist:   # approved\n  - 'a'  # first\n  # between\n  - b\n  - \"c d\" # added 2026-01-31 by ann\n"+
		"  - {key: \"e\", exact: \"cat \\\"x\\\" | sh\"}\nz: 1\n")
	d, err := Load(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []Item{{"a", 3, "first"}, {"b", 5, ""}, {"c d", 6, "added 2026-01-31 by ann"},
		{map[string]any{"key": "e", "exact": `cat "x" | sh`}, 7, ""}}
	if diff := cmp.Diff(want, d.Items("command_allowlist")); diff != "" {
		t.Error(diff)
	}
	if err := AddItems(t.Context(), file, "command_allowlist", NewItem{Text: "[a"}); err == nil {
		t.Error("an item that is no YAML was added")
	}
}

// A67: a value that is no list is one odd item with its line.
func TestItems_WhatIsNoListIsOneOddItem(t *testing.T) {
	d, err := Parse("f", "x: 1\ncommand_allowlist: \"*\"\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Item{{[]any{"*"}, 2, ""}}, d.Items("command_allowlist")); diff != "" {
		t.Error(diff)
	}
	if got := d.Items("nothing"); got != nil {
		t.Errorf("a missing list has %v", got)
	}
	m, err := Parse("f", "l:\n  -\n    key: a\n  - key: b\n    by: c # no\n  - - d\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []Item{{map[string]any{"key": "a"}, 3, ""}, {map[string]any{"key": "b", "by": "c"}, 4, "no"}, {[]any{"d"}, 6, ""}}
	if diff := cmp.Diff(want, m.Items("l")); diff != "" {
		t.Error(diff)
	}
}

// A69: forgetting takes the entry, and nothing else.
func TestRemoveItems_TakesTheItemAndNothingElse(t *testing.T) {
	for _, c := range []struct{ name, old, want string }{
		{"block", "l: # c\n  - a\n  # above b\n  - b # why\n  - c\nz: 1\n", "l: # c\n  - a\n  # above b\n  - c\nz: 1\n"},
		{"last one", "y: 2\nl:\n- b\nz: 1\n", "y: 2\nl:\nz: 1\n"},
		{"flow", "l: [a, 'b', \"c, d\"]  # x\n", "l: [a, \"c, d\"]  # x\n"},
		{"flow alone", "l: [b]\n", "l: []\n"},
		{"map", "l:\n  - key: b\n    exact: x\n  - a\n", "l:\n  - a\n"},
		{"flow map", "l:\n  - {key: b, exact: \"x, y\"}\n  - a\n", "l:\n  - a\n"},
		{"twice", "l: [b, a, b]\n", "l: [a]\n"},
		{"absent", "l: [a]\n", "l: [a]\n"},
		{"no end of line", "l:\n  - a\n  - b", "l:\n  - a\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := write(t, c.old)
			n, err := RemoveItems(t.Context(), file, "l", func(i Item) bool {
				m, _ := i.Value.(map[string]any)
				return i.Value == "b" || m["key"] == "b"
			})
			if err != nil || (n == 0) != (c.name == "absent") {
				t.Errorf("%d removed, %v", n, err)
			}
			holds(t, file, c.want)
		})
	}
	file := write(t, "l: [a,\n  b]\n")
	if _, err := RemoveItems(t.Context(), file, "l", func(i Item) bool { return i.Value == "b" }); err == nil {
		t.Error("a list in brackets over lines was edited")
	}
	holds(t, file, "l: [a,\n  b]\n")
}

// A68: fifty processes at once, and every comment is still there.
func TestAdd_FiftyProcessesAtOnceLoseNothing(t *testing.T) {
	if item, file := os.Getenv("HERMES_TEST_ADD"), os.Getenv("HERMES_TEST_FILE"); item != "" {
		if err := Add(t.Context(), file, "command_allowlist", item); err != nil {
			t.Fatal(err)
		}
		return
	}
	const processes = 50
	text := "# head\nterminal: # of mine\n  timeout: 5 # seconds\ncommand_allowlist: # opened\n  - first # by hand\n# tail\n"
	file := write(t, text)
	link := filepath.Join(t.TempDir(), "link.yaml")
	if err := os.Symlink(file, link); err != nil {
		t.Skip(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range processes {
		wg.Go(func() {
			cmd := exec.CommandContext(t.Context(), exe, "-test.run=^TestAdd_FiftyProcessesAtOnceLoseNothing$")
			cmd.Env = append(os.Environ(), fmt.Sprintf("HERMES_TEST_ADD=key %d", i), "HERMES_TEST_FILE="+[]string{file, link}[i%2])
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("process %d: %v\n%s", i, err, out)
			}
		})
	}
	wg.Wait()
	d, err := Load(file, nil)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(d.Items("command_allowlist")); n != processes+1 {
		t.Errorf("%d items, want %d", n, processes+1)
	}
	got, _ := os.ReadFile(file)
	for line := range strings.Lines(text) {
		if !strings.Contains(string(got), line) {
			t.Errorf("the line %q is gone", line)
		}
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is %v, %v", info, err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the mode is %v, %v; want 0640", info.Mode(), err)
	}
}

// Where nothing is written down there is nothing to take out, and no file comes of it.
func TestRemoveItems_OfNoFileMakesNone(t *testing.T) {
	home := t.TempDir()
	for _, dir := range []string{home, filepath.Join(home, "not", "made")} {
		n, err := RemoveItems(t.Context(), filepath.Join(dir, "config.yaml"), "l", func(Item) bool { return true })
		if n != 0 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	}
	left, err := os.ReadDir(home)
	if err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}
