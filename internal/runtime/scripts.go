package runtime

import (
	"context"

	"github.com/hermes-runtime/hermes/internal/registry/schema"
	"github.com/hermes-runtime/hermes/internal/skill"
)

// grants are the variables that reach the children of a session by name: those of the user's own list, and those that the skills
// loaded in it declare.
type grants struct {
	passthrough []string
	*skill.Session
}

func (g grants) Granted() []string { return append(g.Declared(), g.passthrough...) }

// offer tells scripts what they may call in a session.
type offer struct{ s *Session }

func (o offer) Offered(ctx context.Context, names []string) map[string]string {
	scope := o.s.Scope()
	hidden := map[string]string{}
	if defs, err := o.s.Definitions(ctx, schema.OpenAI); err == nil {
		for _, h := range defs.Hidden {
			hidden[h.Name] = h.Reason
		}
	}
	out := map[string]string{}
	for _, name := range names {
		switch _, known := o.s.runtime.registry.Lookup(name); {
		case !known:
			out[name] = "this build has no such tool"
		case !scope.Has(name):
			out[name] = scope.Reason(name)
		default:
			out[name] = hidden[name]
		}
	}
	return out
}
