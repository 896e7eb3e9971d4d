//go:build linux

package vercel_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/backend/vercel"
	"github.com/hermes-runtime/hermes/backend/vercel/verceltest"
	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/cloud/cloudtest"
)

// kept has the files of sandboxes kept.
func (l *lab) kept() *lab {
	l.config.Kept = true
	return l
}

func TestKept_ASandboxIsStoppedAndFoundAgain(t *testing.T) { // CLD-1, MGR-5
	l := newLab(t).kept()
	l.s.Stops = 2 // looks, until its snapshot is made
	e := l.anew(t)
	run(t, e, "echo mine >~/f")
	l.agree(t, 1)
	shut(t, e)
	l.agree(t, 0)
	e = l.anew(t)
	if out := run(t, e, "cat ~/f"); out != "mine\n" || l.s.Made() != 1 {
		t.Errorf("%q, %d made", out, l.s.Made())
	}
	if s := l.s.Sandboxes()[0]; !s.Persistent || s.Timeout != 300000 || !strings.Contains(string(s.Keep), `"count":1`) || !strings.Contains(string(s.Keep), `"deleteEvicted":true`) {
		t.Errorf("more than its last snapshot is kept: %+v", s)
	}
	if l.s.Heard("GET /hermes") == 0 || len(cloudtest.Ledger(t, l)) != 1 {
		t.Errorf("the ledger holds %+v", cloudtest.Ledger(t, l))
	}
	one, two := e, l.anew(t)
	shut(t, one)
	if out := run(t, two, "cat ~/f"); out != "mine\n" {
		t.Errorf("the other one let go of it: %q", out)
	}
	shut(t, two)
	l.agree(t, 0)
	l.config.Runtime = "python3.13" // another one is made of something else
	e = l.anew(t)
	if l.s.Made() != 2 {
		t.Errorf("%d made", l.s.Made())
	}
	if err := e.(environment.Destroyer).Destroy(t.Context()); err != nil || len(l.s.Sandboxes()) != 1 {
		t.Errorf("%v, %d are there", err, len(l.s.Sandboxes()))
	}
}

func TestKept_OneThatExpiredIsStartedAgainAndSaysSo(t *testing.T) { // CLD-2, MGR-6
	for _, mode := range []string{"plain", "engine"} {
		t.Run(mode, func(t *testing.T) {
			l := newLab(t).kept()
			if mode == "engine" {
				l.engine(t)
			}
			e := l.anew(t)
			run(t, e, "echo mine >~/f")
			l.s.Later(11 * time.Minute)
			l.agree(t, 0)
			for _, again := range []bool{true, false} {
				var res environment.Result
				var err error
				cloudtest.Eventually(t, func() bool { // before the end of the stream is heard of, a command is lost on it
					res, err = e.Run(t.Context(), environment.Command{Script: "[ -e ~/f ]"})
					return !errors.Is(err, environment.ErrLost)
				})
				if err != nil || res.ExitCode != 0 || res.Recreated != again {
					t.Errorf("%+v, %v", res, err)
				}
			}
			l.s.Forget(e.Info().ID)
			for range 2 {
				var err error
				cloudtest.Eventually(t, func() bool {
					_, err = e.Run(t.Context(), environment.Command{Script: "true"})
					return !errors.Is(err, environment.ErrLost)
				})
				if !errors.Is(err, environment.ErrGone) {
					t.Errorf("%v", err)
				}
			}
			shut(t, e)
			if r := cloudtest.Ledger(t, l); len(r) > 0 {
				t.Errorf("one that is gone is in the ledger: %+v", r)
			}
		})
	}
}

func TestKept_OneThatSomebodyElseStartedAgainIsAnother(t *testing.T) { // MGR-6
	l := newLab(t).kept()
	one := l.anew(t)
	run(t, one, "true")
	l.s.Later(11 * time.Minute)
	two := l.anew(t)
	for _, again := range []bool{true, false} {
		if res, err := one.Run(t.Context(), environment.Command{Script: "true"}); err != nil || res.Recreated != again {
			t.Errorf("%+v, %v", res, err)
		}
	}
	shut(t, one)
	shut(t, two)
	l.agree(t, 0)
}

func TestKept_OneThatIsFoundRunningIsGivenTime(t *testing.T) { // CLD-2
	l := newLab(t).kept()
	one := l.anew(t)
	if n := l.s.Heard(extends); n != 0 {
		t.Errorf("a new one was extended %d times", n)
	}
	l.s.Later(4 * time.Minute)
	two := l.anew(t)
	if n := l.s.Heard(extends); n != 1 {
		t.Errorf("one that may be near its end was extended %d times", n)
	}
	l.s.Later(4 * time.Minute)
	l.agree(t, 1)
	shut(t, one)
	shut(t, two)
	l.agree(t, 0)
}

