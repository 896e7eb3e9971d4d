//go:build unix

package ssh_test

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/backend/ssh/sshtest"
)

// forwards counts what a server has passed on.
func forwards(s *sshtest.Server) int { return strings.Count(s.Log(), "direct-tcpip") }

func TestSSH_JumpHostsLeadOnAndEachIsVerified(t *testing.T) { // SSH-5
	t.Parallel()
	l := newLab(t, sshtest.Options{})
	one, two := sshtest.Start(t, sshtest.Options{Lines: []string{"LogLevel DEBUG1"}}), sshtest.Start(t, sshtest.Options{Lines: []string{"LogLevel DEBUG1"}})
	l.lines = nil
	l.alias("there", l.server.Port, l.server.User.File, "ProxyJump one,two")
	l.alias("one", one.Port, one.User.File)
	l.alias("two", two.Port, two.User.File, "ProxyJump nowhere.example") // somebody else's way there
	l.works(t)
	for name, s := range map[string]*sshtest.Server{"one": one, "two": two} {
		if forwards(s) == 0 {
			t.Errorf("jump host %s passed nothing on", name)
		}
	}
	known := read(t, l.known)
	for _, s := range []*sshtest.Server{one, two, l.server} {
		if want := fmt.Sprintf("[127.0.0.1]:%d %s\n", s.Port, s.Host.Line()); !strings.Contains(known, want) {
			t.Errorf("%q lacks %q", known, want)
		}
	}
	t.Run("changed key of a jump host", func(t *testing.T) {
		sshtest.Write(t, l.known, fmt.Sprintf("[127.0.0.1]:%d %s\n", two.Port, one.Host.Line()))
		l.refused(t, "jump host two", l.known+" line 1")
	})
}

func TestSSH_JumpHostsThatGoRoundInCirclesAreRefused(t *testing.T) { // SSH-5
	t.Parallel()
	l := newLab(t, sshtest.Options{})
	l.lines = nil
	l.alias("there", l.server.Port, l.server.User.File, "ProxyJump back")
	l.alias("back", l.server.Port, l.server.User.File, "ProxyJump there")
	l.refused(t, "round in circles")
}

func TestSSH_AProxyCommandLeadsToTheHost(t *testing.T) { // SSH-2
	t.Parallel()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 carries the bytes of this test, and isn't here")
	}
	l := newLab(t, sshtest.Options{})
	l.lines = nil
	const carry = `python3 -c "
import os,socket,sys,threading
s=socket.create_connection((sys.argv[1],int(sys.argv[2])))
def back():
    while True:
        b=s.recv(65536)
        if not b: os._exit(0)
        os.write(1,b)
threading.Thread(target=back,daemon=True).start()
while True:
    b=os.read(0,65536)
    if not b: break
    s.sendall(b)
"`
	script := t.TempDir() + "/proxy"
	sshtest.Write(t, script, carry+` "$1" "$2"`+"\n")
	l.alias("there", l.server.Port, l.server.User.File, "ProxyCommand sh "+script+" %h %p")
	l.works(t)
}

func TestSSH_AHostThatDoesNotAnswerIsGivenUp(t *testing.T) { // SSH-5
	t.Parallel()
	l := newLab(t, sshtest.Options{})
	r := l.relayed(t, "ConnectTimeout 1")
	r.Mute()
	l.refused(t, "no answer within 1s")
}
