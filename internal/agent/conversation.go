// Package agent is the loop around the runtime: a conversation in which a model calls tools until it has answered.
package agent

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/hermes-runtime/hermes/internal/registry"
	"github.com/hermes-runtime/hermes/internal/registry/schema"
	"github.com/hermes-runtime/hermes/internal/store"
	"github.com/hermes-runtime/hermes/provider"
	"github.com/hermes-runtime/hermes/tool"
)

// Tools is what the loop needs of a session of the runtime.
type Tools interface {
	Definitions(ctx context.Context, d schema.Dialect) (registry.Definitions, error)
	CallBatch(ctx context.Context, b tool.Batch) []tool.Result
	// Meant is the name of the tool that a call by this name runs; the name itself where it runs none.
	Meant(name string) string
}

// Limits bound a turn. Zero values mean the defaults named.
type Limits struct {
	MaxTurns    int           // requests of one turn; 0 = 90
	TurnsKey    string        // what sets MaxTurns; "" = agent.max_turns
	MaxTokens   int           // of the whole conversation and its children; 0 = no limit
	MaxCost     float64       // the same for what they cost
	MaxWall     time.Duration // of one turn; 0 = no limit
	ReplyTokens int           // of a reply, where the first one was cut off; 0 = 4 096
	ReplyBytes  int           // of a reply's text and reasoning, which is cut off there; 0 = 2 MiB
}

// Options makes a Conversation.
type Options struct {
	Model   provider.Model
	Tools   Tools
	Store   store.Store
	Session store.Session // ID must be given; the rest is written where the conversation is new
	Resume  bool          // the session is in the store, and goes on
	System  string        // what every request begins with
	Limits  Limits
	Guard   GuardConfig
	Compact CompactConfig
	Tree    *Tree                    // what parent, children and the conversation have used together; nil = nothing so far
	Price   Price                    // what the model's replies cost
	Listen  func(Event)              // nil = nobody listens; called by one goroutine at a time, in order
	Touch   func(path string) string // what is to be told when a call first touches a path, "" = nothing; nil = never
	// News is what has happened besides since the last turn, such as the end of a child in the background, and what to call once it is
	// stored. nil = nothing ever does.
	News func(ctx context.Context) (news []string, told func(ctx context.Context))
	Log  *slog.Logger // nil = nothing is logged
}

// Conversation is one session of a model with its user. Turns are had one at a time; Interrupt, Steer and Usage may be called at any
// time.
type Conversation struct {
	options Options
	log     *slog.Logger
	marker  string // tells text of outsiders apart; nobody outside can know it
	events  events

	mu        sync.Mutex
	history   []entry
	usage     provider.Usage
	stop      context.CancelCauseFunc // of the running turn; nil = none runs
	ended     chan struct{}           // closed when that turn has ended
	turnBegun time.Time               // that one, or the last
	warned    map[string]bool         // of which lasting budgets the model was told that they near their end
	closed    bool
	steered   []string
	begun     bool   // the session is in the store
	storeSick bool   // that it can't be written has been told
	date      string // as the model knows it; "" = nobody has told it
	last      lastRequest
}

// entry is a message and the place where it is stored.
type entry struct {
	provider.Message
	id int64 // 0 = it is not in the store
}

// lastRequest is what the provider counted of the last request.
type lastRequest struct {
	tokens   int // input and output; 0 = it counted none
	messages int // how many messages the count covers
}

