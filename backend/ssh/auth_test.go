//go:build unix

package ssh_test

import (
	"context"
	"net"
	"path/filepath"
	"strings"
	"testing"

	gossh "golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"github.com/hermes-runtime/hermes/backend/ssh/sshtest"
)

// only leaves the configuration of the host with these lines in place of the key.
func (l *lab) only(lines ...string) {
	l.lines = []string{"Host there", "HostName 127.0.0.1", l.line("Port"), "User " + me(), "UserKnownHostsFile " + l.known, "GlobalKnownHostsFile none"}
	l.lines = append(l.lines, lines...)
}

func (l *lab) line(key string) string {
	for _, s := range l.lines {
		if strings.HasPrefix(s, key+" ") {
			return s
		}
	}
	return ""
}

func TestSSH_AWrongKeyIsRefusedInWords(t *testing.T) { // SSH-4
	t.Parallel()
	l := newLab(t, sshtest.Options{})
	other := sshtest.NewKey(t, t.TempDir(), "other")
	l.only("IdentityFile "+other.File, "IdentityAgent none")
	l.refused(t, "log in to "+me()+"@127.0.0.1", "unable to authenticate")
}

func TestSSH_TheConfiguredKeyIsTriedFirst(t *testing.T) { // SSH-1, SSH-4
	t.Parallel()
	l := newLab(t, sshtest.Options{Lines: []string{"MaxAuthTries 1"}})
	l.only("IdentityFile "+sshtest.NewKey(t, t.TempDir(), "other").File, "IdentityAgent none")
	l.config.Key = l.server.User.File
	l.works(t)
}

func TestSSH_NoHostIsUnavailableAndNamesTheKeys(t *testing.T) { // SSH-1
	t.Parallel()
	l := newLab(t, sshtest.Options{})
	l.config.Host = ""
	_, err := l.try(t)
	if err == nil {
		t.Fatal("a place was opened")
	}
	for _, key := range []string{"ssh_host", "ssh_user", "ssh_port", "ssh_key", "TERMINAL_SSH_HOST"} {
		if !strings.Contains(err.Error(), key) {
			t.Errorf("%q does not name %s", err, key)
		}
	}
}

func TestSSH_CertificatesOfUsersLetIn(t *testing.T) { // SSH-4
	t.Parallel()
	dir := t.TempDir()
	ca, key := sshtest.NewKey(t, dir, "ca"), sshtest.NewKey(t, dir, "mine")
	ca.Certify(t, gossh.UserCert, key, me())
	l := newLab(t, sshtest.Options{Lines: []string{"TrustedUserCAKeys " + ca.File + ".pub"}})
	t.Run("beside the key", func(t *testing.T) {
		l.only("IdentityFile "+key.File, "IdentityAgent none")
		l.works(t)
	})
	t.Run("named", func(t *testing.T) {
		moved := filepath.Join(t.TempDir(), "key")
		sshtest.Write(t, moved, read(t, key.File))
		l.only("IdentityFile "+moved, "CertificateFile "+key.File+"-cert.pub", "IdentityAgent none")
		l.works(t)
	})
}

func TestSSH_APassphraseIsAskedForWhereSomebodyIsThere(t *testing.T) { // SSH-4
	t.Parallel()
	l := newLab(t, sshtest.Options{})
	locked := sshtest.NewLockedKey(t, filepath.Join(t.TempDir(), "locked"), "open sesame")
	sshtest.Write(t, filepath.Join(l.server.Dir, "authorized"), locked.Line()+"\n")
	l.only("IdentityFile "+locked.File, "IdentityAgent none")

	t.Run("nobody", func(t *testing.T) { l.refused(t, locked.File, "passphrase", "ssh-add") })
	t.Run("somebody", func(t *testing.T) {
		var asked []string
		l.o.AskSecret = func(_ context.Context, what string) (string, error) {
			asked = append(asked, what)
			return "open sesame", nil
		}
		l.works(t)
		if len(asked) != 1 || !strings.Contains(asked[0], locked.File) {
			t.Errorf("asked %q", asked)
		}
	})
	t.Run("wrong", func(t *testing.T) {
		l.o.AskSecret = func(context.Context, string) (string, error) { return "what?", nil }
		l.refused(t, locked.File, "doesn't open it")
	})
	t.Run("not asked where the host wouldn't take it", func(t *testing.T) {
		sshtest.Write(t, filepath.Join(l.server.Dir, "authorized"), l.server.User.Line()+"\n")
		l.only("IdentityFile "+locked.File, "IdentityFile "+l.server.User.File, "IdentityAgent none")
		l.o.AskSecret = func(_ context.Context, what string) (string, error) { t.Errorf("asked %q", what); return "", nil }
		l.works(t)
	})
}

func TestSSH_KeysOfTheAgentAreUsedAndNothingIsForwarded(t *testing.T) { // SSH-4
	t.Parallel()
	l := newLab(t, sshtest.Options{Lines: []string{"AllowAgentForwarding yes"}})
	locked := sshtest.NewLockedKey(t, filepath.Join(t.TempDir(), "locked"), "open sesame")
	sshtest.Write(t, filepath.Join(l.server.Dir, "authorized"), locked.Line()+"\n")
	socket := agentWith(t, locked)
	for name, lines := range map[string][]string{
		"any key":              {"IdentityAgent " + socket, "IdentityFile none"},
		"the one that's named": {"IdentityAgent " + socket, "IdentityFile " + locked.File, "IdentitiesOnly yes", "ForwardAgent yes"},
	} {
		t.Run(name, func(t *testing.T) {
			l.only(lines...)
			e := l.open(t)
			defer closed(t, e)
			if out := sh(t, e, "echo [$SSH_AUTH_SOCK]"); out != "[]\n" {
				t.Errorf("the agent is at %s there", out)
			}
		})
	}
	t.Run("none", func(t *testing.T) {
		l.only("IdentityAgent none", "IdentityFile none")
		l.refused(t, "unable to authenticate")
	})
}

// agentWith runs an agent that holds a key, and gives its address.
func agentWith(t *testing.T, k *sshtest.Key) string {
	t.Helper()
	ring := agent.NewKeyring()
	if err := ring.Add(agent.AddedKey{PrivateKey: k.Private}); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(t.TempDir(), "a")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = agent.ServeAgent(ring, c)
			_ = c.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return socket
}
