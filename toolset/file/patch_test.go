//go:build linux || darwin

package file_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/hermes-runtime/hermes/environment"
)

func TestPatch_ReplacesAndShowsTheDiff(t *testing.T) { // §8
	h := here(t)
	h.put("a.py", "def f():\n    return 1\n")
	r := h.do("patch", m{"path": "a.py", "old_string": "return 1", "new_string": "return 2"})
	if !r.Success || r.MatchStrategy != "exact" || len(r.FilesModified) != 1 || strings.Contains(r.text, `"error"`) {
		t.Errorf("%s", r.text)
	}
	mention(t, r.Diff, "-    return 1\n+    return 2\n", "--- a/a.py")
	h.holds("a.py", "def f():\n    return 2\n")
}

func TestPatch_ArgumentsThatMeanNothing_PAT7(t *testing.T) {
	h := here(t)
	h.put("a.txt", "x\ny\nx\n")
	for _, c := range []struct {
		args m
		says string
	}{
		{m{"path": "a.txt", "old_string": "", "new_string": "z"}, "write_file"},
		{m{"path": "a.txt", "old_string": "x", "new_string": "x"}, "identical"},
		{m{"path": "a.txt", "old_string": "x\r\n", "new_string": "x\n"}, "identical"},
		{m{"path": "a.txt", "new_string": "x"}, "old_string"},
		{m{"path": "a.txt", "old_string": "x"}, "new_string"},
		{m{"old_string": "x", "new_string": "z"}, "path"},
		{m{"path": "a.txt", "old_string": "x", "new_string": "z"}, "2 times"},
		{m{"path": "a.txt", "old_string": "nowhere at all", "new_string": "z"}, "not found"},
		{m{"path": "b.txt", "old_string": "x", "new_string": "z"}, "no such file"},
		{m{"mode": "patch"}, "patch"},
	} {
		r := h.do("patch", c.args)
		mention(t, r.Error, c.says)
		if strings.Contains(r.Advice, "read_file") != (c.says == "not found") {
			t.Errorf("%v: hint %q", c.args, r.Advice)
		}
	}
	h.holds("a.txt", "x\ny\nx\n")
}

func TestPatch_TheThirdFailureAdvisesAnotherWay_PAT8(t *testing.T) {
	h := here(t)
	h.put("a.txt", "x\n")
	miss := m{"path": "a.txt", "old_string": "nowhere", "new_string": "z"}
	h.do("patch", miss)
	if r := h.do("patch", miss); strings.Contains(r.Advice, "write_file") {
		t.Errorf("%s", r.text)
	}
	mention(t, h.do("patch", miss).Advice, "write_file", "3")
	h.do("patch", m{"path": "a.txt", "old_string": "x", "new_string": "y"})
	if r := h.do("patch", miss); strings.Contains(r.Advice, "write_file") {
		t.Errorf("%s", r.text)
	}
}

func TestPatch_UndecodableBytesStay_ENC2(t *testing.T) {
	h := here(t)
	h.put("old.txt", "gr\xfc\xdfe\nnext\n")
	if r := h.do("patch", m{"path": "old.txt", "old_string": "next", "new_string": "last"}); !r.Success {
		t.Fatalf("%s", r.text)
	}
	h.holds("old.txt", "gr\xfc\xdfe\nlast\n")
	mention(t, h.do("patch", m{"path": "old.txt", "old_string": "gr\uFFFD\uFFFDe", "new_string": "x"}).Error, "line 1", "unknown-8bit")
	h.holds("old.txt", "gr\xfc\xdfe\nlast\n")
}

func TestPatch_V4ADoesAllOrNothing_V4A5(t *testing.T) {
	h := here(t)
	h.put("a.txt", "one\ntwo\nthree\n")
	h.put("gone.txt", "bye\n")
	p := h.put("old.sh", "#!/bin/sh\necho hi\n")
	os.Chmod(p, 0o755)
	text := "Here is it:\n```\n*** Begin Patch\n***Update File:a.txt\n@@\n one\n-two\n+2\n*** Add File: sub/new.txt\n+hello\n+\n+end\n" +
		"*** Delete File: gone.txt\n*** Move File: old.sh -> bin/new.sh\n@@\n-echo hi\n+echo ho\n*** End Patch\n```\n"
	r := h.do("patch", m{"mode": "patch", "patch": text})
	if !r.Success {
		t.Fatalf("%s", r.text)
	}
	h.holds("a.txt", "one\n2\nthree\n")
	h.holds("sub/new.txt", "hello\n\nend\n")
	h.holds("bin/new.sh", "#!/bin/sh\necho ho\n")
	if info, _ := os.Stat(h.path("bin/new.sh")); info.Mode().Perm() != 0o755 {
		t.Errorf("mode %v", info.Mode())
	}
	for _, n := range []string{"gone.txt", "old.sh"} {
		if _, err := os.Stat(h.path(n)); err == nil {
			t.Errorf("%s is still there", n)
		}
	}
	mention(t, r.Diff, "-bye", "+++ /dev/null", "rename from old.sh", "+hello")
}

