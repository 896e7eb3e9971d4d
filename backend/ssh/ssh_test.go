//go:build unix

package ssh_test

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/backend/ssh"
	"github.com/hermes-runtime/hermes/backend/ssh/sshtest"
	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/environment/envtest"
	"github.com/hermes-runtime/hermes/internal/engine/resident/residenttest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	residenttest.Done()
	os.Exit(code)
}

// lab is what a test opens places with.
type lab struct {
	server *sshtest.Server
	config ssh.Config
	lines  []string // of the ssh configuration
	known  string   // file of known hosts
	o      environment.OpenOptions
}

func newLab(t testing.TB, o sshtest.Options) *lab {
	t.Helper()
	s := sshtest.Start(t, o)
	b, _ := environment.Lookup("ssh")
	l := &lab{server: s, config: *b.Config().(*ssh.Config), known: filepath.Join(t.TempDir(), "known_hosts")}
	l.config.Host, l.config.ResidentPath, l.config.SSHConfig = "there", residenttest.Binary(t), filepath.Join(t.TempDir(), "config")
	l.alias("there", s.Port, s.User.File)
	home := t.TempDir()
	l.o = environment.OpenOptions{Key: "test", HermesHome: home, Getenv: func(string) string { return "" }}
	return l
}

// alias has a name stand for a port on loopback.
func (l *lab) alias(name string, port int, key string, more ...string) {
	l.lines = append(l.lines, "Host "+name, "HostName 127.0.0.1", fmt.Sprint("Port ", port), "User "+me(), "IdentityFile "+key,
		"IdentitiesOnly yes", "IdentityAgent none", "UserKnownHostsFile "+l.known, "GlobalKnownHostsFile none")
	l.lines = append(l.lines, more...)
}

func me() string {
	u, err := user.Current()
	if err != nil {
		return "root"
	}
	return u.Username
}

func (l *lab) open(t testing.TB) environment.Environment {
	t.Helper()
	e, err := l.try(t)
	if err != nil {
		t.Fatalf("%v\n%s", err, l.server.Log())
	}
	return e
}

func (l *lab) try(t testing.TB) (environment.Environment, error) {
	t.Helper()
	sshtest.Write(t, l.config.SSHConfig, strings.Join(l.lines, "\n")+"\n")
	b, _ := environment.Lookup("ssh")
	o, c := l.o, l.config
	o.Config = &c
	return b.Open(t.Context(), o)
}

func TestSSH_IsAnEnvironment(t *testing.T) { // CNF-1, SSH-1
	l := newLab(t, sshtest.Options{})
	envtest.Run(t, func(t *testing.T) environment.Environment { return l.open(t) }, envtest.Abilities{Lacking: []envtest.Ability{envtest.Descriptor}})
}
