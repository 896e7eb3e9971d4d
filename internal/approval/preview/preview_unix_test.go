//go:build unix

package preview_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/internal/approval/preview"
	"github.com/hermes-runtime/hermes/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// patient is for tests of what is found rather than of how long it may take on a busy machine.
var patient = preview.Options{Time: 30 * time.Second}

func write(t *testing.T, root string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func link(t *testing.T, to, at string) {
	t.Helper()
	if err := os.Symlink(to, at); err != nil {
		t.Fatal(err)
	}
}

func git(t *testing.T, dir string, args ...string) {
	t.Helper()
	c := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "init.defaultBranch=main"}, args...)...)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func repository(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("there is no git here")
	}
	root := filepath.Join(t.TempDir(), "project")
	write(t, root, map[string]string{".gitignore": "*.log\nout/\n", "a.go": "a", "src/b.go": "b", "src/c.go": "c"})
	git(t, root, "init", "-q")
	git(t, root, "add", ".")
	git(t, root, "commit", "-q", "-m", "one")
	return root
}

// A86: files, directories, bytes, the newest change, links that lead out; links are never followed.
func TestOf_CountsWhatLiesThere(t *testing.T) {
	root := t.TempDir()
	outside := filepath.Join(t.TempDir(), "outside")
	write(t, outside, map[string]string{"big": strings.Repeat("x", 5000)})
	write(t, root, map[string]string{"build/a": "12345", "build/sub/b": "123", "build/sub/deep/c": "", "other": "1"})
	link(t, outside, filepath.Join(root, "build/out"))
	link(t, "sub/b", filepath.Join(root, "build/in"))
	link(t, "../../other", filepath.Join(root, "build/sub/up"))
	newest := time.Date(2040, 1, 2, 3, 4, 5, 0, time.Local)
	if err := os.Chtimes(filepath.Join(root, "build/sub/b"), newest, newest); err != nil {
		t.Fatal(err)
	}
	p := preview.Of(t.Context(), []preview.Target{{Path: filepath.Join(root, "build"), Class: "workspace"}, {Path: filepath.Join(root, "build"), All: true},
		{Path: filepath.Join(root, "other")}, {Path: filepath.Join(root, "none")}, {Path: filepath.Join(root, "build/out")}}, patient)
	if len(p.Losses) != 5 || len(p.Repositories) != 0 {
		t.Fatalf("%+v", p)
	}
	build := p.Losses[0]
	if build.Files != 6 || build.Dirs != 3 || build.Bytes != 8 || !build.Newest.Equal(newest) || build.Outward != 2 || build.AtLeast || build.Err != nil {
		t.Errorf("a directory: %+v", build)
	}
	if all := p.Losses[1]; all.Dirs != 2 || all.Files != 6 {
		t.Errorf("everything in it: %+v", all)
	}
	if f := p.Losses[2]; f.Files != 1 || f.Bytes != 1 || f.Dirs != 0 {
		t.Errorf("a file: %+v", f)
	}
	if !p.Losses[3].Missing {
		t.Errorf("nothing there: %+v", p.Losses[3])
	}
	if l := p.Losses[4]; l.Link != outside || l.Files != 0 {
		t.Errorf("a link: %+v", l)
	}
	text := p.Text()
	some := preview.Of(t.Context(), []preview.Target{{Path: root, Some: true}}, patient).Text()
	if !strings.HasPrefix(some, "some of what is in "+root+": ") {
		t.Errorf("a part: %s", some)
	}
	for _, want := range []string{filepath.Join(root, "build") + " (workspace): 6 files, 3 directories, 8 bytes, last changed 2040-01-02 03:04", "2 links lead out of it",
		"in " + filepath.Join(root, "build"), "other: 1 file, 1 bytes", "none: nothing is there", "a link to " + outside + "; only the link goes"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q isn't in\n%s", want, text)
		}
	}
}

