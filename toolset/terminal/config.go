package terminal

import (
	"time"

	"github.com/hermes-runtime/hermes/internal/config"
	"github.com/hermes-runtime/hermes/tool"
)

// Config is the part of `terminal:` that belongs to the tool. The runtime fills it and offers it as a service; without one the
// defaults hold.
type Config struct {
	Timeout       time.Duration `yaml:"timeout" env:"TERMINAL_TIMEOUT" default:"180" min:"1" help:"seconds that a command may take when the call doesn't say"`
	MaxForeground time.Duration `yaml:"max_foreground_timeout" env:"TERMINAL_MAX_FOREGROUND_TIMEOUT" default:"600" min:"1" help:"most seconds that a call may ask for"`
	Encoding      string        `yaml:"encoding" env:"TERMINAL_ENCODING" default:"utf-8" help:"encoding of what commands print"`
	PTYSize       string        `yaml:"pty_size" env:"TERMINAL_PTY_SIZE" default:"30x120" help:"rows x columns of the terminal that a program gets with pty"`
	// SudoPassword answers sudo. Empty means: try the empty one, ask nobody. SUDO_PASSWORD comes first.
	SudoPassword *string `yaml:"sudo_password" help:"password for sudo; SUDO_PASSWORD in the environment or .env is the better place"`
}

func init() { config.Register(func() config.Sectioned { return &Config{} }) }

// Section is where Config stands in the configuration.
func (*Config) Section() string { return "terminal" }

// What holds where nothing is configured.
const (
	defaultTimeout       = 180 * time.Second
	defaultMaxForeground = 600 * time.Second
	defaultPTYSize       = "30x120"
)

// maxForegroundName is where a user raises the limit of a call.
const maxForegroundName = "TERMINAL_MAX_FOREGROUND_TIMEOUT"

func settings(s tool.Services) Config {
	cfg := Config{}
	if c, ok := tool.Lookup[*Config](s); ok && c != nil {
		cfg = *c
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = defaultTimeout
	}
	if cfg.PTYSize == "" {
		cfg.PTYSize = defaultPTYSize
	}
	if cfg.MaxForeground <= 0 {
		cfg.MaxForeground = defaultMaxForeground
	}
	return cfg
}
