//go:build linux || darwin

package files_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine/files"
)

func TestRead_OnlyRegularFilesAndNeverWaiting(t *testing.T) { // GRD devices, FIL-5
	p := newPlace(t)
	ctx := context.Background()
	fifo, socket := p.path("fifo"), p.path("socket")
	if err := unix.Mkfifo(string(fifo), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", string(socket))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, c := range []struct {
		at   environment.Path
		kind string
	}{{fifo, "FIFO"}, {socket, "socket"}, {"/dev/zero", "character device"}, {"/dev/tty", "character device"}} {
		if _, err := p.Read(ctx, c.at, 0, -1); !errors.Is(err, files.ErrNotRegular) || !strings.Contains(err.Error(), c.kind) {
			t.Errorf("read %s: %v", c.at, err)
		}
		if _, err := p.replace(c.at, "x", environment.ReplaceOptions{}); !errors.Is(err, files.ErrNotRegular) {
			t.Errorf("write %s: %v", c.at, err)
		}
	}
	r, err := p.Read(ctx, "/dev/null", 0, -1)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if n, _ := r.Read(make([]byte, 1)); n != 0 {
		t.Error("the null device isn't empty")
	}
	if _, err := p.replace("/dev/null", "x", environment.ReplaceOptions{}); !errors.Is(err, files.ErrNotRegular) {
		t.Errorf("write the null device: %v", err)
	}
}

func TestStat_TellsIdentityOwnerAndTime(t *testing.T) {
	p := newPlace(t)
	at := p.put("f", "12345")
	if err := os.Symlink("f", string(p.path("l"))); err != nil {
		t.Fatal(err)
	}
	a, err := p.Stat(context.Background(), at)
	if err != nil {
		t.Fatal(err)
	}
	b, err := p.Stat(context.Background(), p.path("l"))
	if err != nil || !a.Same(b) || b.Path != p.path("l") {
		t.Errorf("through a link: %+v, %v", b, err)
	}
	plain, err := os.Stat(string(at))
	if err != nil || a.Size != 5 || a.Mode != plain.Mode() || !a.ModTime.Equal(plain.ModTime()) || a.UID != os.Geteuid() || a.Links != 1 || a.Inode == 0 {
		t.Errorf("%+v, %v", a, err)
	}
	for _, special := range []string{"/", "/dev/null", "/tmp"} {
		info, err := p.Stat(context.Background(), environment.Path(special))
		want, werr := os.Stat(special)
		if err != nil || werr != nil || info.Mode != want.Mode() {
			t.Errorf("%s: %v, want %v (%v, %v)", special, info.Mode, want.Mode(), err, werr)
		}
	}
}

func TestReplace_KeepsExtendedAttributes(t *testing.T) { // WRI-1
	p := newPlace(t)
	at := p.put("f", "old")
	if err := unix.Setxattr(string(at), "user.hermes", []byte("kept"), 0); err != nil {
		t.Skip("no extended attributes here: ", err)
	}
	if _, err := p.replace(at, "new", environment.ReplaceOptions{}); err != nil {
		t.Fatal(err)
	}
	value := make([]byte, 10)
	n, err := unix.Getxattr(string(at), "user.hermes", value)
	if err != nil || string(value[:n]) != "kept" {
		t.Errorf("%q, %v", value[:max(n, 0)], err)
	}
}

// The rules on permissions don't bind the superuser, so their tests run again as someone else.

const nobody = 65534

func asNobody(t *testing.T, root string) {
	t.Helper()
	program, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(root, "test") // where the original lies others may not look
	if err := os.WriteFile(copied, program, 0o755); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(copied, "-test.run=^"+t.Name()+"$", "-test.v")
	c.Env = append(os.Environ(), "HERMES_TEST_ROOT="+root)
	c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	c.Dir = "/"
	out, err := c.CombinedOutput()
	if err != nil || bytes.Contains(out, []byte("SKIP")) {
		t.Errorf("as nobody: %v\n%s", err, out)
	}
}