// A86: a bound that is met makes it a lower bound, which it says.
func TestOf_ABoundMakesALowerBound(t *testing.T) {
	root := t.TempDir()
	for i := range 50 {
		write(t, root, map[string]string{fmt.Sprintf("d%d/f", i): "x"})
	}
	p := preview.Of(t.Context(), []preview.Target{{Path: root}}, preview.Options{Time: time.Minute, Entries: 30})
	if l := p.Losses[0]; !l.AtLeast || l.Files+l.Dirs != 31 || !strings.Contains(p.Text(), "at least") {
		t.Errorf("%+v\n%s", l, p.Text())
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if l := preview.Of(ctx, []preview.Target{{Path: root}}, patient).Losses[0]; !l.AtLeast || l.Files > 0 {
		t.Errorf("without time: %+v", l)
	}
	many := make([]preview.Target, 1000)
	for i := range many {
		many[i].Path = filepath.Join(root, fmt.Sprint("x", i))
	}
	if p := preview.Of(t.Context(), many, patient); p.More != 980 || len(p.Losses) != 20 || !strings.Contains(p.Text(), "980 more targets") {
		t.Errorf("%d and %d", len(p.Losses), p.More)
	}
}

func TestOf_WhatCantBeReadIsALowerBound(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root reads everything")
	}
	root := t.TempDir()
	write(t, root, map[string]string{"a/b": "x"})
	if err := os.Chmod(filepath.Join(root, "a"), 0); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.Chmod(filepath.Join(root, "a"), 0o700) }()
	if l := preview.Of(t.Context(), []preview.Target{{Path: root}}, patient).Losses[0]; l.Err == nil || !l.AtLeast {
		t.Errorf("%+v", l)
	}
}

// A86: in a git work tree, what the history doesn't hold.
func TestOf_TellsWhatGitDoesNotHold(t *testing.T) {
	root := repository(t)
	write(t, root, map[string]string{"src/b.go": "changed", "src/new.go": "n", "src/x.log": "l", "src/out/y": "o", "elsewhere.go": "e"})
	p := preview.Of(t.Context(), []preview.Target{{Path: filepath.Join(root, "src")}}, patient)
	if len(p.Repositories) != 1 {
		t.Fatalf("%+v", p)
	}
	r := p.Repositories[0]
	if r.Unknown || r.Whole || r.Root != root || !reflect.DeepEqual(r.Changed.Names, []string{"src/b.go"}) || !reflect.DeepEqual(r.New.Names, []string{"src/new.go"}) ||
		r.Ignored.Count != 2 || r.Unpushed != 0 {
		t.Errorf("%+v", r)
	}
	for _, want := range []string{"not in its history: 1 changed: src/b.go", "1 untracked: src/new.go", "2 ignored: src/out/y, src/x.log"} {
		if !strings.Contains(p.Text(), want) {
			t.Errorf("%q isn't in\n%s", want, p.Text())
		}
	}
	clean := preview.Of(t.Context(), []preview.Target{{Path: filepath.Join(root, "a.go")}}, patient)
	if !strings.Contains(clean.Text(), "everything is in its history") {
		t.Errorf("%s", clean.Text())
	}
}

// A86: when the history goes with the tree, the commits that no remote has.
func TestOf_CountsCommitsThatNoRemoteHas(t *testing.T) {
	root := repository(t)
	remote := filepath.Join(t.TempDir(), "remote.git")
	git(t, root, "clone", "-q", "--bare", root, remote)
	git(t, root, "remote", "add", "origin", remote)
	git(t, root, "fetch", "-q", "origin")
	for i := range 3 {
		write(t, root, map[string]string{"a.go": fmt.Sprint(i)})
		git(t, root, "commit", "-q", "-a", "-m", "more")
	}
	for name, target := range map[string]string{"the project": root, "what it lies in": filepath.Dir(root), "its history": filepath.Join(root, ".git")} {
		p := preview.Of(t.Context(), []preview.Target{{Path: target}}, patient)
		if len(p.Repositories) != 1 || !p.Repositories[0].Whole || p.Repositories[0].Unpushed != 3 || p.Repositories[0].Unknown {
			t.Errorf("%s: %+v", name, p.Repositories)
		}
		if !strings.Contains(p.Text(), "on no remote: 3 commits") {
			t.Errorf("%s", p.Text())
		}
	}
	p := preview.Of(t.Context(), []preview.Target{{Path: filepath.Join(root, "src")}}, patient)
	if len(p.Repositories) != 1 || p.Repositories[0].Unpushed != 0 {
		t.Errorf("a part: %+v", p.Repositories)
	}
}

