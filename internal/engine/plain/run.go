package plain

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine"
)

const (
	// quiet and drainTime bound the reading of what children print after the shell has ended.
	quiet     = 300 * time.Millisecond
	drainTime = 2 * time.Second
	// awaitTime is how long output is waited for while contact is broken: as long as for a sign of life of the engine.
	awaitTime = 30 * time.Second
	// killTime is how long after KILL members may still be seen.
	killTime = 1500 * time.Millisecond
	// killRounds is how often the whole of that is done at least, however long it takes.
	killRounds = 2
	// startTime is how long a command that is to be ended may take to say that it has begun.
	startTime = 3 * time.Second
	// askTime bounds one command of ours.
	askTime = 10 * time.Second
)

// call is one command on its way.
type call struct {
	p      *Place
	c      environment.Command
	mark   string
	before environment.Snapshot
	began  time.Time

	out  *tap
	ctl  *control
	done chan struct{} // the outputs have ended
	exit int
	err  error
	hang context.CancelFunc
}

// Run runs one command there.
func (p *Place) Run(ctx context.Context, c environment.Command) (environment.Result, error) {
	for missing, asked := range map[string]bool{"descriptors": len(c.Extra) > 0, "sudo": c.SudoSecret != nil} {
		if asked {
			return environment.Result{}, &environment.Error{Kind: environment.ErrUnsupported, Op: missing, Err: errors.New(p.info.Lacking[missing])}
		}
	}
	ctx, end, err := p.begin(ctx)
	if err != nil {
		return environment.Result{}, err
	}
	defer end()
	p.guard.begin(p)
	r := &call{p: p, c: c, mark: p.mark + newMark(), began: time.Now(), done: make(chan struct{})}
	if c.State != nil {
		r.before = c.State.Snapshot()
	}
	if bad := invalid(c); bad != "" {
		r.say(bad)
		return environment.Result{ExitCode: -1, Reason: environment.Exited, Dir: r.before.Dir}, nil
	}
	if ctx.Err() != nil {
		res := environment.Result{}
		r.cut(ctx, &res)
		return res, nil
	}
	if c.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.Timeout)
		defer cancel()
	}
	res, err := r.run(ctx)
	res.Elapsed = time.Since(r.began)
	return res, err
}

// invalid says what is wrong with the command itself.
func invalid(c environment.Command) string {
	switch n := len(c.Script); {
	case len(c.Argv) > 0 && n > 0:
		return "a command is a script or a list of arguments, not both"
	case len(c.Argv) == 0 && n == 0:
		return "the command is empty"
	case n > engine.MaxScript:
		return fmt.Sprintf("the command has %d bytes; at most %d can be run: put it into a file", n, engine.MaxScript)
	}
	for _, s := range append([]string{c.Script}, c.Argv...) {
		if strings.ContainsRune(s, 0) {
			return "the command holds a zero byte, which no program can be given"
		}
	}
	return ""
}

// say tells the reader of the command's output why it could not run.
func (r *call) say(text string) {
	for _, w := range []io.Writer{r.c.Stderr, r.c.Output} {
		if w != nil {
			_, _ = io.WriteString(w, "hermes: "+text+"\n")
			return
		}
	}
}

