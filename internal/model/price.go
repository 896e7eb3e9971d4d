package model

import (
	"strings"

	"github.com/hermes-runtime/hermes/provider"
)

// Price is what a million tokens cost, in any currency. The zero value is for nothing.
type Price struct {
	Input  float64  `yaml:"input" min:"0"`
	Output float64  `yaml:"output" min:"0"`
	Cached *float64 `yaml:"cached" min:"0"` // of the input, what is read from a cache; nil = as the rest
}

// perPrice is how many tokens a price is for.
const perPrice = 1e6

// Cost is what a reply costs.
func (p Price) Cost(u provider.Usage) float64 {
	cached := p.Input
	if p.Cached != nil {
		cached = *p.Cached
	}
	return (float64(u.Input-u.Cached)*p.Input + float64(u.Cached)*cached + float64(u.Output)*p.Output) / perPrice
}

// PriceOf finds a model's price, by PROVIDER/MODEL or MODEL. False: none is known.
func (s *Settings) PriceOf(i provider.Info) (Price, bool) {
	for _, name := range []string{i.Provider + "/" + i.Model, i.Model} {
		if p, ok := s.Prices[name]; ok {
			return p, true
		}
	}
	return Price{}, false
}

// Named is the provider and model of a name as it is stored.
func Named(name string) provider.Info {
	p, m, _ := strings.Cut(name, "/")
	return provider.Info{Provider: p, Model: m}
}
