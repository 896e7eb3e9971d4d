package runtime

import (
	"time"

	"github.com/hermes-runtime/hermes/internal/agent"
	"github.com/hermes-runtime/hermes/internal/config"
)

// agentSettings is `agent:`.
type agentSettings struct {
	DisabledToolsets []string      `yaml:"disabled_toolsets" help:"toolsets or tools that no session gets"`
	MaxTurns         int           `yaml:"max_turns" default:"90" min:"1" help:"requests to the model that one message of the user may set off"`
	MaxTokens        int           `yaml:"max_tokens_total" default:"0" min:"0" help:"tokens that a conversation and its children may use; 0 = no limit"`
	MaxCost          float64       `yaml:"max_cost" default:"0" min:"0" help:"what a conversation and its children may cost, by model.prices; 0 = no limit"`
	MaxWall          time.Duration `yaml:"max_wall" default:"0" min:"0" help:"seconds that one message may keep the agent and its children at work; no request is made after them; 0 = no limit"`
	SystemPrompt     string        `yaml:"system_prompt" help:"how the system prompt begins; empty = as it is built in"`
}

func (*agentSettings) Section() string { return "agent" }

func (s *agentSettings) limits() agent.Limits {
	return agent.Limits{MaxTurns: s.MaxTurns, MaxTokens: s.MaxTokens, MaxCost: s.MaxCost, MaxWall: s.MaxWall}
}

// guardrailSettings is `tool_loop_guardrails:`, what is said and done about calls that go round in circles.
type guardrailSettings struct {
	Warn   bool `yaml:"warnings_enabled" default:"true" help:"a call that repeats itself is remarked upon in its result"`
	Stop   bool `yaml:"hard_stop_enabled" default:"false" help:"and at last refused"`
	WarnAt struct {
		ExactFailure int `yaml:"exact_failure" default:"2" min:"1" help:"failures of the same call"`
		SameTool     int `yaml:"same_tool_failure" default:"3" min:"1" help:"failures of one tool"`
		NoProgress   int `yaml:"idempotent_no_progress" default:"2" min:"1" help:"equal results of a call that only reads"`
	} `yaml:"warn_after"`
	StopAt struct {
		ExactFailure int `yaml:"exact_failure" default:"5" min:"1" help:"failures of the same call"`
		SameTool     int `yaml:"same_tool_failure" default:"8" min:"1" help:"failures of one tool"`
		NoProgress   int `yaml:"idempotent_no_progress" default:"5" min:"1" help:"equal results of a call that only reads"`
	} `yaml:"hard_stop_after"`
}

func (*guardrailSettings) Section() string { return "tool_loop_guardrails" }

func (s *guardrailSettings) config() agent.GuardConfig {
	return agent.GuardConfig{Warn: s.Warn, Stop: s.Stop, WarnAt: agent.Counts(s.WarnAt), StopAt: agent.Counts(s.StopAt)}
}

// compressionSettings is `compression:`, when and how a history is made shorter.
type compressionSettings struct {
	Threshold float64 `yaml:"threshold" default:"0.8" help:"share of the model's context from which the history is compacted"`
	Model     string  `yaml:"model" help:"model that summarises, as [PROVIDER/]MODEL; empty = the conversation's own"`
}

func (*compressionSettings) Section() string { return "compression" }

func (s *compressionSettings) config() agent.CompactConfig {
	return agent.CompactConfig{Threshold: s.Threshold}
}

func init() {
	config.Register(
		func() config.Sectioned { return &agentSettings{} }, func() config.Sectioned { return &guardrailSettings{} },
		func() config.Sectioned { return &compressionSettings{} },
	)
}
