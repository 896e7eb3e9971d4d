//go:build unix

package ssh_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/backend/ssh"
	"github.com/hermes-runtime/hermes/backend/ssh/sshtest"
	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/environment/envtest"
	"github.com/hermes-runtime/hermes/internal/engine/resident/residenttest"
)

// home is that of the user on every server whose test doesn't say otherwise: the binary is brought there once.
var home string

func TestMain(m *testing.M) {
	if os.Getenv(callerVariable) != "" {
		caller()
		return
	}
	var err error
	if home, err = os.MkdirTemp("", "hermes-ssh-home"); err != nil {
		panic(err)
	}
	code := m.Run()
	residenttest.Done()
	_ = os.RemoveAll(home)
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
	if o.Home == "" {
		o.Home = home
	}
	if !slices.ContainsFunc(o.Env, func(kv string) bool { return strings.HasPrefix(kv, "TMPDIR=") }) {
		o.Env = append(slices.Clone(o.Env), "TMPDIR="+farTemp(t)) // what one host keeps there no other may find
	}
	s := sshtest.Start(t, o)
	b, _ := environment.Lookup("ssh")
	l := &lab{server: s, config: *b.Config().(*ssh.Config), known: filepath.Join(t.TempDir(), "known_hosts")}
	l.config.Host, l.config.ResidentPath, l.config.SSHConfig = "there", residenttest.Binary(t), filepath.Join(t.TempDir(), "config")
	l.alias("there", s.Port, s.User.File)
	l.o = environment.OpenOptions{Key: "test", HermesHome: t.TempDir(), Getenv: func(string) string { return "" }}
	return l
}

// farTemp is a directory for what is temporary there. Its name is short, so that sockets have room in it.
func farTemp(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "far")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o777); err != nil { //nolint:gosec // as /tmp is
		t.Fatal(err)
	}
	return dir
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

func closed(t testing.TB, e environment.Environment) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), endTime)
	defer cancel()
	if err := e.Close(ctx); err != nil {
		t.Errorf("Close: %v", err)
	}
}

// sh runs a script that must succeed and gives what it printed.
func sh(t testing.TB, e environment.Environment, script string) string {
	t.Helper()
	var out bytes.Buffer
	res, err := e.Run(context.Background(), environment.Command{Script: script, Output: &out, Timeout: time.Minute})
	if err != nil || res.ExitCode != 0 {
		t.Fatalf("%s: exit %d, %v: %s", script, res.ExitCode, err, &out)
	}
	return out.String()
}

func read(t testing.TB, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestSSH_IsAnEnvironment(t *testing.T) { // CNF-1, SSH-1
	l := newLab(t, sshtest.Options{})
	envtest.Run(t, func(t *testing.T) environment.Environment { return l.open(t) }, envtest.Abilities{Lacking: []envtest.Ability{envtest.Descriptor}})
}

func uid() string { return fmt.Sprint(os.Getuid()) }

func TestSSH_APlainShellIsAnEnvironmentToo(t *testing.T) { // CNF-1, RES-8
	l := newLab(t, sshtest.Options{})
	l.config.Resident = "off"
	envtest.Run(t, func(t *testing.T) environment.Environment { return l.open(t) }, envtest.Abilities{
		Place: "ssh, plain shell", Lacking: []envtest.Ability{envtest.Descriptor, envtest.Search, envtest.Sudo, envtest.Jobs, envtest.Terminals}})
}
