//go:build linux || darwin

package resident

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine"
	"github.com/hermes-runtime/hermes/internal/engine/jobs"
	"github.com/hermes-runtime/hermes/internal/engine/resident/wire"
)

const (
	// keeperTime bounds the wait for a keeper that was started. It needs some 20 ms; a machine may be busy.
	keeperTime = 10 * time.Second
	// askAgain is how often a request is repeated that a dying keeper did not answer.
	askAgain = 3
)

// KeeperOptions says which keeper is meant.
type KeeperOptions struct {
	Home  string   // HERMES_HOME, or what stands for it in a sandbox
	Argv  []string // starts a keeper; HERMES_HOME is in its environment
	Scope string   // jobs.ScopeHost (the default) or jobs.ScopeSandbox
	Build string   // of this program, for messages
}

// Keeper is the process that keeps the jobs of a home, as its clients see it. It is looked for, and started, when it is needed. It is
// safe for concurrent use.
type Keeper struct {
	o KeeperOptions

	mu      sync.Mutex
	conn    *wire.Conn
	line    *wire.Line // to the same keeper as conn, once there was something to ask over it
	started []int      // keepers that are children of this process
	closed  bool
	any     chan struct{} // closed once there is something to ask about

	turn sync.Mutex // whose is the line
	told told
}

// told is the last answer over the line, as it came and as it was read. What it says is handed out more than once and is never changed.
type told struct {
	text   []byte
	answer jobAnswer
}

// toldMost bounds an answer that is remembered, in bytes.
const toldMost = 4 << 10

// read reads an answer. One that is as the last was is that one: most jobs have nothing new to tell whenever they are looked at.
func (t *told) read(text []byte) (jobAnswer, error) {
	if len(text) > 0 && bytes.Equal(text, t.text) {
		return t.answer, nil
	}
	var a jobAnswer
	err := json.Unmarshal(text, &a)
	if err == nil && len(text) <= toldMost {
		*t = told{text, a}
	}
	return a, err
}

// ScopeVariable tells a keeper whose process table its records name.
const ScopeVariable = "HERMES_KEEPER_SCOPE"

// NewKeeper makes a client. Nothing is started.
func NewKeeper(o KeeperOptions) *Keeper { return &Keeper{o: o, any: make(chan struct{})} }

// Close leaves the keeper, which goes on.
func (k *Keeper) Close(context.Context) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closed = true
	k.reap()
	return k.hangUp()
}

// hangUp ends what contact there is. The caller holds mu.
func (k *Keeper) hangUp() error {
	var errs []error
	if k.line != nil {
		errs = append(errs, k.line.Close())
	}
	if k.conn != nil {
		errs = append(errs, k.conn.Close())
	}
	k.line, k.conn = nil, nil
	return errors.Join(errs...)
}

// reap collects keepers that this process started and that have ended. The caller holds mu.
func (k *Keeper) reap() {
	left := k.started[:0]
	for _, pid := range k.started {
		var status syscall.WaitStatus
		if got, err := syscall.Wait4(pid, &status, syscall.WNOHANG, nil); err == nil && got == 0 {
			left = append(left, pid)
		}
	}
	k.started = left
}

// connect gives the connection, with a keeper started if none answers.
func (k *Keeper) connect(ctx context.Context) (*wire.Conn, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return nil, &environment.Error{Kind: environment.ErrUnavailable, Op: "ask the keeper of jobs", Err: errors.New("the environment was closed")}
	}
	if k.conn != nil {
		select {
		case <-k.conn.Done():
			_ = k.hangUp()
		default:
			return k.conn, nil
		}
	}
	conn, err := k.greet(ctx)
	if err != nil {
		return nil, &environment.Error{Kind: environment.ErrUnavailable, Op: "reach the keeper of jobs", Err: err}
	}
	k.conn = conn
	return conn, nil
}

