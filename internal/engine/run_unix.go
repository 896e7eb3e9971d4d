//go:build linux || darwin

package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine/group"
	"github.com/hermes-runtime/hermes/internal/engine/guard"
)

// Engine runs commands. It is safe for concurrent use.
type Engine struct {
	o      Options
	shell  string
	bash   bool
	why    string // why there is no shell
	rung   *group.Rung
	guard  *guard.Client
	record *record
	null   *os.File
	mu     sync.Mutex
	closed bool
	calls  sync.WaitGroup
	kept   []*group.Group // with members that a command left running
	stop   context.CancelCauseFunc
	ended  context.Context // ends with Close
}

// errClosed is the cause that ends what still runs at Close.
var errClosed = errors.New("the environment is closing")

// New makes an engine. It finds the shell and the way groups are formed; nothing is started.
func New(o Options) *Engine {
	if o.Grace == 0 {
		o.Grace = DefaultGrace
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	e := &Engine{o: o}
	e.ended, e.stop = context.WithCancelCause(context.Background())
	e.shell, e.bash, e.why = findShell(o.Shell)
	owner := group.Self(o.Home)
	e.record = newRecord(o.Home, owner)
	e.rung = group.Detect(group.Options{Owner: owner, Subreaper: o.Subreaper, NoCgroup: o.NoCgroup})
	if len(o.Guard) > 0 {
		e.guard = guard.New(o.Guard)
	}
	return e
}

// findShell looks in PATH, then where systems keep it.
func findShell(want string) (path string, bash bool, why string) {
	tries := []string{"bash", "/bin/bash", "/usr/bin/bash", "sh", "/bin/sh"}
	if want != "" {
		tries = []string{want}
	}
	for _, t := range tries {
		if p, err := exec.LookPath(t); err == nil && filepath.IsAbs(p) {
			return p, filepath.Base(p) == "bash", ""
		}
	}
	return "", false, fmt.Sprintf("no shell found (tried %v)", tries)
}

// Shell is the shell that runs scripts, "" if there is none.
func (e *Engine) Shell() string { return e.shell }

// Describe says for people how commands run here.
func (e *Engine) Describe() []string {
	lines := []string{e.rung.Describe()}
	switch {
	case e.shell == "":
		lines = append(lines, "commands: "+e.why)
	case !e.bash:
		lines = append(lines, "no bash: "+e.Lacking()["bash"])
	}
	return append(lines, e.describeLimits()...)
}

// Guarded says for people why nothing ends the commands of this process should it be killed, "" where a guard does.
func (e *Engine) Guarded() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case len(e.o.Guard) == 0:
		return "no guard: what runs when this process is killed is ended by the next start only"
	case e.guard != nil && e.guard.Err() != nil:
		return e.guard.Err().Error()
	}
	return ""
}

// Lacking says what commands can't do here, and why; nil where nothing is missing.
func (e *Engine) Lacking() map[string]string {
	switch {
	case e.shell == "":
		return map[string]string{"commands": e.why}
	case !e.bash:
		return map[string]string{"bash": "scripts run in " + e.shell + ", which exports no functions and keeps no state when a script sets an EXIT trap or has a syntax error"}
	}
	return nil
}

// Run runs one command from start to end. A zero Result.Reason never comes with a nil error.
func (e *Engine) Run(ctx context.Context, c environment.Command, b Base) (environment.Result, error) {
	if err := e.begin(); err != nil {
		return environment.Result{}, err
	}
	defer e.calls.Done()
	r := &run{e: e, c: c, b: b, began: time.Now()}
	defer r.release()
	if res, err := r.prepare(); res != nil || err != nil {
		return finish(res, r), err
	}
	if ctx.Err() != nil {
		res := r.unstarted(ctx)
		return finish(&res, r), nil
	}
	if err := r.start(); err != nil {
		return r.refused(err)
	}
	return r.follow(ctx), nil
}

// finish completes a result that came before the start.
func finish(res *environment.Result, r *run) environment.Result {
	if res == nil {
		return environment.Result{}
	}
	res.Elapsed = time.Since(r.began)
	return *res
}

func (e *Engine) begin() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return &environment.Error{Kind: environment.ErrUnavailable, Op: "run a command", Err: errors.New("the environment was closed")}
	}
	if e.shell == "" {
		return &environment.Error{Kind: environment.ErrUnavailable, Op: "run a command", Err: errors.New(e.why)}
	}
	hideInherited()
	hearInterrupts()
	if e.null == nil {
		null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
		if err != nil {
			return &environment.Error{Kind: environment.ErrNotStarted, Op: "open " + os.DevNull, Err: err}
		}
		e.null = null
		e.calls.Go(e.record.begin)
	}
	e.calls.Add(1)
	return nil
}

// Close ends what runs and lets go. It may be called more than once.
func (e *Engine) Close(ctx context.Context) error {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	e.stop(errClosed)
	done := make(chan struct{})
	go func() { e.calls.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
		return fmt.Errorf("end the commands that run: %w", context.Cause(ctx))
	}
	e.record.remove()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.null != nil {
		e.null.Close()
		e.null = nil
	}
	if e.guard != nil {
		g := e.guard
		e.guard = nil
		return g.Close(ctx)
	}
	return nil
}

