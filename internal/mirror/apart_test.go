package mirror_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/mirror"
)

func TestPush_NothingLeadsOutOfATreeHere(t *testing.T) { // SYN-2, SYN-4
	l := newLab(t)
	outside := filepath.Join(filepath.Dir(l.home), "outside")
	write(t, filepath.Join(outside, "secret"), "secret")
	l.here(".env", "secret")
	l.here("skills/real/text", "text")
	link(t, "text", filepath.Join(l.home, "skills/real/inside"))
	link(t, "../../.env", filepath.Join(l.home, "skills/real/env")) // in the home, but not in the tree
	link(t, filepath.Join(outside, "secret"), filepath.Join(l.home, "skills/real/file"))
	link(t, outside, filepath.Join(l.home, "skills/dir"))
	link(t, ".", filepath.Join(l.home, "skills/loop"))
	link(t, outside, filepath.Join(l.home, "cache/images"))
	link(t, filepath.Join(outside, "secret"), filepath.Join(l.home, "token.json"))
	odd(t, filepath.Join(l.home, "skills/real/pipe"))
	l.push()
	if s := l.says(); !strings.Contains(s, "cache/images") {
		t.Errorf("it says %q", s)
	}
	l.wantThere("skills/real/inside=text", "skills/real/text=text")
	for _, s := range l.m.Share("k") {
		if s.Name != "skills" {
			t.Errorf("%v is shared", s)
		}
	}
	for _, name := range []string{"../outside/secret", "/etc/passwd", "token.json", "skills", "", ".", "skills/../../outside/secret", "a\x00b"} {
		if err := mirror.CheckFile(l.home, name); err == nil {
			t.Errorf("%q can be handed over", name)
		}
	}
	if err := mirror.CheckFile(l.home, "none.json"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing one: %v", err)
	}
	if err := mirror.CheckFile(l.home, "skills/real/inside"); err != nil {
		t.Error(err)
	}
}

func TestPush_NothingLeadsOutOfTheDirectoryThere(t *testing.T) { // SYN-2
	l := newLab(t)
	outside := filepath.Join(filepath.Dir(l.home), "outside")
	write(t, filepath.Join(outside, "a/text"), "theirs")
	link(t, filepath.Join(outside, "a"), l.far.at("skills/a"))
	link(t, filepath.Join(outside, "a/text"), l.far.at("skills/b/text"))
	for _, s := range []string{"a", "b", "c"} {
		l.here("skills/"+s+"/text", "ours")
	}
	l.push()
	if s := l.says(); !strings.Contains(s, "a link stands in its way there") {
		t.Errorf("it says %q", s)
	}
	if got := holds(t, outside); !slices.Equal(got, []string{"a/text=theirs"}) {
		t.Errorf("outside: %q", got)
	}
	if got := holds(t, l.far.at("skills/c")); !slices.Equal(got, []string{"text=ours"}) {
		t.Errorf("beside the links: %q", got)
	}
	if err := os.RemoveAll(l.far.at("")); err != nil {
		t.Fatal(err)
	}
	link(t, outside, l.far.at(""))
	l.start()
	l.push()
	if got := holds(t, outside); !slices.Equal(got, []string{"a/text=theirs"}) || !strings.Contains(l.says(), "out of the home directory") {
		t.Errorf("outside, through the directory itself: %q", got)
	}
}

func TestPush_WhatLiesThereAlreadyIsKeptBeside(t *testing.T) { // SYN-2, SYN-3
	l := newLab(t)
	l.there("skills/theirs", "theirs")
	l.there("skills/equal", "equal")
	if err := os.Chmod(l.far.at("skills"), 0o750); err != nil {
		t.Fatal(err)
	}
	l.here("skills/theirs", "ours")
	l.here("skills/equal", "equal")
	l.push()
	l.wantThere("skills/equal=equal", "skills/theirs=ours", "skills/theirs.remote=theirs")
	if i, err := os.Stat(l.far.at("skills")); err != nil || i.Mode().Perm() != 0o750 {
		t.Errorf("the directory is %v now, %v", i.Mode(), err)
	}
	if s := l.says(); !strings.Contains(s, "theirs.remote") || strings.Contains(s, "equal") {
		t.Errorf("it says %q", s)
	}
	l.there("skills/equal", "changed there")
	l.here("skills/equal", "changed here")
	l.push()
	l.wantThere("skills/equal=changed here", "skills/equal.remote=changed there", "skills/theirs=ours", "skills/theirs.remote=theirs")
}

func TestPush_RecordsThatLieLeadNowhere(t *testing.T) { // SYN-2
	l := newLab(t)
	l.here("skills/a", "a")
	write(t, filepath.Join(l.far.home, "victim"), "x")
	l.there(".shared-me.json", `{"../victim":{"size":1,"file":true},"skills/../../victim":{"size":1},"/etc/passwd":{},"skills//a":{},"":{},".shared-me.json":{}}`)
	l.pushed()
	l.wantThere("skills/a=a")
	if got := holds(t, l.far.home); !slices.Contains(got, "victim=x") {
		t.Errorf("%q", got)
	}
	l.there(".shared-me.json", "no JSON")
	l.start()
	l.pushed()
	l.wantThere("skills/a=a")
}

func TestPush_APlaceWhoseHomeIsThisOneIsLeftAlone(t *testing.T) { // SYN-2, SYN-3: a host that is this one, or has its disk
	l := newLab(t)
	l.here("skills/a", "a")
	l.here("token.json", "secret")
	if err := os.Symlink(l.home, l.far.at("")); err != nil {
		t.Skip(err)
	}
	l.far.info.Home = environment.Path(filepath.Dir(l.home)) // the link leads to nowhere outside it
	if err := os.Rename(l.far.at(""), filepath.Join(filepath.Dir(l.home), ".hermes")); err != nil {
		t.Fatal(err)
	}
	l.pushed()
	if err := os.Chmod(filepath.Join(l.home, "skills/a"), 0o755); err != nil {
		t.Fatal(err)
	}
	l.pushed()
	l.trees = l.trees[:1]
	l.leave()
	l.pushed()
	l.wantHere("skills/a=a", "token.json=secret")
	if ops := replaced(l.far.done()); len(ops) > 0 {
		t.Errorf("it does %q", ops)
	}
}

func TestPush_WhatThePlaceHadBeforeIsNotTakenBack(t *testing.T) { // SYN-2, SYN-4
	l := newLab(t)
	for _, name := range []string{"token.json", "skills/a"} {
		l.there(name, "alike")
		l.here(name, "alike")
	}
	l.pushed()
	if err := os.Chmod(filepath.Join(l.home, "skills/a"), 0o755); err != nil {
		t.Fatal(err)
	}
	l.pushed()
	l.here("token.json", "changed")
	l.push()
	l.says()
	l.wantThere("skills/a=alike", "token.json=changed", "token.json.remote=alike")
	l.trees = nil
	l.leave()
	l.pushed()
	l.wantThere("skills/a=alike", "token.json.remote=alike")
}
