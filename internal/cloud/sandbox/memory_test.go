//go:build linux

package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/cloud"
	"github.com/hermes-runtime/hermes/internal/cloud/sandbox"
	"github.com/hermes-runtime/hermes/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// memory is a cloud whose sandboxes are entries of a table; what runs in them runs here.
type memory struct {
	home string // of commands

	mu      sync.Mutex
	boxes   map[string]sandbox.Box // by name
	made    int
	removed []string
	ended   []string
	machine *machine // the last

	// What goes wrong; nil = nothing does. They are called with mu held.
	onMake   func(o sandbox.Order) (begun bool, err error)
	onUp     func(b sandbox.Box) (anew bool, err error)
	onRemove func(r cloud.Record) error
	block    chan struct{} // Up waits for it
}

var errGone = &environment.Error{Kind: environment.ErrGone, Op: "look", Err: errors.New("there is none")}

func (m *memory) find(r cloud.Record) (sandbox.Box, error) {
	for _, b := range m.boxes {
		if r.ID != "" && b.ID == r.ID || r.ID == "" && b.Name == r.Name {
			return b, nil
		}
	}
	return sandbox.Box{}, errGone
}

func (m *memory) Find(_ context.Context, r cloud.Record) (sandbox.Box, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.find(r)
}

func (m *memory) Make(_ context.Context, o sandbox.Order) (sandbox.Box, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.onMake != nil {
		if begun, err := m.onMake(o); err != nil {
			return sandbox.Box{}, begun, err
		}
	}
	if _, there := m.boxes[o.Name]; there {
		return sandbox.Box{}, false, sandbox.Taken(o.Name)
	}
	m.made++
	b := sandbox.Box{ID: fmt.Sprint("id-", m.made), Name: o.Name, Use: o.Use, State: sandbox.Coming, Says: "coming"}
	m.boxes[o.Name] = b
	return b, true, nil
}

func (m *memory) Up(ctx context.Context, b sandbox.Box, limit time.Duration) (sandbox.Box, bool, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errors.New("it did not start"))
	defer cancel()
	if m.block != nil {
		select {
		case <-m.block:
		case <-ctx.Done():
			return b, false, context.Cause(ctx)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	b, err := m.find(cloud.Record{ID: b.ID})
	if err != nil {
		return b, false, err
	}
	anew := b.State == sandbox.Asleep
	if m.onUp != nil {
		if anew, err = m.onUp(b); err != nil {
			return b, false, err
		}
	}
	b.State, b.Says = sandbox.Ready, "ready"
	m.boxes[b.Name] = b
	return b, anew, nil
}

func (m *memory) End(ctx context.Context, r cloud.Record) error {
	if !r.Kept {
		return m.Remove(ctx, r)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ended = append(m.ended, r.Name)
	b, err := m.find(r)
	if err == nil {
		b.State, b.Says = sandbox.Asleep, "asleep"
		m.boxes[b.Name] = b
	}
	return err
}

func (m *memory) Remove(_ context.Context, r cloud.Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.removed = append(m.removed, r.Name)
	if m.onRemove != nil {
		if err := m.onRemove(r); err != nil {
			return err
		}
	}
	b, err := m.find(r)
	delete(m.boxes, b.Name)
	return err
}

func (m *memory) Touch(context.Context, sandbox.Box) error { return nil }

func (m *memory) Machine(_ context.Context, b sandbox.Box) (sandbox.Machine, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.machine = &machine{Contact: sandbox.NewContact(b.Name), home: m.home}
	return m.machine, nil
}

func (m *memory) List(context.Context, string) ([]sandbox.Box, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []sandbox.Box
	for _, b := range m.boxes {
		all = append(all, b)
	}
	return all, nil
}

func (m *memory) Explain(err error) error { return err }
func (m *memory) Close()                  {}

// sleeps has all sandboxes stop by themselves, and contact with them end.
func (m *memory) sleeps() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name, b := range m.boxes {
		b.State, b.Says = sandbox.Asleep, "asleep"
		m.boxes[name] = b
	}
	_ = m.machine.Lost(errors.New("it has stopped"))
}

// vanishes has all sandboxes be deleted by somebody else, and contact with them end.
func (m *memory) vanishes() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.boxes)
	_ = m.machine.Lost(errors.New("it was deleted"))
}

// counts are the sandboxes there, and those that run.
func (m *memory) counts() (made, there, running int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, b := range m.boxes {
		if b.State != sandbox.Asleep {
			running++
		}
	}
	return m.made, len(m.boxes), running
}

// machine runs scripts here.
type machine struct {
	*sandbox.Contact
	home string
}

func (m *machine) Become(context.Context, string) (io.ReadWriteCloser, error) {
	return nil, errors.New("it can't")
}

func (m *machine) Upload(context.Context, string, string) error { return errors.New("it can't") }

func (m *machine) Exec(ctx context.Context, script string, stdin io.Reader, stdout, stderr io.Writer) (int, error) {
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", script)
	cmd.Env, cmd.Dir = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + m.home}, m.home
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = stdin, stdout, stderr, time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return -1, context.Cause(ctx)
	case errors.As(err, &exit):
		return exit.ExitCode(), nil
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		return -1, err
	}
	return 0, nil
}

func (m *machine) Close(context.Context) error { return nil }

// lab is a HERMES_HOME and its cloud.
type lab struct {
	*memory
	o sandbox.Options
}

func newLab(t *testing.T) *lab {
	t.Helper()
	m := &memory{home: t.TempDir(), boxes: map[string]sandbox.Box{}}
	return &lab{m, sandbox.Options{
		Cloud: m, Open: environment.OpenOptions{Key: "test", HermesHome: t.TempDir()}, Title: "Memory", HowEnd: "forget it", Ends: "bounded",
		Backend: "memory", At: "https://memory.example", Account: "mine", Owner: "me", Idle: time.Hour, Lifetime: time.Hour, Start: time.Minute, Resident: "off",
	}}
}

func (l *lab) try(t *testing.T) (environment.Environment, error) {
	t.Helper()
	return sandbox.Open(t.Context(), l.o)
}

func (l *lab) open(t *testing.T) environment.Environment {
	t.Helper()
	e, err := l.try(t)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func shut(t *testing.T, e environment.Environment) {
	t.Helper()
	if err := e.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

// is compares how many were made, are there and run, and that the ledger knows of the same.
func (l *lab) is(t *testing.T, made, there, running int) {
	t.Helper()
	if m, n, r := l.counts(); m != made || n != there || r != running {
		t.Errorf("%d made, %d there, %d running; want %d, %d, %d", m, n, r, made, there, running)
	}
	all, err := l.ledger(t).List()
	if err != nil || len(all) != there {
		t.Errorf("%d recorded, want %d: %+v, %v", len(all), there, all, err)
	}
}

func (l *lab) ledger(t *testing.T) *cloud.Ledger {
	t.Helper()
	c, err := cloud.OpenLedger(l.o.Open.HermesHome, l.o.Owner)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// spoilLedger has the ledger be no file any more, as little to be written as on a full disk.
func (l *lab) spoilLedger(t *testing.T) {
	t.Helper()
	path := filepath.Join(l.o.Open.HermesHome, "state", "sandboxes.jsonl")
	_ = os.Remove(path)
	if err := os.MkdirAll(path, 0o700); err != nil {
		t.Fatal(err)
	}
}
