//go:build linux

package daytona_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/backend/daytona"
	"github.com/hermes-runtime/hermes/backend/daytona/daytonatest"
	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/cloud/cloudtest"
)

func TestLife_ASandboxHasAnEndFromTheStart(t *testing.T) { // CLD-1
	for _, kept := range []bool{true, false} {
		l := newLab(t)
		l.config.Kept = kept
		l.open(t)
		s := l.s.Sandboxes()
		if len(s) != 1 || s[0].AutoStop != 15 || s[0].AutoDelete != map[bool]int{true: 1440, false: 0}[kept] {
			t.Errorf("kept %v: %+v", kept, s)
		}
		r := cloudtest.Ledger(t, l)
		if len(r) != 1 || r[0].ID != s[0].ID || r[0].Idle != 900 || len(r[0].Uses) != 1 || r[0].Kept != kept {
			t.Errorf("kept %v: %+v", kept, r)
		}
	}
}

func TestLife_OneThatIsKeptIsStoppedAndFoundAgain(t *testing.T) { // CLD-1, MGR-5
	l := newLab(t)
	l.config.Kept = true
	e := l.anew(t)
	run(t, e, "echo mine >~/f")
	l.agree(t, 1)
	shut(t, e)
	l.agree(t, 0)
	e = l.anew(t)
	if out := run(t, e, "cat ~/f"); out != "mine\n" || l.s.Made() != 1 {
		t.Errorf("%q, %d made", out, l.s.Made())
	}
	one, two := e, l.anew(t)
	shut(t, one)
	if out := run(t, two, "cat ~/f"); out != "mine\n" {
		t.Errorf("the other one let go of it: %q", out)
	}
	shut(t, two)
	l.agree(t, 0)
	l.config.Image = "debian:12" // another one is made of something else
	shut(t, l.anew(t))
	if l.s.Made() != 2 {
		t.Errorf("%d made", l.s.Made())
	}
	l.s.Later(25 * time.Hour)
	if n := len(l.s.Sandboxes()); n != 0 {
		t.Errorf("%d sandboxes are there a day later", n)
	}
	e = l.anew(t) // it is recorded, and not there any more
	if err := e.(environment.Destroyer).Destroy(t.Context()); err != nil {
		t.Error(err)
	}
	if n := len(l.s.Sandboxes()); n != 0 {
		t.Errorf("one that was thrown away is there: %d", n)
	}
}

func TestLife_OneThatExpiredIsStartedAgainAndSaysSo(t *testing.T) { // CLD-2, MGR-6
	l := newLab(t)
	l.config.Kept = true
	e := l.open(t)
	run(t, e, "export A=1; echo mine >~/f")
	l.s.Later(16 * time.Minute)
	l.agree(t, 0)
	for _, again := range []bool{true, false} {
		res, err := e.Run(t.Context(), environment.Command{Script: "[ -e ~/f ]"})
		if err != nil || res.ExitCode != 0 || res.Recreated != again {
			t.Errorf("%+v, %v", res, err)
		}
	}
	l.s.Forget(e.Info().ID)
	for range 2 {
		if _, err := e.Run(t.Context(), environment.Command{Script: "true"}); !errors.Is(err, environment.ErrGone) {
			t.Errorf("%v", err)
		}
	}
	shut(t, e)
	if r := cloudtest.Ledger(t, l); len(r) > 0 {
		t.Errorf("one that is gone is in the ledger: %+v", r)
	}
}

func TestLife_WhoOnlyLooksChangesNothing(t *testing.T) {
	l := newLab(t).engine(t)
	l.config.Kept = true
	l.o.Find = true
	if _, err := l.Try(t.Context()); !errors.Is(err, environment.ErrGone) {
		t.Errorf("without one: %v", err)
	}
	l.o.Find = false
	e := l.anew(t)
	l.o.Find = true
	looking := l.anew(t)
	if jobs, err := looking.(environment.Keeper).Jobs(t.Context()); err != nil || len(jobs) != 0 {
		t.Errorf("%v, %v", jobs, err)
	}
	shut(t, looking)
	l.agree(t, 1)
	shut(t, e)
	if _, err := l.Try(t.Context()); !errors.Is(err, environment.ErrUnavailable) || !strings.Contains(err.Error(), "stopped") {
		t.Errorf("one that is stopped: %v", err)
	}
	l.agree(t, 0)
}

func TestLife_NoMoreRunThanAreAllowed(t *testing.T) { // CLD-3
	l := newLab(t)
	l.config.MaxPlaces = 1
	e := l.anew(t)
	if _, err := l.Try(t.Context()); !errors.Is(err, environment.ErrUnavailable) || !strings.Contains(err.Error(), "max_sandboxes") || l.s.Made() != 1 {
		t.Errorf("%v, %d made", err, l.s.Made())
	}
	shut(t, e)
	shut(t, l.anew(t))
	l.agree(t, 0)
}

