//go:build unix

package python

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// candidate writes an executable shell script and returns its path.
func candidate(t *testing.T, dir, name, body string) string {
	t.Helper()
	p := filepath.Join(dir, name)
	if err := errors.Join(os.MkdirAll(dir, 0o755), os.WriteFile(p, []byte("#!/bin/sh\n"+body), 0o755)); err != nil { //nolint:gosec // it is to be started
		t.Fatal(err)
	}
	return p
}

const good = "printf 'python 3 11 4\\n%s\\n' \"$0\"\n"

// fixed is an interpreter of our own that is where it is.
type fixed struct {
	path string
	err  error
}

func (f fixed) Path(context.Context, func(string)) (string, error) { return f.path, f.err }
func (f fixed) Notes() []string                                    { return nil }

func TestResolver_OwnIsTheEmbeddedOneElseTheFirstThatWorks(t *testing.T) { // XI-1
	dir := t.TempDir()
	bad, ok := filepath.Join(dir, "bad"), filepath.Join(dir, "ok")
	candidate(t, bad, "python3", "printf 'python 3 7 1\\n/bin/sh\\n'")
	want := candidate(t, ok, "python", good)
	i, err := New(Options{Path: bad + ":relative:" + ok}).Own(context.Background(), nil)
	if err != nil || i.Path != want || i.Version != "3.11.4" {
		t.Errorf("%+v, %v", i, err)
	}
	own := candidate(t, dir, "own", good)
	i, err = New(Options{Path: ok, Embedded: fixed{own, nil}}).Own(context.Background(), nil)
	if err != nil || i.Path != own {
		t.Errorf("%+v, %v", i, err)
	}
	i, err = New(Options{Path: ok, Embedded: fixed{"", errors.New("no room")}}).Own(context.Background(), nil)
	if err != nil || i.Path != want || len(i.Passed) != 1 || !strings.Contains(i.Passed[0], "no room") {
		t.Errorf("%+v, %v", i, err)
	}
}

func TestResolver_NoneSaysWhatToInstall(t *testing.T) { // XI-1
	_, err := New(Options{Path: t.TempDir()}).Own(context.Background(), nil)
	if !errors.Is(err, ErrNone) || !strings.Contains(err.Error(), "install") {
		t.Errorf("got %v", err)
	}
}

func TestResolver_RunsWhatTheWrapperNames(t *testing.T) { // XM-5
	dir := t.TempDir()
	real := candidate(t, filepath.Join(dir, "versions"), "python3", good)
	shim := candidate(t, filepath.Join(dir, "shims"), "python", "exec "+real+" \"$@\"\n")
	i, err := New(Options{}).Project(context.Background(), shim, nil, nil)
	if err != nil || i.Path != real {
		t.Errorf("%+v, %v", i, err)
	}
}

func TestResolver_AsksAgainOnlyWhenSomethingChanged(t *testing.T) { // XM-5
	dir := t.TempDir()
	asked := filepath.Join(dir, "asked")
	count := func() int {
		b, _ := os.ReadFile(asked)
		return len(b)
	}
	now := time.Unix(0, 0)
	r := New(Options{Now: func() time.Time { return now }})
	p := candidate(t, filepath.Join(dir, "env", "bin"), "python", "printf x >>"+asked+"\n"+good)
	vars := map[string]string{"VIRTUAL_ENV": filepath.Join(dir, "env"), "PATH": "/nowhere"}
	find := func() {
		r.Project(context.Background(), "", vars, nil) //nolint:errcheck // what was asked counts
	}
	find()
	find()
	if count() != 1 {
		t.Errorf("asked %d times", count())
	}
	if err := os.WriteFile(filepath.Join(dir, "env", "pyvenv.cfg"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	find()
	if count() != 2 {
		t.Errorf("asked %d times after pyvenv.cfg changed", count())
	}
	candidate(t, filepath.Dir(p), "python", "printf x >>"+asked+"\nexit 1\n")
	find()
	find()
	if count() != 3 {
		t.Errorf("asked %d times after a failure", count())
	}
	now = now.Add(31 * time.Second)
	find()
	if count() != 4 {
		t.Errorf("a failure was remembered for longer than 30 s: asked %d times", count())
	}
}

func TestResolver_SilentCandidateIsPassedOver(t *testing.T) { // XM-4
	dir := t.TempDir()
	r := New(Options{})
	if r.wait != 5*time.Second {
		t.Errorf("a candidate has %s", r.wait)
	}
	r.wait = 200 * time.Millisecond
	candidate(t, filepath.Join(dir, "venv", "bin"), "python", "sleep 60 & wait\n")
	want := candidate(t, filepath.Join(dir, "conda", "bin"), "python", good)
	i, err := r.Project(context.Background(), "", map[string]string{"VIRTUAL_ENV": filepath.Join(dir, "venv"), "CONDA_PREFIX": filepath.Join(dir, "conda")}, nil)
	if err != nil || i.Path != want || len(i.Passed) != 1 {
		t.Errorf("%+v, %v", i, err)
	}
}

func FuzzParseFacts(f *testing.F) {
	f.Add("python 3 11 4\n/usr/bin/python3\n")
	f.Add("python 2 7 18\n\n")
	f.Fuzz(func(t *testing.T, out string) {
		if x, err := parseFacts("/bin/x", out); err == nil && (x.executable == "" || x.version == "") {
			t.Errorf("%q gives %+v", out, x)
		}
	})
}
