package runtime

import (
	"os/user"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/approval"
	"github.com/hermes-runtime/hermes/internal/dispatch"
)

// facts is what approval has to know of the place of a session. Nothing is started for it: a place that isn't there yet is judged by
// what its configuration will give it.
func (r *Runtime) facts(o SessionOptions, workspace func() string) dispatch.Facts {
	f := dispatch.Facts{
		Dir: r.places.Dir(o.Task), Home: r.environ["HOME"], User: r.environ["USER"], Environment: r.places.Key(o.Task),
		Workspace: workspace(), Setting: o.Setting, Surface: o.Surface, Root: o.Root,
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
	traits, namespace := r.exposes()
	if info, ok := r.places.Open()[f.Environment]; ok {
		f.Home, traits, namespace = string(info.Home), info.Traits, info.Namespace
	}
	f.HostLike, f.Mounts = approval.HostLike(traits, f.HostHome), traits.Mounts
	if namespace == environment.NamespaceHost {
		f.Disk, f.Hermes = hostDisk{}, r.home
	}
	return f
}

// configured is what a place will expose by its configuration. What isn't known reaches the host.
func (r *Runtime) configured() (environment.Traits, environment.Namespace) {
	b, err := r.backend()
	if err != nil {
		return environment.Traits{HostLike: true}, ""
	}
	if b.Traits == nil {
		return environment.Traits{HostLike: true}, b.Namespace
	}
	c, err := r.backendConfig(b)
	if err != nil {
		return environment.Traits{HostLike: true}, b.Namespace
	}
	return b.Traits(c), b.Namespace
}
