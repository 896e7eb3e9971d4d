package runtime

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hermes-runtime/hermes/internal/agent"
	"github.com/hermes-runtime/hermes/internal/delegation"
	"github.com/hermes-runtime/hermes/internal/hook"
	"github.com/hermes-runtime/hermes/internal/registry"
	"github.com/hermes-runtime/hermes/internal/store"
	"github.com/hermes-runtime/hermes/internal/textcap"
	"github.com/hermes-runtime/hermes/provider"
	"github.com/hermes-runtime/hermes/tool"
)

// delegates prepares for children.
func (c *Conversation) delegates(st store.Store) {
	c.children = &agent.Children{
		Config: *c.rt.delegation(), Depth: c.options.birth.Depth, Begin: c.begin,
		Grant: c.grant, Watch: watcher{c}, HasRead: c.hasRead,
		Done: func(ctx context.Context, id string, r delegation.Report) {
			data, err := json.Marshal(map[string]any{"delegation_id": id, "report": r})
			if err == nil {
				err = st.Post(ctx, c.Stored.ID, "async_delegation", data)
			}
			if err != nil {
				c.rt.log.Error("the report of a child can't be kept", "session", c.Stored.ID, "delegation", id, "error", err)
			}
		},
	}
}

// grant is what children may have of the budgets.
func (c *Conversation) grant(needed int) (*agent.Left, error) {
	if c.rt.paused.Load() {
		return nil, delegation.ErrPaused
	}
	return c.Grant(needed)
}

// PauseDelegation has no further children begun until ResumeDelegation. Those that work go on.
func (r *Runtime) PauseDelegation() { r.paused.Store(true) }

// ResumeDelegation takes PauseDelegation, or delegation.paused, back.
func (r *Runtime) ResumeDelegation() { r.paused.Store(false) }

func (r *Runtime) delegation() *delegation.Config {
	d, _ := tool.Lookup[*delegation.Config](r.services)
	return d
}

// begin makes a child: a session of its own in its parent's place, with those of the parent's tools that a child may have.
func (c *Conversation) begin(ctx context.Context, b agent.Birth) (agent.Child, error) {
	kind := registry.Working
	if b.Deeper {
		kind = registry.Orchestrating
	}
	names := registry.Child(c.session.Scope().Names(), kind)
	if len(b.Task.Toolsets) > 0 {
		var wanted []string
		for _, set := range b.Task.Toolsets {
			tools := c.rt.registry.Resolve(set)
			if len(tools) == 0 {
				return nil, fmt.Errorf("there is no toolset %q; you have %s", set, strings.Join(c.rt.registry.ToolsetNames(), ", "))
			}
			wanted = append(wanted, tools...)
		}
		names = slices.DeleteFunc(names, func(n string) bool { return !slices.Contains(wanted, n) })
	}
	m, err := c.childModel()
	if err != nil {
		return nil, err
	}
	o := c.options
	id := newSessionID()
	c.rt.places.Child(c.Stored.ID, id)
	child, err := c.rt.Converse(ctx, ConversationOptions{
		Session: SessionOptions{
			ID: id, Platform: o.Session.Platform, Enabled: append([]string{}, names...), Asker: o.Session.Asker, Setting: o.Session.Setting,
			Surface: o.Session.Surface, Root: c.root, Services: o.Session.Services, Tell: c.tell(), Child: within(o.Session.Child, b.Task.Goal),
		},
		Use: m, Source: childSource, Listen: b.Listen, parent: c, birth: b,
	})
	if err != nil {
		c.rt.places.Forget(id)
		return nil, err
	}
	return child, nil
}

// tell hands on what is asked of the person at the root.
func (c *Conversation) tell() func(agent.Event) {
	if up := c.options.Session.Tell; up != nil {
		return up
	}
	return c.Send
}

// goalShown is how much of a goal tells a child from others, in characters.
const goalShown = 80

// within names a child by its goal, behind those of its parents.
func within(parents, goal string) string {
	goal = textcap.Head(strings.Join(strings.Fields(goal), " "), goalShown, "…")
	if parents != "" {
		return parents + " › " + goal
	}
	return goal
}

// childModel is the model of children: the parent's, where the configuration names none.
func (c *Conversation) childModel() (provider.Model, error) {
	d := c.rt.delegation()
	if d.BaseURL != "" {
		m, err := c.rt.choose("", c.rt.settings.model.Elsewhere(cmp.Or(d.Model, c.model.Info().Model), d.Provider, d.BaseURL))
		if err != nil {
			return nil, fmt.Errorf("delegation.base_url: %w", err)
		}
		return m, nil
	}
	name := d.Model
	if name == "" {
		return c.model, nil
	}
	if d.Provider != "" {
		name = d.Provider + "/" + name
	}
	m, err := c.rt.Model(name)
	if err != nil {
		return nil, fmt.Errorf("delegation.model: %w", err)
	}
	return m, nil
}

// watcher tells the hooks of a conversation's children.
type watcher struct{ *Conversation }

func (w watcher) ChildBegan(id string, t delegation.Task) { w.rt.hooks.Subagent(w.subagent(id, t)) }

func (w watcher) ChildEnded(id string, t delegation.Task, r delegation.Report) {
	a := w.subagent(id, t)
	a.Status, a.Summary, a.DurationMS = string(r.Status), r.Summary, int64(r.DurationSeconds*1000)
	w.rt.hooks.Subagent(a)
}

func (w watcher) subagent(id string, t delegation.Task) hook.Subagent {
	return hook.Subagent{ParentID: w.Stored.ID, ChildID: id, Role: string(cmp.Or(t.Role, delegation.Leaf)), Goal: t.Goal}
}

// reader is what remembers which files were read.
type reader interface{ HasRead(path string) bool }

// hasRead tells whether a tool remembers that the conversation has read a file.
func (c *Conversation) hasRead(path string) bool {
	return slices.ContainsFunc(c.rt.memory.Values(c.Stored.ID), func(v any) bool {
		r, ok := v.(reader)
		return ok && r.HasRead(path)
	})
}
