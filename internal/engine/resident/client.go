package resident

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"sync"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine/resident/wire"
)

// endTime is how long the far side may take, beyond the grace of a command, to end it. It has its own bounds; this is for one that
// doesn't keep them.
const endTime = 5 * time.Second

// lateTime is how long after its timeout, and the grace, a command may go on before this end has it ended too: the far side may stand still.
const lateTime = 2 * time.Second

// Options is what a client brings.
type Options struct {
	Build    string
	Text     bool // the transport carries lines of text
	Settings Settings
}

// Place is an environment whose engine stands elsewhere. What it knows of itself comes with the hello; backend, id and traits are the
// backend's to say.
type Place struct {
	conn  *wire.Conn
	info  environment.Info
	about about
	grace time.Duration

	forwards forwards
}

var (
	_ environment.Environment = (*Place)(nil)
	_ environment.Environer   = (*Place)(nil)
	_ environment.Searcher    = (*Place)(nil)
)

// Connect greets the engine at the other end of rw, which it closes when that fails or the place is closed. base is what the backend
// knows of the place; home, temp, shell and what is lacking are filled in.
func Connect(ctx context.Context, rw io.ReadWriteCloser, base environment.Info, o Options) (*Place, error) {
	body, err := json.Marshal(o.Settings)
	if err != nil {
		return nil, fmt.Errorf("encode the settings: %w", err)
	}
	p := &Place{info: base, grace: o.Settings.Grace}
	p.conn, err = wire.New(ctx, rw, wire.Options{Hello: wire.Hello{Build: o.Build, Body: body}, Client: true, Text: o.Text, Accept: p.forwards.arrived})
	if err != nil {
		return nil, &environment.Error{Kind: environment.ErrUnavailable, Op: "greet the engine there", Err: err}
	}
	if err := json.Unmarshal(p.conn.Peer().Body, &p.about); err != nil {
		_ = p.conn.Close()
		return nil, &environment.Error{Kind: environment.ErrUnavailable, Op: "read what the engine there says of itself", Err: err}
	}
	a := p.about
	p.info.Home, p.info.Temp, p.info.Shell, p.info.MemoryMB = a.Home, a.Temp, a.Shell, a.Memory
	if h := o.Settings.Home; h != "" {
		p.info.Home = environment.Path(h)
	}
	if t := o.Settings.Temp; t != "" {
		p.info.Temp = environment.Path(t)
	}
	p.info.Lacking = map[string]string{"descriptors": "descriptors can't be handed to a process elsewhere"}
	maps.Copy(p.info.Lacking, base.Lacking)
	maps.Copy(p.info.Lacking, a.Lacking)
	p.info.Notes = append(p.info.Notes, a.Notes...)
	return p, nil
}

// Info describes the place.
func (p *Place) Info() environment.Info { return p.info }

// Done is closed when contact is over.
func (p *Place) Done() <-chan struct{} { return p.conn.Done() }

// Close takes leave of the engine there, which ends what runs.
func (p *Place) Close(context.Context) error { return p.conn.Close() }

// Files is the file system there.
func (p *Place) Files() environment.FS { return &remoteFS{place: p} }

// open opens a stream for an operation. An error means that nothing has begun.
func (p *Place) open(op string) (*wire.Stream, error) {
	st, err := p.conn.Open([]byte(op))
	if err == nil {
		return st, nil
	}
	return nil, p.failed(op, environment.ErrUnavailable, err)
}

// failed is the error of a connection that is over. Closed by us it is unavailable; else as the caller says.
func (p *Place) failed(op string, kind, err error) error {
	if errors.Is(err, wire.ErrClosed) || errors.Is(p.conn.Err(), wire.ErrClosed) {
		return &environment.Error{Kind: environment.ErrUnavailable, Op: op, Err: errors.New("the environment was closed")}
	}
	return &environment.Error{Kind: kind, Op: op, Err: err}
}

// Environ tells the variables that a command with this state would see.
func (p *Place) Environ(ctx context.Context, s *environment.State) (map[string]string, error) {
	st, err := p.open(opEnviron)
	if err != nil {
		return nil, err
	}
	defer leave(ctx, st)()
	t := newTalk(st)
	snap := snapshotOf(s)
	if snap == nil {
		snap = &snapshot{}
	}
	if err := t.say(snap); err != nil {
		return nil, p.failed("ask for the variables", environment.ErrLost, err)
	}
	var vars map[string]string
	if err := t.hear(&vars); err != nil {
		return nil, p.failed("ask for the variables", environment.ErrLost, cause(ctx, err))
	}
	return vars, nil
}

// leave ends a stream with its operation: at once when ctx ends.
func leave(ctx context.Context, st *wire.Stream) func() {
	stop := context.AfterFunc(ctx, func() { st.Reset(context.Cause(ctx).Error()) })
	return func() {
		if stop() {
			_ = st.Finish()
		}
	}
}

// cause prefers the reason of a context that has ended to what came of it.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// Search searches a tree there.
func (p *Place) Search(ctx context.Context, q environment.Query) (environment.Matches, error) {
	var none environment.Matches
	st, err := p.open(opSearch)
	if err != nil {
		return none, err
	}
	defer leave(ctx, st)()
	t := newTalk(st)
	if err := t.say(struct {
		Query   environment.Query
		Guarded bool
	}{q, q.Skip != nil}); err != nil {
		return none, p.failed("search", environment.ErrLost, err)
	}
	for {
		var a searchAnswer
		if err := t.hear(&a); err != nil {
			return none, p.failed("search", environment.ErrLost, cause(ctx, err))
		}
		switch {
		case a.Judge != nil:
			var v verdict
			if q.Skip != nil && q.Skip(a.Judge.Path) {
				v.Refused = "guarded"
			}
			if err := t.say(v); err != nil {
				return none, p.failed("search", environment.ErrLost, cause(ctx, err))
			}
		case a.Error != nil:
			return none, a.Error.err()
		case a.Matches != nil:
			return *a.Matches, nil
		}
	}
}