// run starts the command and follows it.
func (r *call) run(ctx context.Context) (environment.Result, error) {
	hung, hang := context.WithCancel(context.WithoutCancel(ctx))
	defer hang()
	r.hang = hang
	r.out = newTap(r.c.Output)
	r.ctl = newControl(r.mark, r.c.Stderr, r.out)
	boot, stdin := r.input()
	go func() {
		defer close(r.done)
		r.exit, r.err = r.p.exec(hung, boot, stdin, r.out, r.ctl)
	}()
	var res environment.Result
	select {
	case <-r.ctl.begun:
		r.started()
	case <-r.done:
	case <-ctx.Done():
	}
	select {
	case <-r.done:
	case <-r.ctl.ended:
		r.drain()
		if r.out.broken() {
			r.await(ctx)
			r.drain()
		}
	case <-ctx.Done():
		r.cut(ctx, &res)
		r.drain()
		r.over()
		return res, nil
	}
	held := !r.isDone() // somebody holds an output
	cut := r.out.broken()
	if held {
		r.leave(ctx, &res) // before hanging up, which may end them
	}
	r.over()
	status, record, ended := r.ctl.end()
	switch {
	case errors.Is(r.err, environment.ErrLost) && !ended: // its first word may be lost with the rest
		return res, r.err
	case !r.ctl.hasBegun(): // whoever ends without its first word hasn't come to the script
		return res, &environment.Error{Kind: environment.ErrNotStarted, Op: "run a command there", Err: r.ctl.unbegun(r.exit, r.err)}
	case r.err != nil && !ended:
		return res, &environment.Error{Kind: environment.ErrLost, Op: "run a command there", Err: r.err}
	}
	if r.err == nil && !r.ctl.hung {
		status = r.exit
	}
	if cut || r.err != nil && !r.ctl.hung {
		r.say("contact was lost at the end of the command; the end of its output may be missing")
	}
	r.result(&res, status, ended)
	if ended && res.Reason == environment.Exited {
		r.carry(&res, record)
	}
	if !held {
		r.leave(ctx, &res)
	}
	return res, nil
}

func (r *call) isDone() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// started tells who wants to know that the shell is there.
func (r *call) started() {
	if pid, err := strconv.Atoi(r.ctl.session()); err == nil && r.c.OnStart != nil {
		r.c.OnStart(pid)
	}
}

// await waits while contact is broken, since output may come once it is made again.
func (r *call) await(ctx context.Context) {
	end := time.NewTimer(awaitTime)
	defer end.Stop()
	look := time.NewTicker(quiet / 10)
	defer look.Stop()
	for r.out.broken() {
		select {
		case <-r.done:
			return
		case <-end.C:
			return
		case <-ctx.Done():
			return
		case <-look.C:
		}
	}
}

// drain reads on until the outputs end, are silent, or time is up.
func (r *call) drain() {
	end := time.NewTimer(drainTime)
	defer end.Stop()
	look := time.NewTicker(quiet / 10)
	defer look.Stop()
	began := time.Now()
	for {
		select {
		case <-r.done:
			return
		case <-end.C:
			return
		case <-look.C:
			if time.Since(r.out.last(began)) >= quiet {
				return
			}
		}
	}
}

// over hangs up, if the outputs haven't ended, and waits until nothing writes any more.
func (r *call) over() {
	if r.isDone() {
		return
	}
	r.ctl.hung = true // the exit code is the one that the shell printed
	r.out.close()
	r.hang()
	<-r.done
}

// result says how the shell ended. Codes above 128 without the record that a shell prints at its end are signals; with it only those
// are that end a shell after its last words, or a program that it was told to run.
func (r *call) result(res *environment.Result, status int, ended bool) {
	res.ExitCode, res.Reason, res.Dir = status, environment.Exited, r.ctl.directory(r.before.Dir)
	res.DirNote = r.ctl.note(r.before.Dir)
	const hup, term, xcpu, xfsz = 1, 15, 24, 25
	n := status - 128
	l := r.limits()
	switch {
	case n == xfsz && l.FileSizeMB > 0:
		res.ExitCode, res.Reason, res.Limit = 137, environment.LimitHit, fmt.Sprintf("file_size_mb: %d MB", l.FileSizeMB)
	case n == xcpu && l.CPUSeconds > 0:
		res.ExitCode, res.Reason, res.Limit = 137, environment.LimitHit, fmt.Sprintf("cpu: %d s", l.CPUSeconds)
	case n > 0 && n < 65 && (!ended || n == hup || n == term || len(r.c.Argv) > 0):
		res.Reason, res.Signal = environment.Signaled, signalName(n)
	}
}