// nobodysPlace gives the place in which a test works once it has no privileges; before that it prepares it and starts the test
// again.
func nobodysPlace(t *testing.T, prepare func(root string)) *place {
	t.Helper()
	if root := os.Getenv("HERMES_TEST_ROOT"); root != "" {
		p := &place{t: t, root: root}
		p.FS = files.New(p.options())
		return p
	}
	if runtime.GOOS != "linux" || os.Geteuid() != 0 {
		t.Skip("only the superuser can become someone else")
	}
	root, err := os.MkdirTemp("/tmp", "hermes-files-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	for _, d := range []string{"w", "tmp", "home", "locks"} {
		if err := os.Mkdir(filepath.Join(root, d), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(filepath.Join(root, d), nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	prepare(filepath.Join(root, "w"))
	asNobody(t, root)
	return nil
}

func TestReplace_WhatARenameWouldBreakIsWrittenInPlace(t *testing.T) { // WRI-3
	p := nobodysPlace(t, func(w string) {
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, d := range []string{"closed", "sticky"} {
			must(os.Mkdir(filepath.Join(w, d), 0o755))
		}
		must(os.Chmod(filepath.Join(w, "sticky"), 0o777|fs.ModeSticky))
		for _, f := range []string{"closed/f", "sticky/f", "foreign", "readonly"} {
			must(os.WriteFile(filepath.Join(w, f), []byte("old"), 0o666))
			must(os.Chmod(filepath.Join(w, f), 0o666))
		}
		must(os.Chmod(filepath.Join(w, "readonly"), 0o444))
	})
	if p == nil {
		return
	}
	for _, name := range []string{"closed/f", "sticky/f", "foreign"} {
		var out environment.ReplaceOutcome
		info, err := p.replace(p.path(name), "new", environment.ReplaceOptions{Result: &out})
		if err != nil || !out.InPlace || info.UID != 0 {
			t.Errorf("%s: %v, %+v, owner %d", name, err, out, info.UID)
		}
		p.holds(name, "new")
	}
	if _, err := p.replace(p.path("readonly"), "new", environment.ReplaceOptions{}); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a file that may not be written: %v", err)
	}
	p.holds("readonly", "old")
	if _, err := p.replace(p.path("closed/new"), "new", environment.ReplaceOptions{}); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("a new file in a closed directory: %v", err)
	}
	p.clean()
}

func TestErrors_NoPermissionIsItsOwnError(t *testing.T) { // FIL-5
	p := nobodysPlace(t, func(w string) {
		for name, mode := range map[string]fs.FileMode{"private": 0o700, "f": 0o600} {
			if err := os.Mkdir(filepath.Join(w, name+".d"), mode); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(w, name), []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	})
	if p == nil {
		return
	}
	ctx := context.Background()
	_, read := p.Read(ctx, p.path("f"), 0, -1)
	_, below := p.Read(ctx, p.path("private.d/x"), 0, -1)
	_, stat := p.Stat(ctx, p.path("private.d/x"))
	_, list := p.ReadDir(ctx, p.path("private.d"))
	for what, err := range map[string]error{
		"read": read, "read below": below, "stat": stat, "list": list, "make": p.MkdirAll(ctx, p.path("private.d/x/y"), 0),
		"remove": p.Remove(ctx, p.path("private.d/x")),
	} {
		if !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), p.root) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestRead_WhatLooksEmptyIsNotWaitedFor(t *testing.T) { // GRD devices, FIL-5
	p := newPlace(t)
	for name, waits := range map[string]bool{"empty": false, "full": true} {
		content := ""
		if waits {
			content = "x" // has a size: the kernel's files that wait have none
		}
		if err := os.WriteFile(string(p.path(name)), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		f, _, err := p.Open(context.Background(), p.path(name))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		raw, err := f.SyscallConn()
		if err != nil {
			t.Fatal(err)
		}
		var flags int
		if err := raw.Control(func(fd uintptr) { flags, err = unix.FcntlInt(fd, unix.F_GETFL, 0) }); err != nil {
			t.Fatal(err)
		}
		if blocking := flags&unix.O_NONBLOCK == 0; err != nil || blocking != waits {
			t.Errorf("%s: blocks %v, %v", name, blocking, err)
		}
	}
}
