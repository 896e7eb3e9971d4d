// Package dispatch is the one door: every call of a tool, whoever makes it, goes through Door.Call and comes back as one JSON
// string. The steps of a call are small functions, run in one fixed order.
package dispatch

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hermes-runtime/hermes/internal/approval"
	"github.com/hermes-runtime/hermes/internal/approval/ask"
	"github.com/hermes-runtime/hermes/internal/hook"
	"github.com/hermes-runtime/hermes/internal/redact"
	"github.com/hermes-runtime/hermes/internal/registry"
	"github.com/hermes-runtime/hermes/tool"
)

// Config is what the configuration says about calls. Zero values mean the defaults named.
type Config struct {
	MaxParallelCalls int            // calls of one batch that run at once; 0 = 8
	InterruptGrace   time.Duration  // for a handler after cancellation or timeout; 0 = 3 s
	AsyncIdle        time.Duration  // without progress of an async handler; 0 = 300 s
	AsyncMax         time.Duration  // for an async handler in all; 0 = 3 600 s
	TurnResultChars  int            // of the results of a batch together; 0 = 200 000
	PerTool          map[string]int // budget of a tool's result in characters
	RedactKnownOnly  bool           // security.redact: off
	AuditRequired    bool           // no audit line, no call
}

func (c Config) withDefaults() Config {
	def := func(v *time.Duration, d time.Duration) {
		if *v == 0 {
			*v = d
		}
	}
	def(&c.InterruptGrace, 3*time.Second)
	def(&c.AsyncIdle, 300*time.Second)
	def(&c.AsyncMax, 3600*time.Second)
	if c.MaxParallelCalls == 0 {
		c.MaxParallelCalls = 8
	}
	if c.TurnResultChars == 0 {
		c.TurnResultChars = 200_000
	}
	return c
}

// Approver judges acts before they are done.
type Approver interface {
	Check(ctx context.Context, r approval.Request) approval.Decision
}

// Tracer is told when a call begins and how it ended. End is called exactly once for each Begin, on any goroutine.
type Tracer interface {
	Begin(ctx context.Context, name, call, session string) (context.Context, Span)
}

// Span is one call as a Tracer sees it.
type Span interface {
	TraceID() string
	End(r *Record)
}

// Parts is what a Door is made of.
type Parts struct {
	Registry *registry.Registry
	Hooks    *hook.Set
	Approver Approver
	Redactor *redact.Redactor
	Audit    io.Writer    // takes one line per Write; nil = none
	Tracer   Tracer       // nil = none
	Memory   *tool.Memory // told of each call; nil = none
	Desk     *ask.Desk    // where questions wait for their turn; nil = one of the door's own
	Metrics  func(r *Record)
	Log      *slog.Logger
	Config   Config
}

// Door makes calls. It is safe for concurrent use.
type Door struct {
	registry *registry.Registry
	hooks    *hook.Set
	approver Approver
	redactor *redact.Redactor
	audit    io.Writer
	tracer   Tracer
	metrics  func(*Record)
	memory   *tool.Memory
	desk     *ask.Desk
	log      *slog.Logger
	config   Config

	idPrefix    string
	idCount     atomic.Uint64
	auditFailed atomic.Bool
	crew        crew
	left        stragglers
	waits       waits
}

// New makes a door.
func New(p Parts) *Door {
	var prefix [5]byte
	_, _ = rand.Read(prefix[:])
	if p.Log == nil {
		p.Log = slog.New(slog.DiscardHandler)
	}
	if p.Hooks == nil {
		p.Hooks = &hook.Set{}
	}
	return &Door{
		registry: p.Registry, hooks: p.Hooks, approver: p.Approver, redactor: p.Redactor, audit: p.Audit, tracer: p.Tracer,
		metrics: p.Metrics, memory: p.Memory, desk: cmp.Or(p.Desk, &ask.Desk{}), log: p.Log, config: p.Config.withDefaults(), idPrefix: "call_" + hex.EncodeToString(prefix[:]),
	}
}

const hexDigits = "0123456789abcdef"

func (d *Door) newID() string {
	var b [32]byte
	out := append(b[:0], d.idPrefix...)
	n := d.idCount.Add(1)
	for shift := 20; shift >= 0; shift -= 4 {
		out = append(out, hexDigits[n>>shift&15])
	}
	return string(out)
}

// Abandoned is the number of handlers that outlived their call and have not ended yet.
func (d *Door) Abandoned() int { return d.left.count() }

// Close waits for handlers that outlived their calls, until ctx ends.
func (d *Door) Close(ctx context.Context) error {
	d.crew.close()
	select {
	case <-d.left.none():
		return nil
	case <-ctx.Done():
		d.log.Warn("handlers are still running at the end", "count", d.Abandoned())
		return fmt.Errorf("wait for %d handlers that don't heed their context: %w", d.Abandoned(), context.Cause(ctx))
	}
}

