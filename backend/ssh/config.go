package ssh

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine/brought"
)

// name is what the backend is called in the configuration.
const name = "ssh"

// Config is the part of `terminal:` that is about a host elsewhere.
type Config struct {
	Host      string `yaml:"ssh_host" env:"TERMINAL_SSH_HOST" help:"host that commands run on: a name, an address, or an alias of your ssh configuration"`
	User      string `yaml:"ssh_user" env:"TERMINAL_SSH_USER" help:"user there; default: what your ssh configuration says, else your name here"`
	Port      int    `yaml:"ssh_port" env:"TERMINAL_SSH_PORT" default:"0" min:"0" max:"65535" help:"port there; 0 = what your ssh configuration says, else 22"`
	Key       string `yaml:"ssh_key" env:"TERMINAL_SSH_KEY" help:"file of the private key that is tried first"`
	SSHConfig string `yaml:"ssh_config" env:"TERMINAL_SSH_CONFIG" help:"ssh configuration to use instead of ~/.ssh/config and the system's"`

	ShellInitFiles   []string `yaml:"shell_init_files" env:"TERMINAL_SHELL_INIT_FILES" help:"files that are read once per session for variables, functions and aliases; instead of ~/.profile, ~/.bash_profile and ~/.bashrc"`
	AutoSourceBashrc bool     `yaml:"auto_source_bashrc" env:"TERMINAL_AUTO_SOURCE_BASHRC" default:"true" help:"read ~/.profile, ~/.bash_profile and ~/.bashrc where hermes wasn't started from a shell, which has read them already"`
	Resident         string   `yaml:"resident" env:"TERMINAL_RESIDENT" default:"auto" enum:"auto|require|off" help:"run commands elsewhere through hermes itself: auto falls back to plain shell commands, require fails, off always uses these"`
	ResidentPath     string   `yaml:"resident_path" env:"TERMINAL_RESIDENT_PATH" help:"the hermes binary that is brought to other places; default: this one, or hermes-resident-OS-ARCH beside it"`
}

// Section is where Config stands in the configuration.
func (*Config) Section() string { return "terminal" }

func defaults() *Config { return &Config{AutoSourceBashrc: true, Resident: brought.Auto} }

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
	if c.Host == "" {
		return badConfig("ssh_host", errors.New("no host is named; set terminal.ssh_host or TERMINAL_SSH_HOST, and ssh_user, ssh_port and ssh_key where your ssh configuration doesn't say them"))
	}
	if err := validHost(c.Host); err != nil {
		return badConfig("ssh_host", err)
	}
	if strings.HasPrefix(c.User, "-") || strings.ContainsAny(c.User, " \t\r\n\x00") {
		return badConfig("ssh_user", fmt.Errorf("%q is no name of a user", c.User))
	}
	if c.Port < 0 || c.Port > 65535 {
		return badConfig("ssh_port", fmt.Errorf("%d is no port; 1 to 65535 are, and 0 for the usual one", c.Port))
	}
	return brought.CheckMode(c.Resident)
}

// validHost refuses what a program would take for a flag, and what a host can't be called.
func validHost(h string) error {
	if h == "" || strings.HasPrefix(h, "-") || strings.ContainsAny(h, " \t\r\n\x00'\"`$\\;&<>|(){}/@") {
		return fmt.Errorf("%q is no name of a host", h)
	}
	return nil
}
