package runtime

import (
	"maps"
	"slices"
	"time"

	"github.com/hermes-runtime/hermes/internal/config"
	"github.com/hermes-runtime/hermes/internal/dispatch"
	"github.com/hermes-runtime/hermes/internal/memory"
	"github.com/hermes-runtime/hermes/internal/mirror"
	"github.com/hermes-runtime/hermes/internal/model"
	"github.com/hermes-runtime/hermes/internal/process"
	"github.com/hermes-runtime/hermes/internal/registry"
	"github.com/hermes-runtime/hermes/internal/session"
	"github.com/hermes-runtime/hermes/internal/skill"
)

// callSettings is `runtime:`, what bounds calls.
type callSettings struct {
	MaxParallelCalls int           `yaml:"max_parallel_calls" default:"8" min:"1" max:"256" help:"calls of one model turn that run at once"`
	InterruptGrace   time.Duration `yaml:"interrupt_grace" default:"3" min:"0" max:"60" help:"seconds that a handler has after an interruption or timeout"`
	AsyncIdle        time.Duration `yaml:"async_idle_timeout" default:"300" min:"1" help:"seconds without progress after which an async call ends"`
	AsyncMax         time.Duration `yaml:"async_max" default:"3600" min:"1" help:"seconds after which an async call ends"`
	TurnResultChars  int           `yaml:"turn_result_chars" default:"200000" min:"1000" help:"characters of all results of a turn together"`
}

func (*callSettings) Section() string { return "runtime" }

// outputSettings is the part of `tool_output:` that the door applies.
type outputSettings struct {
	PerTool   map[string]int `yaml:"per_tool" help:"budget of a tool's result in characters, by tool"`
	SpillKeep time.Duration  `yaml:"spill_keep" default:"604800" min:"0" help:"seconds that a spilled result is kept"`
}

func (*outputSettings) Section() string { return "tool_output" }

// spillTotal bounds all spill files of a directory together, in bytes.
const spillTotal = 1 << 30

type registrySettings struct {
	Collisions   string        `yaml:"collisions" default:"warn" enum:"warn|reject" help:"what becomes of two tools of one name in two toolsets"`
	CheckTimeout time.Duration `yaml:"check_timeout" default:"5" min:"0.001" help:"seconds that an availability check may take"`
	CheckTTL     time.Duration `yaml:"check_ttl" default:"30" min:"0" help:"seconds that the answer of a probe is held; 0 = not at all"`
}

func (*registrySettings) Section() string { return "registry" }

type rootSettings struct {
	CustomToolsets   map[string]customToolset `yaml:"custom_toolsets" help:"toolsets of your own: name → description, tools, includes"`
	PlatformToolsets map[string]any           `yaml:"platform_toolsets" help:"toolsets of a platform: cli, telegram, acp, api-server, webhook, cron → list"`
	CommandAllowlist []any                    `yaml:"command_allowlist" help:"what is approved for ever"`
	Timezone         string                   `yaml:"timezone" env:"HERMES_TIMEZONE" help:"time zone of children"`
}

func (*rootSettings) Section() string { return "" }

// timezoneName is the variable that tools know rootSettings.Timezone by.
const timezoneName = "HERMES_TIMEZONE"

type customToolset struct {
	Description string   `yaml:"description"`
	Tools       []string `yaml:"tools"`
	Includes    []string `yaml:"includes"`
}

type auditSettings struct {
	Required bool `yaml:"required" default:"false" help:"refuse calls while the audit can't be written"`
}

func (*auditSettings) Section() string { return "audit" }

type keepSettings struct {
	KeepDays int `yaml:"keep_days" default:"0" min:"0" max:"36500" help:"days after which a conversation in which nothing happens is deleted; 0 = never"`
}

func (*keepSettings) Section() string { return "sessions" }

func init() {
	config.Register(
		func() config.Sectioned { return &callSettings{} }, func() config.Sectioned { return &outputSettings{} },
		func() config.Sectioned { return &registrySettings{} }, func() config.Sectioned { return &rootSettings{} },
		func() config.Sectioned { return &auditSettings{} }, func() config.Sectioned { return &keepSettings{} },
	)
}

// settings is the runtime's own part of a configuration.
type settings struct {
	calls    callSettings
	output   outputSettings
	registry registrySettings
	model    model.Settings
	root     rootSettings
	agent    agentSettings

	guardrails  guardrailSettings
	compression compressionSettings

	security session.Secrecy
	audit    auditSettings
	kept     keepSettings
	jobs     process.Config
	notes    memory.Config
	skills   skill.Config
	mirror   mirror.Config
}

// read fills s; problems are told and their fields have defaults.
func (s *settings) read(d *config.Document, warn func(error)) {
	for _, part := range []config.Sectioned{&s.calls, &s.output, &s.registry, &s.model, &s.root, &s.agent, &s.guardrails, &s.compression,
		&s.security, &s.audit, &s.kept, &s.jobs, &s.notes, &s.skills, &s.mirror} {
		if err := d.Decode(part.Section(), part); err != nil {
			for _, e := range unjoin(err) {
				warn(e)
			}
		}
	}
}

func (s *settings) door() dispatch.Config {
	return dispatch.Config{
		MaxParallelCalls: s.calls.MaxParallelCalls, InterruptGrace: s.calls.InterruptGrace,
		AsyncIdle: s.calls.AsyncIdle, AsyncMax: s.calls.AsyncMax, TurnResultChars: s.calls.TurnResultChars,
		PerTool: maps.Clone(s.output.PerTool), RedactKnownOnly: s.security.KnownOnly(), AuditRequired: s.audit.Required,
	}
}

func (s *settings) tools() registry.Settings {
	ttl := s.registry.CheckTTL
	if ttl == 0 {
		ttl = -1
	}
	out := registry.Settings{
		Collisions: registry.Collisions(s.registry.Collisions), CheckTimeout: s.registry.CheckTimeout, CheckTTL: ttl, MaxTools: s.model.MaxTools,
		Platforms: s.root.PlatformToolsets, Disabled: slices.Clone(s.agent.DisabledToolsets),
		Custom: map[string]registry.CustomSet{},
	}
	for name, c := range s.root.CustomToolsets {
		out.Custom[name] = registry.CustomSet{Description: c.Description, Tools: c.Tools, Includes: c.Includes}
	}
	return out
}
