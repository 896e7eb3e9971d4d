package runtime

import (
	"context"
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"sync/atomic"

	"github.com/hermes-runtime/hermes/channel"
	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/agent"
	"github.com/hermes-runtime/hermes/internal/approval"
	"github.com/hermes-runtime/hermes/internal/dispatch"
	"github.com/hermes-runtime/hermes/internal/envs"
	"github.com/hermes-runtime/hermes/internal/event"
	"github.com/hermes-runtime/hermes/internal/process"
	"github.com/hermes-runtime/hermes/internal/registry"
	"github.com/hermes-runtime/hermes/internal/registry/schema"
	"github.com/hermes-runtime/hermes/internal/skill"
	"github.com/hermes-runtime/hermes/tool"
)

// SessionOptions makes a Session. The zero value is a session of the embedder with every tool, in which nobody can answer.
type SessionOptions struct {
	ID       string // "" = made up
	Task     string // "" = the session's id
	Platform string // decides the tools where Enabled is nil; "" = every tool
	Caller   tool.Caller
	Enabled  []string         // toolsets or tools; nil = by the platform, empty = none
	Disabled []string         // taken out again
	Asker    channel.Asker    // nil = the runtime's
	Yolo     bool             // nothing is asked but what must be
	Setting  approval.Setting // what becomes of questions; "" = someone may be there to answer
	Surface  string           // where the session's person sits, for hooks and the audit
	Root     string           // the session that began this one's ancestors; "" = it is no child
	Child    string           // what the child agent works at whose session it is, in the words of its parents
	YesTo    []string         // keys approved in advance
	Services []any            // services for the tools of this session, before those that every session has
	Agent    bool             // the tools that need an agent's stores run, and not their stubs
	Model    bool             // a model's conversation: what needs one is on offer
	User     bool             // there is no conversation: what goes on in the background belongs to the user, who sees all of it
	Progress func(dispatch.Progress)
	Tell     func(agent.Event) // told of what is asked; nil = nobody is
}

// Session is one conversation: its tools, its place, its approvals.
type Session struct {
	runtime *Runtime
	request registry.Request
	inner   dispatch.Session
	calls   dispatch.Calls
	skills  *skill.Session
	reports *event.Bus[dispatch.Progress] // nil = nobody listens
	tell    func(agent.Event)             // the same

	scope atomic.Pointer[registry.Scope]
}

// reportsKept is how many reports of progress wait for a slow listener.
const reportsKept = 64

// Session begins a conversation. Nothing is opened before its first call.
func (r *Runtime) Session(o SessionOptions) *Session {
	s := &Session{runtime: r, tell: o.Tell}
	if o.ID == "" {
		o.ID = newSessionID()
	}
	if o.Task == "" {
		o.Task = o.ID
	}
	if o.Caller == "" {
		o.Caller = tool.CallerAPI
	}
	if o.Asker == nil {
		o.Asker = r.options.Asker
	}
	s.request = registry.Request{Enabled: o.Enabled, Disabled: o.Disabled, Platform: o.Platform, Quiet: true}
	if o.Asker != nil {
		s.request.Has = append(s.request.Has, tool.NeedAsker)
	}
	if o.Model {
		s.request.Has = append(s.request.Has, tool.NeedModel)
	}
	place := func(ctx context.Context) (environment.Place, error) { return r.places.Place(ctx, o.Task) }
	workspace := r.workspace(o.Task)
	skills := r.skills.Session(o.ID, r.project(o.Task, workspace), r.locate(o.Task, place))
	s.skills = skills
	s.inner = dispatch.Session{
		ID: o.ID, Task: o.Task, Caller: o.Caller, Agent: o.Agent, Scope: s.Scope, Place: place, Asker: o.Asker, Calls: &s.calls,
		Dir:      func() string { return r.places.Dir(o.Task) },
		Services: &services{outer: r.services, held: append(slices.Clone(o.Services), offer{s}, availability{r, o.Task}, plans{r.store, o.ID}, process.Caller{Session: o.ID, Root: o.Root, User: o.User}, skills, grants{r.place.Passthrough, skills})},
		Spill:    &spills{place: place, host: filepath.Join(r.home, "cache", "results"), sweep: r.sweep},
		Facts:    func() dispatch.Facts { return r.facts(o, workspace) },
	}
	if o.Progress != nil {
		s.reports = &event.Bus[dispatch.Progress]{}
		s.reports.Subscribe(reportsKept, o.Progress)
		s.inner.Progress = s.reports.Publish
	}
	r.permit(o)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		_ = s.calls.Close(context.Background(), tool.Shutdown)
	} else {
		r.sessions[s] = true
	}
	return s
}

