package script

import (
	"context"
	"fmt"
	"path"
	"time"

	"github.com/hermes-runtime/hermes/environment"
)

// askTime bounds all that is asked of a place after the end of a script, to explain that.
const askTime = 5 * time.Second

// findPlace opens the task's environment and finds the directory that the script starts in.
func (x *run) findPlace(ctx context.Context) error {
	place, err := x.call.Host.Place(ctx)
	if err != nil {
		return fmt.Errorf("open the place that the script runs in: %w", err)
	}
	x.place, x.far = place, place.Info().Namespace != environment.NamespaceHost
	var forwards, tells bool
	x.forwarder, forwards = place.Environment.(environment.Forwarder)
	x.environer, tells = place.Environment.(environment.Environer)
	if why := place.Info().Lacking["forward"]; why != "" || !forwards || !tells {
		if why == "" {
			why = "it forwards no sockets"
		}
		return fmt.Errorf("scripts can't run in the place %s: %w: %s; call the tools one by one", place.Info().Backend, environment.ErrUnsupported, why)
	}
	wanted := environment.Path("")
	if place.State != nil {
		wanted = place.State.Dir()
	}
	if wanted == "" {
		wanted = environment.Path(x.call.Host.Dir())
	}
	if wanted == "" {
		wanted = place.Info().Home
	}
	dir, err := x.nearestDir(ctx, wanted)
	if err != nil {
		return err
	}
	if x.session = string(dir); dir != wanted {
		x.warn(fmt.Sprintf("The session's directory %s is gone; %s is used.", wanted, x.session))
	}
	return nil
}

// nearestDir is dir, or the nearest of its ancestors that exists, or home, or where temporary files are.
func (x *run) nearestDir(ctx context.Context, dir environment.Path) (environment.Path, error) {
	var tries []environment.Path
	for d := string(dir); path.IsAbs(d) && d != "/"; d = path.Dir(d) {
		tries = append(tries, environment.Path(d))
	}
	if dir != "/" { // everything is gone: home says more
		tries = append(tries, x.place.Info().Home, x.place.Info().Temp)
	}
	for _, d := range tries {
		i, err := x.place.Files().Stat(ctx, d)
		if err == nil && i.Mode.IsDir() {
			return d, nil
		}
		if environment.Failed(err) {
			return "", fmt.Errorf("look for the session's directory: %w", err)
		}
	}
	return "/", nil
}

// site is the place as interpreters are looked for in it.
type site struct{ environment.Environment }

func (s site) Stat(ctx context.Context, p string) (environment.FileInfo, error) {
	return s.Files().Stat(ctx, environment.Path(p))
}

func (x *run) findPython(ctx context.Context) error {
	var err error
	if x.vars, err = x.environer.Environ(ctx, x.place.State); err != nil {
		return fmt.Errorf("ask for the session's variables: %w", err)
	}
	tell := func(text string) {
		x.call.Host.Progress(0, 0, text)
		if x.r.o.Tell != nil {
			x.r.o.Tell(text)
		}
	}
	here := site{x.place.Environment}
	resolver := x.r.o.Resolver.Through(here)
	if x.far {
		resolver = x.r.o.Resolver.Elsewhere(here, x.place.Info().Backend+" "+x.place.Info().ID, x.vars)
	}
	if x.mode == ModeStrict {
		x.python, err = resolver.Own(ctx, tell)
	} else {
		x.python, err = resolver.Project(ctx, x.cfg.Python, x.vars, tell)
	}
	return err
}

// exists reports whether there is a file in the place. It is for explanations: what can't be found out isn't there.
func (x *run) exists(ctx context.Context, p string) bool {
	if ctx.Err() != nil {
		return false
	}
	_, err := x.place.Files().Stat(ctx, environment.Path(p))
	return err == nil
}

// list names what is in a directory of the place, nothing where that can't be found out.
func (x *run) list(ctx context.Context, dir string) []environment.DirEntry {
	if ctx.Err() != nil {
		return nil
	}
	entries, _ := x.place.Files().ReadDir(ctx, environment.Path(dir))
	return entries
}

// follow gives what a path leads to over all links, "" where it leads nowhere.
func (x *run) follow(ctx context.Context, p string) string {
	if ctx.Err() != nil {
		return ""
	}
	real, err := x.place.Files().Resolve(ctx, p, "/")
	if err != nil {
		return ""
	}
	return string(real)
}