func TestPatch_V4AInvalidWritesNothing_V4A3_V4A5(t *testing.T) {
	h := here(t)
	h.put("a.txt", "one\ntwo\n")
	h.put("b.txt", "x\n")
	good := "*** Update File: a.txt\n@@\n-one\n+1\n"
	for name, c := range map[string]struct{ patch, says string }{
		"missing lines":   {"*** Update File: b.txt\n@@\n-nowhere\n+y\n", "not in"},
		"add over":        {"*** Add File: b.txt\n+y\n", "exists"},
		"delete nothing":  {"*** Delete File: none.txt\n", "none.txt"},
		"move over":       {"*** Move File: b.txt -> a2.txt\n*** Add File: a2.txt\n+x\n", "same path"},
		"move to nothing": {"*** Move File: b.txt\n", "target"},
		"twice":           {"*** Delete File: ./a.txt\n", "same path"},
		"leaving":         {"*** Add File: ../../out.txt\n+x\n", "workspace"},
		"no change":       {"*** Update File: b.txt\n@@\n x\n", "changes nothing"},
		"no hunk":         {"*** Update File: b.txt\n", "no hunk"},
		"stray":           {"*** Update File: b.txt\n@@\n-x\n+y\nstray\n", "line 10"},
		"guarded":         {"*** Add File: /etc/hermes\n+x\n", "guarded"},
	} {
		r := h.do("patch", m{"mode": "patch", "patch": "*** Begin Patch\n" + good + c.patch + "*** End Patch"})
		if r.Success || !strings.Contains(r.Error, c.says) {
			t.Errorf("%s: %s", name, r.text)
		}
		h.holds("a.txt", "one\ntwo\n")
		h.holds("b.txt", "x\n")
	}
}

func TestPatch_V4AHalfWayIsTakenBack_V4A5(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Log("as root nothing is read-only: the failing write is one below a file")
	}
	h := here(t)
	h.put("a.txt", "one\n")
	h.put("gone.txt", "bye\n")
	h.put("file", "x\n")
	r := h.do("patch", m{"mode": "patch", "patch": "*** Update File: a.txt\n@@\n-one\n+1\n*** Add File: new/n.txt\n+n\n*** Delete File: gone.txt\n*** Add File: new/n.txt/below\n+x\n"})
	if r.Success {
		t.Fatalf("%s", r.text)
	}
	mention(t, r.Error, "taken back")
	h.holds("a.txt", "one\n")
	h.holds("gone.txt", "bye\n")
	if _, err := os.Stat(h.path("new")); err == nil {
		t.Error("a directory was left")
	}
}

