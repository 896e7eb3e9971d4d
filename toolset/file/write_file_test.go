//go:build linux || darwin

package file_test

import (
	"context"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/tool"
)

func TestWrite_CreatesWithParents_WRI4(t *testing.T) {
	h := here(t)
	r := h.do("write_file", m{"path": "a/b/c.txt", "content": "hi\r\nyou"})
	if !r.Created || !r.DirsCreated || r.BytesWritten != 7 || r.Resolved != h.path("a/b/c.txt") || strings.Contains(r.text, "error") {
		t.Errorf("%s", r.text)
	}
	h.holds("a/b/c.txt", "hi\r\nyou")
	if r := h.do("write_file", m{"path": "empty", "content": ""}); !r.Created || r.BytesWritten != 0 {
		t.Errorf("%s", r.text)
	}
}

func TestWrite_KeepsTheFormOfTheFile_ENC1_ENC2_ENC3(t *testing.T) {
	h := here(t)
	for _, c := range []struct{ name, before, content, after string }{
		{"crlf", "a\r\nb\r\n", "x\ny\n", "x\r\ny\r\n"},
		{"crlf given", "a\r\nb\r\n", "x\r\ny\n", "x\r\ny\r\n"},
		{"lf", "a\n", "x\r\ny\r\n", "x\ny\n"},
		{"mixed", "a\r\nb\n", "x\ny\r\n", "x\ny\r\n"},
		{"bom", "\uFEFFa\n", "x\n", "\uFEFFx\n"},
		{"bom twice", "\uFEFFa\n", "\uFEFFx\n", "\uFEFFx\n"},
		{"wide", string(writeAs("le", "a\r\n")), "ä\n", string(writeAs("le", "ä\r\n"))},
		{"eight bit", "gr\xfcn\n", "grün\n", "grün\n"},
	} {
		h.put(c.name, c.before)
		r := h.do("write_file", m{"path": c.name, "content": c.content})
		if r.Error != "" || r.BytesWritten != len(c.after) {
			t.Errorf("%s: %s", c.name, r.text)
		}
		h.holds(c.name, c.after)
		if c.name == "eight bit" {
			mention(t, r.Warning, "code page")
		}
	}
}

func TestWrite_TheSameContentWritesNothing_WRI8(t *testing.T) {
	h := here(t)
	p := h.put("a.txt", "same\n")
	past := time.Now().Add(-time.Hour)
	os.Chtimes(p, past, past)
	r := h.do("write_file", m{"path": "a.txt", "content": "same\n"})
	info, _ := os.Stat(p)
	if !r.Unchanged || r.Advice == "" || info.ModTime().After(past.Add(time.Second)) {
		t.Errorf("%s", r.text)
	}
}

func TestWrite_RefusedChangesNothing_GRD(t *testing.T) {
	h := here(t)
	h.put("../home/.ssh/id", "key")
	h.env["HERMES_WRITE_SAFE_ROOT"] = ""
	os.Symlink("../home/.ssh", h.path("s"))
	for _, p := range []string{"/etc/hermes-test", "~/.ssh/id", "s/id", "~/.hermes/auth.json", "~/.hermes/config.yaml", "/proc/self/mem"} {
		r := h.do("write_file", m{"path": p, "content": "x"})
		mention(t, r.Error, "guarded")
	}
	h.holds("../home/.ssh/id", "key")
	h.env["HERMES_WRITE_SAFE_ROOT"] = h.path("only")
	mention(t, h.do("write_file", m{"path": "new/dir/x", "content": ""}).Error, "only")
	if _, err := os.Stat(h.path("new")); err == nil {
		t.Error("a refused call made a directory")
	}
	if r := h.do("write_file", m{"path": "only/x", "content": "y"}); r.Error != "" {
		t.Errorf("%s", r.text)
	}
}

func TestWrite_OwnAnswersAndMarksAreRefused_GRD5_RED3(t *testing.T) {
	h := here(t)
	h.put("a.txt", "x\n")
	h.do("read_file", m{"path": "a.txt"})
	dup := h.do("read_file", m{"path": "a.txt"})
	var message string
	if i := strings.Index(dup.text, `"message":"`); i >= 0 {
		message, _, _ = strings.Cut(dup.text[i+len(`"message":"`):], `"`)
	}
	mention(t, h.do("write_file", m{"path": "a.txt", "content": message}).Error, "unchanged")
	if r := h.do("write_file", m{"path": "quote.txt", "content": message + strings.Repeat(" and much more", 100)}); r.Error != "" {
		t.Errorf("%s", r.text)
	}
	mention(t, h.do("write_file", m{"path": "a.txt", "content": "key: [redacted:API_KEY]\n"}).Error, "[redacted:API_KEY]")
	mention(t, h.do("patch", m{"path": "a.txt", "old_string": "x", "new_string": "[redacted:API_KEY]"}).Error, "[redacted:API_KEY]")
	h.holds("a.txt", "x\n")
	h.put("had.txt", "k: [redacted:API_KEY]\n")
	if r := h.do("write_file", m{"path": "had.txt", "content": "k: [redacted:API_KEY]\nmore\n"}); r.Error != "" {
		t.Errorf("%s", r.text)
	}
}

