//go:build unix

package ssh_test

import (
	"context"
	"io"
	"os/exec"
	"path/filepath"
	"testing"

	gossh "golang.org/x/crypto/ssh"

	"github.com/hermes-runtime/hermes/backend/ssh/sshtest"
	"github.com/hermes-runtime/hermes/environment"
)

// program is the ssh command with a connection that stays open, as people set it up who want it fast.
func (l *lab) program(b *testing.B) []string {
	b.Helper()
	if _, err := exec.LookPath("ssh"); err != nil {
		b.Skip(err)
	}
	argv := []string{"ssh", "-F", l.config.SSHConfig, "-o", "ControlMaster=auto", "-o", "ControlPath=" + filepath.Join(b.TempDir(), "c"), "-o", "ControlPersist=60", "there"}
	if out, err := exec.Command(argv[0], append(argv[1:], "true")...).CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	b.Cleanup(func() { _ = exec.Command("ssh", append([]string{"-O", "exit"}, argv[1:]...)...).Run() })
	return argv
}

// handshake logs in and nothing more.
func (l *lab) handshake(b *testing.B) *gossh.Client {
	b.Helper()
	c, err := gossh.Dial("tcp", l.server.Address(), &gossh.ClientConfig{
		User: me(), Auth: []gossh.AuthMethod{gossh.PublicKeys(l.server.User.Signer)}, HostKeyCallback: gossh.FixedHostKey(l.server.Host.Public),
		HostKeyAlgorithms: []string{gossh.KeyAlgoED25519},
	})
	if err != nil {
		b.Fatal(err)
	}
	return c
}

// three measures a script through the place, through a channel of an open connection, and through the ssh command.
func three(b *testing.B, script string, bytes int64) {
	l := newLab(b, sshtest.Options{})
	e := l.open(b)
	b.Cleanup(func() { closed(b, e) })
	argv := l.program(b)
	client := l.handshake(b)
	b.Cleanup(func() { _ = client.Close() })
	for _, way := range []struct {
		name string
		do   func() error
	}{
		{"place", func() error {
			_, err := e.Run(context.Background(), environment.Command{Script: script, Output: io.Discard})
			return err
		}},
		{"channel", func() error {
			s, err := client.NewSession()
			if err != nil {
				return err
			}
			defer s.Close()
			s.Stdout = struct{ io.Writer }{io.Discard}
			return s.Run(script)
		}},
		{"program", func() error {
			cmd := exec.Command(argv[0], append(argv[1:], script)...)
			cmd.Stdout = struct{ io.Writer }{io.Discard}
			return cmd.Run()
		}},
	} {
		b.Run(way.name, func(b *testing.B) {
			b.SetBytes(bytes)
			for b.Loop() {
				if err := way.do(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkTrue(b *testing.B) { three(b, "true", 0) }

func BenchmarkEcho(b *testing.B) { three(b, "echo hi", 0) }

func BenchmarkFlood(b *testing.B) { three(b, "head -c 100000000 /dev/zero", 100_000_000) }

func BenchmarkOpen(b *testing.B) {
	l := newLab(b, sshtest.Options{})
	closed(b, l.open(b))
	b.Run("place", func(b *testing.B) { // connected and greeted; the engine is there
		for b.Loop() {
			e := l.open(b)
			b.StopTimer()
			closed(b, e)
			b.StartTimer()
		}
	})
	b.Run("handshake", func(b *testing.B) {
		for b.Loop() {
			c := l.handshake(b)
			b.StopTimer()
			_ = c.Close()
			b.StartTimer()
		}
	})
}

// BenchmarkBring has the engine brought to a host that doesn't have it.
func BenchmarkBring(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		l := newLab(b, sshtest.Options{Home: b.TempDir()})
		b.StartTimer()
		e := l.open(b)
		b.StopTimer()
		closed(b, e)
		b.StartTimer()
	}
}
