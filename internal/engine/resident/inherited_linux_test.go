package resident_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine/resident"
)

// KPR-4: a keeper is started with what it needs to find its home, and no key of whoever starts it.
func TestKeeper_HasNoKeys(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "planted-key")
	home := newHome(t, "30s")
	startJob(t, keeperOf(t, home), script("exec sleep 600"))
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", keepers(home)[0]))
	if err != nil {
		t.Fatal(err)
	}
	known := []string{"HERMES_HOME", "HERMES_KEEPER_SCOPE", "HOME", "PATH", "USER", "LOGNAME", "LANG", "TMPDIR"}
	for _, e := range strings.Split(strings.Trim(string(b), "\x00"), "\x00") {
		if name, _, _ := strings.Cut(e, "="); !slices.Contains(known, name) {
			t.Errorf("it has %s", name)
		}
	}
}

// LIM-3: the keeper may have as many descriptors open as the system lets it; its jobs get the limit that they would have had.
// LIM-5: they inherit none of its descriptors, and nothing tells them where it listens.
func TestKeeper_WhatJobsInherit(t *testing.T) {
	home := newHome(t, "30s")
	k := keeperOf(t, home)
	startJob(t, k, script("exec sleep 600")) // so that there is something to inherit
	i := endOf(t, startJob(t, k, script("ulimit -Sn; ls /proc/$$/fd | tr '\\n' ' '; echo; env | grep -c '[k]eeper\\|[.]sock'; true")))
	lines := strings.Split(strings.TrimSpace(i.Preview), "\n")
	var own unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &own); err != nil {
		t.Fatal(err)
	}
	limits, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", keepers(home)[0]))
	if err != nil {
		t.Fatal(err)
	}
	row := ""
	for line := range bytes.Lines(limits) {
		if bytes.HasPrefix(line, []byte("Max open files")) {
			row = string(line)
		}
	}
	f := strings.Fields(row)
	if len(f) < 5 || f[3] != f[4] || f[4] != fmt.Sprint(own.Max) {
		t.Errorf("the keeper's limit: %q", row)
	}
	if len(lines) != 3 || strings.TrimSpace(lines[1]) != "0 1 2" || lines[2] != "0" {
		t.Errorf("%q", i.Preview)
	}
	out, err := exec.Command("sh", "-c", "ulimit -Sn").Output() // what a child of this process would have had
	if err != nil || strings.TrimSpace(string(out)) != lines[0] {
		t.Errorf("a job may open %s files, else a child %s, %v", lines[0], out, err)
	}
}

// IDN-6: two runtimes on one home see the same jobs, and what one has told the other doesn't tell again.
func TestKeeper_TwoRuntimesOneTable(t *testing.T) {
	home := newHome(t, "30s")
	a, b := keeperOf(t, home), keeperOf(t, home)
	j := script("exit 3")
	j.Notify = true
	id := endOf(t, startJob(t, a, j)).ID
	p, err := b.Attach(t.Context(), id)
	if err != nil || endOf(t, p).End != environment.EndExited {
		t.Fatalf("%v", err)
	}
	for _, k := range []*resident.Keeper{a, b} {
		if list, err := k.Jobs(t.Context(), 0); err != nil || len(list) != 1 || list[0].ID != id {
			t.Errorf("%+v, %v", list, err)
		}
	}
	if err := b.Taken(t.Context(), environment.CompletionID(id)); err != nil {
		t.Fatal(err)
	}
	none, stop := context.WithCancel(t.Context())
	stop()
	if events, err := a.Events(none, nil); err == nil {
		t.Errorf("told again: %+v", events)
	}
}