// runtimeOf is a runtime that uses a sandbox until it is killed.
func runtimeOf(home string) error {
	b, _ := environment.Lookup("daytona")
	c := b.Config().(*daytona.Config)
	c.Resident, c.Kept = "off", os.Getenv("HERMES_TEST_KEPT") == "true"
	_, err := b.Open(context.Background(), environment.OpenOptions{Key: "test", HermesHome: home, Config: c})
	return err
}

func TestLife_WhatADeadRuntimeLeftIsEndedByTheNext(t *testing.T) { // CLD-3
	for _, kept := range []bool{true, false} {
		l := newLab(t)
		l.vars["HERMES_TEST_KEPT"] = fmt.Sprint(kept)
		cloudtest.Kill(t, l.o.HermesHome, l.vars, func() { l.agree(t, 1) })
		e := l.anew(t) // another one
		l.agree(t, 1)
		shut(t, e)
		l.agree(t, 0)
		if n := len(l.s.Sandboxes()); n != map[bool]int{true: 1, false: 0}[kept] {
			t.Errorf("kept %v: %d are there", kept, n)
		}
	}
}

func TestProbe_TellsOfAllSandboxesPageByPage(t *testing.T) { // CLD-3: doctor
	l := newLab(t)
	e := l.open(t)
	labels := l.s.Sandboxes()[0].Labels
	l.s.Pieces = 4
	for i := range 10 {
		l.s.Add(daytonatest.Sandbox{Name: fmt.Sprint("lost-", i), State: "stopped", Labels: labels})
	}
	l.s.Add(daytonatest.Sandbox{Name: "somebody-else's", State: "started"})
	b, _ := environment.Lookup("daytona")
	o, c := l.o, l.config
	o.Config = &c
	lines := strings.Join(b.Probe(t.Context(), o), "\n")
	for _, want := range []string{"sandboxes of this HERMES_HOME there: 11", e.Info().ID, "in use", "lost-9", "not in the ledger", "dashboard"} {
		if !strings.Contains(lines, want) {
			t.Errorf("it doesn't say %q:\n%s", want, lines)
		}
	}
	if strings.Contains(lines, "somebody-else's") || l.s.Heard("GET /sandbox") < 3 {
		t.Errorf("%d pages\n%s", l.s.Heard("GET /sandbox"), lines)
	}
	l.vars["DAYTONA_API_KEY"] = "dtn_old_and_expired"
	if lines := strings.Join(b.Probe(t.Context(), o), "\n"); !strings.Contains(lines, "refused") || strings.Contains(lines, "dtn_old") {
		t.Errorf("%s", lines)
	}
}

func TestSettings_SayWhatSandboxesAreMadeOf(t *testing.T) {
	l := newLab(t)
	l.config.CPU, l.config.MemoryMB, l.config.DiskMB, l.config.Network = 1.5, 1025, 20<<10, false
	l.vars["DAYTONA_TARGET"] = "eu"
	l.o.Overrides = map[string]string{"daytona_image": "debian:12"}
	e := l.anew(t)
	s := l.s.Sandboxes()[0]
	if s.CPU != 2 || s.Memory != 2 || s.Disk != 10 || !s.BlockAll || s.Target != "eu" || !strings.Contains(string(s.Build), `FROM debian:12\n`) {
		t.Errorf("%+v %s", s, s.Build)
	}
	if i := e.Info(); i.Traits.Network || len(i.Traits.Mounts) > 0 || !strings.Contains(strings.Join(i.Notes, "\n"), "10 GiB") {
		t.Errorf("%+v", i)
	}
	shut(t, e)
	l.o.Overrides, l.config.Snapshot = nil, "mine"
	shut(t, l.anew(t))
	b, _ := environment.Lookup("daytona")
	for name, change := range map[string]func(c *daytona.Config){
		"daytona_auto_stop": func(c *daytona.Config) { c.AutoStop = 0 }, "daytona_auto_delete": func(c *daytona.Config) { c.AutoDelete = 0 },
		"daytona_image": func(c *daytona.Config) { c.Image = "a\nRUN evil" }, "resident": func(c *daytona.Config) { c.Resident = "maybe" },
	} {
		c := b.Config().(*daytona.Config)
		change(c)
		o := l.o
		o.Config = c
		if err := b.Check(t.Context(), o); !errors.Is(err, environment.ErrConfig) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, odd := range []string{"a\nRUN evil", "a\x00b", "a b", "a\u2028b", "--platform=x"} {
		l.o.Overrides = map[string]string{"daytona_image": odd}
		if _, err := l.Try(t.Context()); !errors.Is(err, environment.ErrConfig) || !strings.Contains(err.Error(), "daytona_image") {
			t.Errorf("a task's image %q: %v", odd, err)
		}
	}
}

func TestEngine_FallsBackToAPlainShellAndSaysSo(t *testing.T) { // RES-7
	l := newLab(t)
	l.config.Resident, l.config.ResidentPath = "auto", "/bin/true" // brought, and no hermes
	e := l.open(t)
	if out := run(t, e, "echo on"); out != "on\n" || !strings.Contains(strings.Join(e.Info().Notes, "\n"), "plain shell") {
		t.Errorf("%q, %v", out, e.Info().Notes)
	}
}
