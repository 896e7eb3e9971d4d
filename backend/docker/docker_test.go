//go:build linux

package docker_test

import (
	"testing"

	"github.com/hermes-runtime/hermes/backend/docker/dockertest"
	"github.com/hermes-runtime/hermes/environment/envtest"
)

func TestDocker_IsAnEnvironment(t *testing.T) { // CNF-1, DKR-10
	l := newLab(t)
	l.config.Persist, l.config.ExtraArgs = false, roomy
	envtest.Run(t, l.anew, envtest.Abilities{Lacking: []envtest.Ability{envtest.Descriptor}})
}

func TestDocker_EndsCommandsInAnImageWithoutBash(t *testing.T) { // ENG-21
	l := newLab(t)
	l.config.Persist, l.config.ExtraArgs, l.config.Image = false, roomy, dockertest.Busybox
	envtest.RunEnds(t, l.anew, envtest.Abilities{Place: "docker, no bash", Lacking: []envtest.Ability{envtest.Descriptor, envtest.Bash}})
}

// roomy lets the suites run all that they run at once.
var roomy = []string{"--pids-limit", "2000"}

func TestDocker_ConformsThroughAPlainShell(t *testing.T) { // RES-7, RES-8
	l := newLab(t)
	l.config.Persist, l.config.ExtraArgs, l.config.Resident = false, roomy, "off"
	envtest.Run(t, l.anew, envtest.Abilities{
		Place: "docker, plain shell", Lacking: []envtest.Ability{envtest.Descriptor, envtest.Search, envtest.Sudo, envtest.Jobs, envtest.Terminals, envtest.Forward}})
}
