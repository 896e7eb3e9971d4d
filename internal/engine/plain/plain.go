// Package plain makes an environment of nothing but the ability to run a shell command somewhere: for places where the engine itself
// can't stand.
package plain

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine"
)

// Exec runs a script with sh there, from its start to the end of its outputs, which children of it may hold open. What is in the
// script may be seen there by others. When ctx ends it hangs up, and returns without waiting for the script. It returns an error only
// if the script could not be started, which the error matches environment.ErrNotStarted for where it is known, or if contact was lost. An
// error that matches environment.ErrLost says that the script may have run although nothing of it was heard.
// stdout may be a Waiter.
type Exec func(ctx context.Context, script string, stdin io.Reader, stdout, stderr io.Writer) (exit int, err error)

// Waiter is an output that wants to know when contact is broken: until back is called, nothing that comes doesn't mean that nothing will.
type Waiter interface {
	Broken() (back func())
}

// Options says what is known of the place. The zero value works.
type Options struct {
	Info   environment.Info // backend, id, namespace, traits, notes
	Why    string           // why the engine doesn't stand there, for what is lacking
	Grace  time.Duration    // between TERM and KILL; 0 = the engine's
	Limits environment.Limits
}

// Place is an environment over an Exec. It is safe for concurrent use.
type Place struct {
	exec   Exec
	o      Options
	info   environment.Info
	bash   bool
	python string            // carries connections to sockets; "" = it isn't there
	base   map[string]string // the place's own variables
	mark   string            // begins the marks of all its commands

	guard guard
	life  context.Context // of the guard
	end   context.CancelFunc

	mu     sync.Mutex
	closed bool
	calls  sync.WaitGroup
	stop   context.CancelCauseFunc
	ended  context.Context // ends with Close
}

var (
	_ environment.Environment = (*Place)(nil)
	_ environment.Environer   = (*Place)(nil)
	_ environment.Forwarder   = (*Place)(nil)
)

// byeTime bounds the goodbye to the guard.
const byeTime = 3 * time.Second

var errClosed = errors.New("the environment is closing")

// lookAround prints what has to be known of a place: shell, home, directory for temporary files, Python, and the exported variables.
const lookAround = `b=$(command -v bash 2>/dev/null) || b=$(command -v sh) || b=/bin/sh
h=$HOME; [ -n "$h" ] || h=$(cd ~ 2>/dev/null && pwd) || h=/
t=; for d in "$TMPDIR" /tmp /var/tmp /dev/shm "$h"; do if [ -z "$t" ] && [ -n "$d" ] && [ -d "$d" ] && [ -w "$d" ]; then t=$d; fi; done
printf 'hermes:%s\0%s\0%s\0%s\0' "$b" "$h" "$t" "$(command -v python3 2>/dev/null)"
exec "$b" -c 'export -p'`

// Open looks around there and makes an environment of it.
func Open(ctx context.Context, exec Exec, o Options) (*Place, error) {
	if o.Grace == 0 {
		o.Grace = engine.DefaultGrace
	}
	var out, errs bytes.Buffer
	exit, err := exec(ctx, lookAround, nil, &out, &errs)
	if err == nil && exit != 0 {
		err = fmt.Errorf("its shell ends with %d: %s", exit, strings.TrimSpace(errs.String()))
	}
	_, text, ok := strings.Cut(out.String(), "hermes:") // a chatty start-up file comes before
	parts := strings.SplitN(text, "\x00", 5)
	if err == nil && (!ok || len(parts) < 5) {
		err = errors.New("its shell says nothing that is understood")
	}
	if err != nil {
		return nil, &environment.Error{Kind: environment.ErrUnavailable, Op: "look around there", Err: err}
	}
	p := &Place{exec: exec, o: o, info: o.Info, bash: strings.HasSuffix(parts[0], "bash"), python: parts[3], mark: newMark()}
	if p.base, err = engine.Exports(parts[4]); err != nil {
		return nil, &environment.Error{Kind: environment.ErrUnavailable, Op: "read the variables there", Err: err}
	}
	p.ended, p.stop = context.WithCancelCause(context.Background())
	p.life, p.end = context.WithCancel(context.Background())
	p.info.Shell, p.info.Home, p.info.Temp = parts[0], environment.Path(parts[1]), environment.Path(parts[2])
	p.info.Lacking = p.lacking(o)
	if o.Why != "" {
		p.info.Notes = append(slices.Clone(p.info.Notes), Note(o.Why))
	}
	return p, nil
}

// Note says for people how a place works where the engine can't stand.
func Note(why string) string {
	return "commands run through a plain shell, and the tool calls of scripts go over a bridge in Python, if python3 is there: " + why
}

func (p *Place) lacking(o Options) map[string]string {
	why := "hermes itself does not run there"
	if o.Why != "" {
		why = o.Why
	}
	l := map[string]string{
		"search": why, "descriptors": "descriptors can't be handed to a process elsewhere", "sudo": why,
		"jobs": why, "pty": why,
	}
	if p.python == "" {
		l["forward"] = "no python3 is there, which carries connections where hermes itself does not run; install it there"
	}
	if !p.bash {
		l["bash"] = "scripts run in " + p.info.Shell + ", which exports no functions and keeps no state when a script sets an EXIT trap or has a syntax error"
	}
	maps.Copy(l, o.Info.Lacking)
	return l
}

// Info describes the place.
func (p *Place) Info() environment.Info { return p.info }

// Environ tells the variables that a command with this state would see.
func (p *Place) Environ(_ context.Context, s *environment.State) (map[string]string, error) {
	vars := maps.Clone(p.base)
	if s != nil {
		for n, v := range s.Snapshot().Vars {
			if v == nil {
				delete(vars, n)
			} else {
				vars[n] = *v
			}
		}
	}
	return vars, nil
}

// begin counts an operation, which Close waits for. The context that it returns ends with the place too.
func (p *Place) begin(ctx context.Context) (context.Context, func(), error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, nil, &environment.Error{Kind: environment.ErrUnavailable, Op: "use the place", Err: errors.New("the environment was closed")}
	}
	p.calls.Add(1)
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(p.ended, func() { cancel(errClosed) })
	return ctx, func() { stop(); cancel(nil); p.calls.Done() }, nil
}

// Close ends what runs.
func (p *Place) Close(ctx context.Context) error {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.stop(errClosed)
	done := make(chan struct{})
	go func() { p.calls.Wait(); close(done) }() // each call has its bounds
	defer p.end()
	select {
	case <-done:
	case <-ctx.Done():
		return fmt.Errorf("end the commands that run: %w", context.Cause(ctx)) // which is left to the guard
	}
	bye, cancel := context.WithTimeout(ctx, byeTime)
	defer cancel()
	p.guard.leave(bye)
	return nil
}

// newMark is a word that nothing else prints. Its first letter is none that printf takes for a digit.
func newMark() string {
	var b [12]byte
	_, _ = rand.Read(b[:])
	return "m" + hex.EncodeToString(b[:])
}
