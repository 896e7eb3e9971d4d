package script

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hermes-runtime/hermes/environment"
)

// Section is where Config stands in the configuration.
const Section = "code_execution"

// Config is what a user sets under code_execution. DefaultConfig has the defaults of the tags.
type Config struct {
	Mode            string        `yaml:"mode" default:"project" help:"project: the session's directory, with the Python of VIRTUAL_ENV or CONDA_PREFIX, else Hermes's own; strict: a temporary directory, always with Hermes's own"`
	Timeout         time.Duration `yaml:"timeout" default:"300" help:"seconds that one script may take"`
	KillGrace       time.Duration `yaml:"kill_grace" default:"5" help:"seconds between TERM and KILL"`
	MaxToolCalls    int           `yaml:"max_tool_calls" default:"50" help:"tool calls of one script; 0 refuses every call"`
	MaxStdout       int           `yaml:"max_stdout_bytes" default:"50000" help:"bytes of stdout in the result"`
	MaxStderr       int           `yaml:"max_stderr_bytes" default:"10000" help:"bytes of stderr in the result of a script that failed"`
	SpillMax        int           `yaml:"spill_max_bytes" default:"5000000" help:"bytes of a long stdout that are kept in a file"`
	MaxScript       int           `yaml:"max_script_bytes" default:"1000000" help:"bytes of one script"`
	MaxMessage      int           `yaml:"max_message_bytes" default:"67108864" help:"bytes of the arguments or the result of one tool call"`
	MaxParallel     int           `yaml:"max_parallel_calls" default:"64" help:"tool calls of one script at a time"`
	MaxRuns         int           `yaml:"max_concurrent_runs" default:"8" help:"scripts at a time; more wait"`
	MaxApprovalWait time.Duration `yaml:"max_approval_wait" default:"1800" help:"seconds that all questions of one script together may stop its clock"`
	Python          string        `yaml:"python" help:"interpreter of project mode, ahead of VIRTUAL_ENV"`
	Limits          LimitsConfig  `yaml:"limits"`

	// Problem is what was wrong with the section when it was read: no script runs then.
	Problem error `yaml:"-"`
}

// LimitsConfig bounds what a script and all it starts may use. 0 means no limit of ours, for memory half of the machine's.
type LimitsConfig struct {
	MemoryMB   int `yaml:"memory_mb" default:"0" help:"memory in MB; 0 = half of the machine's"`
	Processes  int `yaml:"processes" default:"512" help:"processes"`
	OpenFiles  int `yaml:"open_files" default:"4096" help:"open files of one process"`
	FileSizeMB int `yaml:"file_size_mb" default:"4096" help:"size of one file in MB"`
}

// Section is where the settings stand in the configuration.
func (*Config) Section() string { return Section }

// Invalid notes what was wrong with the section when it was read.
func (c *Config) Invalid(err error) { c.Problem = err }

// DefaultConfig returns what holds where nothing is configured.
func DefaultConfig() *Config {
	return &Config{
		Mode: ModeProject, Timeout: 300 * time.Second, KillGrace: 5 * time.Second, MaxToolCalls: 50,
		MaxStdout: 50_000, MaxStderr: 10_000, SpillMax: 5_000_000, MaxScript: 1_000_000, MaxMessage: 64 << 20,
		MaxParallel: 64, MaxRuns: 8, MaxApprovalWait: 1800 * time.Second,
		Limits: LimitsConfig{Processes: 512, OpenFiles: 4096, FileSizeMB: 4096},
	}
}

// The modes.
const (
	ModeProject = "project"
	ModeStrict  = "strict"
)

// mode returns the mode in force, and a warning if the configured one is none (XM, XC).
func (c *Config) mode() (mode, warning string) {
	switch m := strings.ToLower(strings.TrimSpace(c.Mode)); m {
	case ModeStrict:
		return ModeStrict, ""
	case ModeProject, "":
		return ModeProject, ""
	default:
		return ModeProject, fmt.Sprintf("%s.mode is %q, which is neither project nor strict: project is used.", Section, c.Mode)
	}
}

// EffectiveMode is the mode in force.
func (c *Config) EffectiveMode() string {
	mode, _ := c.mode()
	return mode
}

// Validate reports every value that can't be used, with its key and what is allowed.
func (c *Config) Validate() error {
	errs := []error{c.Problem}
	numbers := []struct {
		key      string
		value    int
		min, max int
	}{
		{"max_tool_calls", c.MaxToolCalls, 0, 1_000_000},
		{"max_stdout_bytes", c.MaxStdout, 1, 100_000_000},
		{"max_stderr_bytes", c.MaxStderr, 1, 100_000_000},
		{"spill_max_bytes", c.SpillMax, 0, 1_000_000_000},
		{"max_script_bytes", c.MaxScript, 1, 64_000_000},
		{"max_message_bytes", c.MaxMessage, 4096, 1 << 30},
		{"max_parallel_calls", c.MaxParallel, 1, 1024},
		{"max_concurrent_runs", c.MaxRuns, 1, 1024},
		{"limits.memory_mb", c.Limits.MemoryMB, 0, 1 << 30},
		{"limits.processes", c.Limits.Processes, 0, 1 << 22},
		{"limits.open_files", c.Limits.OpenFiles, 0, 1 << 20},
		{"limits.file_size_mb", c.Limits.FileSizeMB, 0, 1 << 30},
	}
	for _, n := range numbers {
		if n.value < n.min || n.value > n.max {
			errs = append(errs, fmt.Errorf("%s.%s is %d; allowed are %d to %d", Section, n.key, n.value, n.min, n.max))
		}
	}
	times := []struct {
		key      string
		value    time.Duration
		min, max time.Duration
	}{
		{"timeout", c.Timeout, time.Millisecond, 7 * 24 * time.Hour},
		{"kill_grace", c.KillGrace, 0, time.Hour},
		{"max_approval_wait", c.MaxApprovalWait, 0, 7 * 24 * time.Hour},
	}
	for _, t := range times {
		if t.value < t.min || t.value > t.max {
			errs = append(errs, fmt.Errorf("%s.%s is %s; allowed are %s to %s", Section, t.key, Seconds(t.value), Seconds(t.min), Seconds(t.max)))
		}
	}
	return errors.Join(errs...)
}

// limits are those of a script on a machine with so much memory; 0 = that isn't known.
func (c *Config) limits(memoryMB int) environment.Limits {
	l := environment.Limits{MemoryMB: c.Limits.MemoryMB, Processes: c.Limits.Processes, OpenFiles: c.Limits.OpenFiles, FileSizeMB: c.Limits.FileSizeMB}
	if l.MemoryMB == 0 {
		l.MemoryMB = memoryMB / 2
	}
	return l
}
