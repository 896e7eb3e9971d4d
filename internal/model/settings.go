package model

import (
	"time"

	"github.com/hermes-runtime/hermes/internal/config"
	"github.com/hermes-runtime/hermes/provider"
)

// Settings is `model:`, which model is used and how.
type Settings struct {
	Default       string           `yaml:"default" help:"name of the model; PROVIDER/MODEL where model.provider isn't set"`
	Provider      string           `yaml:"provider" help:"openai, anthropic, openrouter or custom (any server with one of their APIs at model.base_url); empty = what model.base_url or the keys imply"`
	BaseURL       string           `yaml:"base_url" help:"address of the API, such as http://127.0.0.1:8080/v1; empty = the provider's own"`
	KeyEnv        string           `yaml:"api_key_env" help:"name of the variable that holds the key; empty = the provider's own"`
	Mode          string           `yaml:"api_mode" enum:"chat_completions|anthropic_messages" help:"API that the server at model.base_url speaks; empty = the provider's"`
	MaxTokens     int              `yaml:"max_tokens" default:"0" min:"0" help:"tokens that a reply may have; 0 = as the provider does"`
	ContextLength int              `yaml:"context_length" default:"0" min:"0" help:"tokens that request and reply may have together; 0 = what is known of the model"`
	MaxTools      int              `yaml:"max_tools" default:"128" min:"1" help:"tools in one request, for models whose APIs have a limit; above it tools of MCP servers are withheld, those of the last server first"`
	Retries       int              `yaml:"retries" default:"5" min:"0" max:"100" help:"further attempts at a request that failed for a reason that passes"`
	Connect       time.Duration    `yaml:"connect_timeout" default:"15" min:"0.001" help:"seconds to reach the API"`
	FirstEvent    time.Duration    `yaml:"first_event_timeout" default:"180" min:"0.001" help:"seconds until a reply begins"`
	Idle          time.Duration    `yaml:"idle_timeout" default:"60" min:"0.001" help:"seconds without a byte of a reply that has begun"`
	Stall         time.Duration    `yaml:"stall_timeout" default:"300" min:"0.001" help:"seconds without content in a reply that has begun, whatever keeps the connection alive"`
	Prices        map[string]Price `yaml:"prices" help:"what a million tokens cost, by [PROVIDER/]MODEL: {input: …, output: …, cached: …}; needed for agent.max_cost"`
	ExtraBody     map[string]any   `yaml:"extra_body" help:"further fields of every request, as the API names them"`
}

// Section implements config.Sectioned.
func (*Settings) Section() string { return "model" }

func init() {
	config.Register(func() config.Sectioned { return &Settings{} })
}

func (s *Settings) bounds() provider.Bounds {
	return provider.Bounds{Connect: s.Connect, FirstEvent: s.FirstEvent, Idle: s.Idle, Stall: s.Stall}
}
