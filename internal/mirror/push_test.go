package mirror_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/mirror"
)

func TestPush_BringsWhatIsThereAndThenWhatChanged(t *testing.T) { // SYN-1, SYN-2
	l := newLab(t)
	l.here("skills/a/SKILL.md", "a")
	l.here("skills/a/run.sh", "#!")
	l.here("token.json", "secret")
	l.here("cache/images/1.png", "png")
	l.here("other.txt", "not asked for")
	l.here("skills/.git/config", "not either")
	if err := os.Chmod(filepath.Join(l.home, "skills/a/run.sh"), 0o755); err != nil {
		t.Fatal(err)
	}
	l.pushed()
	l.wantThere("cache/images/1.png=png", "skills/a/SKILL.md=a", "skills/a/run.sh=#!", "token.json=secret")
	for name, mode := range map[string]fs.FileMode{"token.json": 0o600, "skills/a/run.sh": 0o700, "skills/a": 0o700} {
		if i, err := os.Stat(l.far.at(name)); err != nil || i.Mode().Perm() != mode {
			t.Errorf("%s: %v %v, want %v", name, i.Mode(), err, mode)
		}
	}
	l.far.done()

	l.pushed()
	if ops := l.far.done(); len(ops) > 0 {
		t.Errorf("nothing changed, and it asks for %q", ops)
	}
	l.here("skills/a/SKILL.md", "b")
	if err := os.Remove(filepath.Join(l.home, "token.json")); err != nil {
		t.Fatal(err)
	}
	l.pushed()
	l.wantThere("cache/images/1.png=png", "skills/a/SKILL.md=b", "skills/a/run.sh=#!")
	if ops := replaced(l.far.done()); !slices.Equal(ops, []string{"replace .shared-me.json", "replace skills/a/SKILL.md"}) {
		t.Errorf("one file changed, and it does %q", ops)
	}

	l.start() // a later process
	l.pushed()
	if ops := replaced(l.far.done()); !slices.Equal(ops, []string{"replace .shared-me.json"}) {
		t.Errorf("nothing changed since the process before, and it does %q", ops)
	}
	if err := os.RemoveAll(l.far.at("skills")); err != nil {
		t.Fatal(err)
	}
	l.start()
	l.pushed()
	l.wantThere("cache/images/1.png=png", "skills/a/SKILL.md=b", "skills/a/run.sh=#!")
}

func replaced(ops []string) []string {
	return slices.DeleteFunc(ops, func(op string) bool { return !strings.HasPrefix(op, "replace ") })
}

func TestPush_IsTriedAtMostEveryFiveSeconds(t *testing.T) { // SYN-1
	l := newLab(t)
	l.pushed()
	for _, always := range []bool{false, true} {
		l.o.Always = always
		l.start()
		l.m.Push(t.Context(), "k", l.far)
		l.here("skills/s", fmt.Sprint(always))
		l.m.Push(t.Context(), "k", l.far)
		if got := slices.Contains(holds(t, l.far.at("")), fmt.Sprint("skills/s=", always)); got != always {
			t.Errorf("always %v: brought at once: %v", always, got)
		}
		l.now = l.now.Add(5 * time.Second)
		l.m.Push(t.Context(), "k", l.far)
		l.wantThere(fmt.Sprint("skills/s=", always))
	}
	l.quiet()
}

func TestPush_EqualContentIsNotBroughtAgain(t *testing.T) { // SYN-2
	l := newLab(t)
	l.here("skills/s", "text")
	l.pushed()
	l.far.done()
	if err := os.Chtimes(filepath.Join(l.home, "skills/s"), time.Time{}, time.Now().Add(-time.Hour)); err != nil {
		t.Fatal(err)
	}
	l.pushed()
	if ops := replaced(l.far.done()); !slices.Equal(ops, []string{"replace .shared-me.json"}) {
		t.Errorf("%q", ops)
	}
	if err := os.Chmod(filepath.Join(l.home, "skills/s"), 0o755); err != nil {
		t.Fatal(err)
	}
	l.pushed()
	if i, err := os.Stat(l.far.at("skills/s")); err != nil || i.Mode().Perm() != 0o700 {
		t.Errorf("it became a program, and there it is %v %v", i.Mode(), err)
	}
}