// flight is one call on its way through the door.
type flight struct {
	door    *Door
	session *Session
	request tool.Request
	call    tool.Call
	entry   *registry.Entry // nil until the name is resolved
	result  tool.Result
	record  Record
	done    bool // result holds the answer
	hooked  bool // hooks were asked: they are told of the end
	circled bool // the batch's guard has refused it
	begun   time.Time
	clock   *clock
	host    host
	learned learned
	ticket  ticket
	watch   hookWatch
	touched []string // paths that the call declares, of one that is followed
	alone   func()   // waits until nothing else of the batch runs; nil outside a batch
	follows followers
	limits  asyncLimits
	judged  []judged // acts that may be done, until the call runs
	exposed sync.Once

	unplaced error // why the call may not use its place after all; set within exposed
}

// learned guards what the steps from the start of a call find out, which a call that is given up meanwhile has to tell as well:
// arguments, hooks, the decision about it.
type learned struct{ mu sync.Mutex }

// note changes what is learned.
func (f *flight) note(change func()) {
	f.learned.mu.Lock()
	defer f.learned.mu.Unlock()
	change()
}

// step is one thing that happens to a call. It may answer the call, which ends the row.
type step func(ctx context.Context, f *flight)

// The steps before a call may start, and those from its start to its handler's answer.
var (
	preparing  = []step{resolveName, readArguments}
	performing = []step{askHooks, guard, approve, reserveAudit, begin, run}
)

// Call makes one call and returns its one answer.
func (d *Door) Call(ctx context.Context, s *Session, r tool.Request) tool.Result {
	if r.ID == "" {
		r.ID = d.newID()
	}
	f := d.prepare(ctx, s, r)
	f.count()
	return d.finish(ctx, f)
}

// prepare takes a call up to the point where it could start. Nothing with an effect happens.
func (d *Door) prepare(ctx context.Context, s *Session, r tool.Request) *flight {
	f := &flight{door: d, session: s, request: r, begun: time.Now()}
	f.call = tool.Call{
		ID: r.ID, Parent: s.Parent, Session: s.ID, Task: s.Task, UserTask: r.UserTask, Caller: s.Caller,
		Name: r.Name, Raw: r.Arguments,
	}
	if s.outer != nil {
		f.call.Turn = s.outer.call.Turn
	}
	f.host.flight = f
	f.call.Host = &f.host
	f.watch.flight = f
	f.through(ctx, preparing)
	return f
}

// count gives a call that is to run its number. Calls of a batch, which run in no order, are counted in theirs.
func (f *flight) count() {
	if m := f.door.memory; m != nil && !f.done {
		f.call.Number = m.Called(f.call.Task)
	}
}

// finish runs a prepared call to its end and sees its answer through every step behind the handler.
func (d *Door) finish(ctx context.Context, f *flight) tool.Result {
	ctx, f.ticket.cancel = context.WithCancelCause(ctx)
	defer f.ticket.cancel(nil)
	f.session.Calls.enter(&f.ticket)
	defer f.session.Calls.leave(&f.ticket)
	span := f.trace(&ctx)
	f.record.Queued = time.Since(f.begun)
	if !f.done {
		f = f.perform(ctx)
	}
	f.safely(func() { f.leave(ctx) })
	f.account(span)
	f.follows.tellEnd(f)
	return f.result
}

// through takes the steps until one answers the call.
func (f *flight) through(ctx context.Context, steps []step) {
	f.safely(func() {
		for _, s := range steps {
			if f.done {
				return
			}
			s(ctx, f)
		}
	})
}

// perform takes the steps from the start of the call to its handler's answer, on a goroutine that can be left behind: whatever a
// hook or a handler does, the call is answered. It returns the flight that holds the answer.
func (f *flight) perform(ctx context.Context) *flight {
	spare := f.call // as it was before a handler could change it
	finished := f.door.crew.run(ctx, f)
	if f.await(ctx, finished) {
		return f
	}
	left := &flight{door: f.door, session: f.session, request: f.request, entry: f.entry, call: spare, follows: f.follows}
	left.host.flight = left
	f.note(func() { left.record, left.hooked, left.call.Args = f.record, f.hooked, f.call.Args })
	left.result.Duration = time.Since(f.begun)
	f.abandon(finished)
	left.cutOff(ctx)
	return left
}

// safely turns a panic of our own into an answer: the process lives, and the next call works.
func (f *flight) safely(do func()) {
	defer func() {
		if r := recover(); r != nil {
			f.door.log.Error("panic in the door", "call", f.call.ID, "tool", f.call.Name, "panic", r, "stack", string(debug.Stack()))
			f.internal(message(&panicError{value: r}))
		}
	}()
	do()
}

// trace begins the span of the call. It costs nothing where nobody traces.
func (f *flight) trace(ctx *context.Context) (span Span) {
	if f.door.tracer == nil {
		return nil
	}
	f.door.observe("trace", func() {
		begun, s := f.door.tracer.Begin(*ctx, f.call.Name, f.call.ID, f.call.Session)
		f.record.Trace = s.TraceID()
		*ctx, span = begun, s
	})
	return span
}

// observe keeps the panic of an observer away from the call.
func (d *Door) observe(what string, do func()) {
	defer func() {
		if r := recover(); r != nil {
			d.log.Warn("an observer panicked", "observer", what, "panic", r, "stack", string(debug.Stack()))
		}
	}()
	do()
}

func (d *Door) unspilled(name string) bool {
	e, ok := d.registry.Lookup(name)
	return ok && e.Spec.Unspilled
}
