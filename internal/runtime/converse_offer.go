package runtime

import (
	"context"
	"reflect"

	"github.com/hermes-runtime/hermes/internal/registry"
	"github.com/hermes-runtime/hermes/internal/skill"
)

// Tools are what the conversation has in scope, sorted by name.
func (c *Conversation) Tools() []*registry.Entry { return c.session.Scope().Entries() }

// Skills are those that the conversation may use. Nobody is asked about a project's.
func (c *Conversation) Skills(ctx context.Context) []*skill.Skill {
	if s := c.skills(); s != nil {
		return s.List(ctx, nil)
	}
	return nil
}

// skillReader is the tool by which a skill is read: without it there is no use in knowing of them.
const skillReader = "skill_view"

func (c *Conversation) skills() *skill.Session {
	s, ok := c.session.Service(reflect.TypeFor[*skill.Session]()).(*skill.Session)
	if !ok || !c.session.Scope().Has(skillReader) {
		return nil
	}
	return s
}
