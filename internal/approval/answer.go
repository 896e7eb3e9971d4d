package approval

import (
	"context"
	"fmt"
	"slices"

	"github.com/hermes-runtime/hermes/channel"
	"github.com/hermes-runtime/hermes/internal/approval/rules"
)

// asking is a question that was put, and what it was about.
type asking struct {
	open  []rules.Finding
	shown channel.Question
}

// answered applies what a person said. Anything that isn't a choice on offer is no consent.
func (c *check) answered(ctx context.Context, a channel.Answer, q asking) {
	if !slices.Contains(q.shown.Choices, a.Choice) || a.Choice == channel.Deny || q.shown.Confirm != "" && a.Typed != q.shown.Confirm {
		c.end(Denied, ByPerson)
		return
	}
	c.decision.Scope = a.Choice
	c.end(Approved, ByPerson)
	c.gate.memory.storeCall(c, q.open)
	if a.Choice == channel.Once {
		return
	}
	c.gate.memory.store(c, stored{scope: a.Choice, findings: q.open, keys: a.Keys, under: q.shown.Under})
	if a.Choice == channel.Always {
		c.always(ctx, a, q.open)
	}
}

// always puts an answer on the permanent list. What can't be stored counts for the session, and the person is told.
func (c *check) always(ctx context.Context, a channel.Answer, open []rules.Finding) {
	grants := c.grants(a, open)
	if len(grants) == 0 {
		return
	}
	err := c.gate.config.Remember.Remember(ctx, grants)
	if err == nil {
		c.gate.memory.allow(grants, c.gate.config.Rows)
		return
	}
	c.decision.Note = fmt.Sprintf("the answer holds for this session only: storing it failed: %v", err)
	c.gate.config.Log.Warn("an answer of always was not stored", "error", err)
	if n, ok := c.asker().(channel.Notifier); ok {
		if err := n.Notify(ctx, c.decision.Note); err != nil {
			c.gate.config.Log.Warn("a person was not told that their answer wasn't stored", "error", err)
		}
	}
}

// grants is what an answer of "always" puts on the permanent list, each key once.
func (c *check) grants(a channel.Answer, open []rules.Finding) []Grant {
	var out []Grant
	for _, f := range open {
		if f.Floor || f.Row.Remember == rules.RememberNever || len(a.Keys) > 0 && !slices.Contains(a.Keys, f.Row.Key) ||
			slices.ContainsFunc(out, func(g Grant) bool { return g.Key == f.Row.Key }) {
			continue
		}
		g := Grant{Key: f.Row.Key, Added: c.started, By: a.Who}
		if f.Row.Remember == rules.RememberExact {
			g.Exact, g.Dir, g.Env = c.storedText(), c.req.Dir, c.req.EnvID
		}
		out = append(out, g)
	}
	return out
}

// maxStoredText is the longest command that is stored as it stands.
const maxStoredText = 200

// storedText is a command in a form that may stand in a configuration: as it is, or its hash where it is long or holds a secret.
func (c *check) storedText() string {
	text := c.exactText()
	for _, r := range text {
		if r < ' ' || r == 0x7f {
			return hashText(text)
		}
	}
	if len(text) > maxStoredText || c.gate.config.Redact(text) != text {
		return hashText(text)
	}
	return text
}

// choices lists the answers on offer: what can't be stored isn't.
func (c *check) choices(open []rules.Finding) []channel.Choice {
	out := []channel.Choice{channel.Once}
	storable := func(f rules.Finding) bool { return f.Row.Remember != rules.RememberNever && !f.Floor }
	if slices.ContainsFunc(open, storable) {
		out = append(out, channel.Session)
		if c.gate.config.Remember != nil {
			out = append(out, channel.Always)
		}
		out = append(out, channel.Exact)
		if common(open, c.req.Home) != "" {
			out = append(out, channel.Under)
		}
	}
	return append(out, channel.Deny)
}