func TestKept_OneWhoseSnapshotIsGoneIsMadeAnewAndSaysSo(t *testing.T) { // CLD-6
	l := newLab(t).kept()
	e := l.anew(t)
	run(t, e, "echo mine >~/f")
	spoil := func(b *verceltest.Sandbox) { b.Status, b.Spoiled = "stopped", true }
	l.s.Change(e.Info().ID, spoil)
	if _, err := e.Run(t.Context(), environment.Command{Script: "true"}); !errors.Is(err, environment.ErrGone) || !strings.Contains(err.Error(), "no use any more") {
		t.Errorf("one that is in use: %v", err)
	}
	shut(t, e)
	l.s.Fault(deletes, 1, says(403, "not_now"))
	if _, err := l.Try(t.Context()); !errors.Is(err, environment.ErrUnavailable) || !strings.Contains(err.Error(), "not_now") || l.s.Made() != 1 {
		t.Errorf("one that can't be dropped: %v, %d made", err, l.s.Made())
	}
	l.agree(t, 0)
	e = l.anew(t)
	if out := run(t, e, "ls ~/f 2>&1 | wc -l; [ ! -e ~/f ]"); l.s.Made() != 2 || len(l.s.Sandboxes()) != 1 {
		t.Errorf("%q, %d made, %+v", out, l.s.Made(), l.s.Sandboxes())
	}
	if notes := strings.Join(e.Info().Notes, "\n"); !strings.Contains(notes, "are lost") || !strings.Contains(notes, "snapshot_not_found") && !strings.Contains(notes, "Snapshot not found") {
		t.Errorf("it doesn't say so: %s", notes)
	}
	shut(t, e)
	l.agree(t, 0)
	if e = l.anew(t); strings.Contains(strings.Join(e.Info().Notes, "\n"), "are lost") {
		t.Error("it says so again")
	}
	shut(t, e)
}

func TestKept_WhoOnlyLooksChangesNothing(t *testing.T) {
	l := newLab(t).engine(t).kept()
	l.o.Find = true
	if _, err := l.Try(t.Context()); !errors.Is(err, environment.ErrGone) {
		t.Errorf("without one: %v", err)
	}
	l.o.Find = false
	e := l.anew(t)
	if _, err := e.(environment.Keeper).Jobs(t.Context()); err != nil {
		t.Error(err)
	}
	l.o.Find = true
	looking := l.anew(t)
	if jobs, err := looking.(environment.Keeper).Jobs(t.Context()); err != nil || len(jobs) != 0 {
		t.Errorf("%v, %v", jobs, err)
	}
	shut(t, looking)
	l.agree(t, 1)
	looking = l.anew(t)
	shut(t, e)
	if _, err := looking.(environment.Keeper).Jobs(t.Context()); err == nil {
		t.Error("one that was stopped has jobs")
	}
	shut(t, looking)
	if _, err := l.Try(t.Context()); !errors.Is(err, environment.ErrUnavailable) || !strings.Contains(err.Error(), "stopped") {
		t.Errorf("one that is stopped: %v", err)
	}
	l.agree(t, 0)
	if n := l.s.Heard(extends); n != 0 {
		t.Errorf("it was extended %d times", n)
	}
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
	b, _ := environment.Lookup("vercel_sandbox")
	c := b.Config().(*vercel.Config)
	c.Resident, c.Kept, c.URL = "off", os.Getenv("HERMES_TEST_KEPT") == "true", os.Getenv("HERMES_TEST_URL")
	_, err := b.Open(context.Background(), environment.OpenOptions{Key: "test", HermesHome: home, Config: c})
	return err
}

func TestLife_WhatADeadRuntimeLeftIsEndedByTheNext(t *testing.T) { // CLD-3
	for _, kept := range []bool{true, false} {
		l := newLab(t)
		l.vars["HERMES_TEST_KEPT"], l.vars["HERMES_TEST_URL"] = fmt.Sprint(kept), l.s.URL
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

func TestEngine_FallsBackToAPlainShellAndSaysSo(t *testing.T) { // RES-7
	l := newLab(t)
	l.config.Resident, l.config.ResidentPath = "auto", "/bin/true" // brought, and no hermes
	e := l.anew(t)
	if out := run(t, e, "echo on"); out != "on\n" || !strings.Contains(strings.Join(e.Info().Notes, "\n"), "plain shell") {
		t.Errorf("%q, %v", out, e.Info().Notes)
	}
	shut(t, e)
}

func TestOutput_WhatIsLostIsToldOf(t *testing.T) { // CON-2
	l := newLab(t)
	e := l.anew(t)
	l.s.Fault(starts, -1, cloudtest.Command(0, lines(2)))
	l.s.Fault(logs, -1, says(404, "not_found"))
	var out strings.Builder
	res, err := e.Run(t.Context(), environment.Command{Script: "echo one", Output: &out, Timeout: time.Minute})
	if !errors.Is(err, environment.ErrLost) && !strings.Contains(out.String(), "may be missing") {
		t.Errorf("%+v, %v, %q", res, err, out.String())
	}
	shut(t, e)
	l.agree(t, 0)
}

func TestInput_ACommandMayLeaveItLying(t *testing.T) { // ENG-4; the server says 504 meanwhile
	for _, mode := range []string{"plain", "engine"} {
		t.Run(mode, func(t *testing.T) {
			l := newLab(t)
			if mode == "engine" {
				l.engine(t)
			}
			e := l.anew(t)
			var out strings.Builder
			text := strings.Repeat("0123456789abcde\n", 64<<10) // 1 MiB
			res, err := e.Run(t.Context(), environment.Command{
				Script: "sleep 5; cksum; head -c 1 </dev/null", Stdin: strings.NewReader(text), Output: &out, Timeout: time.Minute,
			})
			if err != nil || res.ExitCode != 0 || out.String() != cksum(t, text) {
				t.Errorf("%+v, %v, %q", res, err, out.String())
			}
			shut(t, e)
		})
	}
}

func cksum(t *testing.T, text string) string {
	t.Helper()
	cmd := exec.Command("cksum")
	cmd.Stdin = strings.NewReader(text)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
