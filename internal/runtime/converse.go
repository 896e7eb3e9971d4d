package runtime

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/user"
	"slices"
	"strings"
	"time"

	goruntime "runtime"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/agent"
	"github.com/hermes-runtime/hermes/internal/delegation"
	"github.com/hermes-runtime/hermes/internal/dispatch"
	"github.com/hermes-runtime/hermes/internal/memory"
	"github.com/hermes-runtime/hermes/internal/model"
	"github.com/hermes-runtime/hermes/internal/registry"
	"github.com/hermes-runtime/hermes/internal/store"
	"github.com/hermes-runtime/hermes/provider"
	"github.com/hermes-runtime/hermes/tool"
)

// ConversationOptions makes a Conversation.
type ConversationOptions struct {
	Session  SessionOptions
	Model    string         // [PROVIDER/]MODEL; "" = the stored session's, else the configured one
	Use      provider.Model // in place of Model
	Source   string         // what the conversation is had through: cli, api, …
	Resume   string         // a stored session by id, prefix, title, or "last"; "" = a new one
	Shared   bool           // also one that is in use elsewhere
	Dir      string         // "" = the stored session's, else the runtime's
	MaxTurns int            // requests of a turn; 0 = as configured
	Listen   func(agent.Event)

	parent *Conversation
	birth  agent.Birth
}

// Conversation is a session of the runtime in which a model calls the tools.
type Conversation struct {
	*agent.Conversation
	*Stored
	session  *Session
	children *agent.Children
	options  ConversationOptions
	tree     *agent.Tree
	root     string
	release  func()
	model    provider.Model
	rt       *Runtime
}

// The sources of sessions that nobody talks in.
const (
	childSource = "subagent" // a child agent worked in it
	planSource  = "tool"     // it holds a plan alone
)

// Stored is what is kept of a conversation, as it was when it was opened.
type Stored struct {
	Session store.Session
	Notices []string // what the person at it should know: a directory that is gone
}

// Converse opens a conversation. Nothing is asked of the model yet. A stored one that another process has open is store.ErrInUse.
func (r *Runtime) Converse(ctx context.Context, o ConversationOptions) (*Conversation, error) {
	st := r.store
	c := &Conversation{rt: r, options: o, Stored: &Stored{}, release: func() {}}
	if o.Resume != "" {
		s, err := st.Find(ctx, o.Resume)
		if err != nil {
			return nil, fmt.Errorf("resume a conversation: %w", err)
		}
		if s.Source == childSource || s.Source == planSource {
			return nil, fmt.Errorf("resume %s: it was no conversation with a user; `hermes sessions show %s` shows it", s.ID, s.ID)
		}
		if err = c.claim(ctx, s.ID); err != nil {
			return nil, fmt.Errorf("resume %s: %w", s.ID, err)
		}
		c.Session = s
	}
	if err := c.open(ctx, st); err != nil {
		if c.session != nil {
			err = errors.Join(err, c.session.Close(ctx))
		}
		c.release()
		return nil, err
	}
	if o.Resume == "" && o.parent == nil {
		if err := c.claim(ctx, c.Session.ID); err != nil {
			return nil, errors.Join(err, c.Close(ctx))
		}
	}
	return c, nil
}

// claim says that a session is in use here.
func (c *Conversation) claim(ctx context.Context, id string) error {
	release, err := c.rt.store.Claim(ctx, id)
	if errors.Is(err, store.ErrInUse) && c.options.Shared {
		return nil
	}
	if err == nil {
		c.release = release
	}
	return err
}

func (c *Conversation) open(ctx context.Context, st store.Store) error {
	r, o := c.rt, &c.options
	m := o.Use
	if m == nil {
		var err error
		if m, err = c.choose(); err != nil {
			return err
		}
	}
	c.model = m
	c.settle(m)
	o.Session.ID, o.Session.Agent, o.Session.Model, o.Session.Caller = c.Session.ID, true, true, tool.CallerModel
	o.Session.Task = c.Session.ID
	if c.root = c.Session.ID; o.parent != nil {
		c.root = o.parent.root
	}
	c.delegates(st)
	o.Session.Services = append(slices.Clone(o.Session.Services), c.children)
	o.Session.Progress = c.progress
	c.session = r.Session(o.Session)
	if o.Dir != "" || o.Resume != "" {
		if err := c.session.Override(map[string]string{"cwd": c.Session.Dir}); err != nil {
			return err
		}
	}
	project := c.project()
	limits := r.settings.agent.limits()
	limits.MaxTurns = cmp.Or(o.MaxTurns, limits.MaxTurns)
	c.tree = &agent.Tree{}
	if o.parent != nil {
		c.tree, limits.MaxTurns = o.parent.tree, r.delegation().MaxIterations
	}
	compact := r.settings.compression.config()
	compact.ReadOnly = func(name string) bool {
		e, ok := r.registry.Lookup(name)
		return ok && e.Spec.Effects == tool.ReadOnly
	}
	if name := r.settings.compression.Model; name != "" {
		var err error
		if compact.Model, err = r.Model(name); err != nil {
			return fmt.Errorf("compression.model: %w", err)
		}
	}
	ao := agent.Options{
		Model: m, Tools: c.session, Store: st, Session: c.Session, Resume: o.Resume != "", System: c.prompt(ctx, project).String(),
		Limits: limits, Guard: r.settings.guardrails.config(), Compact: compact, Tree: c.tree, Listen: o.Listen, News: c.news, Log: r.log,
	}
	if project != nil {
		ao.Touch = project.Touch
	}
	var err error
	c.Conversation, err = agent.New(ctx, ao)
	return err
}

