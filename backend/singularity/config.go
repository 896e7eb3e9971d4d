package singularity

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine/brought"
)

// name is what the backend is called in the configuration.
const name = "singularity"

// defaultImage has Python, Node and a shell, which is what most tasks want.
const defaultImage = "docker://nikolaik/python-nodejs:python3.11-nodejs20"

// Config is the part of `terminal:` that is about instances.
type Config struct {
	Image    string  `yaml:"singularity_image" env:"TERMINAL_SINGULARITY_IMAGE" default:"docker://nikolaik/python-nodejs:python3.11-nodejs20" help:"image that Apptainer or Singularity starts: docker://NAME, a SIF file, or a directory"`
	Scratch  string  `yaml:"scratch_dir" env:"TERMINAL_SCRATCH_DIR" help:"where Apptainer's images and the files of its instances are kept; default: /scratch/USER/hermes-agent if that can be written, else singularity below sandbox_dir"`
	Files    bool    `yaml:"container_persistent" env:"TERMINAL_CONTAINER_PERSISTENT" default:"true" help:"keep /root and /workspace of containers below sandbox_dir; false keeps them in memory"`
	CPU      float64 `yaml:"container_cpu" env:"TERMINAL_CONTAINER_CPU" default:"1" min:"0" help:"processors that a container may use; 0 = all"`
	MemoryMB int     `yaml:"container_memory" env:"TERMINAL_CONTAINER_MEMORY" default:"5120" min:"0" help:"memory of a container in MB; 0 = all"`
	Network  bool    `yaml:"container_network" env:"TERMINAL_CONTAINER_NETWORK" default:"true" help:"containers reach the network"`

	PullTimeout  time.Duration `yaml:"pull_timeout" env:"TERMINAL_PULL_TIMEOUT" default:"600" min:"1" help:"seconds that fetching an image may take"`
	Resident     string        `yaml:"resident" env:"TERMINAL_RESIDENT" default:"auto" enum:"auto|require|off" help:"run commands elsewhere through hermes itself: auto falls back to plain shell commands, require fails, off always uses these"`
	ResidentPath string        `yaml:"resident_path" env:"TERMINAL_RESIDENT_PATH" help:"the hermes binary that is brought to other places; default: this one, or hermes-resident-OS-ARCH beside it"`
	SandboxDir   string        `yaml:"sandbox_dir" env:"TERMINAL_SANDBOX_DIR" help:"where containers keep their files; default: sandboxes below HERMES_HOME"`
}

// Section is where Config stands in the configuration.
func (*Config) Section() string { return "terminal" }

func defaults() *Config {
	return &Config{Image: defaultImage, Files: true, CPU: 1, MemoryMB: 5120, Network: true, PullTimeout: 600 * time.Second, Resident: brought.Auto}
}

// configOf gives the settings that a function of the registration was called with.
func configOf(c any) *Config {
	if c, ok := c.(*Config); ok && c != nil {
		return c
	}
	return defaults()
}

func badConfig(key string, err error) error {
	return &environment.Error{Kind: environment.ErrConfig, Op: "terminal." + key, Err: err}
}

// check finds what is wrong without asking anybody.
func (c *Config) check() error {
	switch {
	case c.Image == "" || strings.HasPrefix(c.Image, "-") || strings.HasPrefix(c.Image, "instance://") || strings.ContainsAny(c.Image, "\r\n\x00"):
		return badConfig("singularity_image", fmt.Errorf("%q is no image; docker://NAME, a SIF file and a directory are", c.Image))
	case !isRemote(c.Image):
		if _, err := os.Stat(expandHome(c.Image)); err != nil {
			return badConfig("singularity_image", err)
		}
	}
	return brought.CheckMode(c.Resident)
}

// isRemote tells an image that is fetched from one that lies here.
func isRemote(image string) bool { return strings.Contains(image, "://") }

// finder looks for the hermes binary that is brought into instances.
func (c *Config) finder(o environment.OpenOptions) brought.Finder {
	return brought.Finder{Mode: c.Resident, Path: expandHome(c.ResidentPath), Self: o.GuardArgv}
}

func expandHome(p string) string {
	if p == "~" || strings.HasPrefix(p, "~/") {
		if h, err := os.UserHomeDir(); err == nil {
			return filepath.Join(h, p[1:])
		}
	}
	return p
}
