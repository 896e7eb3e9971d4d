package engine

import (
	"github.com/hermes-runtime/hermes/environment"
)

// Variables gives what a command with this state would see, without what belongs to a single process or call.
func (b Base) Variables(s *environment.State) map[string]string {
	base := variables(b.Environ)
	if s == nil {
		return base
	}
	return apply(base, s.Snapshot().Vars)
}
