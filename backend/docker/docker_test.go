//go:build linux

package docker_test

import (
	"os"
	"testing"

	"github.com/hermes-runtime/hermes/backend/docker"
	"github.com/hermes-runtime/hermes/backend/docker/dockertest"
	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/environment/envtest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	dockertest.Done()
	os.Exit(code)
}

// lab is what a test opens places with.
type lab struct {
	d      *dockertest.Daemon
	config docker.Config
	o      environment.OpenOptions
}

func newLab(t testing.TB) *lab {
	t.Helper()
	d := dockertest.Shared(t)
	b, _ := environment.Lookup("docker")
	l := &lab{d: d, config: *b.Config().(*docker.Config)}
	l.config.Image, l.config.ResidentPath, l.config.Reaper = dockertest.Bash, dockertest.Binary(t), false
	home := t.TempDir()
	l.o = environment.OpenOptions{Key: "test", HermesHome: home, Dir: "/", Getenv: func(n string) string {
		return map[string]string{"DOCKER_HOST": d.Host, "HOME": home}[n]
	}}
	return l
}

func (l *lab) open(t testing.TB) environment.Environment {
	t.Helper()
	e, err := l.try(t)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func (l *lab) try(t testing.TB) (environment.Environment, error) {
	t.Helper()
	b, _ := environment.Lookup("docker")
	o := l.o
	c := l.config
	o.Config = &c
	return b.Open(t.Context(), o)
}

func TestDocker_IsAnEnvironment(t *testing.T) { // CNF-1, DKR-10
	l := newLab(t)
	l.config.Persist = false
	envtest.Run(t, l.open2, envtest.Abilities{Lacking: []envtest.Ability{envtest.Descriptor}})
}

func (l *lab) open2(t *testing.T) environment.Environment { return l.open(t) }