// run is one command on its way.
type run struct {
	e     *Engine
	c     environment.Command
	b     Base
	began time.Time

	place   place
	before  environment.Snapshot
	base    map[string]string
	env     []string
	path    string // program
	argv    []string
	files   []*os.File
	carry   bool // variables and directory come back through the state pipe
	varied  bool // variables are carried too, not the directory alone
	group   *group.Group
	askpass *askpass

	pid    int
	child  []*os.File // ends that the child gets; closed here after the start
	out    *pump
	err    *pump
	state  *pump
	stdin  *feeder
	feeds  []*feeder // small texts for descriptors: script, login
	exited chan exit

	job    *Starting // nil = a command that is followed to its end
	input2 *os.File  // of a job: write end of its input, or its terminal
	gate   *os.File  // of a job: closed or written to, it lets the command end or begin
	said   string    // why it could not run
}

// prepare finds out everything that can be wrong before something is made. A result means that nothing is to be started.
func (r *run) prepare() (*environment.Result, error) {
	if r.c.State != nil {
		r.before = r.c.State.Snapshot()
	}
	if bad := r.invalid(); bad != "" {
		r.say(bad)
		return &environment.Result{ExitCode: -1, Reason: environment.Exited, Dir: r.before.Dir}, nil
	}
	r.base = variables(r.b.Environ)
	if r.b.Home == "" {
		r.b.Home = r.base["HOME"]
	}
	if r.b.Temp == "" {
		r.b.Temp = os.TempDir()
	}
	p, err := startDir(r.c.Dir, string(r.before.Dir), r.b)
	if err != nil {
		r.say(err.Error())
		return &environment.Result{ExitCode: 126, Reason: environment.Exited, Dir: r.before.Dir}, nil
	}
	r.place = p
	r.group = r.e.rung.Open()
	if err := r.environ(); err != nil {
		return nil, err
	}
	return nil, r.program()
}

// invalid says what is wrong with the command itself.
func (r *run) invalid() string {
	switch n := len(r.c.Script); {
	case len(r.c.Argv) > 0 && n > 0:
		return "a command is a script or a list of arguments, not both"
	case len(r.c.Argv) == 0 && n == 0:
		return "the command is empty"
	case n > MaxScript:
		return fmt.Sprintf("the command has %d bytes; at most %d can be run: put it into a file", n, MaxScript)
	}
	for _, s := range append([]string{r.c.Script}, r.c.Argv...) {
		for i := range len(s) {
			if s[i] == 0 {
				return fmt.Sprintf("the command holds a zero byte (at byte %d), which no program can be given", i)
			}
		}
	}
	return ""
}

// say tells the reader of the command's output why it could not run.
func (r *run) say(text string) {
	if r.said = text; r.job != nil {
		return // whoever starts it is told
	}
	w := r.c.Stderr
	if w == nil {
		w = r.c.Output
	}
	if w != nil {
		_, _ = io.WriteString(w, "hermes: "+text+"\n") // a reader who went away needs no reason
	}
}

// environ builds the variables of the child.
func (r *run) environ() error {
	var vars map[string]string
	if r.c.Environ != nil {
		vars = variables(r.c.Environ)
	} else {
		vars = apply(r.base, r.before.Vars)
		for name, v := range r.c.Env {
			vars[name] = v
		}
	}
	if r.c.SudoSecret != nil {
		a, err := newAskpass([]string{r.b.Temp, "/dev/shm", "/var/tmp", r.b.Home}, r.c.SudoSecret)
		if err != nil {
			return &environment.Error{Kind: environment.ErrNotStarted, Op: "prepare sudo's password prompt", Err: err}
		}
		r.askpass = a
		vars[askpassVariable] = a.program
	}
	vars["PWD"] = r.place.dir
	vars[groupVariable] = r.group.Mark(os.Getenv(groupVariable))
	if r.job != nil && r.job.Terminal != nil {
		vars["TERM"] = "xterm-256color"
		delete(vars, "LINES")
		delete(vars, "COLUMNS")
	}
	r.env = entries(vars)
	r.carry = r.c.State != nil && len(r.c.Argv) == 0 && r.job == nil
	r.varied = r.carry && r.c.Environ == nil
	return nil
}

// release lets go of everything that a run may hold, however far it came.
func (r *run) release() {
	for _, f := range r.child {
		f.Close()
	}
	for _, p := range []*pump{r.out, r.err, r.state} {
		p.close()
	}
	for _, f := range append(slices.Clone(r.feeds), r.stdin) {
		f.close()
	}
	for _, f := range []*os.File{r.gate, r.input2} {
		if f != nil {
			_ = f.Close()
		}
	}
	r.askpass.close()
	r.e.keep(r.group)
}

// keep lets go of a group once nobody is in it, looking at those of former commands too.
func (e *Engine) keep(g *group.Group) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if g != nil {
		e.kept = append(e.kept, g)
	}
	e.kept = slices.DeleteFunc(e.kept, (*group.Group).Close)
}
