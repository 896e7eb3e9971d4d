//go:build unix

package ssh_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	gossh "golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/hermes-runtime/hermes/backend/ssh/sshtest"
	"github.com/hermes-runtime/hermes/environment"
)

// at is how the server is called in files of known hosts.
func (l *lab) at() string { return fmt.Sprintf("[127.0.0.1]:%d", l.server.Port) }

// works opens a place, runs a command there and closes it.
func (l *lab) works(t *testing.T) {
	t.Helper()
	e := l.open(t)
	defer closed(t, e)
	if out := sh(t, e, "echo hi"); out != "hi\n" {
		t.Errorf("output %q", out)
	}
}

// refused shows that no place can be opened, and why that is said to be.
func (l *lab) refused(t *testing.T, says ...string) {
	t.Helper()
	e, err := l.try(t)
	if err == nil {
		closed(t, e)
		t.Fatal("a place was opened")
	}
	if !errors.Is(err, environment.ErrUnavailable) {
		t.Errorf("%v is not ErrUnavailable", err)
	}
	for _, s := range says {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("%q does not say %q", err, s)
		}
	}
}

func TestSSH_AnUnknownHostIsAcceptedAndRecordedOnce(t *testing.T) { // SSH-3
	t.Parallel()
	l := newLab(t, sshtest.Options{})
	l.works(t)
	l.works(t)
	if got, want := read(t, l.known), l.at()+" "+l.server.Host.Line()+"\n"; got != want {
		t.Errorf("recorded %q, want %q", got, want)
	}
}

func TestSSH_AnUnknownHostIsRecordedHashedWhereThatIsConfigured(t *testing.T) { // SSH-3
	t.Parallel()
	l := newLab(t, sshtest.Options{})
	l.lines = append(l.lines, "HashKnownHosts yes")
	sshtest.Write(t, l.known, "# without an end of its line")
	l.works(t)
	l.works(t)
	got := read(t, l.known)
	if strings.Contains(got, "127.0.0.1") || strings.Count(got, l.server.Host.Line()) != 1 || !strings.Contains(got, "\n|1|") {
		t.Errorf("recorded %q", got)
	}
}

func TestSSH_AnUnknownHostIsRefusedWhereThatIsConfigured(t *testing.T) { // SSH-3
	t.Parallel()
	l := newLab(t, sshtest.Options{})
	l.lines = append(l.lines, "StrictHostKeyChecking yes")
	l.refused(t, "is not known", gossh.FingerprintSHA256(l.server.Host.Public), l.known)
	if _, err := os.Stat(l.known); err == nil {
		t.Error("it was recorded all the same")
	}
}

func TestSSH_AChangedKeyIsRefusedWithFileAndLine(t *testing.T) { // SSH-3
	t.Parallel()
	l := newLab(t, sshtest.Options{})
	other := sshtest.NewKey(t, t.TempDir(), "other")
	sshtest.Write(t, l.known, "# first\n"+l.at()+" "+other.Line()+"\n")
	for _, how := range []string{"StrictHostKeyChecking yes", "StrictHostKeyChecking accept-new", "StrictHostKeyChecking no"} {
		lines := l.lines
		l.lines = append(lines[:len(lines):len(lines)], how)
		l.refused(t, l.known+" line 2", gossh.FingerprintSHA256(l.server.Host.Public))
		l.lines = lines
	}
}

func TestSSH_KnownHostsAreFoundInEveryForm(t *testing.T) { // SSH-3
	t.Parallel()
	l := newLab(t, sshtest.Options{})
	l.lines = append(l.lines, "StrictHostKeyChecking yes")
	key := " " + l.server.Host.Line() + "\n"
	lines := l.lines
	for name, c := range map[string]struct{ file, option string }{
		"bracketed":           {file: l.at() + key},
		"among others":        {file: "other,*.example," + l.at() + key},
		"wildcard":            {file: "[127.0.0.*]:*" + key},
		"hashed":              {file: knownhosts.HashHostname(l.at()) + key},
		"without its port":    {file: "127.0.0.1" + key},
		"by its alias":        {file: "alias.example" + key, option: "HostKeyAlias alias.example"},
		"below a broken line": {file: "nonsense\n@what is this\n" + l.at() + key},
	} {
		t.Run(name, func(t *testing.T) {
			l.lines = append(lines[:len(lines):len(lines)], c.option)
			sshtest.Write(t, l.known, c.file)
			l.works(t)
		})
	}
	for name, file := range map[string]string{
		"excluded": "!" + l.at() + ",!127.0.0.1,*" + key, "another port": "[127.0.0.1]:1" + key, "hashed, another": knownhosts.HashHostname("127.0.0.2") + key,
	} {
		t.Run(name, func(t *testing.T) {
			l.lines = lines
			sshtest.Write(t, l.known, file)
			l.refused(t, "is not known")
		})
	}
}

func TestSSH_AuthoritiesVouchForHosts(t *testing.T) { // SSH-3
	t.Parallel()
	dir := t.TempDir()
	ca, host := sshtest.NewKey(t, dir, "ca"), sshtest.NewKey(t, dir, "hostkey")
	ca.Certify(t, gossh.HostCert, host, "127.0.0.1")
	l := newLab(t, sshtest.Options{Key: host, Lines: []string{"HostCertificate " + host.File + "-cert.pub"}})
	l.lines = append(l.lines, "StrictHostKeyChecking yes")
	line := "@cert-authority " + l.at() + " " + ca.Line() + "\n"

	sshtest.Write(t, l.known, line)
	l.works(t)

	t.Run("revoked authority", func(t *testing.T) {
		sshtest.Write(t, l.known, line+"@revoked * "+ca.Line()+"\n")
		l.refused(t, l.known+" line 2", "revoked")
	})
	t.Run("for another host", func(t *testing.T) {
		ca.Certify(t, gossh.HostCert, host, "elsewhere")
		l := newLab(t, sshtest.Options{Key: host, Lines: []string{"HostCertificate " + host.File + "-cert.pub"}})
		sshtest.Write(t, l.known, "@cert-authority * "+ca.Line()+"\n")
		l.refused(t, l.known+" line 1", "127.0.0.1")
	})
	t.Run("no authority", func(t *testing.T) { // the key itself is looked at
		sshtest.Write(t, l.known, l.at()+" "+host.Line()+"\n")
		l.works(t)
	})
}

func TestSSH_ARevokedKeyIsRefusedThoughItIsKnown(t *testing.T) { // SSH-3
	t.Parallel()
	l := newLab(t, sshtest.Options{})
	sshtest.Write(t, l.known, l.at()+" "+l.server.Host.Line()+"\n@revoked "+l.at()+" "+l.server.Host.Line()+"\n")
	l.refused(t, l.known+" line 2", "revoked")
}

func TestSSH_TheTypeOfKeyThatIsKnownIsAskedForFirst(t *testing.T) { // SSH-3
	t.Parallel()
	dir := t.TempDir()
	ec := sshtest.NewECKey(t, dir, "ec")
	l := newLab(t, sshtest.Options{Lines: []string{"HostKey " + ec.File}})
	for _, k := range []*sshtest.Key{ec, l.server.Host} {
		sshtest.Write(t, l.known, l.at()+" "+k.Line()+"\n")
		l.works(t)
	}
}
