//go:build linux || darwin

package resident

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/atomicfile"
	"github.com/hermes-runtime/hermes/internal/engine"
	"github.com/hermes-runtime/hermes/internal/engine/jobs"
	"github.com/hermes-runtime/hermes/internal/engine/peer"
	"github.com/hermes-runtime/hermes/internal/engine/resident/wire"
)

// keeperIdle is how long a keeper stays after its last job and client.
const keeperIdle = 60 * time.Second

// lockPatience is how long a keeper that starts waits for one that is about to end.
const lockPatience = 500 * time.Millisecond

// ErrKept is why a keeper doesn't start: another one is there.
var ErrKept = errors.New("a keeper is there already")

// KeeperServeOptions says what a keeper keeps. Only Home is needed.
type KeeperServeOptions struct {
	Home  string        // HERMES_HOME, or what stands for it in a sandbox
	Scope string        // jobs.ScopeHost (the default) or jobs.ScopeSandbox
	Build string        // of this program, for messages
	Idle  time.Duration // how long it stays without jobs and clients; 0 = 60 s
	Jobs  jobs.Options  // Dir and Scope are set here
	Log   *slog.Logger
}

// ServeKeeper keeps the jobs of a home until nobody needs it any more, or ctx ends: then the jobs go on without it. Of many that start
// at once one results; the others return ErrKept.
func ServeKeeper(ctx context.Context, o KeeperServeOptions) error {
	if o.Idle == 0 {
		o.Idle = keeperIdle
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	path, err := socketPath(o.Home)
	if err != nil {
		return err
	}
	wait, cancel := context.WithTimeout(ctx, lockPatience)
	lock, err := atomicfile.Lock(wait, path+".lock")
	cancel()
	if errors.Is(err, atomicfile.ErrLocked) {
		return ErrKept
	}
	if err != nil {
		return fmt.Errorf("lock the keeper's socket: %w", err)
	}
	defer func() { _ = lock.Unlock() }()
	o.Jobs.Dir, o.Jobs.Scope, o.Jobs.Log = filepath.Join(o.Home, jobsDir), o.Scope, o.Log
	o.Jobs.Engine.Subreaper = true
	table, err := jobs.Open(o.Jobs)
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) { // nobody answers there: the lock is ours
		return fmt.Errorf("replace the keeper's socket: %w", err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return fmt.Errorf("listen for clients of the keeper: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return errors.Join(err, l.Close())
	}
	k := &keeperServer{o: o, table: table, clients: map[*wire.Conn]bool{}, change: make(chan struct{}, 1)}
	return k.serve(ctx, l)
}

// keeperServer serves the clients of one keeper.
type keeperServer struct {
	o      KeeperServeOptions
	table  *jobs.Table
	change chan struct{} // something about the clients
	tasks  sync.WaitGroup

	mu       sync.Mutex
	greeting int
	clients  map[*wire.Conn]bool
}

func (k *keeperServer) serve(ctx context.Context, l *net.UnixListener) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	accepted := make(chan error, 1)
	k.tasks.Go(func() { accepted <- k.accept(ctx, l) })
	var err error
	for idle := false; !idle && err == nil; {
		change := k.table.Changed()
		var timer <-chan time.Time
		if k.unused() {
			timer = time.After(k.o.Idle)
		}
		select {
		case <-ctx.Done():
			idle = true
		case err = <-accepted:
		case <-k.change:
		case <-change:
		case <-timer:
			idle = k.unused()
		}
	}
	_ = l.Close()
	stop()
	k.mu.Lock()
	for c := range k.clients {
		k.tasks.Go(func() { _ = c.Close() })
	}
	k.mu.Unlock()
	k.tasks.Wait()
	if k.table.Busy() > 0 {
		return err // they go on, and are adopted
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer cancel()
	return errors.Join(err, k.table.Close(end))
}

func (k *keeperServer) unused() bool {
	k.mu.Lock()
	n := len(k.clients) + k.greeting
	k.mu.Unlock()
	return n == 0 && k.table.Busy() == 0
}

func (k *keeperServer) changed() {
	select {
	case k.change <- struct{}{}:
	default:
	}
}

func (k *keeperServer) accept(ctx context.Context, l *net.UnixListener) error {
	for {
		c, err := l.AcceptUnix()
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return nil
			}
			return fmt.Errorf("accept a client: %w", err)
		}
		if err := peer.SameUser(c); err != nil {
			k.o.Log.Warn("a client was turned away", "error", err)
			_ = c.Close()
			continue
		}
		k.mu.Lock()
		k.greeting++
		k.mu.Unlock()
		k.tasks.Go(func() { k.client(ctx, c) })
	}
}

// client serves one client until it leaves.
func (k *keeperServer) client(ctx context.Context, c io.ReadWriteCloser) {
	greet, cancel := context.WithTimeout(ctx, closeTime)
	conn, err := wire.New(greet, c, wire.Options{Hello: wire.Hello{Build: k.o.Build, Body: aboutKeeper(k.o.Home)}, Accept: k.stream})
	cancel()
	k.mu.Lock()
	k.greeting--
	if err == nil {
		k.clients[conn] = true
	}
	k.mu.Unlock()
	defer k.changed()
	if err != nil {
		k.o.Log.Debug("a client was not greeted", "error", err)
		return
	}
	select {
	case <-conn.Done():
	case <-ctx.Done():
	}
	_ = conn.Close()
	k.mu.Lock()
	delete(k.clients, conn)
	k.mu.Unlock()
}

func (k *keeperServer) stream(st *wire.Stream) {
	defer func() { _ = st.Finish() }()
	op, t := asked(st)
	if op != opJob {
		st.Reset(fmt.Sprintf("a keeper doesn't know the operation %.50q", op))
		return
	}
	if err := answerJob(st.Context(), t, k.table, nil); err != nil {
		st.Reset(err.Error())
	}
}

func aboutKeeper(home string) []byte {
	b, _ := encode(about{OS: runtime.GOOS, Arch: runtime.GOARCH, UID: os.Getuid(), Home: environment.Path(home)})
	return b
}

// Detach makes this process a keeper's: it stands on no directory and keeps no descriptor of whoever started it.
func Detach() error {
	engine.HideInherited()
	return os.Chdir("/")
}
