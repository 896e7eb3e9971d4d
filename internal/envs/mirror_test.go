package envs_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/envs"
)

// diary is a mirror that only notes what it is asked for.
type diary struct {
	mu    sync.Mutex
	notes []string
}

func (d *diary) note(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.notes = append(d.notes, fmt.Sprintf(format, args...))
}

func (d *diary) Share(key string) []environment.Share {
	d.note("share %s", key)
	return []environment.Share{{Host: "/skills", Name: "skills"}}
}
func (d *diary) Push(_ context.Context, key string, e environment.Environment) {
	d.note("push %s %s", key, e.Info().ID)
}
func (d *diary) Leave(ctx context.Context, key string, e environment.Environment) {
	_, bound := ctx.Deadline()
	p := e.(*place)
	p.lab.mu.Lock()
	closed := slices.Contains(p.lab.closed, p.id)
	p.lab.mu.Unlock()
	d.note("leave %s %s, bounded %v, closed %v", key, e.Info().ID, bound, closed)
}

func (d *diary) read() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return strings.Join(d.notes, "; ")
}

func TestManager_FilesAreBroughtAtTheMakingAndBeforeCalls_SYN1(t *testing.T) { // SYN-3
	l, d := &lab{ns: environment.NamespaceOwn}, &diary{}
	m := envs.New(envs.Options{Backend: l.register(t, environment.NamespaceOwn), Mirror: d})
	at(t, m, "a")
	at(t, m, "b")
	if err := m.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := "share default; push default 1; push default 1; push default 1; leave default 1, bounded true, closed false"
	if got := d.read(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if !slices.Equal(l.shared, []environment.Share{{Host: "/skills", Name: "skills"}}) {
		t.Errorf("the backend is told of %v", l.shared)
	}
}

func TestManager_ThisMachineIsNotTouchedByIt_SYN1(t *testing.T) {
	l, d := &lab{}, &diary{}
	m := l.manager(t, envs.Options{Mirror: d})
	at(t, m, "a")
	if err := m.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := d.read(); got != "" || l.shared != nil {
		t.Errorf("%q, and the backend is told of %v", got, l.shared)
	}
}

func TestManager_APlaceThatIsGoneIsNotAskedForFiles_SYN3(t *testing.T) {
	l, d := &lab{ns: environment.NamespaceOwn}, &diary{}
	m := envs.New(envs.Options{Backend: l.register(t, environment.NamespaceOwn), Mirror: d})
	p := at(t, m, "a")
	p.Environment.(*place).gone = true
	at(t, m, "a")
	if err := m.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := d.read(); strings.Contains(got, "leave default 1") || !strings.Contains(got, "leave default 2") {
		t.Errorf("%q", got)
	}
}