func TestPush_AFileOfOneTickWithAnotherContentIsBrought(t *testing.T) { // SYN-2, STL-2
	l := newLab(t)
	l.o.Now = time.Now
	l.o.Always = true
	l.start()
	file := filepath.Join(l.home, "skills/s")
	at := time.Now().Add(time.Hour) // never settled
	for _, text := range []string{"one", "two"} {
		write(t, file, text)
		if err := os.Chtimes(file, at, at); err != nil {
			t.Fatal(err)
		}
		l.m.Push(t.Context(), "k", l.far)
		l.wantThere("skills/s=" + text)
	}
}

func TestPush_WhatChangesOrVanishesWhileItIsReadComesNextTime(t *testing.T) { // SYN-2
	l := newLab(t)
	l.here("skills/moves", "one")
	l.here("skills/vanishes", "one")
	l.here("skills/stays", "one")
	l.far.before = func(op string, p environment.Path) error {
		if op == "mkdir" {
			_ = os.Remove(filepath.Join(l.home, "skills/vanishes"))
		}
		if op == "replace" && p == l.far.path("skills/moves") { // it is open by now
			l.here("skills/moves", "later")
		}
		return nil
	}
	l.pushed()
	l.far.before = nil
	l.pushed()
	l.wantThere("skills/moves=later", "skills/stays=one")
}

func TestPush_IsSettledOnlyOnceAllIsDone(t *testing.T) { // SYN-2
	for op, name := range map[string]string{"replace": "skills/b", "remove": "token.json"} {
		l := newLab(t)
		l.here("skills/a", "a")
		l.here("skills/b", "b")
		l.here("token.json", "old")
		l.pushed()
		record, err := os.ReadFile(l.far.at(".shared-me.json"))
		if err != nil {
			t.Fatal(err)
		}
		l.here("skills/a", "a2")
		l.here("skills/b", "b2")
		if err := os.Remove(filepath.Join(l.home, "token.json")); err != nil {
			t.Fatal(err)
		}
		l.far.before = func(o string, p environment.Path) error {
			if o == op && p == l.far.path(name) {
				return &fs.PathError{Op: o, Path: string(p), Err: fs.ErrPermission}
			}
			return nil
		}
		l.push()
		if s := l.says(); !strings.Contains(s, name) {
			t.Errorf("of the failure it says %q", s)
		}
		if now, err := os.ReadFile(l.far.at(".shared-me.json")); err != nil || string(now) != string(record) {
			t.Errorf("after a failure it is recorded as done: %s %v", now, err)
		}
		l.far.before = nil
		l.far.done()
		l.pushed()
		l.wantThere("skills/a=a2", "skills/b=b2")
		if ops := replaced(l.far.done()); slices.Contains(ops, "replace skills/a") {
			t.Errorf("what was brought before the failure is brought again: %q", ops)
		}
	}
}

func TestPush_ThatFailsIsTriedLessAndLessOften(t *testing.T) { // SYN-2
	l := newLab(t)
	l.here("skills/a", "a")
	tries := 0
	l.far.before = func(op string, _ environment.Path) error {
		if op == "mkdir" {
			tries++
			return &environment.Error{Kind: environment.ErrUnavailable, Op: "reach it"}
		}
		return nil
	}
	for range 120 {
		l.m.Push(t.Context(), "k", l.far)
		l.now = l.now.Add(5 * time.Second)
	}
	if tries < 3 || tries > 8 {
		t.Errorf("%d tries in ten minutes", tries)
	}
	if n := strings.Count(l.says(), "reach it"); n != 1 {
		t.Errorf("it is told %d times", n)
	}
}

func TestPush_IsBounded(t *testing.T) { // SYN-2
	l := newLab(t)
	l.o.MaxBytes = 10
	l.start()
	l.here("skills/small", "1234")
	l.here("cache/images/large", "12345678901")
	l.here("cache/images/small", "1234")
	l.push()
	l.wantThere("cache/images/small=1234", "skills/small=1234")
	if s := l.says(); !strings.Contains(s, "cache/images/large") {
		t.Errorf("it says %q", s)
	}
}

