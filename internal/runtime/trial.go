package runtime

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/approval"
)

// TryRequest is a command to be judged and not run.
type TryRequest struct {
	Command string
	Dir     string            // absolute; "" = where this process works
	Home    string            // "" = this user's
	Kind    string            // of environment; "" = as configured
	Vars    map[string]string // variables that the command would see besides
}

// Try judges a command as a call in a new session would have it judged. The error is one of the request's.
func (r *Runtime) Try(t TryRequest) (approval.Trial, error) {
	o := SessionOptions{Task: "approvals"}
	f := r.facts(o, func() string { return "" })
	req := approval.Request{
		Command: t.Command, Dir: f.Dir, Home: f.Home, User: f.User, EnvID: f.Environment, Hermes: f.Hermes, HostLike: f.HostLike,
		Mounts: f.Mounts, HostHome: f.HostHome, Disk: f.Disk, Vars: f.Vars,
	}
	for name, value := range t.Vars {
		req.Vars = with(req.Vars, name, value)
	}
	if t.Home != "" {
		req.Home = t.Home
	}
	if t.Dir != "" {
		if !filepath.IsAbs(t.Dir) {
			return approval.Trial{}, fmt.Errorf("cwd %q is no absolute path", t.Dir)
		}
		req.Dir = filepath.Clean(t.Dir)
	}
	if req.Dir == "" {
		req.Dir, _ = os.Getwd()
	}
	req.Workspace = around(req.Dir)
	if t.Kind != "" {
		if err := r.asKind(&req, t.Kind); err != nil {
			return approval.Trial{}, err
		}
	}
	return r.gate.Try(req), nil
}

// asKind has a request judged as if it were for another kind of environment.
func (r *Runtime) asKind(req *approval.Request, kind string) error {
	req.EnvID = kind
	if b, ok := environment.Lookup(kind); ok {
		traits := environment.Traits{HostLike: true}
		if b.Traits != nil {
			c, err := r.backendConfig(b)
			if err != nil {
				return err
			}
			traits = b.Traits(c)
		}
		req.HostLike, req.Mounts = approval.HostLike(traits, req.HostHome), traits.Mounts
		if b.Namespace != environment.NamespaceHost {
			req.Disk, req.Hermes = nil, ""
		}
		return nil
	}
	hostLike, known := approval.KindOf(kind)
	if !known {
		var names []string
		for _, b := range environment.Backends() {
			names = append(names, b.Name)
		}
		slices.Sort(names)
		return fmt.Errorf("%q is no kind of environment; this build has %v", kind, names)
	}
	req.HostLike, req.Mounts, req.Disk, req.Hermes = hostLike, nil, nil, ""
	return nil
}

// around is the repository around a directory, else the directory.
func around(dir string) string {
	for at := dir; at != ""; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, ".git")); err == nil {
			return at
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	return dir
}
