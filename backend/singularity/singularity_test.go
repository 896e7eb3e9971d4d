//go:build linux

package singularity_test

import (
	"testing"

	"github.com/hermes-runtime/hermes/backend/singularity/apptainertest"
	"github.com/hermes-runtime/hermes/environment/envtest"
)

func TestSingularity_IsAnEnvironment(t *testing.T) { // CNF-1, SNG-1
	envtest.Run(t, newLab(t).apart(), envtest.Abilities{Lacking: []envtest.Ability{envtest.Descriptor}})
}

func TestSingularity_EndsCommandsInAnImageWithoutBash(t *testing.T) { // ENG-21
	l := newLab(t)
	l.config.Image = l.a.Provide(t, apptainertest.Busybox)
	envtest.RunEnds(t, l.apart(), envtest.Abilities{Place: "singularity, no bash", Lacking: []envtest.Ability{envtest.Descriptor, envtest.Bash}})
}

func TestSingularity_ConformsThroughAPlainShell(t *testing.T) { // RES-7, RES-8
	l := newLab(t)
	l.config.Resident = "off"
	envtest.Run(t, l.apart(), envtest.Abilities{
		Place:   "singularity, plain shell",
		Lacking: []envtest.Ability{envtest.Descriptor, envtest.Search, envtest.Sudo, envtest.Jobs, envtest.Terminals, envtest.Forward}})
}
