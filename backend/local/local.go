// Package local runs commands on this machine, as the user that hermes runs as.
package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/config"
	"github.com/hermes-runtime/hermes/internal/engine"
	"github.com/hermes-runtime/hermes/internal/engine/files"
	"github.com/hermes-runtime/hermes/internal/engine/search"
	"github.com/hermes-runtime/hermes/internal/engine/staging"
	"github.com/hermes-runtime/hermes/internal/secret"
)

// Config is the part of `terminal:` that is about this machine.
type Config struct {
	ShellInitFiles   []string `yaml:"shell_init_files" env:"TERMINAL_SHELL_INIT_FILES" help:"files that are read once per session for variables, functions and aliases; instead of ~/.profile, ~/.bash_profile and ~/.bashrc"`
	AutoSourceBashrc bool     `yaml:"auto_source_bashrc" env:"TERMINAL_AUTO_SOURCE_BASHRC" default:"true" help:"read ~/.profile, ~/.bash_profile and ~/.bashrc where hermes wasn't started from a shell, which has read them already"`
	HomeMode         string   `yaml:"home_mode" env:"TERMINAL_HOME_MODE" default:"auto" enum:"auto|real|profile" help:"HOME of commands: your own, or one below HERMES_HOME; auto is the latter inside a container"`
	SandboxDir       string   `yaml:"sandbox_dir" env:"TERMINAL_SANDBOX_DIR" help:"where containers keep their files; default: sandboxes below HERMES_HOME"`
}

// Section is where Config stands in the configuration.
func (*Config) Section() string { return "terminal" }

func init() {
	config.Register(func() config.Sectioned { return defaults() })
	environment.Register(environment.Backend{
		Name:        "local",
		Description: "commands run on this machine, as you",
		Namespace:   environment.NamespaceHost,
		Config:      func() any { return defaults() },
		Check:       check,
		Lacking:     lacking,
		Open:        open,
		Finds:       true,
		Probe:       probe,
	})
}

func defaults() *Config { return &Config{AutoSourceBashrc: true, HomeMode: homeAuto} }

// check is nil even where there are no commands: files work there, and Info says what is lacking.
func check(context.Context, environment.OpenOptions) error { return nil }

func lacking(goos string) map[string]string {
	if why := engine.Unsupported(goos); why != "" {
		return map[string]string{"commands": why}
	}
	return nil
}

// place is this machine as an environment.
type place struct {
	engine *engine.Engine
	files  *files.FS
	search *search.Searcher
	area   *staging.Area
	info   environment.Info
	source func() source
	config Config
	log    func(msg string, args ...any)
	shell  bool // hermes was started from a shell, which has read the user's files

	keeping keeping

	mu    sync.Mutex
	login *engine.Login // nil until the user's files were read
}

var (
	_ environment.Environment = (*place)(nil)
	_ environment.Environer   = (*place)(nil)
	_ environment.Forwarder   = (*place)(nil)
)

func open(ctx context.Context, o environment.OpenOptions) (environment.Environment, error) {
	c, ok := o.Config.(*Config)
	if !ok || c == nil {
		c = defaults()
	}
	switch c.HomeMode {
	case homeAuto, homeReal, homeProfile, "":
	default:
		return nil, &environment.Error{Kind: environment.ErrConfig, Op: "terminal.home_mode", Err: fmt.Errorf("%q is none of auto, real, profile", c.HomeMode)}
	}
	getenv := o.Getenv
	if getenv == nil {
		getenv = func(string) string { return "" }
	}
	noHome := ""
	home := profileHome(c.HomeMode, o.HermesHome, inContainer(getenv))
	if home != "" {
		switch err := os.MkdirAll(home, 0o700); {
		case err == nil:
		case c.HomeMode == homeProfile:
			return nil, &environment.Error{Kind: environment.ErrUnavailable, Op: "make the home of commands", Err: err}
		default: // nobody asked for it, and commands run as well without
			noHome, home = fmt.Sprintf("commands keep the host's HOME: %v", err), ""
		}
	}
	p := &place{config: *c, search: search.New(search.Options{}), shell: getenv("SHLVL") != ""}
	p.log = func(string, ...any) {}
	if o.Log != nil {
		p.log = o.Log.Warn
	}
	p.source = func() source {
		s := source{passthrough: o.Passthrough, home: home}
		if o.Environ != nil {
			s.host = o.Environ()
		}
		if o.Secrets != nil {
			s.secrets = o.Secrets()
		}
		return s
	}
	p.engine = engine.New(engine.Options{
		Grace: o.KillGrace, Limits: o.Limits, Home: o.HermesHome, Subreaper: o.Subreaper, Guard: o.GuardArgv, Log: o.Log,
	})
	p.keeping.o = o
	p.describe(o, home, getenv)
	if noHome != "" {
		p.info.Notes = append(p.info.Notes, noHome)
	}
	p.engine.Sweep()
	return p, nil
}

