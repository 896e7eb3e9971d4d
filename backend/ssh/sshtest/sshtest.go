//go:build unix

// Package sshtest gives tests real SSH servers of their own: on loopback, with their own keys and configuration, and a relay before
// them that can be cut.
package sshtest

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
)

// startTime is how long a server may take to be there.
const startTime = 20 * time.Second

// Options changes what a server is like. The zero value works.
type Options struct {
	Lines  []string // of the server's configuration, before all others
	Env    []string // name=value, of the user there
	NoSFTP bool
	Home   string // of the user there; "" = a directory of the test's own
	Key    *Key   // of the host; nil = a new one
	Dir    string // for its files; "" = one of the test's own

	Command func(argv ...string) *exec.Cmd // makes what becomes the server; nil = it is started as it is
}

// Server is a running sshd.
type Server struct {
	Port int
	Home string // of the user there
	Dir  string // its files
	Host *Key
	User *Key // lets its owner in

	log     string
	file    string // its configuration
	command func(argv ...string) *exec.Cmd
	stop    func()
}

// Key is a key pair in files.
type Key struct {
	File   string // the private half; the public one has .pub behind its name
	Public ssh.PublicKey
	Signer ssh.Signer

	Private crypto.Signer
}

// NewKey makes a key in a directory.
func NewKey(tb testing.TB, dir, name string) *Key {
	tb.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		tb.Fatal(err)
	}
	return write(tb, filepath.Join(dir, name), private, block)
}

// NewECKey makes a key of another type.
func NewECKey(tb testing.TB, dir, name string) *Key {
	tb.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		tb.Fatal(err)
	}
	return write(tb, filepath.Join(dir, name), private, block)
}

// NewLockedKey makes a key with a passphrase.
func NewLockedKey(tb testing.TB, file, phrase string) *Key {
	tb.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		tb.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKeyWithPassphrase(private, "", []byte(phrase))
	if err != nil {
		tb.Fatal(err)
	}
	return write(tb, file, private, block)
}

func write(tb testing.TB, file string, private crypto.Signer, block *pem.Block) *Key {
	tb.Helper()
	s, err := ssh.NewSignerFromKey(private)
	if err != nil {
		tb.Fatal(err)
	}
	k := &Key{File: file, Public: s.PublicKey(), Signer: s, Private: private}
	Write(tb, file, string(pem.EncodeToMemory(block)))
	Write(tb, file+".pub", k.Line()+"\n")
	return k
}

// Line is the public key as it stands in files.
func (k *Key) Line() string { return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(k.Public))) }

// Certify has k vouch for another key: for a host or a user of these names.
func (k *Key) Certify(tb testing.TB, what uint32, of *Key, names ...string) {
	tb.Helper()
	c := &ssh.Certificate{Key: of.Public, CertType: what, KeyId: "test", ValidPrincipals: names, ValidBefore: ssh.CertTimeInfinity}
	if what == ssh.UserCert {
		c.Permissions.Extensions = map[string]string{"permit-pty": "", "permit-port-forwarding": ""}
	}
	if err := c.SignCert(rand.Reader, k.Signer); err != nil {
		tb.Fatal(err)
	}
	Write(tb, of.File+"-cert.pub", string(ssh.MarshalAuthorizedKey(c)))
}

// Write writes a file that nobody else reads.
func Write(tb testing.TB, file, text string) {
	tb.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
}

// Missing says why no server can be started here, "" if one can.
func Missing() string {
	if _, err := sshd(); err != nil {
		return "sshd is not installed"
	}
	return ""
}

func sshd() (string, error) {
	if p, err := exec.LookPath("sshd"); err == nil {
		return p, nil
	}
	return exec.LookPath("/usr/sbin/sshd") // not on the PATH of everybody
}

// Start starts a server that ends with the test. The test is left out where there is none, which is a failure where CI is true.
func Start(tb testing.TB, o Options) *Server {
	tb.Helper()
	_, err := sshd()
	if err != nil {
		if os.Getenv("CI") == "true" {
			tb.Fatal(Missing())
		}
		tb.Skip(Missing())
	}
	dir := o.Dir
	if dir == "" {
		dir = tb.TempDir()
	}
	s := &Server{Dir: dir, file: filepath.Join(dir, "config"), command: o.Command, Home: o.Home, Host: o.Key, log: filepath.Join(dir, "log")}
	if s.command == nil {
		s.command = func(argv ...string) *exec.Cmd { return exec.Command(argv[0], argv[1:]...) } //nolint:gosec // the server
	}
	if s.Home == "" {
		s.Home = filepath.Join(dir, "home")
		if err := os.Mkdir(s.Home, 0o700); err != nil {
			tb.Fatal(err)
		}
	}
	if s.Host == nil {
		s.Host = NewKey(tb, dir, "host")
	}
	s.User = NewKey(tb, dir, "user")
	Write(tb, filepath.Join(dir, "authorized"), s.User.Line()+"\n")
	if os.Getuid() == 0 { // where it keeps itself apart
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil { //nolint:gosec // as the system makes it
			tb.Fatal(err)
		}
	}
	for try := 0; ; try++ {
		s.configure(tb, o)
		if err = s.Run(); err == nil {
			tb.Cleanup(func() { s.Stop() })
			return s
		}
		if try == 3 { // somebody else may have got the port
			said, _ := os.ReadFile(s.log)
			tb.Fatalf("sshd doesn't start: %v\n%s", err, said)
		}
	}
}

func (s *Server) configure(tb testing.TB, o Options) {
	tb.Helper()
	s.Port = freePort(tb)
	lines := append(o.Lines, "Port "+strconv.Itoa(s.Port), "ListenAddress 127.0.0.1", "HostKey "+s.Host.File, "PidFile none", "UsePAM no",
		"AuthorizedKeysFile "+filepath.Join(s.Dir, "authorized"), "StrictModes no", "PasswordAuthentication no", "KbdInteractiveAuthentication no",
		"PermitRootLogin yes", "PrintMotd no", "LogLevel VERBOSE", "MaxStartups 100", "MaxSessions 100", strings.Join(append([]string{"SetEnv HOME=" + s.Home}, o.Env...), " "))
	if !o.NoSFTP {
		lines = append(lines, "Subsystem sftp internal-sftp")
	}
	Write(tb, s.file, strings.Join(lines, "\n")+"\n")
}

// Run has the server run, which it does from the start: it is for one that was stopped. It keeps its port and its keys.
func (s *Server) Run() error {
	program, err := sshd()
	if err != nil {
		return err
	}
	cmd := s.command(program, "-D", "-f", s.file, "-E", s.log)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	s.stop = func() { _ = cmd.Process.Kill(); <-ended }
	for end := time.Now().Add(startTime); ; {
		conn, err := net.Dial("tcp", s.Address())
		if err == nil {
			return conn.Close()
		}
		select {
		case <-ended:
			return fmt.Errorf("it ended: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(end) {
			s.stop()
			return err
		}
	}
}

// Stop ends the server, which takes no further connections. Those that there are go on.
func (s *Server) Stop() { s.stop() }

// Address is where it listens.
func (s *Server) Address() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.Port)) }

// Log is what it has logged.
func (s *Server) Log() string {
	b, _ := os.ReadFile(s.log)
	return string(bytes.TrimSpace(b))
}

func freePort(tb testing.TB) int {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}
