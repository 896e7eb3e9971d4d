// Package vercel runs commands in sandboxes of Vercel, a cloud, which it asks for through its public API.
package vercel

import (
	"context"
	"fmt"
	"net/http"
	"sync"
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
		Description: "commands run in a sandbox of Vercel, which costs money while it runs",
		Namespace:   environment.NamespaceOwn,
		Config:      func() any { return defaults() },
		Check:       check,
		Traits:      func(c any) environment.Traits { return traits(configOf(c)) },
		Open:        open,
		Probe:       probe,
	})
}

// howToEnd tells people how to end what hermes can't.
const howToEnd = "delete it in the dashboard of Vercel, or by DELETE /v2/sandboxes/NAME of the API"

// keptFor is how long Vercel keeps the files of a sandbox that is stopped.
const keptFor = 30 * 24 * time.Hour

// check says why no sandbox can be made, as far as that can be told from here: nobody is asked.
func check(_ context.Context, o environment.OpenOptions) error {
	c := configOf(o.Config)
	if err := c.check(); err != nil {
		return err
	}
	_, err := accessOf(c, o.Variable)
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
	if err := c.check(); err != nil {
		return sandbox.Options{}, err
	}
	a, err := accessOf(c, o.Variable)
	if err != nil {
		return sandbox.Options{}, err
	}
	want, notes := c.order(a.project)
	return sandbox.Options{
		Cloud: &service{access: a, want: want}, Open: o, Title: "Vercel", HowEnd: howToEnd,
		Ends:    fmt.Sprintf("stopped by Vercel %v after its last use", idle),
		Backend: name, At: a.api.Base.String(), Account: a.account, Owner: envs.Owner(o.HermesHome), Kept: c.Kept,
		MadeOf: fmt.Sprintf("%s %d %v", want.Runtime, want.Resources.CPUs, c.Network),
		Idle:   idle, Lifetime: keptFor, Pulse: idle, Start: c.StartTimeout, Max: c.MaxPlaces,
		Resident: c.Resident, ResidentPath: c.ResidentPath, Text: true, Traits: traits(c), Notes: notes,
	}, nil
}

// order is what the configuration asks for; notes say where less is given.
func (c *Config) order(project string) (want create, notes []string) {
	want = create{Project: project, Runtime: c.Runtime, Timeout: idle.Milliseconds(), Resources: resources{c.cpus()}, Persistent: c.Kept}
	if c.Kept {
		want.Keep = &keepLast{Count: 1, DeleteEvicted: true}
	}
	if !c.Network {
		want.Network = &policy{"deny-all"}
	}
	if gets := want.Resources.CPUs * memoryPerCPU; c.MemoryMB != defaultMemory && c.MemoryMB > gets {
		notes = []string{fmt.Sprintf("a sandbox with %d processors has %d MB of memory, less than terminal.container_memory asks for", want.Resources.CPUs, gets)}
	}
	return want, notes
}

// service is Vercel as a cloud that sandboxes live in.
type service struct {
	*access
	want create

	mu      sync.Mutex
	session string    // that runs
	ends    time.Time // when Vercel ends it, by the clock here and at the earliest
}

var _ sandbox.Cloud = (*service)(nil)

func (s *service) Close() { s.api.Client.CloseIdleConnections() }

// Explain says whose fault it is, and what can be done.
func (s *service) Explain(err error) error {
	switch cloud.Status(err) {
	case http.StatusUnauthorized, http.StatusForbidden:
		return fmt.Errorf("%w; the credentials (%s) are refused", err, wanted)
	case http.StatusPaymentRequired:
		return fmt.Errorf("%w; the team's plan allows no more", err)
	}
	return err
}

// runs notes which session runs, and until when at the earliest.
func (s *service) runs(session string, ends time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if session != s.session {
		s.session, s.ends = session, ends
	}
}

// Touch has the sandbox run until it was idle for as long as it may be from now on.
func (s *service) Touch(ctx context.Context, _ sandbox.Box) error {
	s.mu.Lock()
	session, ends := s.session, s.ends
	s.mu.Unlock()
	now := time.Now()
	by := min(now.Add(idle).Sub(ends), idle)
	if by < idle/3 { // enough for what comes until the next time
		return nil
	}
	if err := s.extend(ctx, session, by); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.session == session {
		s.ends = now.Add(idle)
	}
	return nil
}
