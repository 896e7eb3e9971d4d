//go:build modal && linux

package modal_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	pb "github.com/modal-labs/modal-client/go/proto/modal_proto"

	"github.com/hermes-runtime/hermes/backend/modal"
	"github.com/hermes-runtime/hermes/backend/modal/modaltest"
	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/environment/envtest"
	"github.com/hermes-runtime/hermes/internal/cloud/cloudtest"
)

func TestLife_ASandboxHasAnEndFromTheStart(t *testing.T) { // CLD-1
	l := newLab(t)
	l.config.Timeout, l.config.Lifetime = 2*time.Hour, 20*time.Minute
	e := l.open(t)
	s := l.s.Sandboxes()
	if d := s[0].Definition; len(s) != 1 || d.GetTimeoutSecs() != 7200 || d.GetIdleTimeoutSecs() != 1200 {
		t.Errorf("%v", s)
	}
	if r := cloudtest.Ledger(t, l); len(r) != 1 || r[0].ID != e.Info().ID || r[0].Idle != 1200 || r[0].Lifetime != 7200 || len(r[0].Uses) != 1 {
		t.Errorf("%+v", r)
	}
	other := newLab(t)
	other.config.Lifetime = 0 // never, as far as hermes is concerned
	other.open(t)
	if idle := other.s.Sandboxes()[0].Definition.GetIdleTimeoutSecs(); idle != 300 {
		t.Errorf("idle time %d", idle)
	}
}

func TestLife_FilesAreKeptAsASnapshotAndNothingRunsOn(t *testing.T) { // CLD-1, CLD-6
	l := newLab(t).kept()
	e := cloudtest.Open(t, l)
	envtest.Output(t, e, "echo one >~/f")
	l.agree(t, 1)
	envtest.Shut(t, e)
	l.agree(t, 0)
	first := l.left(t, "direct:test")
	if all := l.s.Snapshots(); len(all) != 1 || all[0] != first {
		t.Errorf("recorded %q, there are %v", first, all)
	}
	e = cloudtest.Open(t, l)
	if out := envtest.Output(t, e, "cat ~/f; echo two >~/f"); out != "one\n" || len(e.Info().Notes) > 1 {
		t.Errorf("%q, %v", out, e.Info().Notes)
	}
	one, two := e, cloudtest.Open(t, l) // which use one sandbox
	envtest.Shut(t, one)
	if out := envtest.Output(t, two, "cat ~/f"); out != "two\n" || l.s.Made() != 2 {
		t.Errorf("the other one let go of it: %q, %d made", out, l.s.Made())
	}
	envtest.Shut(t, two)
	l.agree(t, 0)
	second := l.left(t, "direct:test")
	if all := l.s.Snapshots(); second == first || len(all) != 1 || all[0] != second {
		t.Errorf("recorded %q after %q, there are %v", second, first, all)
	}
	e = cloudtest.Open(t, l)
	if err := e.(environment.Destroyer).Destroy(t.Context()); err != nil {
		t.Error(err)
	}
	l.agree(t, 0)
	if all := l.s.Snapshots(); len(all) != 0 || l.left(t, "direct:test") != "" {
		t.Errorf("one that was thrown away left %v", all)
	}
}

func TestLife_EachImageHasFilesOfItsOwn(t *testing.T) {
	l := newLab(t).kept()
	e := cloudtest.Open(t, l)
	envtest.Output(t, e, "echo default >~/f")
	envtest.Shut(t, e)
	l.config.Image = "debian:12"
	e = cloudtest.Open(t, l)
	if out := envtest.Output(t, e, "cat ~/f || echo debian >~/f"); strings.Contains(out, "default") {
		t.Errorf("%q", out)
	}
	envtest.Shut(t, e)
	for image, want := range map[string]string{"debian:12": "debian\n", "nikolaik/python-nodejs:python3.11-nodejs20": "default\n"} {
		l.config.Image = image
		e := cloudtest.Open(t, l)
		if out := envtest.Output(t, e, "cat ~/f"); out != want {
			t.Errorf("%s: %q", image, out)
		}
		envtest.Shut(t, e)
	}
}

