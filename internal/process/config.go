package process

import (
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/config"
)

// Config is `process:`, what bounds background processes. The tags name each key, its default and its help.
type Config struct {
	MaxRunning    int           `yaml:"max_running" default:"1000" min:"1" help:"background processes at once, of all sessions"`
	MaxPerSession int           `yaml:"max_running_per_session" default:"64" min:"1" help:"background processes at once of one session"`
	LogMaxBytes   int64         `yaml:"log_max_bytes" default:"67108864" min:"65536" help:"bytes of the end of a log that are kept, besides its first 8 MiB; whole lines between are dropped"`
	KeepFinished  time.Duration `yaml:"keep_finished" default:"86400" min:"0" help:"seconds that a process is remembered after its end; 0 = until its session ends, a day at most"`
	EventKeep     time.Duration `yaml:"event_keep" default:"604800" min:"1" help:"seconds that what a process has to tell waits for its conversation"`
}

func init() { config.Register(func() config.Sectioned { return &Config{} }) }

// Section is where Config stands in the configuration.
func (*Config) Section() string { return "process" }

// Bounds is what each start brings to its keeper.
func (c Config) Bounds() environment.JobBounds {
	return environment.JobBounds{
		Running: c.MaxRunning, PerOwner: c.MaxPerSession, LogBytes: c.LogMaxBytes, Keep: c.KeepFinished, EventKeep: c.EventKeep,
	}
}
