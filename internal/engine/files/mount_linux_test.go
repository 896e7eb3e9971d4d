package files_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hermes-runtime/hermes/environment"
)

// mount mounts for one test, and skips it where that isn't allowed.
func mount(t *testing.T, source, target, kind string, flags uintptr, data string) {
	t.Helper()
	if err := unix.Mount(source, target, kind, flags, data); err != nil {
		t.Skip("mounting isn't allowed here: ", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(target, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}

func TestReplace_AFullDiskLeavesTheOldFile(t *testing.T) { // WRI-9
	p := newPlace(t)
	w := string(p.path(""))
	mount(t, "tmpfs", w, "tmpfs", 0, "size=256k")
	p.put("f", strings.Repeat("old ", 1000))
	at := p.put("linked", "old")
	if err := os.Link(string(at), string(p.path("link"))); err != nil {
		t.Fatal(err)
	}
	big := strings.Repeat("new ", 200_000)
	for _, name := range []string{"f", "linked", "made/new"} {
		_, err := p.replace(p.path(name), big, environment.ReplaceOptions{Parents: true})
		if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	p.holds("f", strings.Repeat("old ", 1000))
	p.holds("link", "old")
	p.clean()
	left, err := os.ReadDir(w)
	if err != nil || len(left) != 3 {
		t.Errorf("%v are left, %v", left, err)
	}
}

func TestReplace_AReadOnlyDiskIsNamed(t *testing.T) { // WRI-9, FIL-5
	p := newPlace(t)
	w := string(p.path(""))
	mount(t, "tmpfs", w, "tmpfs", 0, "size=64k")
	at := p.put("f", "old")
	if err := unix.Mount("", w, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Skip(err)
	}
	for _, at := range []environment.Path{at, p.path("new")} {
		if _, err := p.replace(at, "new", environment.ReplaceOptions{}); !errors.Is(err, syscall.EROFS) {
			t.Errorf("%s: %v", at, err)
		}
	}
	p.holds("f", "old")
}

func TestReplace_AMountedFileIsWrittenInPlace(t *testing.T) { // WRI-3
	p := newPlace(t)
	source, at := p.put("source", "old"), p.put("mounted", "hidden")
	mount(t, string(source), string(at), "", unix.MS_BIND, "")
	var out environment.ReplaceOutcome
	if _, err := p.replace(at, "new", environment.ReplaceOptions{Result: &out}); err != nil || !out.InPlace {
		t.Errorf("%v, %+v", err, out)
	}
	p.holds("source", "new")
	p.clean()
}

func TestRename_WorksAcrossDisks(t *testing.T) {
	p := newPlace(t)
	at := p.put("f", "content")
	if err := os.Chmod(string(at), 0o750); err != nil {
		t.Fatal(err)
	}
	other := string(p.path("other"))
	if err := os.Mkdir(other, 0o755); err != nil {
		t.Fatal(err)
	}
	mount(t, "tmpfs", other, "tmpfs", 0, "size=64k")
	if err := p.Rename(context.Background(), at, p.path("other/g")); err != nil {
		t.Fatal(err)
	}
	p.holds("other/g", "content")
	info, err := p.Stat(context.Background(), p.path("other/g"))
	if err != nil || info.Mode != 0o750 {
		t.Errorf("mode %v, %v", info.Mode, err)
	}
	if _, err := os.Stat(string(at)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is still there: %v", err)
	}
	p.clean()
}