// choose finds the model: the one named, else the one that the conversation was had with, which may be the configured one.
func (c *Conversation) choose() (provider.Model, error) {
	stored := c.Session.Model
	if c.options.Model != "" || stored == "" {
		return c.rt.Model(c.options.Model)
	}
	if m, err := c.rt.Model(""); err == nil && nameOf(m) == stored {
		return m, nil
	}
	m, err := c.rt.Model(stored)
	if err != nil {
		return nil, fmt.Errorf("this conversation was had with %s; name another model with -m: %w", stored, err)
	}
	return m, nil
}

func nameOf(m provider.Model) string { return m.Info().Provider + "/" + m.Info().Model }

// settle fills in what is stored of a new conversation, and what flags change of a resumed one.
func (c *Conversation) settle(m provider.Model) {
	o, s := &c.options, &c.Session
	if o.Resume == "" {
		*s = store.Session{ID: cmp.Or(o.Session.ID, newSessionID()), Source: cmp.Or(o.Source, "api"), Enabled: o.Session.Enabled, Disabled: o.Session.Disabled}
		if o.parent != nil {
			s.Parent = o.parent.Session.ID
		}
	}
	s.Model = nameOf(m)
	if o.Session.Enabled == nil {
		o.Session.Enabled = s.Enabled
	}
	if o.Session.Disabled == nil {
		o.Session.Disabled = s.Disabled
	}
	here := c.rt.options.Dir
	if here == "" {
		here, _ = os.Getwd()
	}
	if s.Dir = cmp.Or(o.Dir, s.Dir, here); s.Dir != here {
		if info, err := os.Stat(s.Dir); err != nil || !info.IsDir() {
			c.Notices = append(c.Notices, fmt.Sprintf("the directory of this conversation, %s, is gone: it goes on in %s", s.Dir, here))
			s.Dir = here
		}
	}
}

// progress hands reports of running calls on.
func (c *Conversation) progress(p dispatch.Progress) {
	c.Send(agent.Event{Type: agent.EventProgress, Call: p.Call, Tool: p.Tool, Done: p.Done, Total: p.Total, Text: p.Message})
}

// project are the files by which the project around the session's directory speaks to agents; nil where commands run elsewhere.
func (c *Conversation) project() *agent.Project {
	if _, namespace := c.rt.configured(c.rt.places.Backend(c.Session.ID)); namespace != environment.NamespaceHost {
		return nil
	}
	return agent.NewProject(c.Session.Dir)
}

// prompt is what every request of the conversation begins with.
func (c *Conversation) prompt(ctx context.Context, project *agent.Project) agent.Prompt {
	r := c.rt
	p := agent.Prompt{Identity: cmp.Or(r.settings.agent.SystemPrompt, agent.Identity)}
	if c.options.parent != nil {
		p.Identity += "\n" + childOrders
	}
	p.Facts = []string{
		"Working directory: " + c.Session.Dir, "System: " + goruntime.GOOS + "/" + goruntime.GOARCH + ", commands run in: " + r.places.Backend(c.Session.ID),
		"Date: " + time.Now().Format("Monday, 2 January 2006"),
	}
	if u, err := user.Current(); err == nil {
		p.Facts = append(p.Facts, "User: "+u.Username)
	}
	if project != nil {
		p.Project = project.Begin()
	}
	if c.options.parent == nil {
		if files, ok := tool.Lookup[*memory.Files](r.services); ok {
			var err error
			if p.Notes, err = files.Snapshot(); err != nil {
				c.Notices = append(c.Notices, err.Error())
			}
		}
	}
	if skills := c.skills(); skills != nil {
		p.Skills = skills.Index(ctx)
	}
	return p
}

// childOrders is what a child is told of its place.
const childOrders = "You work for another agent, which has handed you one task. Nobody can answer questions: decide by yourself and say what you assumed. Your last message is all that is handed back: put into it what was found or done, with paths and numbers."

// delegates prepares for children.
func (c *Conversation) delegates(st store.Store) {
	c.children = &agent.Children{
		Config: *c.rt.delegation(), Depth: c.options.birth.Depth, Begin: c.begin,
		Spent: func() error { return c.SpentTokens() },
		Done: func(ctx context.Context, id string, r delegation.Report) {
			data, err := json.Marshal(map[string]any{"delegation_id": id, "report": r})
			if err == nil {
				err = st.Post(ctx, c.Session.ID, "async_delegation", data)
			}
			if err != nil {
				c.rt.log.Error("the report of a child can't be kept", "session", c.Session.ID, "delegation", id, "error", err)
			}
		},
	}
}

