//go:build linux

// Package rootfstest gives tests small systems for containers, made from programs of this machine.
package rootfstest

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
)

// Kind is what a system has in it.
type Kind int

// The kinds.
const (
	Bash    Kind = iota // bash, and busybox for all else
	Busybox             // busybox alone
	Bare                // busybox alone, in no directory but /bin: no /tmp, no home, no list of users
	Python              // as Bash, and the Python of this machine
)

// Tar gives a system as an archive.
func Tar(k Kind) ([]byte, error) {
	busybox, err := exec.LookPath("busybox")
	if err != nil {
		return nil, err
	}
	if libs, err := libraries(busybox); err != nil || len(libs) > 0 {
		return nil, errors.New("busybox is not linked statically (install busybox-static)")
	}
	applets, err := exec.Command(busybox, "--list").Output()
	if err != nil {
		return nil, err
	}
	a := &archive{has: map[string]bool{}}
	a.t = tar.NewWriter(&a.b)
	a.directories(map[string]int64{"bin": 0o755})
	a.file(busybox, "bin/busybox")
	if k != Bare {
		a.furnish()
	}
	if k == Bash || k == Python {
		a.named("bash")
	}
	if k == Python {
		a.fail(a.python())
	}
	for applet := range strings.FieldsSeq(string(applets)) {
		a.link("bin/"+applet, "busybox")
	}
	if a.err == nil {
		a.err = a.t.Close()
	}
	return a.b.Bytes(), a.err
}

// furnish adds what a system usually has.
func (a *archive) furnish() {
	a.directories(map[string]int64{
		"etc": 0o755, "root": 0o700, "tmp": 0o1777, "var": 0o755, "var/tmp": 0o1777, "usr": 0o755, "usr/bin": 0o755, "run": 0o755, "proc": 0o555,
		"sys": 0o555, "dev": 0o755, "home": 0o755,
	})
	a.text("etc/passwd", "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n")
	a.add(&tar.Header{Typeflag: tar.TypeReg, Name: "bin/nohup", Mode: 0o755}, []byte("#!/bin/sh\ntrap '' HUP\nexec \"$@\"\n")) // busybox may come without
	a.text("etc/group", "root:x:0:\nnogroup:x:65534:\n")
	a.link("usr/bin/env", "../../bin/busybox")
}

func (a *archive) directories(modes map[string]int64) {
	for dir, mode := range modes {
		a.add(&tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: mode}, nil)
	}
}

// archive is a file system on its way into an image. The first error counts.
type archive struct {
	b   bytes.Buffer
	t   *tar.Writer
	has map[string]bool
	err error
}

func (a *archive) add(h *tar.Header, content []byte) {
	if a.err != nil || a.has[h.Name] {
		return
	}
	a.has[h.Name] = true
	h.Size = int64(len(content))
	if a.err = a.t.WriteHeader(h); a.err == nil {
		_, a.err = a.t.Write(content)
	}
}

func (a *archive) text(name, text string) {
	a.add(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644}, []byte(text))
}

func (a *archive) link(name, to string) {
	a.add(&tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: to}, nil)
}

func (a *archive) file(from, name string) {
	b, err := os.ReadFile(from)
	a.fail(err)
	a.add(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o755}, b)
}

// named adds a program of this machine's PATH.
func (a *archive) named(program string) {
	path, err := exec.LookPath(program)
	a.fail(err)
	a.program(path, "bin/"+program)
}

func (a *archive) fail(err error) {
	if a.err == nil {
		a.err = err
	}
}

func (a *archive) program(from, name string) {
	a.file(from, name)
	libs, err := libraries(from)
	a.fail(err)
	for _, l := range libs {
		a.file(l, strings.TrimPrefix(l, "/"))
	}
}

var library = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)(/\S+) \(0x`) })

// libraries are what a program needs beside itself, with the loader.
func libraries(program string) ([]string, error) {
	out, err := exec.Command("ldd", program).CombinedOutput()
	if err != nil && !bytes.Contains(out, []byte("not a dynamic executable")) {
		return nil, fmt.Errorf("ldd %s: %w: %s", program, err, out)
	}
	var all []string
	for _, m := range library().FindAllStringSubmatch(string(out), -1) {
		all = append(all, m[1])
	}
	return all, nil
}
