package runtime

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	goruntime "runtime"
	"slices"
	"time"

	"github.com/hermes-runtime/hermes/channel"
	env "github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/envs"
	"github.com/hermes-runtime/hermes/internal/secret"
)

func newSessionID() string {
	var b [8]byte
	_, _ = rand.Read(b[:])
	return "s_" + hex.EncodeToString(b[:])
}

// readPlace reads where commands run.
func (r *Runtime) readPlace() envs.Config {
	var c envs.Config
	if err := r.doc.Decode(c.Section(), &c); err != nil {
		for _, e := range unjoin(err) {
			r.problem(e)
		}
	}
	if r.options.Dir != "" {
		c.Cwd = r.options.Dir
	}
	return c
}

func (r *Runtime) environments() *envs.Manager {
	c := r.place
	return envs.New(envs.Options{
		Backend: c.Backend, Cwd: c.Cwd, Lifetime: c.Lifetime, Log: r.log, Busy: r.busy, Mirror: r.mirror,
		Settings: func(b env.Backend, _ string, _ envs.Override) (env.OpenOptions, error) { return r.OpenOptions(b) },
	})
}

// OpenOptions is what places of a backend are made with, by the configuration.
func (r *Runtime) OpenOptions(b env.Backend) (env.OpenOptions, error) {
	settings, err := r.backendConfig(b)
	return env.OpenOptions{
		Config: settings, HermesHome: r.home, Getenv: r.Getenv, Environ: r.environList,
		Passthrough: r.place.Passthrough, Secrets: r.secretVariables, KillGrace: r.place.KillGrace, Limits: r.place.Limits.Bounds(),
		GuardArgv: r.options.GuardArgv, KeeperArgv: r.options.KeeperArgv, Subreaper: r.options.Subreaper, Log: r.log, Stderr: r.options.Progress,
		AskSecret: r.askSecret(),
	}, err
}

// secretTime is how long a person has to type a passphrase; a host over SSH doesn't wait longer either.
const secretTime = 2 * time.Minute

// askSecret has a person type what must not be shown. nil where nobody is there.
func (r *Runtime) askSecret() func(ctx context.Context, what string) (string, error) {
	asker := r.options.Asker
	if asker == nil {
		return nil
	}
	return func(ctx context.Context, what string) (string, error) {
		a, _, err := r.desk.Ask(ctx, asker, func(int) (channel.Question, bool) {
			now := time.Now()
			return channel.Question{Kind: channel.KindSecret, Title: what, Created: now, Expires: now.Add(secretTime)}, true
		})
		if err != nil {
			return "", fmt.Errorf("ask for %q: %w", what, err)
		}
		r.secrets.Add("TYPED_SECRET", a.Secret) // so that it is taken out of whatever shows it
		return a.Secret, nil
	}
}

// backendConfig fills the settings that a backend declares.
func (r *Runtime) backendConfig(b env.Backend) (any, error) {
	if b.Config == nil {
		return nil, nil
	}
	c := b.Config()
	if err := r.doc.Decode("terminal", c); err != nil {
		return c, fmt.Errorf("%w: %w", env.ErrConfig, err)
	}
	return c, nil
}

// environList is the host's environment as places see it: without the model's key, whatever its variable is called.
func (r *Runtime) environList() []string {
	out := make([]string, 0, len(r.environ))
	for _, name := range slices.Sorted(maps.Keys(r.environ)) {
		if name != r.settings.model.KeyEnv || slices.Contains(r.place.Passthrough, name) {
			out = append(out, name+"="+r.environ[name])
		}
	}
	return out
}

// secretVariables are the variables of .env: children see them only by grant.
func (r *Runtime) secretVariables() map[string]string {
	out := map[string]string{}
	for name, value := range r.fromFile() {
		if secret.IsSecretName(name) {
			out[name] = value
		}
	}
	return out
}

// TerminalUnavailable says why commands can't run where they are configured to, nil if they can.
func (r *Runtime) TerminalUnavailable(ctx context.Context) error {
	return r.unavailable(ctx, r.place.Backend)
}

// availability is TerminalUnavailable for one task, which may work elsewhere.
type availability struct {
	runtime *Runtime
	task    string
}

func (a availability) TerminalUnavailable(ctx context.Context) error {
	return a.runtime.unavailable(ctx, a.runtime.places.Backend(a.task))
}

// ScriptsRunElsewhere reports whether what runs in the task's environment runs on another machine.
func (a availability) ScriptsRunElsewhere() bool {
	return a.runtime.elsewhere(a.runtime.places.Backend(a.task))
}

// ScriptsRunElsewhere reports that of tasks that work where it is configured.
func (r *Runtime) ScriptsRunElsewhere() bool { return r.elsewhere(r.place.Backend) }

func (r *Runtime) elsewhere(backend string) bool {
	b, err := envs.Lookup(backend)
	return err == nil && b.Namespace == env.NamespaceOwn
}

func (r *Runtime) unavailable(ctx context.Context, backend string) error {
	b, err := envs.Lookup(backend)
	if err != nil {
		return err
	}
	if why := r.lacking(b)["commands"]; why != "" {
		return &env.Error{Kind: env.ErrUnsupported, Op: "terminal.backend " + b.Name, Err: errors.New(why)}
	}
	if b.Check == nil {
		return nil
	}
	o, err := r.OpenOptions(b)
	if err != nil {
		return err
	}
	return b.Check(ctx, o)
}

// lacking is what a backend can't do on this machine.
func (r *Runtime) lacking(b env.Backend) map[string]string {
	if b.Lacking == nil {
		return nil
	}
	return b.Lacking(cmp.Or(r.options.GOOS, goruntime.GOOS))
}

func (r *Runtime) backend() (env.Backend, error) { return envs.Lookup(r.place.Backend) }
