//go:build linux

package plain_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/internal/engine/resident/wire"
)

// inBridge runs Python in the bridge's own program, before that greets anyone, and gives what it prints.
func inBridge(t *testing.T, script string) string {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	text, err := os.ReadFile("bridge.py")
	if err != nil {
		t.Fatal(err)
	}
	parts, _, found := strings.Cut(string(text), "\nfor number in ")
	if !found {
		t.Fatal("the bridge doesn't begin where it did")
	}
	cmd := exec.CommandContext(t.Context(), python, "-", t.TempDir())
	cmd.Stdin = strings.NewReader(parts + "\n" + script)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

func TestBridge_RestsWhenNothingCanBeAcceptedAndTakesHighDescriptors(t *testing.T) { // XF-7
	out := inBridge(t, `
import resource
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
if hard != resource.RLIM_INFINITY and hard < 2000:
    print("skip")
    sys.exit(0)
resource.setrlimit(resource.RLIMIT_NOFILE, (2000, hard))
stdin, theirs = os.pipe()
os.dup2(stdin, 0)
path = os.path.join(sys.argv[1], "s")
real = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
real.bind(path)
real.listen(8)
real.setblocking(False)
client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
client.connect(path)
said = []
def send(kind, stream=0, channel=0, payload=b""):
    said.append((kind, bytes(payload)))
    if kind == DATA:
        os.close(theirs)  # enough: the bridge ends with its input
start = time.monotonic()
class Listener:
    tries = 0
    def fileno(self):
        return real.fileno()
    def close(self):
        real.close()
    def accept(self):
        self.tries += 1
        if time.monotonic() - start < 3 * PAUSE:
            raise OSError(errno.EMFILE, "too many open files")
        sock, name = real.accept()
        high = fcntl.fcntl(sock, fcntl.F_DUPFD, 1500)
        sock.close()
        client.send(b"hello")
        return socket.socket(fileno=high), name
b = Bridge()
b.number, b.listener = 1, Listener()
b.run()
assert [c.sock.fileno() >= 1500 for c in b.conns.values()] == [True], b.conns
assert said == [(OPEN, b"forwarded 1"), (DATA, b"hello")], said
assert 2 <= b.listener.tries <= 5, b.listener.tries
print("good")
`)
	if out == "skip\n" {
		t.Skip("no descriptors above 1024 can be had here")
	}
	if out != "good\n" {
		t.Error(out)
	}
}

func TestBridge_RefusesWhereItCannotKnowWhoConnects(t *testing.T) { // XF-7, XR-1
	out := inBridge(t, `
said = []
def send(kind, stream=0, channel=0, payload=b""):
    said.append(payload.decode())
CREDENTIALS = None
b = Bridge()
b.request += b'{"id":1}\n'
b.begin()
assert b.listener is None and b.area is None, b.area
print("".join(said))
`)
	if !strings.Contains(out, "error") || !strings.Contains(out, "who connects") {
		t.Error(out)
	}
}

// XF-1: both sides of a forwarding agree on how much may be under way, or the one that waits for more waits for ever.
func TestBridge_AgreesWithTheWire(t *testing.T) {
	want := fmt.Sprintf("%d %d\n", wire.Window, wire.MaxPayload)
	if got := inBridge(t, "print(WINDOW, PAYLOAD)"); got != want {
		t.Errorf("the bridge has %s, the wire %s", got, want)
	}
}