// Scope is what the session may call now.
func (s *Session) Scope() *registry.Scope {
	sc := s.scope.Load()
	if sc == nil || sc.Generation() != s.runtime.registry.Generation() {
		sc = s.runtime.registry.Scope(s.request)
		s.scope.Store(sc)
	}
	return sc
}

// ID is the session's id.
func (s *Session) ID() string { return s.inner.ID }

// Definitions is what a model is offered in this session.
func (s *Session) Definitions(ctx context.Context, d schema.Dialect) (registry.Definitions, error) {
	req := s.request
	req.Dialect = d
	return s.runtime.registry.Definitions(ctx, req)
}

// Report is Definitions with an account of how they came about.
func (s *Session) Report(ctx context.Context, d schema.Dialect) (registry.Definitions, error) {
	req := s.request
	req.Dialect, req.Quiet = d, false
	return s.runtime.registry.Definitions(ctx, req)
}

// Call makes one call.
func (s *Session) Call(ctx context.Context, r tool.Request) tool.Result {
	return s.runtime.door.Call(ctx, &s.inner, r)
}

// CallBatch makes the calls of one model turn.
func (s *Session) CallBatch(ctx context.Context, b tool.Batch) []tool.Result {
	return s.runtime.door.CallBatch(ctx, &s.inner, b)
}

// Meant is the name of the tool that a call by this name runs; the name itself where it runs none.
func (s *Session) Meant(name string) string {
	scope := s.Scope()
	if scope.Has(name) {
		return name
	}
	if r := s.runtime.registry.Repair(name, scope); r.Entry != nil {
		return r.Name
	}
	return name
}

// Service finds a service that the session's tools see.
func (s *Session) Service(t reflect.Type) any { return s.inner.Services.Service(t) }

// Place is where the session works; the environment is made if there is none, and held until ctx ends.
func (s *Session) Place(ctx context.Context) (environment.Place, error) { return s.inner.Place(ctx) }

// Interrupt ends the calls that are under way.
func (s *Session) Interrupt(cause tool.Interruption) { s.calls.Interrupt(cause) }

// ResetEnvironment throws away where this session's commands run, with what goes on there; the next command makes it anew, in the
// directory and with the variables that the session has.
func (s *Session) ResetEnvironment(ctx context.Context) error {
	return s.runtime.places.Reset(ctx, s.runtime.places.Key(s.inner.Task))
}

// Override changes where this session's commands run and files lie, by configuration key: cwd is where it starts; env_type,
// docker_image, modal_image, singularity_image and daytona_image give it an environment of its own. It replaces what was said before;
// nil takes it back, and the session shares the default environment again. What runs in a place that it leaves this way is ended.
func (s *Session) Override(o map[string]string) error {
	return s.runtime.places.Override(s.inner.Task, envs.Override(o))
}

// Close ends the session: its calls, its approvals, what its tasks carry.
func (s *Session) Close(ctx context.Context) error { return s.end(ctx, tool.SessionEnd) }

// closeReports lets the listener see what waits, as long as ctx allows.
func (s *Session) closeReports(ctx context.Context) {
	if s.reports == nil {
		return
	}
	done := make(chan struct{})
	go func() { s.reports.Close(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done(): // a listener that hangs is its owner's
	}
}

func (s *Session) end(ctx context.Context, cause tool.Interruption) error {
	r := s.runtime
	err := s.calls.Close(ctx, cause)
	s.closeReports(ctx)
	r.mu.Lock()
	delete(r.sessions, s)
	r.mu.Unlock()
	if cause == tool.SessionEnd { // the end of this process ends no job
		err = errors.Join(err, r.endJobs(ctx, s.inner.ID))
	}
	r.gate.EndSession(s.inner.ID)
	r.sudo.End(s.inner.ID)
	r.places.Forget(s.inner.Task)
	r.memory.End(s.inner.Task)
	return err
}
