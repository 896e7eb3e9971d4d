//go:build linux || darwin

package file_test

import (
	"os"
	"strings"
	"syscall"
	"testing"
)

// stats gives mode and inode of files of the session.
func (h *host) stats(name string) (os.FileMode, uint64) {
	h.t.Helper()
	i, err := os.Lstat(h.path(name))
	if err != nil {
		h.t.Fatal(err)
	}
	return i.Mode().Perm(), i.Sys().(*syscall.Stat_t).Ino //nolint:forcetypeassert // on Unix it is one
}

func (h *host) patch(lines ...string) res {
	h.t.Helper()
	return h.do("patch", m{"mode": "patch", "patch": strings.Join(lines, "\n") + "\n"})
}

func TestPatch_TwoHardLinksOfOneFile_V4A3(t *testing.T) {
	h := here(t)
	link := func() {
		t.Helper()
		os.Remove(h.path("b"))
		h.put("a", "one\ntwo\n")
		if err := os.Link(h.path("a"), h.path("b")); err != nil {
			t.Fatal(err)
		}
	}
	for _, second := range [][]string{
		{"*** Update File: b", "-two", "+2"}, {"*** Delete File: b"}, {"*** Move File: b -> c", "-two", "+2"}, {"*** Move File: b -> c"},
	} {
		link()
		r := h.patch(append([]string{"*** Update File: a", "-one", "+1"}, second...)...)
		mention(t, r.Error, "validation failed", strings.TrimPrefix(second[0], "*** "), "Update File: a", "hard link")
		h.holds("a", "one\ntwo\n")
		h.holds("b", "one\ntwo\n")
	}
	link()
	if r := h.patch("*** Update File: a", "-one", "+1"); !r.Success { // WRI-3
		t.Fatalf("%s", r.text)
	}
	h.holds("b", "1\ntwo\n")
	link()
	if r := h.patch("*** Delete File: a", "*** Delete File: b"); !r.Success || len(r.FilesDeleted) != 2 { // names may both go
		t.Errorf("%s", r.text)
	}
}

func TestPatch_DeletesAndMovesAreTakenBack_V4A5(t *testing.T) {
	h := here(t)
	h.put("edited", "one\n")
	h.put("moved", "two\n")
	h.put("plain", "\x00\xff\r\n")
	h.put("deleted", "gr\xfcn, no end")
	for name, mode := range map[string]os.FileMode{"edited": 0o640, "moved": 0o750, "plain": 0o444, "deleted": 0o600} {
		if err := os.Chmod(h.path(name), mode); err != nil {
			t.Fatal(err)
		}
	}
	r := h.patch("*** Update File: edited", "-one", "+1", "*** Move File: moved -> deep/er/moved", "-two", "+2", "*** Move File: plain -> deep/plain",
		"*** Delete File: deleted", "*** Add File: blocked", "+x", "*** Add File: blocked/below", "+x")
	mention(t, r.Error, "blocked/below", "taken back")
	h.holds("edited", "one\n")
	h.holds("moved", "two\n")
	h.holds("plain", "\x00\xff\r\n")
	h.holds("deleted", "gr\xfcn, no end")
	for name, mode := range map[string]os.FileMode{"edited": 0o640, "moved": 0o750, "plain": 0o444, "deleted": 0o600} {
		if got, _ := h.stats(name); got != mode {
			t.Errorf("%s has mode %v, had %v", name, got, mode)
		}
	}
	for _, name := range []string{"deep", "blocked"} {
		if _, err := os.Lstat(h.path(name)); err == nil {
			t.Errorf("%s is left", name)
		}
	}
}

func TestPatch_MovesAcrossFileSystems_V4A6(t *testing.T) {
	h := here(t)
	other := inMemory(t)
	var a, b syscall.Stat_t
	if syscall.Stat(h.dir, &a) != nil || syscall.Stat(other, &b) != nil || a.Dev == b.Dev {
		t.Skip("there is one file system only")
	}
	h.put("run.sh", "#!/bin/sh\r\necho one\r\n")
	if err := os.Chmod(h.path("run.sh"), 0o751); err != nil {
		t.Fatal(err)
	}
	target := other + "/bin/run.sh"
	r := h.patch("*** Move File: run.sh -> "+target, "-echo one", "+echo two", "*** Add File: blocked", "+x", "*** Add File: blocked/below", "+x")
	mention(t, r.Error, "taken back")
	h.holds("run.sh", "#!/bin/sh\r\necho one\r\n")
	if mode, _ := h.stats("run.sh"); mode != 0o751 {
		t.Errorf("taken back with mode %v", mode)
	}
	if _, err := os.Stat(other + "/bin"); err == nil {
		t.Error("the target's directory is left")
	}
	if r := h.patch("*** Move File: run.sh -> "+target, "-echo one", "+echo two"); !r.Success {
		t.Fatalf("%s", r.text)
	}
	text, err := os.ReadFile(target)
	info, _ := os.Stat(target)
	if string(text) != "#!/bin/sh\r\necho two\r\n" || err != nil || info.Mode().Perm() != 0o751 {
		t.Errorf("%q with %v, %v", text, info.Mode(), err)
	}
	if _, err := os.Lstat(h.path("run.sh")); err == nil {
		t.Error("the source is still there")
	}
	h.put("taken", "mine\n")
	mention(t, h.patch("*** Move File: taken -> "+target).Error, "exists already")
}
