//go:build linux

package docker_test

import (
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/moby/moby/client"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/envs"
)

// look opens what is there, to look into.
func (l *lab) look(t *testing.T) (environment.Environment, error) {
	t.Helper()
	l.o.Find = true
	defer func() { l.o.Find = false }()
	return l.try(t.Context())
}

func TestFind_MakesAndStartsNothing(t *testing.T) { // RMT-1, IDN-2
	l := newLab(t)
	if _, err := l.look(t); !errors.Is(err, environment.ErrGone) || len(l.containers(t)) > 0 {
		t.Errorf("where there is none: %v, %d containers", err, len(l.containers(t)))
	}
	e := l.open(t)
	id := infoOf(t, start(t, e, environment.Job{Command: script("sleep 4242")})).ID
	box := e.Info().ID
	shut(t, e)
	l.config.MemoryMB = 512 // whatever is configured by now: what is there counts
	before := l.inspect(t, box).State
	found, err := l.look(t)
	if err != nil {
		t.Fatal(err)
	}
	list, err := found.(environment.Keeper).Jobs(t.Context())
	if err != nil || len(list) != 1 || list[0].ID != id || list[0].Status != environment.JobRunning {
		t.Errorf("%+v, %v", list, err)
	}
	if _, err := attach(t, found, id).Kill(t.Context(), "test"); err != nil {
		t.Error(err)
	}
	shut(t, found)
	if after := l.inspect(t, box).State; !after.Running || after.StartedAt != before.StartedAt || len(l.containers(t)) != 1 {
		t.Errorf("%+v, before it was %+v; %d containers", after, before, len(l.containers(t)))
	}
	if _, err := l.api.ContainerPause(t.Context(), box, client.ContainerPauseOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := l.look(t); !errors.Is(err, environment.ErrUnavailable) || !strings.Contains(err.Error(), "paused") || !l.inspect(t, box).State.Paused {
		t.Errorf("paused: %v", err)
	}
}

func TestFind_LeavesWhatAnotherProcessWillRemove(t *testing.T) { // DKR-6
	l := newLab(t)
	l.config.Persist = false
	e := l.open(t)
	start(t, e, environment.Job{Command: script("sleep 4242")})
	found, err := l.look(t)
	if err != nil {
		t.Fatal(err)
	}
	if list, err := found.(environment.Keeper).Jobs(t.Context()); err != nil || len(list) != 1 {
		t.Errorf("%+v, %v", list, err)
	}
	shut(t, found)
	l.runs(t, e.Info().ID, "4242")
}

func TestFind_TheCommandLineMakesNoContainer(t *testing.T) { // CLI-1
	l := newLab(t)
	got := l.hermes(t, nil, "terminal", `{"command":"sleep 4242","background":true}`)
	id, _ := got["session_id"].(string)
	list := func(place string) string {
		t.Helper()
		c := exec.Command(l.config.ResidentPath, "process", "list", "--json")
		c.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + l.o.HermesHome, "HERMES_HOME=" + l.o.HermesHome, "DOCKER_HOST=" + l.d.Host, "TERMINAL_ENV=" + place, "TERMINAL_DOCKER_IMAGE=" + l.config.Image}
		out, err := c.Output()
		if err != nil || !json.Valid(out) {
			t.Errorf("%s: %v: %s", place, err, out)
		}
		return string(out)
	}
	for _, place := range []string{"docker", "local"} {
		if out := list(place); id == "" || !strings.Contains(out, id) || strings.Contains(out, `"note"`) {
			t.Errorf("%s lists %s, want %s", place, out, id)
		}
	}
	l.remove(t, l.containers(t)[0].ID)
	for _, place := range []string{"docker", "local"} {
		if out := list(place); strings.Contains(out, id) || strings.Contains(out, `"note"`) || len(l.containers(t)) > 0 {
			t.Errorf("%s lists %s; %d containers", place, out, len(l.containers(t)))
		}
	}
}

func TestReset_RemovesAContainerThatWouldBeKept(t *testing.T) { // MGR-6, DKR-6
	l := newLab(t)
	m := l.manager(t)
	if a, err := call(t, m, "mkdir d; cd d; export A=kept; echo 1 >/root/file; echo 2 >/opt/file"); err != nil {
		t.Fatalf("%+v, %v", a, err)
	}
	place, err := m.Place(t.Context(), "task")
	if err != nil {
		t.Fatal(err)
	}
	p := start(t, place.Environment, environment.Job{Command: script("sleep 4242")})
	id := place.Info().ID
	if err := m.Reset(t.Context(), envs.DefaultKey); err != nil {
		t.Fatal(err)
	}
	if n := len(l.containers(t)); n > 0 {
		t.Errorf("%d containers", n)
	}
	if _, err := p.Info(t.Context(), 0); err == nil {
		t.Error("a job of what was thrown away still answers")
	}
	a, err := call(t, m, "echo $A; cat /root/file; cat /opt/file 2>/dev/null || echo none")
	if err != nil || a.Text.Head != "kept\n1\nnone\n" {
		t.Errorf("%+v, %v", a, err)
	}
	if next, err := m.Place(t.Context(), "task"); err != nil || next.Info().ID == id {
		t.Errorf("%v, %v", next, err)
	}
}