func TestLife_ASnapshotThatIsGoneIsToldAndTheTaskBeginsAnew(t *testing.T) { // CLD-6
	l := newLab(t).kept()
	e := cloudtest.Open(t, l)
	envtest.Output(t, e, "echo one >~/f")
	envtest.Shut(t, e)
	l.s.Lose(l.left(t, "direct:test"))
	e = cloudtest.Open(t, l)
	if notes := strings.Join(e.Info().Notes, "\n"); !strings.Contains(notes, "begins anew from nikolaik") {
		t.Errorf("%s", notes)
	}
	if out := envtest.Output(t, e, "cat ~/f || echo none"); !strings.HasSuffix(out, "none\n") {
		t.Errorf("%q", out)
	}
	envtest.Shut(t, e)
	e = cloudtest.Open(t, l)
	if notes := strings.Join(e.Info().Notes, "\n"); strings.Contains(notes, "anew") {
		t.Errorf("it is told again: %s", notes)
	}
	envtest.Shut(t, e)
}

func TestLife_OneThatEndedIsGoneForGood(t *testing.T) { // MDL-1, MGR-6
	for name, end := range map[string]func(l *lab, id string){
		"124":                func(l *lab, _ string) { l.s.Later(2 * time.Hour) },
		"137":                func(l *lab, id string) { l.s.End(id, pb.GenericResult_GENERIC_STATUS_TERMINATED) },
		"an exit of its own": func(l *lab, id string) { l.s.End(id, pb.GenericResult_GENERIC_STATUS_FAILURE) },
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t).kept()
			e := l.open(t)
			envtest.Output(t, e, "true")
			end(l, e.Info().ID)
			for range 2 {
				if _, err := e.Run(t.Context(), environment.Command{Script: "true"}); !errors.Is(err, environment.ErrGone) {
					t.Errorf("%v", err)
				}
			}
			envtest.Shut(t, e)
			l.agree(t, 0)
			if ref := l.left(t, "direct:test"); ref != "" {
				t.Errorf("there is a snapshot of nothing: %s", ref)
			}
		})
	}
}

func TestLife_WhoOnlyLooksChangesNothing(t *testing.T) {
	l := newLab(t).engine(t).kept()
	l.o.Find = true
	if _, err := l.Try(t.Context()); !errors.Is(err, environment.ErrGone) {
		t.Errorf("without one: %v", err)
	}
	l.o.Find = false
	e := cloudtest.Open(t, l)
	l.o.Find = true
	looking := cloudtest.Open(t, l)
	if jobs, err := looking.(environment.Keeper).Jobs(t.Context()); err != nil || len(jobs) != 0 {
		t.Errorf("%v, %v", jobs, err)
	}
	envtest.Shut(t, looking)
	l.agree(t, 1)
	envtest.Shut(t, e)
	if _, err := l.Try(t.Context()); !errors.Is(err, environment.ErrGone) {
		t.Errorf("one that ended: %v", err)
	}
	l.agree(t, 0)
}

func TestLife_NoMoreRunThanAreAllowed(t *testing.T) { // CLD-3
	l := newLab(t)
	l.config.MaxPlaces = 1
	e := cloudtest.Open(t, l)
	if _, err := l.Try(t.Context()); !errors.Is(err, environment.ErrUnavailable) || !strings.Contains(err.Error(), "max_sandboxes") || l.s.Made() != 1 {
		t.Errorf("%v, %d made", err, l.s.Made())
	}
	envtest.Shut(t, e)
	envtest.Shut(t, cloudtest.Open(t, l))
	l.agree(t, 0)
}

// runtimeRole makes this program a runtime that uses a sandbox until it is killed: the value is the HERMES_HOME.
const runtimeRole = "HERMES_TEST_MODAL_RUNTIME"

func runtimeProcess() {
	home := os.Getenv(runtimeRole)
	if home == "" {
		return
	}
	b, _ := environment.Lookup("modal")
	c := b.Config().(*modal.Config)
	c.Resident, c.Kept = "off", os.Getenv(runtimeRole+"_KEPT") == "true"
	_, err := b.Open(context.Background(), environment.OpenOptions{Key: "test", HermesHome: home, Config: c})
	fmt.Println(err)
	select {}
}