// New makes a conversation; where it is resumed, with what the store holds of it.
func New(ctx context.Context, o Options) (*Conversation, error) {
	var nonce [8]byte
	_, _ = rand.Read(nonce[:])
	if o.Limits.MaxTurns == 0 {
		o.Limits.MaxTurns = 90
	}
	if o.Limits.TurnsKey == "" {
		o.Limits.TurnsKey = "agent.max_turns"
	}
	if o.Limits.ReplyTokens == 0 {
		o.Limits.ReplyTokens = 4096
	}
	if o.Limits.ReplyBytes == 0 {
		o.Limits.ReplyBytes = mostReply
	}
	if o.Tree == nil {
		o.Tree = &Tree{}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	c := &Conversation{options: o, log: o.Log, marker: hex.EncodeToString(nonce[:]), warned: map[string]bool{}, events: events{listen: o.Listen, session: o.Session.ID}}
	if at := o.Session.Started; !at.IsZero() {
		c.date = Date(at)
	}
	if !o.Resume {
		return c, nil
	}
	kept, err := o.Store.Messages(ctx, o.Session.ID)
	if err != nil {
		return nil, err
	}
	c.begun = true
	for _, m := range kept {
		c.history = append(c.history, entry{m.Message, m.ID})
	}
	return c, nil
}

// Date is the day of a time as models are told it.
func Date(t time.Time) string { return t.Local().Format("Monday, 2 January 2006") }

// today tells the day where it is another than the model knows: what every request begins with has the one on which it all began.
func (c *Conversation) today() []string {
	now := Date(time.Now())
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.date == "" || c.date == now {
		return nil
	}
	c.date = now
	return []string{"[Today is " + now + ".]"}
}

// ID is the id of the session.
func (c *Conversation) ID() string { return c.options.Session.ID }

// Model says which model answers.
func (c *Conversation) Model() provider.Info { return c.options.Model.Info() }

// Usage is what the conversation has used so far, without its children.
func (c *Conversation) Usage() provider.Usage {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.usage
}

// History is the conversation as the next request will hold it.
func (c *Conversation) History() []provider.Message {
	c.mu.Lock()
	defer c.mu.Unlock()
	return Mend(bare(c.history))
}

// Interrupt ends the turn that runs, and says why. It does nothing between turns: a later one is not affected.
func (c *Conversation) Interrupt(cause tool.Interruption) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stop != nil {
		c.stop(cause)
	}
}

// Close ends the turn that runs, refuses later ones, and waits until nothing is stored any more or ctx ends.
func (c *Conversation) Close(ctx context.Context) error {
	c.mu.Lock()
	c.closed = true
	ended := c.ended
	if c.stop != nil {
		c.stop(tool.SessionEnd)
	}
	c.mu.Unlock()
	if ended == nil {
		return nil
	}
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the turn of conversation %s: %w", c.ID(), context.Cause(ctx))
	}
}

// Steer gives the model a message within the running turn, right after the results that it waits for. False: no turn runs.
func (c *Conversation) Steer(text string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stop == nil {
		return false
	}
	c.steered = append(c.steered, text)
	return true
}

// Unread takes the steered messages that no request has held, because the turn ended first.
func (c *Conversation) Unread() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := c.steered
	c.steered = nil
	return out
}

func bare(entries []entry) []provider.Message {
	out := make([]provider.Message, len(entries))
	for i, e := range entries {
		out[i] = e.Message
	}
	return out
}

// keep adds a message to the history and to the store. Whatever becomes of the store, the conversation goes on.
func (c *Conversation) keep(ctx context.Context, m provider.Message, more store.Message) int {
	ctx = context.WithoutCancel(ctx)
	more.Message, more.Time, more.Active = m, time.Now().UTC(), true
	c.mu.Lock()
	begun := c.begun
	c.mu.Unlock()
	var id int64
	err := error(nil)
	if !begun {
		s := c.options.Session
		if s.Started.IsZero() {
			s.Started = more.Time
		}
		err = c.options.Store.Begin(ctx, s)
	}
	if err == nil {
		c.mu.Lock()
		c.begun = true
		c.mu.Unlock()
		var ids []int64
		if ids, err = c.options.Store.Append(ctx, c.options.Session.ID, more); err == nil {
			id = ids[0]
		}
	}
	c.stored(err)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.history = append(c.history, entry{m, id})
	return len(c.history) - 1
}

// stored tells that the store can't be written, once until it can again.
func (c *Conversation) stored(err error) {
	c.mu.Lock()
	told := c.storeSick
	c.storeSick = err != nil
	c.mu.Unlock()
	if err == nil || told {
		return
	}
	c.log.Warn("the conversation can't be stored: it goes on in memory", "session", c.ID(), "error", err)
	c.events.send(Event{Type: EventNotice, Text: "this conversation can't be stored and goes on in memory: " + err.Error()})
}