// greet connects. A keeper may be about to end when it is found: then another is started.
func (k *Keeper) greet(ctx context.Context) (*wire.Conn, error) {
	path, err := socketPath(k.o.Home)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, keeperTime)
	defer cancel()
	var began time.Time
	for pause := time.Millisecond; ; pause = min(2*pause, 20*time.Millisecond) {
		c, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
		if err == nil {
			var conn *wire.Conn
			conn, err = wire.New(ctx, c, wire.Options{Hello: wire.Hello{Build: k.o.Build}, Client: true})
			if err == nil || errors.Is(err, wire.ErrVersion) {
				return conn, err
			}
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("no keeper answers at %s: %w", path, err)
		}
		if time.Since(began) > time.Second { // again where one came too late for the lock of another that ended
			if err := k.launch(); err != nil {
				return nil, err
			}
			began = time.Now()
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

// passed are the variables that a keeper gets: it needs to find its home, and no more. What commands get comes with each job.
var passed = []string{"HOME", "PATH", "USER", "LOGNAME", "LANG", "TMPDIR"}

// launch starts a keeper: in a session of its own, with nothing of this process but its name.
func (k *Keeper) launch() error {
	if len(k.o.Argv) == 0 {
		return errors.New("there is no program to start as keeper")
	}
	k.reap()
	engine.HideInherited()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	env := []string{"HERMES_HOME=" + k.o.Home, ScopeVariable + "=" + k.o.Scope}
	for _, name := range passed {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	p, err := os.StartProcess(k.o.Argv[0], k.o.Argv, &os.ProcAttr{
		Dir: "/", Env: env, Files: []*os.File{null, null, null}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if err != nil {
		return fmt.Errorf("start a keeper: %w", err)
	}
	k.started = append(k.started, p.Pid)
	return p.Release()
}

// repeatable are the requests that do no harm when they are done twice.
var repeatable = map[jobOp]bool{
	jobList: true, jobFind: true, jobEvents: true, jobTaken: true, jobForget: true, jobInfo: true, jobWait: true, jobKill: true, jobScreen: true, jobLog: true,
}

// ask sends a request. Where the keeper dies over it, the next one is asked.
func (k *Keeper) ask(ctx context.Context, r jobRequest) (jobAnswer, error) {
	for try := 1; ; try++ {
		conn, err := k.connect(ctx)
		if err != nil {
			return jobAnswer{}, err
		}
		if a, ok := k.askDirectly(ctx, r); ok {
			return a, nil
		}
		a, err := askOver(ctx, conn, r)
		switch {
		case err == nil || ctx.Err() != nil:
			return a, err
		case conn.Err() == nil: // it answers, and refused this one
			return a, &environment.Error{Kind: environment.ErrUnavailable, Op: string(r.Op) + " a job", Err: err}
		case try == askAgain || !repeatable[r.Op]:
			return a, &environment.Error{Kind: environment.ErrLost, Op: string(r.Op) + " a job", Err: err}
		}
	}
}

// direct are the requests that are answered at once and may be repeated. While none is on its way, the next takes the line: that wakes
// nobody but the two who have to do with it.
var direct = map[jobOp]bool{jobFind: true, jobInfo: true, jobList: true, jobScreen: true, jobLog: true}

// askDirectly sends a request over the line, if it is one for that and the line is free. Whatever goes wrong, the connection is asked as
// well, and says what it is.
func (k *Keeper) askDirectly(ctx context.Context, r jobRequest) (a jobAnswer, ok bool) {
	if !direct[r.Op] || !k.turn.TryLock() {
		return a, false
	}
	defer k.turn.Unlock()
	head, more, err := withRequest(opJob, r)
	if err != nil || more != nil {
		return a, false
	}
	line, err := k.aLine(ctx)
	if err != nil {
		return a, false
	}
	text, err := line.Ask(ctx, head)
	if err == nil {
		a, err = k.told.read(text)
	}
	if err != nil {
		k.mu.Lock()
		defer k.mu.Unlock()
		_ = line.Close()
		if k.line == line {
			k.line = nil
		}
	}
	return a, err == nil
}

// aLine gives the line to the keeper that is connected. The caller has the turn.
func (k *Keeper) aLine(ctx context.Context) (*wire.Line, error) {
	k.mu.Lock()
	line := k.line
	k.mu.Unlock()
	if line != nil {
		return line, nil
	}
	path, err := socketPath(k.o.Home)
	if err != nil {
		return nil, err
	}
	c, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	if line, err = wire.NewLine(ctx, c, wire.Hello{Build: k.o.Build}); err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed || k.conn == nil {
		return nil, errors.Join(wire.ErrClosed, line.Close())
	}
	k.line = line
	return line, nil
}

// Start starts a job. Where the keeper dies over it, its record tells whether it began.
func (k *Keeper) Start(ctx context.Context, s jobs.Spec) (environment.Process, error) {
	if s.Job.ID == "" {
		s.Job.ID = jobs.NewID()
	}
	b := baseRequest{Environ: s.Base.Environ, Home: s.Base.Home, Temp: s.Base.Temp}
	if s.Base.Login != nil {
		b.Login = s.Base.Login.Text
	}
	p, err := startAt(ctx, k, startRequest{Job: s.Job, Base: &b, Grace: s.Grace})
	if errors.Is(err, environment.ErrLost) {
		if found, ferr := k.Attach(ctx, s.Job.ID); ferr == nil {
			return found, nil
		} else if errors.Is(ferr, fs.ErrNotExist) {
			return nil, &environment.Error{Kind: environment.ErrNotStarted, Op: "start a job", Err: err}
		}
	}
	if err == nil {
		k.wake()
	}
	return p, err
}

// Jobs lists all, with the last preview characters of what each printed.
func (k *Keeper) Jobs(ctx context.Context, preview int) ([]environment.JobInfo, error) {
	if !k.exists() {
		return nil, nil
	}
	return jobsAt(ctx, k, preview)
}

// Attach finds a job.
func (k *Keeper) Attach(ctx context.Context, id string) (environment.Process, error) {
	if !k.exists() {
		return nil, fmt.Errorf("job %q: %w", id, fs.ErrNotExist)
	}
	return attachAt(ctx, k, id)
}

// Adopt gives what a command left running an entry.
func (k *Keeper) Adopt(ctx context.Context, l environment.Leftover) (environment.Process, error) {
	p, err := adoptAt(ctx, k, l)
	if err == nil {
		k.wake()
	}
	return p, err
}

// Forget removes a job that has ended.
func (k *Keeper) Forget(ctx context.Context, id string) error {
	if !k.exists() {
		return nil
	}
	return forgetAt(ctx, k, id)
}

// Events gives what jobs have to tell. No keeper is started to say that there are none.
func (k *Keeper) Events(ctx context.Context, labels map[string]string) ([]environment.JobEvent, error) {
	if !k.exists() {
		k.mu.Lock()
		first := k.any
		k.mu.Unlock()
		select {
		case <-first:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return eventsAt(ctx, k, labels)
}

// Taken says that an event was told.
func (k *Keeper) Taken(ctx context.Context, eventID string) error { return takenAt(ctx, k, eventID) }

// wake tells those who wait for a first job.
func (k *Keeper) wake() {
	k.mu.Lock()
	defer k.mu.Unlock()
	select {
	case <-k.any:
	default:
		close(k.any)
	}
}

func (k *Keeper) connected() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.conn != nil && k.conn.Err() == nil
}

// exists reports whether there ever was a job that is still remembered.
func (k *Keeper) exists() bool {
	if k.connected() {
		return true // who answers needs not be started
	}
	d, err := os.Open(filepath.Join(k.o.Home, jobsDir))
	if err != nil {
		return false
	}
	defer d.Close()
	names, _ := d.Readdirnames(1)
	return len(names) > 0
}
