package runtime

import (
	"maps"
	"os/user"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/approval"
	"github.com/hermes-runtime/hermes/internal/dispatch"
	"github.com/hermes-runtime/hermes/internal/secret"
)

// facts is what approval has to know of the place of a session. Nothing is started for it: a place that isn't there yet is judged by
// what its configuration will give it.
func (r *Runtime) facts(o SessionOptions, workspace func() string) dispatch.Facts {
	f := dispatch.Facts{
		Dir: r.places.Dir(o.Task), Home: r.environ["HOME"], User: r.environ["USER"], Environment: r.places.Key(o.Task),
		Workspace: workspace(), Setting: o.Setting, Surface: o.Surface, Root: o.Root, Child: o.Child,
	}
	if f.Setting == approval.Attended && set(r.environ["HERMES_CRON_SESSION"]) {
		f.Setting = approval.Scheduled
	}
	if f.Home == "" {
		if u, err := user.Current(); err == nil {
			f.Home, f.User = u.HomeDir, u.Username
		}
	}
	f.HostHome = f.Home
	f.Vars, f.Functions = r.places.Carried(o.Task)
	maps.DeleteFunc(f.Vars, func(name, _ string) bool { return secret.IsSecretName(name) }) // what is judged is shown to people and models
	traits, namespace := r.configured(r.places.Backend(o.Task))
	if info, ok := r.places.Open()[f.Environment]; ok {
		f.Home, traits, namespace = string(info.Home), info.Traits, info.Namespace
	}
	f.HostLike, f.Mounts = approval.HostLike(traits, f.HostHome), traits.Mounts
	if namespace == environment.NamespaceHost {
		f.Disk, f.Hermes = hostDisk{}, r.home
		if _, carried := f.Vars["PATH"]; !carried {
			f.Vars = with(f.Vars, "PATH", r.environ["PATH"])
		}
	}
	return f
}

// with adds a variable to a map of its own.
func with(vars map[string]string, name, value string) map[string]string {
	if vars == nil {
		vars = map[string]string{}
	}
	vars[name] = value
	return vars
}

// exposed is what a place will show of the host by its configuration.
type exposed struct {
	traits    environment.Traits
	namespace environment.Namespace
}

// configured is what a place of a backend will expose by its configuration, which is read once. What isn't known reaches the host.
func (r *Runtime) configured(name string) (environment.Traits, environment.Namespace) {
	if known, ok := r.exposes.Load(name); ok {
		e := known.(exposed)
		return e.traits, e.namespace
	}
	e := exposed{traits: environment.Traits{HostLike: true}}
	if b, ok := environment.Lookup(name); ok {
		e.namespace = b.Namespace
		if c, err := r.backendConfig(b); err == nil && b.Traits != nil {
			e.traits = b.Traits(c)
		}
	}
	r.exposes.Store(name, e)
	return e.traits, e.namespace
}
