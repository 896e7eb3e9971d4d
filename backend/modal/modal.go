// Package modal runs commands in sandboxes of Modal, a cloud, through Modal's own client for Go. That is large: only the build tag modal
// takes it in. Without it the backend says how to get it.
package modal

import (
	"context"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/config"
)

func init() {
	config.Register(func() config.Sectioned { return defaults() })
	environment.Register(environment.Backend{
		Name:        name,
		Description: "commands run in a sandbox of Modal, which costs money while it runs",
		Namespace:   environment.NamespaceOwn,
		Config:      func() any { return defaults() },
		Check:       check,
		Traits:      func(c any) environment.Traits { return traits(configOf(c)) },
		Open:        open,
		Probe:       probe,
	})
}

// check says why no sandbox can be made, as far as that can be told from here: nobody is asked.
func check(_ context.Context, o environment.OpenOptions) error {
	if err := configOf(o.Config).check(o.Overrides); err != nil {
		return err
	}
	return usable(o)
}

func traits(c *Config) environment.Traits { return environment.Traits{Network: c.Network} }