func TestPush_WhatThePlaceShowsItselfIsLeftAlone(t *testing.T) { // SYN-1
	l := newLab(t)
	l.here("skills/a", "a")
	l.here("cache/images/1", "1")
	l.far.info.Shows = []environment.Mount{
		{Host: filepath.Join(l.home, "skills"), Inside: l.far.path("skills")}, {Host: filepath.Join(l.home, "cache/images"), Inside: l.far.path("cache/images")},
	}
	l.pushed()
	l.leave()
	if ops := l.far.done(); len(ops) == 0 { // a file to hand over might have come from an earlier process
		t.Error("nothing is asked")
	}
	l.wantThere()
	l.trees = slices.DeleteFunc(l.trees, func(t mirror.Tree) bool { return t.File })
	l.pushed()
	l.leave()
	if ops := l.far.done(); len(ops) > 0 {
		t.Errorf("everything is shown, and it asks for %q", ops)
	}
	if p, ok := l.m.Inside("k", l.far.info, filepath.Join(l.home, "skills/a")); !ok || p != l.far.path("skills/a") {
		t.Errorf("%q %v", p, ok)
	}
	for host, want := range map[string]environment.Path{filepath.Join(l.home, "skills/a/b"): "/h/.hermes/skills/a/b", filepath.Join(l.home, "skillsx"): "", "/etc": ""} {
		if p, ok := l.m.Inside("k", environment.Info{Home: "/h"}, host); p != want || ok != (want != "") {
			t.Errorf("%s: %q %v", host, p, ok)
		}
	}
}

func TestPush_AFileThatIsShownAndWasReplacedIsTold(t *testing.T) { // SYN-1
	l := newLab(t)
	l.trees = l.trees[1:2]
	l.here("token.json", "one")
	l.there("shown", "one")
	same := time.Now().Add(-time.Minute)
	for _, f := range []string{filepath.Join(l.home, "token.json"), l.far.at("shown")} {
		if err := os.Chtimes(f, same, same); err != nil {
			t.Fatal(err)
		}
	}
	l.far.info.Shows = []environment.Mount{{Host: filepath.Join(l.home, "token.json"), Inside: l.far.path("shown")}}
	l.pushed()
	l.far.done()
	l.pushed()
	if ops := l.far.done(); len(ops) > 0 || len(l.told) > 0 {
		t.Errorf("nothing changed, and it asks for %q and tells %q", ops, l.told)
	}
	l.here("new", "two")
	if err := os.Rename(filepath.Join(l.home, "new"), filepath.Join(l.home, "token.json")); err != nil {
		t.Fatal(err)
	}
	l.push()
	l.push()
	if s := l.says(); strings.Count(s, "token.json") == 0 || len(l.told) != 1 {
		t.Errorf("it says %q and tells %q", s, l.told)
	}
}

func TestPush_EndsWithItsCall(t *testing.T) { // SYN-1
	l := newLab(t)
	l.here("skills/a", "a")
	ctx, cancel := context.WithCancel(t.Context())
	l.far.before = func(string, environment.Path) error { cancel(); return ctx.Err() }
	l.m.Push(ctx, "k", l.far)
	l.quiet()
	l.far.before = nil
	l.pushed()
	l.wantThere("skills/a=a")
}

func BenchmarkPush(b *testing.B) {
	l := newLab(b)
	for i := range 500 {
		l.here(fmt.Sprintf("skills/s%d/f%d", i/10, i), strings.Repeat("x", 1000))
	}
	l.pushed()
	l.pushed()
	b.Run("within 5 s", func(b *testing.B) {
		for range b.N {
			l.m.Push(b.Context(), "k", l.far)
		}
	})
	b.Run("500 files unchanged", func(b *testing.B) {
		for range b.N {
			l.push()
		}
	})
	if ops := replaced(l.far.done()); len(ops) > 503 {
		b.Errorf("%d files were written", len(ops))
	}
}
