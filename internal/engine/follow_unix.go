//go:build linux || darwin

package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/hermes-runtime/hermes/environment"
)

// exit is how the first process of a command ended.
type exit struct {
	code   int
	signal syscall.Signal // 0 = none
	err    error
	cpu    time.Duration // of the process and those that it has waited for
	peak   int64         // memory, in KiB
}

// await waits for the end of p and takes its status.
func await(p *os.Process) exit {
	s, err := p.Wait()
	if err != nil {
		return exit{code: -1, err: err}
	}
	u, _ := s.SysUsage().(*syscall.Rusage)
	return exitOf(s.Sys().(syscall.WaitStatus), u)
}

func exitOf(w syscall.WaitStatus, u *syscall.Rusage) exit {
	x := exit{code: w.ExitStatus()}
	if w.Signaled() {
		x.code, x.signal = 128+int(w.Signal()), w.Signal()
	}
	if u != nil {
		x.cpu = time.Duration(u.Utime.Nano() + u.Stime.Nano())
		x.peak = int64(u.Maxrss) //nolint:unconvert // its type differs between systems
	}
	return x
}

// follow sees a started command to its end.
func (r *run) follow(ctx context.Context) environment.Result {
	res := environment.Result{Dir: environment.Path(r.place.dir), DirNote: r.place.note}
	var timeout <-chan time.Time
	if r.c.Timeout > 0 {
		t := time.NewTimer(r.c.Timeout)
		defer t.Stop()
		timeout = t.C
	}
	select {
	case x := <-r.exited:
		r.ended(&res, x)
	case <-timeout:
		r.cut(&res, environment.TimedOut)
	case <-ctx.Done():
		reason, _ := reasonOf(ctx)
		r.cut(&res, reason)
	case <-r.e.ended.Done():
		r.cut(&res, environment.Interrupted)
	}
	r.e.guard.Remove(r.group.ID())
	res.Elapsed = time.Since(r.began)
	return res
}

// reasonOf tells why a command is cut whose context has ended, and with which code.
func reasonOf(ctx context.Context) (environment.Reason, int) {
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return environment.TimedOut, 124
	}
	return environment.Interrupted, 130
}

// unstarted is the result of a command whose context had ended before it could start.
func (r *run) unstarted(ctx context.Context) environment.Result {
	res := environment.Result{Dir: environment.Path(r.place.dir), DirNote: r.place.note}
	res.Reason, res.ExitCode = reasonOf(ctx)
	return res
}

// ended completes the result of a command that ended by itself.
func (r *run) ended(res *environment.Result, x exit) {
	res.ExitCode, res.Reason = x.code, environment.Exited
	if x.signal != 0 {
		res.Reason, res.Signal = environment.Signaled, unix.SignalName(x.signal)
	}
	if r.c.EndLeft {
		res.Left = r.lasting(time.Second)
		res.Survivors = r.group.End(r.grace())
	}
	r.drain()
	r.struck(res)
	if !r.c.EndLeft {
		if res.Left = r.lasting(200 * time.Millisecond); len(res.Left) > 0 {
			r.e.record.left(r.group.ID())
			remains, _ := json.Marshal(r.group.Remains()) //nolint:errchkjson // plain values
			res.LeftGroup = string(remains)
		}
	}
	if r.carry && x.signal == 0 {
		r.carryOver(res)
	}
}

// lasting lists what goes on after the end, or would if it weren't ended. Members that have closed the output and are about to exit, as
// those of >(…) are, get a moment for it, and who is at work gets up to longest: the helpers of a pool notice the end of their program
// by a pipe that closes, and then still have an interpreter to take down, on a machine that may be busy. One that sleeps waits for
// something else.
func (r *run) lasting(longest time.Duration) []environment.ProcessRef {
	const looks, apart = 4, 5 * time.Millisecond
	since, asleep := time.Now(), 0
	for {
		refs, busy := r.group.Look()
		if asleep++; busy {
			asleep = 0
		}
		if len(refs) == 0 || asleep == looks || time.Since(since) > longest {
			return refs
		}
		time.Sleep(apart)
	}
}

// cut ends a command from outside. What it carried before stays.
func (r *run) cut(res *environment.Result, reason environment.Reason) {
	res.Reason, res.ExitCode = reason, 124
	grace := r.grace()
	if reason == environment.Interrupted {
		res.ExitCode, grace = 130, min(grace, interruptGrace)
	}
	res.Survivors = r.group.End(grace)
	if len(res.Survivors) == 0 {
		select {
		case <-r.exited: // collected, so that nothing of the call is left
		case <-time.After(drainTotal):
		}
	}
	r.drain()
}

func (r *run) grace() time.Duration {
	if r.c.Grace > 0 {
		return r.c.Grace
	}
	return r.e.o.Grace
}

// drain reads what the command wrote, for a bounded time: whoever it left running may hold the pipes for ever.
func (r *run) drain() {
	since := time.Now()
	for _, p := range []*pump{r.out, r.err} {
		for !over(p, since) {
		}
		p.stop()
		p.rest() // what came before the end is read, however busy the machine is
	}
}

// over waits a moment for the end of p and reports whether it is time to stop: after silence that is counted from the command's
// end, since what it wrote just before may not have been read yet.
func over(p *pump, since time.Time) bool {
	now := time.Now()
	wait := min(drainSilence-min(p.silent(now), now.Sub(since)), drainTotal-now.Sub(since))
	if wait <= 0 {
		return true
	}
	t := time.NewTimer(wait)
	defer t.Stop()
	select {
	case <-p.ended():
		return true
	case <-t.C:
		return false
	}
}

// carryOver takes over the state that the shell printed. A shell that printed none (after exec) leaves the former one.
func (r *run) carryOver(res *environment.Result) {
	r.state.stop()
	r.state.rest()
	c := r.state.collected()
	if c.over {
		res.VarsNote = fmt.Sprintf("directory and variables are not carried to the next command: together they have more than %d MiB", c.most>>20)
		return
	}
	d, err := parseDump(c.Bytes())
	if err != nil {
		if c.Len() > 0 {
			r.e.o.Log.Warn("the state of a command is not carried", "error", errDump)
		}
		return
	}
	if d.dir != "" {
		res.Dir = environment.Path(d.dir)
	}
	before := environment.Snapshot{Dir: r.before.Dir, Vars: r.before.Vars}
	after := environment.Snapshot{Dir: res.Dir, Vars: r.before.Vars}
	if r.varied {
		var tooLong []string
		after, tooLong = carrier{base: r.base, call: r.c.Env, before: r.before}.after(d)
		res.VarsNote = notCarried(tooLong)
		after.Dir = res.Dir
	}
	if environment.Path(r.place.dir) == res.Dir && r.c.Dir != "" {
		after.Dir = before.Dir // started elsewhere for once, and stayed there: the carried directory is untouched
	}
	r.c.State.Merge(before, after)
}
