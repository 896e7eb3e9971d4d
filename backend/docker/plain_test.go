//go:build linux

package docker_test

import (
	"strings"
	"testing"
)

func TestPlain_TheEndOfTheCallerLeavesNothingInTheContainer(t *testing.T) { // DKR-10, RES-8: kill -9
	l := newLab(t)
	l.config.Resident = "off"
	_, kill := l.calling(t, "run")
	id := l.containers(t)[0].ID
	if all := l.processes(t, id); !strings.Contains(all, "sleep 4242") {
		t.Fatalf("it is not seen:\n%s", all)
	}
	kill()
	l.gone(t, id, "4242")
}
