package dispatch

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync/atomic"
	"time"

	"github.com/hermes-runtime/hermes/channel"
	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/registry"
	"github.com/hermes-runtime/hermes/internal/registry/schema"
	"github.com/hermes-runtime/hermes/tool"
)

// Session is what a door has to know of the conversation that a call belongs to. It does not change while calls run.
type Session struct {
	ID     string
	Task   string
	Parent string // id of the call that this session's calls are made in; "" = none
	outer  *flight
	Caller tool.Caller
	Scope  func() *registry.Scope // the tools that may be called now; nil = all
	// Dialect is the form in which the model was shown its tools; "" = their own schemas.
	Dialect schema.Dialect
	// Place makes or finds the task's environment.
	Place func(ctx context.Context) (environment.Place, error)
	// Dir is the directory that relative paths start from, "" if only the environment knows.
	Dir func() string
	// Asker reaches the session's person; nil = nobody can answer.
	Asker channel.Asker
	// Services looks up what the session, or else the runtime, holds.
	Services tool.Services
	// Facts is what approval has to know; nil = nothing is known, and everything reaches the host.
	Facts func() Facts
	// Calls knows the calls that are under way, so that they can be ended; nil = they end by their contexts alone.
	Calls *Calls
	// Agent runs agent-level tools; nil = their stubs answer.
	Agent bool
	// Spill keeps what is too long for a result.
	Spill Spills
	// Progress takes reports; nil = nobody listens. It is called at most 10 times a second for a call.
	Progress func(p Progress)
}

func (s *Session) scope(r *registry.Registry) *registry.Scope {
	if s.Scope == nil {
		return r.Scope(registry.Request{Quiet: true})
	}
	return s.Scope()
}

// Spills makes files that hold what is too long for a result.
type Spills interface {
	Spiller
	Open(ctx context.Context, call string) (tool.SpillFile, error)
}

// errNoSpill is the reason where a session has no place for spilled text.
var errNoSpill = errors.New("this session keeps no files")

// SpillText writes text where the session keeps such files.
func (s *Session) SpillText(ctx context.Context, call, text string) (string, error) {
	if s.Spill == nil {
		return "", errNoSpill
	}
	return s.Spill.SpillText(ctx, call, text)
}

// Progress is one report of a running call. Done never falls.
type Progress struct {
	Call    string
	Tool    string
	Done    float64
	Total   float64 // 0 = unknown
	Message string
}

// host is what a running call may ask for.
type host struct {
	flight *flight
	report reporter
	spills atomic.Bool // the tool keeps a file of its own
}

func (h *host) Service(t reflect.Type) any {
	if s := h.flight.session.Services; s != nil {
		return s.Service(t)
	}
	return nil
}

func (h *host) Getenv(name string) string {
	if s := h.flight.session.Services; s != nil {
		return s.Getenv(name)
	}
	return ""
}

func (h *host) Place(ctx context.Context) (environment.Place, error) {
	if h.flight.session.Place == nil {
		return environment.Place{}, &environment.Error{Kind: environment.ErrUnavailable, Op: "find the environment of this session"}
	}
	p, err := h.flight.session.Place(ctx)
	if err == nil {
		err = h.flight.reviewPlace(ctx)
	}
	return p, err
}

func (h *host) Dir() string {
	if h.flight.session.Dir == nil {
		return ""
	}
	return h.flight.session.Dir()
}

// errNobody is why a question can't be asked.
var errNobody = errors.New("nobody can answer in this session")

// Ask waits until no other question is before the person: the time for an answer begins when it is put.
func (h *host) Ask(ctx context.Context, q channel.Question) (channel.Answer, error) {
	if h.flight.session.Asker == nil {
		return channel.Answer{}, errNobody
	}
	defer h.flight.pause()()
	q.Session, q.Task, q.Call, q.Tool = h.flight.call.Session, h.flight.call.Task, h.flight.call.ID, h.flight.call.Name
	limit := time.Duration(0)
	if !q.Expires.IsZero() {
		limit = time.Until(q.Expires)
	}
	a, _, err := h.flight.door.desk.Ask(ctx, h.flight.session.Asker, func(waiting int) (channel.Question, bool) {
		q.Created, q.Waiting = time.Now(), waiting
		if limit != 0 {
			q.Expires = q.Created.Add(limit)
		}
		return q, true
	})
	return a, err
}

func (h *host) Approve(ctx context.Context, a tool.Action) (tool.Approval, error) {
	d := h.flight.judge(ctx, a)
	h.flight.recordVerdict(d)
	if d.Refused {
		return d.Approval, fmt.Errorf("not approved: %s", d.Approval.Text)
	}
	return d.Approval, nil
}

func (h *host) Progress(done, total float64, text string) {
	h.report.report(h.flight, done, total, text)
}

func (h *host) Invoke(ctx context.Context, r tool.Request) tool.Result {
	f := h.flight
	child := *f.session
	child.Parent, child.outer = f.call.ID, f
	if caller, ok := tool.Lookup[nestedCaller](h); ok {
		child.Caller = caller.NestedCaller(f.call.Name)
	} else {
		child.Caller = tool.CallerScript
	}
	r.UserTask = f.call.UserTask
	return f.door.Call(ctx, &child, r)
}

// nestedCaller says as whom a tool's own calls are made. Scripts are the usual case.
type nestedCaller interface {
	NestedCaller(tool string) tool.Caller
}

func (h *host) Spill(ctx context.Context) (tool.SpillFile, error) {
	if h.flight.session.Spill == nil {
		return nil, errNoSpill
	}
	h.spills.Store(true)
	return h.flight.session.Spill.Open(ctx, h.flight.call.ID)
}

// pause stops the clocks of the call, and of those that it is made in, while a person is waited for.
func (f *flight) pause() (resume func()) {
	var ids []string
	var resumes []func()
	for at := f; at != nil; at = at.session.outer {
		ids = append(ids, at.call.ID)
		resumes = append(resumes, at.clock.pause(), at.limits.pause())
	}
	if id := f.call.Parent; id != "" && !slices.Contains(ids, id) {
		ids = append(ids, id)
	}
	waited := f.door.waits.begin(ids...)
	return func() {
		for _, r := range resumes {
			r()
		}
		waited()
	}
}

// reportEvery merges reports of one call that come closer together.
const reportEvery = 100 * time.Millisecond