// Run runs one command there.
func (p *Place) Run(ctx context.Context, c environment.Command) (environment.Result, error) {
	if len(c.Extra) > 0 {
		return environment.Result{}, &environment.Error{Kind: environment.ErrUnsupported, Op: "hand over a descriptor", Err: errors.New(p.info.Lacking["descriptors"])}
	}
	st, err := p.open(opRun)
	if err != nil {
		return environment.Result{}, err
	}
	r := &running{p: p, c: c, st: st, t: newTalk(st), began: time.Now()}
	return r.run(ctx)
}

// running is one command as it is seen from here.
type running struct {
	p     *Place
	c     environment.Command
	st    *wire.Stream
	t     *talk
	began time.Time

	reads sync.WaitGroup // the copies of the outputs
}

func (r *running) run(ctx context.Context) (environment.Result, error) {
	before := environment.Snapshot{}
	if r.c.State != nil {
		before = r.c.State.Snapshot()
	}
	err := r.t.say(runRequest{
		Command: r.c, Stderr: r.c.Stderr != nil, Stdin: r.c.Stdin != nil, Sudo: r.c.SudoSecret != nil, State: snapshotOf(r.c.State),
	})
	if err != nil { // what has arrived is no whole request
		r.st.Reset("the request could not be sent")
		return environment.Result{}, r.p.failed("send the command", environment.ErrNotStarted, err)
	}
	r.copy(chBytes, r.c.Output)
	if r.c.Stderr != nil {
		r.copy(chErrors, r.c.Stderr)
	}
	r.feed()
	if r.c.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.c.Timeout+max(r.c.Grace, r.p.grace)+lateTime)
		defer cancel()
	}
	stop := r.endWith(ctx)
	defer stop()
	last, err := r.follow(ctx)
	if err != nil {
		r.st.Reset("given up")
		r.reads.Wait()
		if ctx.Err() != nil && r.p.conn.Err() == nil { // the far side didn't keep its bounds
			return r.unanswered(ctx), nil
		}
		return environment.Result{}, r.p.failed("follow the command", environment.ErrLost, err)
	}
	r.reads.Wait() // what it printed has reached the writers
	_ = r.st.Finish()
	if last.Error != nil {
		return *last.Result, last.Error.err()
	}
	if r.c.State != nil && last.State != nil {
		r.c.State.Merge(before, environment.Snapshot(*last.State))
	}
	last.Result.Elapsed = time.Since(r.began)
	return *last.Result, nil
}

// unanswered is the result of a command that was to be ended and of which nothing more was heard.
func (r *running) unanswered(ctx context.Context) environment.Result {
	res := environment.Result{
		ExitCode: 130, Reason: environment.Interrupted, Elapsed: time.Since(r.began),
		Survivors: []environment.ProcessRef{{Command: "what is left can't be found out: there is no answer"}},
	}
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		res.ExitCode, res.Reason = 124, environment.TimedOut
	}
	return res
}

// copy takes what comes on a channel to a writer, and drops it where there is none or it fails: a reader that went away must not
// hold the command up.
func (r *running) copy(channel uint8, to io.Writer) {
	from := r.st.Reader(channel)
	r.reads.Go(func() {
		if to != nil {
			if _, err := io.Copy(struct{ io.Writer }{to}, from); err == nil {
				return
			}
		}
		_, _ = io.Copy(io.Discard, from)
	})
}

// feed sends the input. Nobody waits for it: its reader may block for as long as it likes, as a program's standard input may.
func (r *running) feed() {
	w := r.st.Writer(chBytes)
	if r.c.Stdin == nil {
		_ = w.Close()
		return
	}
	go func() {
		_, _ = io.Copy(struct{ io.Writer }{w}, r.c.Stdin) // a program that stops reading early is no failure
		_ = w.Close()
	}()
}

// endWith has the command ended when ctx ends, and gives up waiting for that some time after.
func (r *running) endWith(ctx context.Context) (stop func()) {
	over := make(chan struct{})
	var once sync.Once
	go func() {
		select {
		case <-over:
			return
		case <-ctx.Done():
		}
		end := endInterrupted
		if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
			end = endTimedOut
		}
		_ = json.NewEncoder(r.st.Writer(chControl)).Encode(control{end})
		timer := time.NewTimer(endTime + max(r.c.Grace, r.p.grace))
		defer timer.Stop()
		select {
		case <-over:
		case <-timer.C:
			r.st.Reset("the command was not ended in time")
		}
	}()
	return func() { once.Do(func() { close(over) }) }
}

// follow reads what is told of the command up to its end.
func (r *running) follow(ctx context.Context) (runEvent, error) {
	for {
		var e runEvent
		if err := r.t.hear(&e); err != nil {
			return e, err
		}
		switch {
		case e.PID != 0:
			if r.c.OnStart != nil {
				r.c.OnStart(e.PID)
			}
		case e.Sudo:
			var a secretAnswer
			secret, err := "", errors.New("no password is known")
			if r.c.SudoSecret != nil {
				secret, err = r.c.SudoSecret(ctx)
			}
			if a.Secret = secret; err != nil {
				a = secretAnswer{Error: err.Error()}
			}
			if err := r.t.say(a); err != nil {
				return e, err
			}
		case e.Result != nil || e.Error != nil:
			if e.Result == nil {
				e.Result = &environment.Result{}
			}
			return e, nil
		}
	}
}