// A preview runs nothing that a repository names: whoever can write its configuration could otherwise run what was not approved yet.
func TestOf_RunsNothingThatARepositoryNames(t *testing.T) {
	root := repository(t)
	ran := filepath.Join(t.TempDir(), "ran")
	hostile := filepath.Join(t.TempDir(), "hostile")
	if err := os.WriteFile(hostile, []byte("#!/bin/sh\ntr '\\000' ' ' </proc/$PPID/cmdline >>"+ran+"\necho \"$0 $*\" >>"+ran+"\ncat\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	git(t, root, "init", "-q", "sub")
	write(t, root, map[string]string{"sub/f": "x"})
	git(t, filepath.Join(root, "sub"), "add", ".")
	git(t, filepath.Join(root, "sub"), "commit", "-q", "-m", "one")
	git(t, root, "-c", "advice.addEmbeddedRepo=false", "add", "sub")
	write(t, root, map[string]string{".gitattributes": "* filter=evil diff=evil\n", "src/b.go": "changed", "sub/f": "changed"})
	for _, dir := range []string{root, filepath.Join(root, "sub")} {
		for _, key := range []string{"core.fsmonitor", "filter.evil.clean", "filter.evil.smudge", "filter.evil.process", "diff.evil.command", "diff.evil.textconv", "diff.external",
			"core.pager", "core.sshCommand", "core.askPass", "credential.helper", "gpg.program", "core.editor", "uploadpack.packObjectsHook", "core.alternateRefsCommand", "core.gitProxy"} {
			git(t, dir, "config", key, hostile)
		}
		git(t, dir, "config", "alias.ls-files", "!"+hostile)
		git(t, dir, "config", "core.hooksPath", filepath.Dir(hostile))
		git(t, dir, "config", "remote.origin.url", "ext::"+hostile)
		git(t, dir, "config", "remote.origin.promisor", "true")
		git(t, dir, "config", "remote.origin.partialclonefilter", "blob:none")
		git(t, dir, "config", "protocol.ext.allow", "always")
		git(t, dir, "config", "extensions.partialClone", "origin")
		git(t, dir, "config", "core.repositoryformatversion", "1")
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(hostile), "post-index-change"), []byte("#!/bin/sh\necho hook >>"+ran+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(filepath.Join(root, "a.go"), later, later); err != nil { // the index no longer knows whether it is the same
		t.Fatal(err)
	}
	// a history that lacks an object: git would fetch it
	if err := os.WriteFile(filepath.Join(root, ".git/refs/heads/lost"), []byte(strings.Repeat("12", 20)+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(ran); err != nil && !os.IsNotExist(err) { // by what the set-up did
		t.Fatal(err)
	}
	p := preview.Of(t.Context(), []preview.Target{{Path: root}, {Path: filepath.Join(root, "src")}}, patient)
	if len(p.Repositories) == 0 || p.Repositories[0].Changed.Count == 0 {
		t.Errorf("%+v", p.Repositories)
	}
	if b, err := os.ReadFile(ran); err == nil {
		t.Errorf("it ran:\n%s", b)
	}
	before, err := os.Stat(filepath.Join(root, ".git/index"))
	if err != nil {
		t.Fatal(err)
	}
	preview.Of(t.Context(), []preview.Target{{Path: root}}, patient)
	if after, err := os.Stat(filepath.Join(root, ".git/index")); err != nil || !after.ModTime().Equal(before.ModTime()) {
		t.Errorf("it wrote the index: %v", err)
	}
}

// Names can't write lines of the preview.
func TestText_NamesForgeNoLines(t *testing.T) {
	root := filepath.Join(t.TempDir(), "a\nb: nothing is there\x1b[2J")
	write(t, root, map[string]string{"f": "x"})
	link(t, "/etc", filepath.Join(root, "l\nm"))
	text := preview.Of(t.Context(), []preview.Target{{Path: root}}, patient).Text()
	if strings.Count(text, "\n") != 1 || strings.ContainsAny(text, "\x1b") {
		t.Errorf("%q", text)
	}
}

func TestStart_SendsOneTextAndCloses(t *testing.T) {
	root := t.TempDir()
	write(t, root, map[string]string{"f": "x"})
	lines := preview.Start(t.Context(), []preview.Target{{Path: root}})
	if text := <-lines; !strings.Contains(text, "file") {
		t.Errorf("%q", text)
	}
	if text, open := <-lines; open {
		t.Errorf("also %q", text)
	}
	if text, open := <-preview.Start(t.Context(), nil); open {
		t.Errorf("of nothing: %q", text)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range preview.Start(ctx, []preview.Target{{Path: root}}) {
		t.Error("after the end")
	}
}

func BenchmarkOf(b *testing.B) {
	root := b.TempDir()
	for d := range 100 {
		dir := filepath.Join(root, fmt.Sprint(d))
		if err := os.Mkdir(dir, 0o755); err != nil {
			b.Fatal(err)
		}
		for f := range 100 {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(f)), nil, 0o644); err != nil {
				b.Fatal(err)
			}
		}
	}
	for b.Loop() {
		if p := preview.Of(b.Context(), []preview.Target{{Path: root}}, patient); p.Losses[0].Files != 10_000 {
			b.Fatalf("%+v", p.Losses[0])
		}
	}
}
