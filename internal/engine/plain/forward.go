package plain

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine/resident"
)

// bridgeText is a program that stands in for the engine as far as sockets go, in its own frames: whoever wants a socket runs Python, so
// Python is there.
//
//go:embed bridge.py
var bridgeText string

// loader takes the program from standard input, where what follows it comes from.
const loader = `import os, sys
n, b = int(sys.argv[1]), b""
while len(b) < n:
    b += os.read(0, n - len(b)) or sys.exit(0)
exec(compile(b, "hermes", "exec"))`

// leaveTime is how long a bridge may take to end once it is of no use.
const leaveTime = 5 * time.Second

// Forward makes a directory there with these files, and a socket whose connections end here.
func (p *Place) Forward(ctx context.Context, files map[string][]byte) (environment.Forwarding, error) {
	if why := p.info.Lacking["forward"]; why != "" {
		return nil, &environment.Error{Kind: environment.ErrUnsupported, Op: "forward a socket", Err: errors.New(why)}
	}
	b := p.startBridge()
	far, err := resident.Connect(ctx, b, environment.Info{}, resident.Options{})
	if err != nil {
		return nil, b.explain(fmt.Errorf("start a bridge for a socket: %w", err))
	}
	f, err := far.Forward(ctx, files)
	if err != nil {
		_ = far.Close(ctx)
		return nil, b.explain(err)
	}
	return &bridged{Forwarding: f, far: far, bridge: b}, nil
}

// bridged is a socket that goes with its bridge.
type bridged struct {
	environment.Forwarding
	far    *resident.Place
	bridge *bridge

	closing sync.Once
	err     error
}

// Close has the socket closed and its directory removed, and ends the bridge.
func (b *bridged) Close() error {
	b.closing.Do(func() {
		b.err = b.Forwarding.Close()
		_ = b.far.Close(context.Background()) // what it says is that contact is over
		b.bridge.wait()
	})
	return b.err
}

// bridge is the program there, as a stream.
type bridge struct {
	in   *io.PipeWriter
	out  *io.PipeReader
	stop context.CancelFunc
	done chan struct{}
	said bytes.Buffer // read after done
	err  error        // likewise
}

func (p *Place) startBridge() *bridge {
	ctx, cancel := context.WithCancel(context.Background())
	stdin, in := io.Pipe()
	out, stdout := io.Pipe()
	b := &bridge{in: in, out: out, stop: cancel, done: make(chan struct{})}
	go func() { // ends with the bridge, for which wait waits
		defer close(b.done)
		_, b.err = p.Run(ctx, environment.Command{
			Argv:  []string{p.python, "-E", "-s", "-S", "-u", "-c", loader, strconv.Itoa(len(bridgeText))},
			Stdin: io.MultiReader(strings.NewReader(bridgeText), stdin), Output: stdout, Stderr: &b.said, EndLeft: true,
		})
		_ = stdout.Close()
		_ = stdin.Close()
	}()
	return b
}

func (b *bridge) Read(p []byte) (int, error)  { return b.out.Read(p) }
func (b *bridge) Write(p []byte) (int, error) { return b.in.Write(p) }

// Close lets the bridge find the end of its input.
func (b *bridge) Close() error { return errors.Join(b.in.Close(), b.out.Close()) }

// wait returns once the bridge has ended, which it is made to if it doesn't by itself.
func (b *bridge) wait() {
	late := time.AfterFunc(leaveTime, b.stop)
	<-b.done
	late.Stop()
	b.stop()
}

// explain adds to a failure what the bridge itself says.
func (b *bridge) explain(err error) error {
	b.wait()
	if b.err != nil {
		return errors.Join(err, b.err)
	}
	if said := strings.TrimSpace(b.said.String()); said != "" {
		return fmt.Errorf("%w; it says: %s", err, said)
	}
	return err
}