func signalName(n int) string {
	names := map[int]string{1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 6: "SIGABRT", 7: "SIGBUS", 8: "SIGFPE", 9: "SIGKILL", 10: "SIGUSR1", 11: "SIGSEGV", 12: "SIGUSR2", 13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM"}
	if s, ok := names[n]; ok {
		return s
	}
	return "signal " + strconv.Itoa(n)
}

// carry takes over what the script changed.
func (r *call) carry(res *environment.Result, record []byte) {
	if len(r.c.Argv) > 0 {
		return
	}
	after, note, err := engine.Carriage{Base: r.p.base, Call: r.c.Env, Before: r.before}.ReadState(record)
	if err != nil {
		return
	}
	started := res.Dir
	if after.Dir != "" {
		res.Dir = after.Dir
	}
	if r.c.State == nil {
		return
	}
	if r.c.Dir != "" && res.Dir == started {
		after.Dir = r.before.Dir // started elsewhere for once, and stayed there
	}
	if r.c.Environ != nil {
		after.Vars = r.before.Vars
	} else {
		res.VarsNote = note
	}
	r.c.State.Merge(r.before, after)
}

// leave finds out what goes on after a normal end, and ends it where that is wanted.
func (r *call) leave(ctx context.Context, res *environment.Result) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTime)
	defer cancel()
	left, err := r.members(ctx, "")
	if err != nil {
		return // the command has ended; who is left is not worth its result
	}
	res.Left = left
	if len(left) > 0 && r.c.EndLeft {
		res.Survivors = r.end(ctx)
	}
}

// cut ends a command whose context has ended.
func (r *call) cut(ctx context.Context, res *environment.Result) {
	res.ExitCode, res.Reason, res.Dir = 130, environment.Interrupted, r.before.Dir
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		res.ExitCode, res.Reason = 124, environment.TimedOut
	}
	if r.hang == nil {
		return // it was never begun
	}
	start := time.NewTimer(startTime)
	defer start.Stop()
	select {
	case <-r.ctl.begun:
	case <-r.done:
	case <-start.C:
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTime+r.grace())
	defer cancel()
	res.Survivors = r.end(end)
}

func (r *call) grace() time.Duration {
	if r.c.Grace > 0 {
		return r.c.Grace
	}
	return r.p.o.Grace
}

// end ends all members: TERM, a while, KILL until none is seen. It gives those that are still there.
func (r *call) end(ctx context.Context) []environment.ProcessRef {
	if left, err := r.members(ctx, "TERM"); err == nil && len(left) == 0 {
		return nil
	}
	const look = 100 * time.Millisecond
	for over := time.Now().Add(r.grace()); time.Now().Before(over) && ctx.Err() == nil; {
		pause(ctx, min(look, time.Until(over)))
		if left, err := r.members(ctx, ""); err == nil && len(left) == 0 {
			return nil
		}
	}
	for over, round := time.Now().Add(killTime), 0; ctx.Err() == nil && (round < killRounds || time.Now().Before(over)); round++ {
		if left, err := r.members(ctx, "KILL"); err == nil && len(left) == 0 {
			return nil
		}
		pause(ctx, look/5)
	}
	left, err := r.members(ctx, "")
	if err != nil {
		return []environment.ProcessRef{{Command: "what is left can't be found out: " + err.Error()}}
	}
	return left
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// tap hands an output on until it is closed, and knows when something came last.
type tap struct {
	mu     sync.Mutex
	w      io.Writer
	at     time.Time
	closed bool
	breaks int // that aren't mended
}

func newTap(w io.Writer) *tap { return &tap{w: w} }

func (t *tap) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.at = time.Now()
	if t.w != nil && !t.closed {
		_, _ = t.w.Write(b) // a reader who went away must not hold the command up
	}
	return len(b), nil
}

// Broken says that contact is broken until back is called.
func (t *tap) Broken() (back func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.breaks++
	return sync.OnceFunc(func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.breaks--
	})
}

func (t *tap) broken() bool { t.mu.Lock(); defer t.mu.Unlock(); return t.breaks > 0 }

func (t *tap) last(least time.Time) time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.at.After(least) {
		return t.at
	}
	return least
}

func (t *tap) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
}
