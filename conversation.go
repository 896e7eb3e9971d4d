package hermes

import (
	"context"

	"github.com/hermes-runtime/hermes/internal/agent"
	"github.com/hermes-runtime/hermes/internal/runtime"
	"github.com/hermes-runtime/hermes/internal/store"
	"github.com/hermes-runtime/hermes/provider"
	"github.com/hermes-runtime/hermes/tool"
)

type (
	// Outcome is how a turn of a conversation ended: Status and ExitReason; Answer, the text of the last reply, and Text, all that the model
	// said in the turn; APICalls and ToolCalls; Tokens (Input, Output, Cached); Duration in seconds; and, where Status isn't Completed, Err,
	// whose text is Error.
	Outcome = agent.Outcome
	// Status is Completed, Partial (cut short, with something to show), Interrupted or Failed.
	Status = agent.Status
	// ExitReason is why a turn ended, in more detail: one of the Exit constants.
	ExitReason = agent.ExitReason
	// Event is one thing that happens in a turn, by its Type. All have Session, Seq and Time; further members by type:
	//
	//	EventText, EventReasoning  Text, the next piece
	//	EventToolStart             Call, Tool, Args (JSON)
	//	EventProgress              Call, Tool, Done, Total, Text
	//	EventToolEnd               Call, Tool, Status, Result, Seconds
	//	EventApproval              Call, Tool, Text; without Status it is asked, with it decided
	//	EventClarify               Call, Tool, Text, the question
	//	EventUsage                 Usage of the conversation, Left of its budgets
	//	EventNotice, EventError    Text
	Event = agent.Event
	// EventType is one of the Event constants.
	EventType = agent.EventType
)

// How a turn ended.
const (
	Completed   = agent.Completed
	Partial     = agent.Partial
	Interrupted = agent.Interrupted
	Failed      = agent.Failed
)

// Why a turn ended.
const (
	ExitCompleted     = agent.ExitCompleted
	ExitMaxIterations = agent.ExitMaxIterations // as many requests were made as the turn may set off
	ExitInvalidCalls  = agent.ExitInvalidCalls  // the same invalid call came again and again
	ExitInterrupted   = agent.ExitInterrupted
	ExitTimeout       = agent.ExitTimeout
	ExitBudget        = agent.ExitBudget // tokens, cost or time are used up, or a reply had no end
	ExitError         = agent.ExitError  // Outcome.Err says which; a *provider.Error where the model's API is to blame
)

// Why a conversation can't be opened, for errors.Is. What is wrong with a model or its key is a *provider.Error.
var (
	ErrUnknownConversation   = store.ErrUnknown   // none is stored by this name
	ErrAmbiguousConversation = store.ErrAmbiguous // several begin so
	ErrConversationInUse     = store.ErrInUse     // another Conversation, here or in another process, has it open
)

// What an Event tells.
const (
	EventText      = agent.EventText
	EventReasoning = agent.EventReasoning
	EventToolStart = agent.EventToolStart
	EventProgress  = agent.EventProgress
	EventToolEnd   = agent.EventToolEnd
	EventApproval  = agent.EventApproval
	EventClarify   = agent.EventClarify
	EventUsage     = agent.EventUsage
	EventNotice    = agent.EventNotice
	EventError     = agent.EventError
)

// ConversationOptions makes a Conversation. The zero value is a new one with the configured model and every tool.
type ConversationOptions struct {
	Model    string         // [PROVIDER/]MODEL, or replay:FILE; "" = as configured. Link in provider/all
	Use      provider.Model // a model of your own, in place of Model
	Resume   string         // a stored conversation: its id, a prefix of it, its title, or "last"; "" = a new one
	Session  SessionOptions // ID is for a new one; Task isn't used, a conversation is its own
	Dir      string         // where it works; "" = where it did, or where the runtime does
	MaxTurns int            // requests to the model that one message may set off; 0 = as configured
	Listen   func(Event)    // called by one goroutine at a time, in order; nil = nobody listens
}

// Conversation is a model at work with tools. One turn runs at a time; Interrupt and Steer may be called meanwhile.
type Conversation struct{ inner *runtime.Conversation }

// Converse opens a conversation. Nothing is asked of the model yet. Close it. The errors above say why it can't be opened.
func (r *Runtime) Converse(ctx context.Context, o ConversationOptions) (*Conversation, error) {
	if r.inner == nil {
		return nil, errNotOpen
	}
	s := o.Session
	c, err := r.inner.Converse(ctx, runtime.ConversationOptions{
		Session: runtime.SessionOptions{ID: s.ID, Enabled: s.Enabled, Disabled: s.Disabled, Asker: s.Asker, YesTo: s.YesTo},
		Model:   o.Model, Use: o.Use, Source: "api", Resume: o.Resume, Dir: o.Dir, MaxTurns: o.MaxTurns, Listen: o.Listen,
	})
	if err != nil {
		return nil, err
	}
	return &Conversation{c}, nil
}

// PauseDelegation has no further child agents begun until ResumeDelegation: delegate_task is refused. Those that work go on.
func (r *Runtime) PauseDelegation() { r.inner.PauseDelegation() }

// ResumeDelegation takes PauseDelegation, or delegation.paused in the configuration, back.
func (r *Runtime) ResumeDelegation() { r.inner.ResumeDelegation() }

// ID names the conversation in the store.
func (c *Conversation) ID() string { return c.inner.ID() }

// Turn gives the model a message and lets it work until it has answered. Outcome.Answer is what it said last, Status says whether that
// is the answer, Err why it isn't. Ending ctx ends the turn. Whatever happens, every call of the model has its result, and all of it is
// stored; where it can't be, a notice among the events says so.
func (c *Conversation) Turn(ctx context.Context, text string) Outcome { return c.inner.Turn(ctx, text) }

// Interrupt ends the turn that runs, and says why. It touches no later turn.
func (c *Conversation) Interrupt(cause tool.Interruption) { c.inner.Interrupt(cause) }

// Steer gives the model a message within the running turn, behind the results that it waits for. False: no turn runs.
func (c *Conversation) Steer(text string) bool { return c.inner.Steer(text) }

// Unread takes the steered messages that the turn ended too early for.
func (c *Conversation) Unread() []string { return c.inner.Unread() }

// StopChildren ends the child agents that work in the background, and says how many that are. What they did is told to the model with the
// next turn. The turn that runs goes on.
func (c *Conversation) StopChildren() int { return c.inner.StopChildren() }

// Override changes where the conversation's commands run and files lie, as Session.Override does. Its child agents work there, too.
func (c *Conversation) Override(o map[string]string) error { return c.inner.Override(o) }

// History is the conversation as the next request will hold it.
func (c *Conversation) History() []provider.Message { return c.inner.History() }

// Close ends the conversation. What is stored stays, and can be resumed.
func (c *Conversation) Close(ctx context.Context) error { return c.inner.Close(ctx) }
