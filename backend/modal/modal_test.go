//go:build modal && linux

package modal_test

import (
	"testing"

	"github.com/hermes-runtime/hermes/environment/envtest"
)

func TestModal_IsAnEnvironment(t *testing.T) { // CNF-1
	l := newLab(t).engine(t)
	l.config.MaxPlaces = 100
	envtest.Run(t, l.fresh, envtest.Abilities{Lacking: []envtest.Ability{envtest.Descriptor}})
}

func TestModal_ConformsThroughAPlainShell(t *testing.T) { // RES-7, RES-8
	l := newLab(t)
	l.config.MaxPlaces = 100
	suite := envtest.Run
	if raceEnabled { // each command takes several processes
		suite = envtest.RunEnds
	}
	suite(t, l.fresh, envtest.Abilities{
		Place: "modal, plain shell", Lacking: []envtest.Ability{envtest.Descriptor, envtest.Search, envtest.Sudo, envtest.Jobs, envtest.Terminals}})
}