func (r *Runtime) delegation() *delegation.Config {
	d, _ := tool.Lookup[*delegation.Config](r.services)
	return d
}

// begin makes a child: a session of its own in its parent's place, with those of the parent's tools that a child may have.
func (c *Conversation) begin(ctx context.Context, b agent.Birth) (agent.Child, error) {
	kind := registry.Working
	if b.Deeper {
		kind = registry.Orchestrating
	}
	names := registry.Child(c.session.Scope().Names(), kind)
	if len(b.Task.Toolsets) > 0 {
		var wanted []string
		for _, set := range b.Task.Toolsets {
			tools := c.rt.registry.Resolve(set)
			if len(tools) == 0 {
				return nil, fmt.Errorf("there is no toolset %q; you have %s", set, strings.Join(c.rt.registry.ToolsetNames(), ", "))
			}
			wanted = append(wanted, tools...)
		}
		names = slices.DeleteFunc(names, func(n string) bool { return !slices.Contains(wanted, n) })
	}
	o := c.options
	id := newSessionID()
	c.rt.places.Child(c.Session.ID, id)
	return c.rt.Converse(ctx, ConversationOptions{
		Session: SessionOptions{
			ID: id, Platform: o.Session.Platform, Enabled: append([]string{}, names...), Asker: o.Session.Asker, Setting: o.Session.Setting,
			Surface: o.Session.Surface, Root: c.root,
		},
		Model: c.childModel(), Use: c.childUse(), Source: childSource, Listen: b.Listen, parent: c, birth: b,
	})
}

// childModel is the model of children; "" = the parent's.
func (c *Conversation) childModel() string {
	d := c.rt.delegation()
	if d.Model != "" && d.Provider != "" {
		return d.Provider + "/" + d.Model
	}
	return d.Model
}

func (c *Conversation) childUse() provider.Model {
	if c.childModel() != "" {
		return nil
	}
	return c.model
}

// news is what has ended in the background since the last turn.
func (c *Conversation) news(ctx context.Context) ([]string, func(context.Context)) {
	waiting, err := c.rt.store.Waiting(ctx, c.Session.ID)
	if err != nil {
		c.rt.log.Warn("what waits for a conversation can't be read", "session", c.Session.ID, "error", err)
	}
	var ids []int64
	var out []string
	for _, e := range waiting {
		out = append(out, fmt.Sprintf("[%s, %s]\n%s", e.Kind, e.Time.Format(time.RFC3339), e.Data))
		ids = append(ids, e.ID)
	}
	return out, func(ctx context.Context) {
		if err := c.rt.store.Delivered(ctx, c.Session.ID, ids...); err != nil {
			c.rt.log.Warn("what was told to a conversation can't be marked so", "session", c.Session.ID, "error", err)
		}
	}
}

// Turn gives the model a message of the user; a child gets what its parent wrote besides the goal with it.
func (c *Conversation) Turn(ctx context.Context, text string) agent.Outcome {
	if more := c.options.birth.Task.Context; more != "" {
		text += "\n\n" + more
	}
	return c.Conversation.Turn(ctx, text)
}

// Close ends the conversation: its turn, its children, its session. What is stored stays, and nothing is stored any more.
func (c *Conversation) Close(ctx context.Context) error {
	c.Interrupt(tool.SessionEnd)
	err := errors.Join(c.children.Close(ctx), c.session.Close(ctx), c.Conversation.Close(ctx))
	c.release()
	return err
}

// plans is the plan of one session, as its tool needs it.
type plans struct {
	store   store.Store
	session string
}

// Todos gives the plan.
func (p plans) Todos(ctx context.Context) ([]store.Todo, error) {
	todos, err := p.store.Todos(ctx, p.session)
	if errors.Is(err, store.ErrUnknown) {
		return nil, nil
	}
	return todos, err
}

// SetTodos replaces the plan. A session that nobody talks in is kept for its plan alone.
func (p plans) SetTodos(ctx context.Context, todos []store.Todo) error {
	err := p.store.SetTodos(ctx, p.session, todos)
	if !errors.Is(err, store.ErrUnknown) {
		return err
	}
	if err := p.store.Begin(ctx, store.Session{ID: p.session, Source: planSource, Started: time.Now().UTC()}); err != nil {
		return err
	}
	return p.store.SetTodos(ctx, p.session, todos)
}

// Model chooses a model: [PROVIDER/]MODEL, "" = the configured one.
func (r *Runtime) Model(name string) (provider.Model, error) {
	s, _ := tool.Lookup[*model.Settings](r.services)
	m, err := model.Choose(name, model.Options{Settings: *s, Getenv: r.Getenv, Redact: r.redactor.All, Warn: r.problem, Log: r.log})
	if err != nil {
		return nil, err
	}
	return m, nil
}
