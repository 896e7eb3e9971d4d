package modal

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/cloud"
	"github.com/hermes-runtime/hermes/internal/engine/brought"
)

// name is what the backend is called in the configuration.
const name = "modal"

const (
	// defaultImage has Python, Node and a shell, which is what most tasks want.
	defaultImage = "nikolaik/python-nodejs:python3.11-nodejs20"
	// maxTimeout is how long Modal lets a sandbox live: https://modal.com/docs/guide/sandbox#timeouts
	maxTimeout = 24 * time.Hour
	// modeManaged is a value of modal_mode that other runtimes have.
	modeManaged = "managed"
)

// Config is the part of `terminal:` that is about sandboxes of Modal.
type Config struct {
	Image   string        `yaml:"modal_image" env:"TERMINAL_MODAL_IMAGE" default:"nikolaik/python-nodejs:python3.11-nodejs20" help:"image that sandboxes are made from: a name in a registry, or im-… for one that Modal has"`
	Mode    string        `yaml:"modal_mode" env:"TERMINAL_MODAL_MODE" default:"auto" enum:"auto|direct|managed" help:"auto and direct use your own account; managed isn't offered"`
	Timeout time.Duration `yaml:"modal_timeout" env:"TERMINAL_MODAL_TIMEOUT" default:"3600" min:"1" help:"seconds after which Modal ends a sandbox, whatever runs in it; 86400 at most"`
	GPU     string        `yaml:"modal_gpu" env:"TERMINAL_MODAL_GPU" help:"GPU of a sandbox, such as T4 or A100:2; empty = none"`
	Region  string        `yaml:"modal_region" env:"TERMINAL_MODAL_REGION" help:"regions that sandboxes may run in, separated by commas; empty = anywhere"`

	Kept         bool          `yaml:"container_persistent" env:"TERMINAL_CONTAINER_PERSISTENT" default:"true" help:"keep the files of a sandbox as a snapshot at its end, and begin with them the next time; false keeps nothing"`
	CPU          float64       `yaml:"container_cpu" env:"TERMINAL_CONTAINER_CPU" default:"1" min:"0" help:"processors of a sandbox, parts of one too"`
	MemoryMB     int           `yaml:"container_memory" env:"TERMINAL_CONTAINER_MEMORY" default:"5120" min:"0" help:"memory of a sandbox in MB"`
	Network      bool          `yaml:"container_network" env:"TERMINAL_CONTAINER_NETWORK" default:"true" help:"sandboxes reach the network"`
	Lifetime     time.Duration `yaml:"lifetime_seconds" env:"TERMINAL_LIFETIME_SECONDS" default:"300" min:"0" help:"seconds without use after which an environment is closed; 0 = never"`
	StartTimeout time.Duration `yaml:"pull_timeout" env:"TERMINAL_PULL_TIMEOUT" default:"600" min:"1" help:"seconds that making a sandbox, and its image before, may take"`
	MaxPlaces    int           `yaml:"max_sandboxes" env:"TERMINAL_MAX_SANDBOXES" default:"8" min:"1" help:"sandboxes of clouds that may run at once"`
	Resident     string        `yaml:"resident" env:"TERMINAL_RESIDENT" default:"auto" enum:"auto|require|off" help:"run commands elsewhere through hermes itself: auto falls back to plain shell commands, require fails, off always uses these"`
	ResidentPath string        `yaml:"resident_path" env:"TERMINAL_RESIDENT_PATH" help:"the hermes binary that is brought to other places; default: this one, or hermes-resident-OS-ARCH beside it"`
}

func notInNames(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }

// Section is where Config stands in the configuration.
func (*Config) Section() string { return "terminal" }

func defaults() *Config {
	return &Config{
		Image: defaultImage, Mode: "auto", Timeout: time.Hour, Kept: true, CPU: 1, MemoryMB: 5120, Network: true, Lifetime: 300 * time.Second,
		StartTimeout: 600 * time.Second, MaxPlaces: cloud.MaxPlaces, Resident: brought.Auto,
	}
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

// image is what sandboxes of a task are made from.
func (c *Config) image(overrides map[string]string) string {
	return cmp.Or(overrides["modal_image"], c.Image)
}

// check finds what is wrong for a task that has overrides, without asking anybody.
func (c *Config) check(overrides map[string]string) error {
	switch image := c.image(overrides); {
	case c.Mode == modeManaged:
		return badConfig("modal_mode", errors.New("managed sandboxes are not offered; direct uses your own account of Modal"))
	case image == "" || strings.ContainsFunc(image, notInNames) || strings.HasPrefix(image, "-"): // it becomes a line of a Dockerfile, where FROM has flags
		return badConfig("modal_image", fmt.Errorf("%q is no name of an image", image))
	case c.Timeout < time.Second || c.Timeout > maxTimeout || c.Timeout%time.Second != 0:
		return badConfig("modal_timeout", fmt.Errorf("%v is not allowed: Modal ends every sandbox after 1 to %d whole seconds", c.Timeout, int(maxTimeout.Seconds())))
	case c.CPU <= 0:
		return badConfig("container_cpu", errors.New("0 would bound nothing, and Modal charges for what is used; say how many processors, or parts of one"))
	case c.MemoryMB <= 0:
		return badConfig("container_memory", errors.New("0 would bound nothing, and Modal charges for what is used; say how many MB"))
	}
	return brought.CheckMode(c.Resident)
}
