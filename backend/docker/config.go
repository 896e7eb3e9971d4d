package docker

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine/brought"
)

// name is what the backend is called in the configuration.
const name = "docker"

// defaultImage has Python, Node and a shell, which is what most tasks want.
const defaultImage = "nikolaik/python-nodejs:python3.11-nodejs20"

// Config is the part of `terminal:` that is about containers.
type Config struct {
	Image      string         `yaml:"docker_image" env:"TERMINAL_DOCKER_IMAGE" default:"nikolaik/python-nodejs:python3.11-nodejs20" help:"image that containers are made from"`
	Env        map[string]any `yaml:"docker_env" env:"TERMINAL_DOCKER_ENV" help:"variables of the container, by name; as a variable a JSON object"`
	ForwardEnv []string       `yaml:"docker_forward_env" env:"TERMINAL_DOCKER_FORWARD_ENV" help:"variables that each command gets from here, credentials too; as a variable a JSON list"`
	Volumes    []string       `yaml:"docker_volumes" env:"TERMINAL_DOCKER_VOLUMES" help:"directories and volumes that are mounted, SOURCE:TARGET[:ro]; as a variable a JSON list"`
	ExtraArgs  []string       `yaml:"docker_extra_args" env:"TERMINAL_DOCKER_EXTRA_ARGS" help:"further flags of docker run (docs/docker.md lists them); as a variable a JSON list"`
	MountCwd   bool           `yaml:"docker_mount_cwd_to_workspace" env:"TERMINAL_DOCKER_MOUNT_CWD_TO_WORKSPACE" default:"false" help:"mount the directory that hermes works in on /workspace"`
	AsHostUser bool           `yaml:"docker_run_as_host_user" env:"TERMINAL_DOCKER_RUN_AS_HOST_USER" default:"false" help:"commands in the container run under your user and group id"`
	Persist    bool           `yaml:"docker_persist_across_processes" env:"TERMINAL_DOCKER_PERSIST_ACROSS_PROCESSES" default:"true" help:"keep the container for the next time; false removes it at the end"`
	Reaper     bool           `yaml:"docker_orphan_reaper" env:"TERMINAL_DOCKER_ORPHAN_REAPER" default:"true" help:"remove containers that earlier runs left behind"`
	KeepDays   int            `yaml:"docker_keep_days" env:"TERMINAL_DOCKER_KEEP_DAYS" default:"7" min:"0" help:"days after which a stopped container that nobody used is removed"`
	Unsafe     bool           `yaml:"docker_allow_unsafe" env:"TERMINAL_DOCKER_ALLOW_UNSAFE" default:"false" help:"allow settings that open the container towards the host"`
	Files      bool           `yaml:"container_persistent" env:"TERMINAL_CONTAINER_PERSISTENT" default:"true" help:"keep /root and /workspace of containers below sandbox_dir; false keeps them in memory"`
	CPU        float64        `yaml:"container_cpu" env:"TERMINAL_CONTAINER_CPU" default:"1" min:"0" help:"processors that a container may use; 0 = all"`
	MemoryMB   int            `yaml:"container_memory" env:"TERMINAL_CONTAINER_MEMORY" default:"5120" min:"0" help:"memory of a container in MB; 0 = all"`
	DiskMB     int            `yaml:"container_disk" env:"TERMINAL_CONTAINER_DISK" default:"51200" min:"0" help:"disk of a container in MB, where the storage enforces it; 0 = all"`
	Network    bool           `yaml:"container_network" env:"TERMINAL_CONTAINER_NETWORK" default:"true" help:"containers reach the network"`

	PullTimeout  time.Duration `yaml:"pull_timeout" env:"TERMINAL_PULL_TIMEOUT" default:"600" min:"1" help:"seconds that fetching an image may take"`
	Resident     string        `yaml:"resident" env:"TERMINAL_RESIDENT" default:"auto" enum:"auto|require|off" help:"run commands elsewhere through hermes itself: auto falls back to plain shell commands, require fails, off always uses these"`
	ResidentPath string        `yaml:"resident_path" env:"TERMINAL_RESIDENT_PATH" help:"the hermes binary that is brought to other places; default: this one, or hermes-resident-OS-ARCH beside it"`
	SandboxDir   string        `yaml:"sandbox_dir" env:"TERMINAL_SANDBOX_DIR" help:"where containers keep their files; default: sandboxes below HERMES_HOME"`
	Lifetime     time.Duration `yaml:"lifetime_seconds" env:"TERMINAL_LIFETIME_SECONDS" default:"300" min:"0" help:"seconds without use after which an environment is closed; 0 = never"`
}

// Section is where Config stands in the configuration.
func (*Config) Section() string { return "terminal" }

func defaults() *Config {
	return &Config{
		Image: defaultImage, Persist: true, Reaper: true, KeepDays: 7, Files: true, CPU: 1, MemoryMB: 5120, DiskMB: 51200, Network: true,
		PullTimeout: 600 * time.Second, Resident: brought.Auto, Lifetime: 300 * time.Second,
	}
}

// configOf gives the settings that a function of the registration was called with.
func configOf(c any) *Config {
	if c, ok := c.(*Config); ok && c != nil {
		return c
	}
	return defaults()
}

var variableName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
})

func badConfig(key string, err error) error {
	return &environment.Error{Kind: environment.ErrConfig, Op: "terminal." + key, Err: err}
}

// environ gives docker_env as name=value, sorted.
func (c *Config) environ() ([]string, error) {
	var out []string
	for _, n := range slices.Sorted(maps.Keys(c.Env)) {
		if !variableName().MatchString(n) {
			return nil, badConfig("docker_env", fmt.Errorf("%q is no name of a variable", n))
		}
		v, err := scalar(c.Env[n])
		if err != nil {
			return nil, badConfig("docker_env", fmt.Errorf("%s %w", n, err))
		}
		out = append(out, n+"="+v)
	}
	return out, nil
}

// scalar is a value of a configuration file as text.
func scalar(v any) (string, error) {
	switch x := v.(type) {
	case string:
		return x, nil
	case bool:
		return strconv.FormatBool(x), nil
	case int, int64, uint64:
		return fmt.Sprint(x), nil
	case float64:
		return strconv.FormatFloat(x, 'f', -1, 64), nil
	case nil:
		return "", errors.New("has no value; write \"\" for an empty one")
	}
	return "", fmt.Errorf("is a %T; text, a number, true or false is allowed", v)
}

// check finds what is wrong without asking anybody.
func (c *Config) check() error {
	if c.Image == "" {
		return badConfig("docker_image", errors.New("no image is named"))
	}
	for _, n := range c.ForwardEnv {
		if !variableName().MatchString(n) {
			return badConfig("docker_forward_env", fmt.Errorf("%q is no name of a variable", n))
		}
	}
	if err := brought.CheckMode(c.Resident); err != nil {
		return err
	}
	_, err := c.environ()
	return err
}
