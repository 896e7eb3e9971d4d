package file

import (
	"time"

	"github.com/hermes-runtime/hermes/internal/config"
	"github.com/hermes-runtime/hermes/tool"
)

// Config is what the configuration says about the file tools. The runtime fills it and offers it as a service; zero values mean the
// defaults.
type Config struct {
	ReadMaxChars int            `yaml:"file_read_max_chars" default:"100000" min:"1000" help:"characters that one read_file shows at most"`
	Output       outputConfig   `yaml:"tool_output"`
	Search       searchConfig   `yaml:"search"`
	Terminal     terminalConfig `yaml:"terminal"`
}

type outputConfig struct {
	MaxLines      int `yaml:"max_lines" default:"2000" min:"1" help:"lines that one read_file shows at most"`
	MaxLineLength int `yaml:"max_line_length" default:"2000" min:"20" help:"characters of a line that read_file shows"`
}

type searchConfig struct {
	Timeout time.Duration `yaml:"timeout" default:"60" min:"1" help:"seconds after which search_files gives what it found"`
}

type terminalConfig struct {
	Lint string `yaml:"lint" env:"TERMINAL_LINT" default:"auto" enum:"auto|builtin|off" help:"check of a file after it was written: with the programs of its language, with hermes's own parsers only, or none"`
}

// Section is where Config stands in the configuration: its parts lie in several places.
func (*Config) Section() string { return "" }

func init() { config.Register(func() config.Sectioned { return &Config{} }) }

// settings gives the configuration with defaults filled in.
func settings(s tool.Services) Config {
	var c Config
	if found, ok := tool.Lookup[*Config](s); ok && found != nil {
		c = *found
	}
	orInt(&c.ReadMaxChars, 100_000)
	orInt(&c.Output.MaxLines, 2000)
	orInt(&c.Output.MaxLineLength, 2000)
	if c.Search.Timeout <= 0 {
		c.Search.Timeout = 60 * time.Second
	}
	if c.Terminal.Lint == "" {
		c.Terminal.Lint = lintAuto
	}
	return c
}

func orInt(v *int, def int) {
	if *v <= 0 {
		*v = def
	}
}
