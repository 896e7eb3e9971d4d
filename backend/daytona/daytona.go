// Package daytona runs commands in sandboxes of Daytona, a cloud, which it asks for through its public API.
package daytona

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/cloud"
	"github.com/hermes-runtime/hermes/internal/cloud/sandbox"
	"github.com/hermes-runtime/hermes/internal/config"
	"github.com/hermes-runtime/hermes/internal/envs"
)

func init() {
	config.Register(func() config.Sectioned { return defaults() })
	environment.Register(environment.Backend{
		Name:        name,
		Description: "commands run in a sandbox of Daytona, which costs money while it runs",
		Namespace:   environment.NamespaceOwn,
		Config:      func() any { return defaults() },
		Check:       check,
		Traits:      func(c any) environment.Traits { return traits(configOf(c)) },
		Open:        open,
		Probe:       probe,
	})
}

// howToEnd tells people how to end what hermes can't.
const howToEnd = "delete it in the dashboard of Daytona, or by DELETE /sandbox/NAME of the API"

// check says why no sandbox can be made, as far as that can be told from here: nobody is asked.
func check(_ context.Context, o environment.OpenOptions) error {
	if err := configOf(o.Config).check(o.Overrides); err != nil {
		return err
	}
	_, err := accessOf(o.Variable)
	return err
}

func traits(c *Config) environment.Traits { return environment.Traits{Network: c.Network} }

func open(ctx context.Context, o environment.OpenOptions) (environment.Environment, error) {
	s, err := optionsOf(o)
	if err != nil {
		return nil, err
	}
	return sandbox.Open(ctx, s)
}

func probe(ctx context.Context, o environment.OpenOptions) []string {
	s, err := optionsOf(o)
	if err != nil {
		return []string{err.Error()}
	}
	return sandbox.Probe(ctx, s)
}

// optionsOf decides what a sandbox is made of and how long it may live.
func optionsOf(o environment.OpenOptions) (sandbox.Options, error) {
	c := configOf(o.Config)
	if err := c.check(o.Overrides); err != nil {
		return sandbox.Options{}, err
	}
	a, err := accessOf(o.Variable)
	if err != nil {
		return sandbox.Options{}, err
	}
	want, notes := c.order(o.Overrides)
	want.Target = a.target
	idle, after := time.Duration(c.AutoStop)*time.Minute, time.Duration(want.AutoDelete)*time.Minute
	return sandbox.Options{
		Cloud: &service{a, want}, Open: o, Title: "Daytona", HowEnd: howToEnd,
		Ends:    fmt.Sprintf("stopped by Daytona %v after its last use and deleted %v after that", idle, after),
		Backend: name, At: a.api.Base.String(), Account: a.account, Owner: envs.Owner(o.HermesHome), Kept: c.Kept,
		MadeOf: fmt.Sprintf("%q %q %d %d %d %v %s", want.image, want.Snapshot, want.CPU, want.Memory, want.Disk, want.BlockAll, want.Target),
		Idle:   idle, Lifetime: after, Pulse: idle, Start: c.StartTimeout, Max: c.MaxPlaces,
		Resident: c.Resident, ResidentPath: c.ResidentPath, Text: true, Traits: traits(c), Notes: notes,
	}, nil
}

// order is what the configuration asks for; notes say where less is given.
func (c *Config) order(overrides map[string]string) (want create, notes []string) {
	image, snapshot := c.image(overrides)
	want = create{image: image, Snapshot: snapshot, BlockAll: !c.Network, AutoStop: c.AutoStop}
	if c.Kept {
		want.AutoDelete = c.AutoDelete
	}
	if snapshot == "" {
		disk, note := c.disk()
		want.Build = &build{"FROM " + image + "\n"}
		want.CPU, want.Memory, want.Disk = c.cpus(), c.memory(), disk
		if note != "" {
			notes = []string{note}
		}
	}
	return want, notes
}

// service is Daytona as a cloud that sandboxes live in.
type service struct {
	*access
	want create
}

var _ sandbox.Cloud = (*service)(nil)

func (s *service) Close() { s.api.Client.CloseIdleConnections() }

// Explain says whose fault refused credentials are.
func (s *service) Explain(err error) error {
	status := cloud.Status(err)
	if status == http.StatusUnauthorized || status == http.StatusForbidden && strings.Contains(strings.ToLower(cloud.Code(err)), "unauthorized") {
		return fmt.Errorf("%w; the credentials (%s) are refused", err, wanted)
	}
	return err
}
