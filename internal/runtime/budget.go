package runtime

import (
	"cmp"
	"context"
	"fmt"

	"github.com/hermes-runtime/hermes/internal/agent"
	"github.com/hermes-runtime/hermes/internal/model"
	"github.com/hermes-runtime/hermes/internal/store"
	"github.com/hermes-runtime/hermes/provider"
)

// budget says what the conversation may use. A child draws on what its parent has left.
func (c *Conversation) budget(ctx context.Context, ao *agent.Options) error {
	o := &c.options
	var err error
	if ao.Price, err = c.rt.price(c.model); err != nil {
		return err
	}
	ao.Limits = c.rt.settings.agent.limits()
	if o.parent != nil {
		ao.Limits.MaxTurns, ao.Limits.TurnsKey = c.rt.delegation().MaxIterations, "delegation.max_iterations"
		ao.Limits.MaxWall = o.birth.Left.Wall()
		c.tree = o.parent.tree
	} else {
		ao.Limits.MaxTurns = cmp.Or(o.MaxTurns, ao.Limits.MaxTurns)
		c.tree = &agent.Tree{}
	}
	ao.Tree = c.tree
	if o.Resume != "" && (ao.Limits.MaxTokens > 0 || ao.Limits.MaxCost > 0) {
		return c.spentBefore(ctx)
	}
	return nil
}

// spentBefore adds what the stored conversation and its children have used. What was read from caches counts as read anew.
func (c *Conversation) spentBefore(ctx context.Context) error {
	all, err := c.rt.store.List(ctx, store.Filter{Archived: true})
	if err != nil {
		return fmt.Errorf("find what the conversation has used: %w", err)
	}
	parents := map[string]string{}
	for _, e := range all {
		parents[e.ID] = e.Parent
	}
	within := func(id string) bool {
		for range len(parents) + 1 { // whatever stands there, it ends
			if id == c.Stored.ID || id == "" {
				break
			}
			id = parents[id]
		}
		return id == c.Stored.ID
	}
	for _, e := range all {
		if within(e.ID) {
			p, _ := c.rt.settings.model.PriceOf(model.Named(e.Model))
			c.tree.Add(agent.Spent{Tokens: e.Input + e.Output, Cost: p.Cost(provider.Usage{Input: e.Input, Output: e.Output})})
		}
	}
	return nil
}
