package model

import (
	"math"
	"testing"

	"github.com/hermes-runtime/hermes/provider"
)

// BUD-3: a model's price is found by its name, with or without its provider; what was read from a cache has its own price if one is said.
func TestPriceOf_ByNameWithOrWithoutProvider(t *testing.T) {
	s := settings(t, "model: {prices: {openai/gpt-4.1: {input: 2, output: 8, cached: 0.5}, m: {input: 1, output: 3}, anthropic/m: {input: 10, output: 30}, free: {cached: 0}}}")
	u := provider.Usage{Input: 1_000_000, Cached: 400_000, Output: 100_000}
	for name, want := range map[string]float64{
		"openai/gpt-4.1": 0.6*2 + 0.4*0.5 + 0.1*8, "openrouter/m": 1.3, "anthropic/m": 13, "x/free": 0, "gpt-4.1/x": -1, "openrouter/gpt-4.1": -1,
	} {
		p, ok := s.PriceOf(Named(name))
		if got := p.Cost(u); ok != (want >= 0) || ok && math.Abs(got-want) > 1e-9 {
			t.Errorf("%s costs %v (%v), want %v", name, got, ok, want)
		}
	}
	if (Price{}).Cost(u) != 0 {
		t.Error("no price costs something")
	}
}

// The settings for another address take neither the configured key nor the configured API there.
func TestElsewhere_TakesNothingOfTheConfiguredAddress(t *testing.T) {
	s := settings(t, "model: {default: openai/a, provider: anthropic, base_url: 'http://127.0.0.1:1', api_key_env: MY, api_mode: chat_completions, retries: 2}")
	for _, c := range []struct{ via, name, want string }{{"", "openai/gpt-oss", "custom openai/gpt-oss"}, {"openai", "x", "openai x"}} {
		at := s.Elsewhere(c.name, c.via, "http://127.0.0.1:2")
		if at.KeyEnv != "" || at.Mode != "" || at.BaseURL != "http://127.0.0.1:2" || at.Retries != 2 {
			t.Errorf("%+v", at)
		}
		m, err := Choose("", Options{Settings: at, Getenv: getenv("MY=secret", "OPENAI_API_KEY=k")})
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Info().Provider + " " + m.Info().Model; got != c.want {
			t.Errorf("%q is %q, want %q", c.name, got, c.want)
		}
	}
}