func TestPatch_V4AHintsAndOrder_V4A2_V4A4(t *testing.T) {
	for name, c := range map[string]struct{ file, patch, want, says string }{
		"a hint tells two apart":      {"def a():\n    x = 1\n\ndef b():\n    x = 1\n", "@@ def b():\n-    x = 1\n+    x = 2\n", "def a():\n    x = 1\n\ndef b():\n    x = 2\n", ""},
		"the first of two":            {"def a():\n    x = 1\n\ndef b():\n    x = 1\n", "@@ def a():\n-    x = 1\n+    x = 2\n", "def a():\n    x = 2\n\ndef b():\n    x = 1\n", ""},
		"without a hint":              {"x\nx\n", "@@\n-x\n+y\n", "", "2 times"},
		"a wrong hint":                {"x\n", "@@ def gone\n-x\n+y\n", "", "hint"},
		"in order":                    {"a\nb\na\n", "@@\n b\n-a\n+A\n@@\n-a\n+B\n", "", "before"},
		"an empty line is context":    {"a\n\nb\n", "@@\n a\n\n-b\n+c\n", "a\n\nc\n", ""},
		"at the end":                  {"x\ny\nx\n", "@@\n-x\n+z\n*** End of File\n", "x\ny\nz\n", ""},
		"additions go to the end":     {"a\n", "@@\n+b\n", "a\nb\n", ""},
		"additions behind their hint": {"def a():\n    pass\ntail\n", "@@ def a():\n+    first()\n", "def a():\n    first()\n    pass\ntail\n", ""},
		"signs before signs":          {"* a\n@ b\n| c\n", "@@\n * a\n-@ b\n+@ B\n | c\n", "* a\n@ B\n| c\n", ""},
		"no break at the end":         {"a\nb", "@@\n-b\n+c\n", "a\nc", ""},
		"appended there":              {"a\nb", "@@\n b\n+c\n", "a\nb\nc", ""},
		"loose indent":                {"\tif x {\n\t\ty()\n\t}\n", "@@\n if x {\n-    y()\n+    z()\n+    w()\n }\n", "\tif x {\n\t\tz()\n\t\tw()\n\t}\n", ""},
		"CRLF":                        {"a\r\nb\r\n", "@@\n-b\n+c\n+d\n", "a\r\nc\r\nd\r\n", ""},
	} {
		h := here(t)
		h.put("f", c.file)
		r := h.do("patch", m{"mode": "patch", "patch": "*** Begin Patch\n*** Update File: f\n" + c.patch + "*** End Patch\n"})
		if c.says != "" {
			mention(t, r.Error, c.says)
			h.holds("f", c.file)
			continue
		}
		if !r.Success {
			t.Errorf("%s: %s", name, r.text)
			continue
		}
		h.holds("f", c.want)
	}
}

func TestPatch_EditsOfOneFileAtOnceAllTakePlace(t *testing.T) { // WRI-5, XR-5
	h := here(t)
	const edits = 24
	var before, after strings.Builder
	for i := range edits {
		fmt.Fprintf(&before, "key %d is old\n", i)
		fmt.Fprintf(&after, "key %d is new\n", i)
	}
	h.put("a.txt", before.String())
	var all sync.WaitGroup
	results := make([]res, edits)
	for i := range edits {
		all.Go(func() {
			was, is := fmt.Sprintf("key %d is old", i), fmt.Sprintf("key %d is new", i)
			args := m{"path": "a.txt", "old_string": was, "new_string": is}
			if i%2 == 1 {
				args = m{"mode": "patch", "patch": "*** Update File: ./a.txt\n-" + was + "\n+" + is}
			}
			results[i] = h.as(fmt.Sprint("task", i%3), h.caller).do("patch", args)
		})
	}
	all.Wait()
	for i, r := range results {
		if r.Error != "" {
			t.Errorf("edit %d: %s", i, r.Error)
		}
	}
	h.holds("a.txt", after.String())
}

// contested is a place in which somebody else changes the file before each of the next replacements.
type contested struct {
	environment.Environment
	left *int
}

type contestedFiles struct {
	environment.FS
	left *int
}

func (c contested) Files() environment.FS { return contestedFiles{c.Environment.Files(), c.left} }

func (c contestedFiles) Guarded(g environment.Guard) environment.FS {
	return contestedFiles{c.FS.(environment.Guarder).Guarded(g), c.left}
}

func (c contestedFiles) Replace(ctx context.Context, p environment.Path, content io.Reader, o environment.ReplaceOptions) (environment.FileInfo, error) {
	if *c.left > 0 {
		*c.left--
		f, err := os.OpenFile(string(p), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			return environment.FileInfo{}, err
		}
		fmt.Fprintln(f, "theirs") //nolint:errcheck // the test looks at the file
		f.Close()
	}
	return c.FS.Replace(ctx, p, content, o)
}

func TestPatch_WhatAnotherProcessChangesMeanwhileStays(t *testing.T) { // WRI-6
	for others, done := range map[int]bool{0: true, 1: true, 3: true, 100: false} {
		h := here(t)
		h.put("a.txt", "mine\n")
		left := others
		h.around = func(e environment.Environment) environment.Environment { return contested{e, &left} }
		r := h.do("patch", m{"path": "a.txt", "old_string": "mine", "new_string": "changed"})
		if r.Success != done {
			t.Errorf("%d others: %s", others, r.text)
		}
		want := "mine\n"
		if done {
			want = "changed\n"
		} else {
			mention(t, r.Error, "changed since it was read")
		}
		h.holds("a.txt", want+strings.Repeat("theirs\n", others-left))
	}
}
