package envs

import (
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/config"
)

// Config is the part of `terminal:` that says where commands run and what bounds them. The tags name each key, the variable that
// stands in for it, its default and its help.
type Config struct {
	Backend     string        `yaml:"backend" env:"TERMINAL_ENV" default:"local" help:"where commands run"`
	Cwd         string        `yaml:"cwd" env:"TERMINAL_CWD" default:"." help:"directory that a session starts in; ., auto and cwd mean the one that hermes was started in"`
	Lifetime    time.Duration `yaml:"lifetime_seconds" env:"TERMINAL_LIFETIME_SECONDS" default:"300" min:"0" help:"seconds without use after which an environment is closed; 0 = never"`
	KillGrace   time.Duration `yaml:"kill_grace" env:"TERMINAL_KILL_GRACE" default:"1" min:"0" max:"60" help:"seconds between TERM and KILL when a command is ended"`
	Passthrough []string      `yaml:"env_passthrough" env:"TERMINAL_ENV_PASSTHROUGH" help:"variables that children get although they look like credentials"`
	Persistent  bool          `yaml:"persistent_shell" help:"accepted for older configurations; means nothing, since every command has a shell of its own"`
	Limits      LimitConfig   `yaml:"limits" help:"bounds for one command and all that it starts; 0 = none"`
}

// LimitConfig bounds what one command may use.
type LimitConfig struct {
	MemoryMB   int `yaml:"memory_mb" default:"0" min:"0" help:"memory in MiB"`
	Processes  int `yaml:"processes" default:"0" min:"0" help:"processes and threads"`
	CPUSeconds int `yaml:"cpu" default:"0" min:"0" help:"seconds of processor time"`
	FileSizeMB int `yaml:"file_size_mb" default:"0" min:"0" help:"largest file that is written, in MiB"`
	OpenFiles  int `yaml:"open_files" default:"0" min:"0" help:"open files of one process"`
}

func init() { config.Register(func() config.Sectioned { return &Config{} }) }

// Section is where Config stands in the configuration.
func (*Config) Section() string { return "terminal" }

// Bounds is the limits in the terms of an environment.
func (l LimitConfig) Bounds() environment.Limits { return environment.Limits(l) }