func TestLife_WhatADeadRuntimeLeftIsEndedByTheNext(t *testing.T) { // CLD-3
	for _, kept := range []bool{true, false} {
		l := newLab(t)
		exe, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(exe)
		cmd.Env = append(os.Environ(), runtimeRole+"="+l.o.HermesHome, fmt.Sprintf("%s_KEPT=%v", runtimeRole, kept),
			"MODAL_TOKEN_ID="+modaltest.ID, "MODAL_TOKEN_SECRET="+modaltest.Secret, "MODAL_SERVER_URL="+l.s.URL)
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		if line, err := bufio.NewReader(out).ReadString('\n'); line != "<nil>\n" {
			t.Errorf("it can't use a sandbox: %q, %v", line, err)
		}
		l.agree(t, 1)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		l.config.Kept = false
		e := cloudtest.Open(t, l) // another one
		l.agree(t, 1)
		envtest.Shut(t, e)
		l.agree(t, 0)
		if ref := l.left(t, "direct:test"); ref != "" != kept {
			t.Errorf("kept %v: its snapshot is %q", kept, ref)
		}
	}
}

func TestProbe_TellsOfAllSandboxesPageByPage(t *testing.T) { // CLD-3: doctor
	l := newLab(t)
	e := l.open(t)
	l.s.Pieces = 4
	for i := range 10 {
		tags := map[string]string{"hermes_home": l.s.Sandboxes()[0].Tags["hermes_home"], "hermes_name": fmt.Sprint("lost-", i)}
		l.s.Add(tags["hermes_name"], tags)
	}
	l.s.Add("somebody-else's", nil)
	b, _ := environment.Lookup("modal")
	lines := strings.Join(b.Probe(t.Context(), l.options()), "\n")
	for _, want := range []string{"sandboxes of this HERMES_HOME there: 11", e.Info().ID, "in use", "lost-9", "not in the ledger", "dashboard"} {
		if !strings.Contains(lines, want) {
			t.Errorf("it doesn't say %q:\n%s", want, lines)
		}
	}
	if strings.Contains(lines, "somebody-else's") || l.s.Heard("SandboxListV2") < 3 {
		t.Errorf("%d pages\n%s", l.s.Heard("SandboxListV2"), lines)
	}
	l.vars["MODAL_TOKEN_SECRET"] = "as-old-and-expired"
	if lines := strings.Join(b.Probe(t.Context(), l.options()), "\n"); !strings.Contains(lines, "refused") || strings.Contains(lines, "as-old") {
		t.Errorf("%s", lines)
	}
}

func TestSettings_SayWhatSandboxesAreMadeOf(t *testing.T) {
	l := newLab(t)
	l.config.CPU, l.config.MemoryMB, l.config.Network, l.config.Region = 1.5, 1025, false, "eu-west, us-east"
	l.o.Overrides = map[string]string{"modal_image": "debian:12"}
	e := cloudtest.Open(t, l)
	s := l.s.Sandboxes()[0]
	r := s.Definition.GetResources()
	if r.GetMilliCpu() != 1500 || r.GetMilliCpuMax() != 1500 || r.GetMemoryMb() != 1025 || r.GetMemoryMbMax() != 1025 || s.Image != "im-FROM-debian-12" {
		t.Errorf("%+v", s)
	}
	if got := s.Definition.GetSchedulerPlacement().GetRegions(); fmt.Sprint(got) != "[eu-west us-east]" || s.Definition.GetNetworkAccess().GetNetworkAccessType() != pb.NetworkAccess_BLOCKED {
		t.Errorf("%v %v", got, s.Definition.GetNetworkAccess())
	}
	if i := e.Info(); i.Traits.Network || len(i.Traits.Mounts) > 0 {
		t.Errorf("%+v", i)
	}
	envtest.Shut(t, e)
	l.o.Overrides, l.config.GPU, l.config.Image = nil, "T4", s.Image // of the first version, and an image that is there
	e = cloudtest.Open(t, l)
	if out := envtest.Output(t, e, "echo on"); out != "on\n" || l.s.Heard("SandboxCreate") != 1 || l.s.Heard("ImageGetOrCreate") != 1 {
		t.Errorf("%q", out)
	}
	envtest.Shut(t, e)
	l.agree(t, 0)
}

func TestEngine_FallsBackToAPlainShellAndSaysSo(t *testing.T) { // RES-7
	l := newLab(t)
	l.config.Resident, l.config.ResidentPath = "auto", "/bin/true" // brought, and no hermes
	e := l.open(t)
	if out := envtest.Output(t, e, "echo on"); out != "on\n" || !strings.Contains(strings.Join(e.Info().Notes, "\n"), "plain shell") {
		t.Errorf("%q, %v", out, e.Info().Notes)
	}
}
