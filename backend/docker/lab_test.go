//go:build linux

package docker_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/hermes-runtime/hermes/backend/docker"
	"github.com/hermes-runtime/hermes/backend/docker/dockertest"
	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/environment/envtest"
	"github.com/hermes-runtime/hermes/internal/engine/resident/residenttest"
	"github.com/hermes-runtime/hermes/internal/envs"
)

func TestMain(m *testing.M) {
	if os.Getenv(callerRole) != "" {
		caller()
		return
	}
	code := m.Run()
	dockertest.Done()
	residenttest.Done()
	os.Exit(code)
}

// lab is what a test opens places with.
type lab struct {
	d      *dockertest.Daemon
	config docker.Config
	o      environment.OpenOptions
	vars   map[string]string
	api    *client.Client
}

func newLab(t testing.TB) *lab { t.Helper(); return labOn(t, dockertest.Shared(t)) }

func labOn(t testing.TB, d *dockertest.Daemon) *lab {
	t.Helper()
	b, _ := environment.Lookup("docker")
	l := &lab{d: d, config: *defaults(b)}
	l.config.Image, l.config.ResidentPath, l.config.Reaper = dockertest.Bash, residenttest.Binary(t), false
	l.config.CPU = 0 // the suites run many commands at once
	home := t.TempDir()
	l.vars = map[string]string{"DOCKER_HOST": d.Host, "HOME": home}
	l.o = environment.OpenOptions{Key: "test", HermesHome: home, Dir: "/", Getenv: func(n string) string { return l.vars[n] }}
	api, err := d.Client()
	if err != nil {
		t.Fatal(err)
	}
	l.api = api
	t.Cleanup(func() {
		for _, c := range l.containers(t) {
			_, _ = api.ContainerRemove(context.Background(), c.ID, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
		}
		_ = api.Close()
	})
	return l
}

// containers are those of the lab's HERMES_HOME.
func (l *lab) containers(t testing.TB) []container.Summary {
	t.Helper()
	all, err := l.api.ContainerList(context.Background(), client.ContainerListOptions{All: true, Filters: client.Filters{}.Add("label", "hermes-agent=1")})
	if err != nil {
		t.Fatal(err)
	}
	var mine []container.Summary
	for _, c := range all.Items {
		if c.Labels["hermes-home"] == envs.Owner(l.o.HermesHome) {
			mine = append(mine, c)
		}
	}
	return mine
}

func (l *lab) inspect(t testing.TB, id string) container.InspectResponse {
	t.Helper()
	r, err := l.api.ContainerInspect(context.Background(), id, client.ContainerInspectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return r.Container
}

// processes are the command lines of what runs in a container.
func (l *lab) processes(t testing.TB, id string) string {
	t.Helper()
	r, err := l.api.ContainerTop(context.Background(), id, client.ContainerTopOptions{Arguments: []string{"-o", "pid,args"}})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, p := range r.Processes {
		b.WriteString(strings.Join(p[1:], " ") + "\n") // without its number, which may be any
	}
	return b.String()
}

// gone waits, within bounds, until no process of a container has a text in its command line.
func (l *lab) gone(t testing.TB, id, text string) {
	t.Helper()
	envtest.Eventually(t, func() string {
		if all := l.processes(t, id); strings.Contains(all, text) {
			return "still there:\n" + all
		}
		return ""
	})
}

// runs waits, within bounds, until a process of a container has a text in its command line.
func (l *lab) runs(t testing.TB, id, text string) {
	t.Helper()
	envtest.Eventually(t, func() string {
		if all := l.processes(t, id); !strings.Contains(all, text) {
			return "it is not seen:\n" + all
		}
		return ""
	})
}

// open opens a place, which is closed after the test.
func (l *lab) open(t testing.TB) environment.Environment {
	t.Helper()
	e, err := l.try(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close(context.Background()) })
	return e
}

// anew opens a place that its test closes.
func (l *lab) anew(t *testing.T) environment.Environment {
	t.Helper()
	e, err := l.try(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func (l *lab) try(ctx context.Context) (environment.Environment, error) {
	b, _ := environment.Lookup("docker")
	o, c := l.o, l.config
	o.Config = &c
	return b.Open(ctx, o)
}

func run(t testing.TB, e environment.Environment, script string) string {
	t.Helper()
	return envtest.Output(t, e, script)
}

func shut(t testing.TB, e environment.Environment) {
	t.Helper()
	envtest.Shut(t, e)
}

func defaults(b environment.Backend) *docker.Config { return b.Config().(*docker.Config) }
