//go:build linux

package docker_test

import (
	"context"
	"errors"
	"testing"

	"github.com/moby/moby/client"

	"github.com/hermes-runtime/hermes/environment"
)

func TestPlain_TheEndOfTheCallerLeavesNothingInTheContainer(t *testing.T) { // DKR-10, RES-8: kill -9
	l := newLab(t)
	l.config.Resident = "off"
	_, kill := l.calling(t, "run")
	id := l.containers(t)[0].ID
	l.runs(t, id, "sleep 4242")
	l.runs(t, id, "read -r l") // the guard, which stands beside the first command
	kill()
	l.gone(t, id, "4242")
}

func TestPlain_ALinkThatIsCutLeavesNothingInTheContainer(t *testing.T) { // RES-8, CON-2
	l := newLab(t)
	r, address := newRelay(t, l.d.Host)
	l.vars["DOCKER_HOST"], l.config.Resident = address, "off"
	e := l.open(t)
	id := e.Info().ID
	up := newStarted()
	done := make(chan error, 1)
	go func() {
		_, err := e.Run(context.Background(), environment.Command{Script: stubborn, Output: up})
		done <- err
	}()
	<-up.up
	l.runs(t, id, "read -r l") // the guard, which stands beside the first command
	r.cut()
	if err := <-done; !errors.Is(err, environment.ErrLost) || errors.Is(err, environment.ErrNotStarted) {
		t.Errorf("%v, want ErrLost", err)
	}
	l.gone(t, id, "4242")
	if out := run(t, e, "echo on"); out != "on\n" {
		t.Errorf("%q", out)
	}
}

func TestPlain_APlaceThatIsGoneSaysSo(t *testing.T) { // CON-2, MGR-6
	l := newLab(t)
	l.config.Resident = "off"
	e := l.open(t)
	zero := 0
	if _, err := l.api.ContainerStop(t.Context(), e.Info().ID, client.ContainerStopOptions{Timeout: &zero}); err != nil {
		t.Fatal(err)
	}
	if res, err := e.Run(t.Context(), script("true")); err != nil || !res.Recreated {
		t.Errorf("stopped: %+v, %v", res, err)
	}
	l.remove(t, e.Info().ID)
	if _, err := e.Files().Stat(t.Context(), "/"); !errors.Is(err, environment.ErrGone) || !errors.Is(err, environment.ErrNotStarted) {
		t.Errorf("removed: %v", err)
	}
	if _, err := e.Run(t.Context(), script("true")); !errors.Is(err, environment.ErrGone) {
		t.Errorf("removed: %v", err)
	}
}
