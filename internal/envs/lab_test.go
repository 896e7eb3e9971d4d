package envs_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/envs"
)

// place is an environment that only counts.
type place struct {
	environment.FS
	lab  *lab
	id   int
	key  string
	slow chan struct{} // Close waits for it
	ns   environment.Namespace
	gone bool

	replaces bool
}

func (p *place) Gone() bool { return p.gone }
func (p *place) Info() environment.Info {
	return environment.Info{Backend: "lab", ID: fmt.Sprint(p.id), Namespace: p.ns, Home: "/root"}
}
func (p *place) Run(context.Context, environment.Command) (environment.Result, error) {
	return environment.Result{}, nil
}
func (p *place) Files() environment.FS { return p }
func (p *place) Stat(_ context.Context, name environment.Path) (environment.FileInfo, error) {
	i, err := os.Stat(string(name))
	if err != nil {
		return environment.FileInfo{}, err
	}
	return environment.FileInfo{Path: name, Size: i.Size()}, nil
}
func (p *place) Resolve(_ context.Context, name string, _ environment.Path) (environment.Path, error) {
	return environment.Path(name), nil
}
func (p *place) Close(ctx context.Context) error {
	if p.slow != nil {
		select {
		case <-p.slow:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	p.lab.mu.Lock()
	defer p.lab.mu.Unlock()
	p.lab.closed = append(p.lab.closed, p.id)
	return nil
}

// lab is a backend whose openings a test controls.
type lab struct {
	mu     sync.Mutex
	opened []string // keys, in order
	dirs   []string
	shared []environment.Share // of the last one
	closed []int
	gate   chan struct{} // Open waits for it
	fail   error
	slow   chan struct{}
	ns     environment.Namespace
}

func (l *lab) open(ctx context.Context, o environment.OpenOptions) (environment.Environment, error) {
	l.mu.Lock()
	l.opened = append(l.opened, o.Key)
	l.dirs = append(l.dirs, o.Dir)
	l.shared = o.Share
	id, gate, fail, slow, ns := len(l.opened), l.gate, l.fail, l.slow, l.ns
	l.mu.Unlock()
	if gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if fail != nil {
		return nil, fail
	}
	if ns == "" {
		ns = environment.NamespaceHost
	}
	return &place{lab: l, id: id, key: o.Key, slow: slow, ns: ns, replaces: o.Replaces}, nil
}

func (l *lab) keys() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.opened, " ")
}

func (l *lab) ended() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return fmt.Sprint(l.closed)
}

// register makes a backend of the lab.
func (l *lab) register(t *testing.T, ns environment.Namespace) string {
	name := "lab-" + strings.ReplaceAll(t.Name(), "/", "-")
	environment.Register(environment.Backend{Name: name, Open: l.open, Namespace: ns})
	return name
}

func (l *lab) manager(t *testing.T, o envs.Options) *envs.Manager {
	t.Helper()
	o.Backend = l.register(t, environment.NamespaceHost)
	m := envs.New(o)
	t.Cleanup(func() { _ = m.Close(context.Background()) })
	return m
}

func at(t *testing.T, m *envs.Manager, task string) environment.Place {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p, err := m.Place(ctx, task)
	if err != nil {
		t.Fatalf("place of %s: %v", task, err)
	}
	return p
}