// describe fills in what is known of the place.
func (p *place) describe(o environment.OpenOptions, home string, getenv func(string) string) {
	temp := tempDir(getenv)
	if home == "" {
		home = getenv("HOME")
	}
	if home == "" {
		home, _ = os.UserHomeDir() // "" leaves ~ as it is, which is reported where it is used
	}
	p.info = environment.Info{
		Backend: "local", ID: o.Key, Home: environment.Path(home), Temp: environment.Path(temp), Shell: p.engine.Shell(), MemoryMB: engine.MemoryMB(),
		Namespace: environment.NamespaceHost, Traits: environment.Traits{HostLike: true, Network: true},
		Notes: append(p.engine.Describe(), notes(o.Passthrough)...),
	}
	p.info.Lacking = p.engine.Lacking()
	if n := p.engine.Guarded(); n != "" {
		p.info.Notes = append(p.info.Notes, n)
	}
	if n := diskNote(o, p.config, getenv); n != "" {
		p.info.Notes = append(p.info.Notes, n)
	}
	if !keepsJobs(o) && len(p.info.Lacking) == 0 {
		p.info.Notes = append(p.info.Notes, endWithUs)
	}
	lockDir := ""
	if o.HermesHome != "" {
		lockDir = filepath.Join(o.HermesHome, "run", "files")
	}
	p.area = staging.New(staging.Options{Runtime: getenv("XDG_RUNTIME_DIR"), Home: o.HermesHome, Log: o.Log})
	p.files = files.New(files.Options{Home: home, Temp: temp, LockDir: lockDir})
}

// notes warns of credentials that the user lets through.
func notes(passthrough []string) []string {
	var out []string
	for _, name := range passthrough {
		if secret.IsOwn(name) {
			out = append(out, "terminal.env_passthrough gives "+name+" to every command: it is a credential of hermes itself")
		}
	}
	return out
}

// Info describes this machine as a place.
func (p *place) Info() environment.Info { return p.info }

// Run runs one command.
func (p *place) Run(ctx context.Context, c environment.Command) (environment.Result, error) {
	return p.engine.Run(ctx, c, p.base(ctx))
}

// Files is the file system of this machine.
func (p *place) Files() environment.FS { return p.files }

// Environ tells the variables that a command with this state would see.
func (p *place) Environ(ctx context.Context, s *environment.State) (map[string]string, error) {
	return p.base(ctx).Variables(s), nil
}

// Forward makes a directory with these files, and a socket in it.
func (p *place) Forward(_ context.Context, files map[string][]byte) (environment.Forwarding, error) {
	f, err := p.area.Forward(files)
	if err != nil {
		return nil, err
	}
	return f, nil
}

// Close ends what runs, but for jobs that another process keeps.
func (p *place) Close(ctx context.Context) error {
	return errors.Join(p.keeping.close(ctx), p.engine.Close(ctx), p.area.Close())
}

// base is what every command gets. It is made anew each time: skills come and go.
func (p *place) base(ctx context.Context) engine.Base {
	b := engine.Base{Environ: p.source().environ(), Home: string(p.info.Home), Temp: string(p.info.Temp)}
	if !p.readsLogin() {
		return b
	}
	b.Login = p.readLogin(ctx, b)
	b.Environ = b.Login.Over(b.Environ)
	return b
}

// readLogin reads the user's files once. A command that was interrupted meanwhile leaves it to the next one.
func (p *place) readLogin(ctx context.Context, b engine.Base) *engine.Login {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.login != nil {
		return p.login
	}
	l := p.engine.LoginEnviron(ctx, b, p.config.ShellInitFiles)
	if ctx.Err() != nil {
		return l
	}
	for _, w := range l.Warnings {
		p.log(w)
	}
	p.login = l
	return l
}

// readsLogin reports whether the user's shell files are worth reading: they are named in the configuration, or nobody has read them
// before, because hermes was started by something else than a shell (a service manager, an editor).
func (p *place) readsLogin() bool {
	return len(p.config.ShellInitFiles) > 0 || p.config.AutoSourceBashrc && !p.shell
}

// diskWarning is how many GB the files of sandboxes may take before it is said (TERMINAL_DISK_WARNING_GB).
const diskWarning = 500

// diskNote warns of sandboxes that have grown large. It looks at the first entries only, so that it costs little.
func diskNote(o environment.OpenOptions, c Config, getenv func(string) string) string {
	dir := c.SandboxDir
	if dir == "" {
		if o.HermesHome == "" {
			return ""
		}
		dir = filepath.Join(o.HermesHome, "sandboxes")
	}
	limit := float64(diskWarning)
	if s := getenv("TERMINAL_DISK_WARNING_GB"); s != "" {
		if v, err := strconv.ParseFloat(strings.TrimSpace(s), 64); err == nil && v >= 0 {
			limit = v
		}
	}
	if gb := float64(treeSize(dir)) / 1e9; gb > limit {
		return fmt.Sprintf("%s holds %.0f GB (TERMINAL_DISK_WARNING_GB is %.0f)", dir, gb, limit)
	}
	return ""
}

// probe tells doctor how commands run here.
func probe(context.Context, environment.OpenOptions) []string {
	e := engine.New(engine.Options{})
	return append([]string{"shell: " + e.Shell()}, e.Describe()...)
}
