package runtime

import (
	"fmt"
	"slices"

	"github.com/hermes-runtime/hermes/internal/agent"
	"github.com/hermes-runtime/hermes/internal/model"
	"github.com/hermes-runtime/hermes/provider"
	"github.com/hermes-runtime/hermes/tool"
)

// Model chooses a model: [PROVIDER/]MODEL, "" = the configured one.
func (r *Runtime) Model(name string) (provider.Model, error) {
	return r.choose(name, r.settings.model)
}

func (r *Runtime) choose(name string, s model.Settings) (provider.Model, error) {
	m, err := model.Choose(name, model.Options{Settings: s, Getenv: r.Getenv, Redact: r.redactor.All, Warn: r.warn, Log: r.log})
	if err != nil {
		return nil, err
	}
	return m, nil
}

// choose finds the model: the one named, else the one that the conversation was had with, which may be the configured one, and is where it
// was a tape.
func (c *Conversation) choose() (provider.Model, error) {
	stored := c.Stored.Model
	if c.options.Model != "" || stored == "" {
		return c.rt.Model(c.options.Model)
	}
	m, err := c.rt.Model("")
	if err == nil && nameOf(m) == stored {
		return m, nil
	}
	if tape := plays(model.Named(stored).Provider); tape && err == nil { // which has nothing more to say
		c.Notices = append(c.Notices, fmt.Sprintf("this conversation was had with a tape, %s: it goes on with %s", stored, nameOf(m)))
		return m, nil
	} else if !tape {
		m, err = c.rt.Model(stored)
	}
	if err != nil {
		return nil, fmt.Errorf("this conversation was had with %s; name another model with -m: %w", stored, err)
	}
	return m, nil
}

func nameOf(m provider.Model) string { return m.Info().Provider + "/" + m.Info().Model }

// price is what a model's replies cost. Where that is bounded and not known, it is an error: a bound that can't be kept is none.
func (r *Runtime) price(m provider.Model) (agent.Price, error) {
	p, ok := r.settings.model.PriceOf(m.Info())
	if !ok && r.settings.agent.MaxCost > 0 && !plays(m.Info().Provider) {
		return nil, fmt.Errorf("agent.max_cost is set, and model.prices has no price of %s: add what a million tokens cost under that name, as {input: …, output: …}, or set agent.max_cost to 0", nameOf(m))
	}
	return p.Cost, nil
}

// plays tells whether a provider plays tapes, which costs nothing.
func plays(name string) bool {
	return slices.ContainsFunc(provider.Registered(), func(d provider.Descriptor) bool { return d.Name == name && d.Play != nil })
}

// compaction is how histories are made shorter.
func (r *Runtime) compaction() (agent.CompactConfig, error) {
	c := r.settings.compression.config()
	c.ReadOnly = func(name string) bool {
		e, ok := r.registry.Lookup(name)
		return ok && e.Spec.Effects == tool.ReadOnly
	}
	if name := r.settings.compression.Model; name != "" {
		m, err := r.Model(name)
		if err == nil {
			c.Price, err = r.price(m)
		}
		if err != nil {
			return c, fmt.Errorf("compression.model: %w", err)
		}
		c.Model = m
	}
	return c, nil
}
