package runtime

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/hermes-runtime/hermes/internal/agent"
	"github.com/hermes-runtime/hermes/internal/dispatch"
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
	Stored  store.Session // what is kept of it, as it was when it was opened
	Notices []string      // what the person at it should know: a directory that is gone

	session  *Session
	children *agent.Children
	options  ConversationOptions
	tree     *agent.Tree
	root     string
	release  func()
	model    provider.Model
	rt       *Runtime
	over     sync.Once
}

// The sources of sessions that nobody talks in.
const (
	childSource = "subagent" // a child agent worked in it
	planSource  = "tool"     // it holds a plan alone
)

// Converse opens a conversation. Nothing is asked of the model yet. A stored one that another process has open is store.ErrInUse.
func (r *Runtime) Converse(ctx context.Context, o ConversationOptions) (*Conversation, error) {
	st := r.store
	c := &Conversation{rt: r, options: o, release: func() {}}
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
		c.Stored = s
	}
	if err := c.open(ctx, st); err != nil {
		if c.session != nil {
			err = errors.Join(err, c.session.Close(ctx))
		}
		c.release()
		return nil, err
	}
	if o.Resume == "" && o.parent == nil {
		if err := c.claim(ctx, c.Stored.ID); err != nil {
			return nil, errors.Join(err, c.Close(ctx))
		}
	}
	if o.parent == nil && !r.admit(c) {
		return nil, errors.Join(errors.New("open a conversation: the runtime is closed"), c.Close(ctx))
	}
	return c, nil
}

// admit has the end of the runtime end the conversation. False: the runtime has ended. Children are ended by their parents.
func (r *Runtime) admit(c *Conversation) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.conversations[c] = true
	}
	return !r.closed
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
	c.model = o.Use
	if c.model == nil {
		var err error
		if c.model, err = c.choose(); err != nil {
			return err
		}
	}
	c.settle(c.model)
	if c.root = c.Stored.ID; o.parent != nil {
		c.root = o.parent.root
	}
	c.delegates(st)
	c.session = r.Session(c.place())
	if o.Dir != "" || o.Resume != "" {
		if err := c.session.Override(map[string]string{"cwd": c.Stored.Dir}); err != nil {
			return err
		}
	}
	project := c.project()
	ao := agent.Options{
		Model: c.model, Tools: c.session, Store: st, Session: c.Stored, Resume: o.Resume != "", System: c.prompt(ctx, project).String(),
		Guard: r.settings.guardrails.config(), Listen: r.hushed(o.Listen), News: c.news, Log: r.log,
	}
	if project != nil {
		ao.Touch = project.Touch
	}
	err := c.budget(ctx, &ao)
	if err == nil {
		ao.Compact, err = r.compaction()
	}
	if err == nil {
		c.Conversation, err = agent.New(ctx, ao)
	}
	return err
}

// place are the options of the session that the conversation works in.
func (c *Conversation) place() SessionOptions {
	s := c.options.Session
	s.ID, s.Task, s.Agent, s.Model, s.Caller, s.Progress = c.Stored.ID, c.Stored.ID, true, true, tool.CallerModel, c.progress
	s.Services = append(slices.Clone(s.Services), c.children)
	if s.Tell == nil {
		s.Tell = func(e agent.Event) { c.Send(e) }
	}
	return s
}

// settle fills in what is stored of a new conversation, and what flags change of a resumed one.
func (c *Conversation) settle(m provider.Model) {
	o, s := &c.options, &c.Stored
	if o.Resume == "" {
		*s = store.Session{ID: cmp.Or(o.Session.ID, newSessionID()), Source: cmp.Or(o.Source, "api"), Enabled: o.Session.Enabled, Disabled: o.Session.Disabled, Started: time.Now().UTC()}
		if o.parent != nil {
			s.Parent = o.parent.Stored.ID
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
	if o.parent != nil { // it begins where its parent is by now
		s.Dir = cmp.Or(c.rt.places.Dir(s.ID), here)
		return
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

// news is what has ended in the background since the last turn.
func (c *Conversation) news(ctx context.Context) ([]string, func(context.Context)) {
	waiting, err := c.rt.store.Waiting(ctx, c.Stored.ID)
	if err != nil {
		c.rt.log.Warn("what waits for a conversation can't be read", "session", c.Stored.ID, "error", err)
	}
	var ids []int64
	var out []string
	for _, e := range waiting {
		out = append(out, fmt.Sprintf("[%s, %s]\n%s", e.Kind, e.Time.Format(time.RFC3339), e.Data))
		ids = append(ids, e.ID)
	}
	return out, func(ctx context.Context) {
		if err := c.rt.store.Delivered(ctx, c.Stored.ID, ids...); err != nil {
			c.rt.log.Warn("what was told to a conversation can't be marked so", "session", c.Stored.ID, "error", err)
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

// StopChildren ends the children that work in the background, and says how many that are. What they did is told with the next turn. The
// turn that runs goes on.
func (c *Conversation) StopChildren() int { return c.children.Stop() }

// Override changes where the conversation works; see Session.Override.
func (c *Conversation) Override(o map[string]string) error { return c.session.Override(o) }

// Close ends the conversation: its turn, its children, its session. What is stored stays, and nothing is stored any more.
func (c *Conversation) Close(ctx context.Context) error { return c.end(ctx, tool.SessionEnd) }

func (c *Conversation) end(ctx context.Context, cause tool.Interruption) (err error) {
	c.over.Do(func() {
		c.Interrupt(cause)
		err = errors.Join(c.children.Close(ctx), c.session.end(ctx, cause), c.Conversation.Close(ctx))
		c.rt.mu.Lock()
		delete(c.rt.conversations, c)
		c.rt.mu.Unlock()
		c.release()
	})
	return err
}

// hushed hands events on without the secrets that a model repeats in the arguments of calls: events are shown, and written to logs.
func (r *Runtime) hushed(listen func(agent.Event)) func(agent.Event) {
	if listen == nil {
		return nil
	}
	return func(e agent.Event) {
		if len(e.Args) > 0 {
			e.Args = json.RawMessage(r.redactor.Known(string(e.Args)))
		}
		listen(e)
	}
}
