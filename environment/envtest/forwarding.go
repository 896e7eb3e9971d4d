package envtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/environment"
)

// callers connect to the socket $1, send $2 bytes, and print how many come back up to the end.
var callers = []struct{ program, option, text string }{
	{"python3", "-c", `import socket, sys, threading
s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); n = int(sys.argv[2]); got = 0
if n: threading.Thread(target=s.sendall, args=(b"x" * n,)).start()
while got < n or n == 0:
    b = s.recv(65536)
    if not b: break
    got += len(b)
print(got)`},
	{"perl", "-e", `use IO::Socket::UNIX; my ($p, $n) = @ARGV; my $s = IO::Socket::UNIX->new(Peer => $p) or die "$!"; my $got = 0;
if ($n && !fork) { print $s "x" x $n; $s->flush; exit }
while ($got < $n || !$n) { my $k = sysread($s, my $b, 65536); last unless $k; $got += $k } print "$got\n"`},
}

// forwarding holds what a place promises of sockets there.
var forwarding = []check{
	{"XF-1_ConnectionsMadeThereEndHere", Forward, connectionsEndHere},
	{"XF-1_AForwardingThatEndsTakesItsConnectionsAlong", Forward, forwardingEnds},
}

// caller is how a command there connects to a socket. The check is left out where nothing there can.
func (s *suite) caller(t *testing.T) (argv []string) {
	t.Helper()
	for _, c := range callers {
		if res, _ := s.run(t, environment.Command{Argv: []string{c.program, c.option, "1"}}); res.ExitCode == 0 {
			return []string{c.program, c.option, c.text}
		}
	}
	t.Skip("nothing there speaks to Unix sockets: neither python3 nor perl")
	return nil
}

// forward makes a socket there, which is closed with the test.
func (s *suite) forward(t *testing.T, files map[string][]byte) environment.Forwarding {
	t.Helper()
	forwarder, ok := s.env.(environment.Forwarder)
	if !ok {
		t.Fatal("it forwards no sockets, and doesn't declare that")
	}
	f, err := forwarder.Forward(context.Background(), files)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func connectionsEndHere(t *testing.T, s *suite) {
	argv := s.caller(t)
	f := s.forward(t, map[string][]byte{"a": []byte("one"), "b c": {0, 1, 255}})
	ctx := context.Background()
	for p, mode := range map[environment.Path]fs.FileMode{f.Dir(): fs.ModeDir | 0o700, f.Temp(): fs.ModeDir | 0o700, join(f.Dir(), "a"): 0o600, f.Socket(): fs.ModeSocket | 0o600} {
		if i, err := s.env.Files().Stat(ctx, p); err != nil || i.Mode&(fs.ModeType|0o777) != mode {
			t.Errorf("%s: mode %v, %v, want %v", p, i.Mode, err, mode)
		}
	}
	if len(f.Socket()) >= 100 {
		t.Errorf("%s is long for a socket", f.Socket())
	}
	r, err := s.env.Files().Read(ctx, join(f.Dir(), "b c"), 0, -1)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(r); string(b) != "\x00\x01\xff" || r.Close() != nil {
		t.Errorf("the file holds %q, %v", b, err)
	}
	var echoes, calls sync.WaitGroup
	echoes.Go(func() {
		for {
			c, err := f.Accept()
			if err != nil {
				if !errors.Is(err, net.ErrClosed) {
					t.Errorf("Accept ends with %v", err)
				}
				return
			}
			echoes.Go(func() { _, _ = io.Copy(struct{ io.Writer }{c}, struct{ io.Reader }{c}); _ = c.Close() })
		}
	})
	for _, n := range []int{1, 1000, 3 << 20, 1 << 20} {
		calls.Go(func() {
			var out buffer
			res, err := s.env.Run(ctx, environment.Command{Argv: append(argv[:3:3], string(f.Socket()), fmt.Sprint(n)), Output: &out, Timeout: time.Minute})
			if got := strings.TrimSpace(out.String()); err != nil || res.ExitCode != 0 || got != fmt.Sprint(n) {
				t.Errorf("of %d bytes %s came back: %+v, %v", n, got, res, err)
			}
		})
	}
	calls.Wait()
	if err := errors.Join(f.Close(), f.Close()); err != nil {
		t.Error(err)
	}
	echoes.Wait()
	for _, p := range []environment.Path{f.Dir(), f.Temp()} {
		if _, err := s.env.Files().Stat(ctx, p); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is still there: %v", p, err)
		}
	}
}

func forwardingEnds(t *testing.T, s *suite) {
	argv := s.caller(t)
	f := s.forward(t, nil)
	ended := make(chan string, 1)
	go func() {
		var out buffer
		_, err := s.env.Run(context.Background(), environment.Command{Argv: append(argv[:3:3], string(f.Socket()), "0"), Output: &out, Timeout: time.Minute})
		ended <- fmt.Sprintf("%s %v", strings.TrimSpace(out.String()), err)
	}()
	c, err := f.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.Close(), f.Close()); err != nil {
		t.Error(err)
	}
	if got := <-ended; got != "0 <nil>" {
		t.Errorf("who was connected read %s", got)
	}
}