func TestWrite_WarnsOfWhatTheTaskDoesNotKnow_STL1(t *testing.T) {
	h := here(t)
	sibling := h.as("t2", tool.CallerModel)
	write := func(content string) res {
		t.Helper()
		return h.do("write_file", m{"path": "a.txt", "content": content})
	}
	p := h.put("a.txt", numberedLines(20))
	if r := write(numberedLines(21)); r.Warning != "" {
		t.Errorf("never read: %s", r.text)
	}
	if r := write(numberedLines(22)); r.Warning != "" {
		t.Errorf("own write: %s", r.text)
	}
	sibling.do("write_file", m{"path": "a.txt", "content": "theirs\n"})
	mention(t, write("mine\n").Warning, "another agent", "t2")
	os.WriteFile(p, []byte("outside\n"), 0o644)
	mention(t, write("again\n").Warning, "changed on disk")
	h.put("b.txt", numberedLines(20))
	h.do("read_file", m{"path": "b.txt", "limit": 5})
	mention(t, h.do("patch", m{"path": "b.txt", "old_string": "line 3\n", "new_string": "three\n"}).Warning, "part")
	h.env["HERMES_DISABLE_FILE_STATE_GUARD"] = "1"
	if r := h.do("patch", m{"path": "b.txt", "old_string": "line 4\n", "new_string": "four\n"}); r.Warning != "" {
		t.Errorf("%s", r.text)
	}
}

func TestLint_OnlyNewFaultsAreTold_LNT1_LNT2(t *testing.T) {
	h := here(t)
	r := h.do("write_file", m{"path": "a.json", "content": "{\"a\": }\n"})
	if r.Lint == nil || r.Lint.Status != "error" {
		t.Fatalf("%s", r.text)
	}
	mention(t, r.Lint.Output, "a.json:1")
	r = h.do("patch", m{"path": "a.json", "old_string": "{", "new_string": "\n{"})
	if r.Lint.Status != "ok" || r.Lint.Message == "" {
		t.Errorf("%s", r.text)
	}
	r = h.do("write_file", m{"path": "a.json", "content": "{\"a\": 1}\n"})
	if r.Lint.Status != "ok" || strings.Contains(r.text, "error") {
		t.Errorf("%s", r.text)
	}
	for name, bad := range map[string]string{"a.yaml": "a: [1\n", "a.toml": "a = \n", "a.go": "package x\nfunc (\n", "a.sh": "if true; then\n"} {
		if r := h.do("write_file", m{"path": name, "content": bad}); r.Lint == nil || r.Lint.Status != "error" {
			t.Errorf("%s: %s", name, r.text)
		}
		h.holds(name, bad)
	}
}

func TestWrite_LinksStay_WRI2_WRI3(t *testing.T) {
	h := here(t)
	p := h.put("a.txt", "x\n")
	os.Link(p, h.path("b.txt"))
	os.Symlink("a.txt", h.path("link"))
	os.Symlink("later.txt", h.path("dangling"))
	if r := h.do("write_file", m{"path": "link", "content": "y\n"}); !r.InPlace || r.Resolved != p {
		t.Errorf("%s", r.text)
	}
	h.holds("b.txt", "y\n")
	if r := h.do("write_file", m{"path": "dangling", "content": "z\n"}); !r.Created {
		t.Errorf("%s", r.text)
	}
	h.holds("later.txt", "z\n")
	for _, l := range []string{"link", "dangling"} {
		if info, err := os.Lstat(h.path(l)); err != nil || info.Mode()&os.ModeSymlink == 0 {
			t.Errorf("%s is no link any more", l)
		}
	}
}

func TestWrite_OutsideOfTheWorkspaceIsSaid_FIL6(t *testing.T) {
	h := here(t)
	if r := h.do("write_file", m{"path": "../out.txt", "content": "x\n"}); r.Warning == "" || !strings.HasSuffix(r.Resolved, "/out.txt") {
		t.Errorf("%s", r.text)
	}
	if r := h.do("write_file", m{"path": h.path("../abs.txt"), "content": "x\n"}); r.Warning != "" {
		t.Errorf("%s", r.text)
	}
}

// unreadable is a place in which nothing can be read, though it may be written.
type unreadable struct{ environment.Environment }

func (u unreadable) Files() environment.FS { return writeOnly{u.Environment.Files()} }

type writeOnly struct{ environment.FS }

func (writeOnly) Read(_ context.Context, p environment.Path, _, _ int64) (io.ReadCloser, error) {
	return nil, &fs.PathError{Op: "open", Path: string(p), Err: syscall.EACCES}
}

func TestWrite_AFileThatCanOnlyBeWrittenIsWritten_WRF(t *testing.T) {
	h := here(t)
	h.put("log", "before")
	if err := os.Chmod(h.path("log"), 0o200); err != nil {
		t.Fatal(err)
	}
	h.around = func(e environment.Environment) environment.Environment { return unreadable{e} } // to root every file is readable
	r := h.do("write_file", m{"path": "log", "content": "after"})
	if r.Error != "" || r.BytesWritten != 5 {
		t.Fatalf("%s", r.text)
	}
	info, err := os.Stat(h.path("log"))
	if err != nil || info.Mode().Perm() != 0o200 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if err := os.Chmod(h.path("log"), 0o600); err != nil {
		t.Fatal(err)
	}
	h.holds("log", "after")
	if r := h.do("patch", m{"path": "log", "old_string": "a", "new_string": "b"}); !strings.Contains(r.Error, "permission") {
		t.Errorf("an edit needs what it can't have: %s", r.text)
	}
}
