package script

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/hermes-runtime/hermes/environment"
)

// findPlace opens the task's environment and finds the directory that the script starts in.
func (x *run) findPlace(ctx context.Context) error {
	place, err := x.call.Host.Place(ctx)
	if err != nil {
		return fmt.Errorf("open the place that the script runs in: %w", err)
	}
	x.place = place
	if _, host := place.Info().HostPath("/"); !host {
		return fmt.Errorf("the backend %s can't run scripts yet: %w; call the tools one by one, or use a backend on this machine",
			place.Info().Backend, environment.ErrUnsupported)
	}
	wanted := ""
	if place.State != nil {
		wanted = string(place.State.Dir())
	}
	if wanted == "" {
		wanted = x.call.Host.Dir()
	}
	if wanted == "" {
		wanted = string(place.Info().Home)
	}
	x.session = nearestDir(wanted, string(place.Info().Home), string(place.Info().Temp))
	if x.session != wanted {
		x.warn(fmt.Sprintf("The session's directory %s is gone; %s is used.", wanted, x.session))
	}
	return nil
}

// nearestDir is dir, or the nearest of its ancestors that exists, or one of others.
func nearestDir(dir string, others ...string) string {
	for d := dir; filepath.IsAbs(d); d = filepath.Dir(d) {
		if i, err := os.Stat(d); err == nil && i.IsDir() {
			if d == "/" && d != dir {
				break // everything is gone: home says more
			}
			return d
		}
		if d == filepath.Dir(d) {
			break
		}
	}
	for _, d := range others {
		if i, err := os.Stat(d); d != "" && err == nil && i.IsDir() {
			return d
		}
	}
	return "/"
}

// variables are the session's, as a command of its would see them.
func (x *run) variables(ctx context.Context) (map[string]string, error) {
	if e, ok := x.place.Environment.(environment.Environer); ok {
		vars, err := e.Environ(ctx, x.place.State)
		if err != nil {
			return nil, fmt.Errorf("ask for the session's variables: %w", err)
		}
		return vars, nil
	}
	vars := map[string]string{}
	for _, name := range listed {
		if v := x.call.Host.Getenv(name); v != "" {
			vars[name] = v
		}
	}
	return vars, nil
}

func (x *run) findPython(ctx context.Context) error {
	var err error
	if x.vars, err = x.variables(ctx); err != nil {
		return err
	}
	tell := func(text string) {
		x.call.Host.Progress(0, 0, text)
		if x.r.o.Tell != nil {
			x.r.o.Tell(text)
		}
	}
	resolver := x.r.o.Resolver.Through(x.place.Environment)
	if x.mode == ModeStrict {
		x.python, err = resolver.Own(ctx, tell)
	} else {
		x.python, err = resolver.Project(ctx, x.cfg.Python, x.vars, tell)
	}
	return err
}
