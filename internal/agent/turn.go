package agent

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hermes-runtime/hermes/internal/script"
	"github.com/hermes-runtime/hermes/internal/store"
	"github.com/hermes-runtime/hermes/provider"
	"github.com/hermes-runtime/hermes/tool"
)

// Status says how a turn ended, by what happened in it.
type Status string

// The statuses of a turn.
const (
	Completed   Status = "completed"
	Partial     Status = "partial" // cut short, with something to show
	Interrupted Status = "interrupted"
	Failed      Status = "failed"
)

// ExitReason says why a turn ended.
type ExitReason string

// The reasons.
const (
	ExitCompleted     ExitReason = "completed"
	ExitMaxIterations ExitReason = "max_iterations"
	ExitInvalidCalls  ExitReason = "invalid_calls"
	ExitInterrupted   ExitReason = "interrupted"
	ExitTimeout       ExitReason = "timeout"
	ExitBudget        ExitReason = "budget"
	ExitError         ExitReason = "error"
)

// Outcome is how a turn ended.
type Outcome struct {
	Status     Status         `json:"status"`
	Text       string         `json:"text"` // all that the model said in the turn, as it was streamed
	APICalls   int            `json:"api_calls"`
	ToolCalls  int            `json:"tool_calls"`
	Tokens     provider.Usage `json:"tokens"`
	Duration   float64        `json:"duration"` // seconds
	ExitReason ExitReason     `json:"exit_reason"`
	Error      string         `json:"error,omitempty"`
	Answer     string         `json:"-"` // the text of the last reply alone
	Err        error          `json:"-"`
}

// How often a reply is asked for again.
const (
	continuations = 3      // of a text that reached the limit of tokens
	enlargements  = 3      // of the limit, where a call was cut off
	mostTokens    = 32_768 // that the limit is raised to
	sameInvalid   = 3      // responses in a row with the same invalid call
)

// What the model is told besides the user's words.
const (
	goOn      = "Go on exactly where your last message was cut off, without repeating any of it."
	wrapUp    = "The budget is used up (%s). Call no more tools: say in a few sentences what is done and what is left to do."
	nearlyOut = "[Over 80 %% of the budget are used up (%s): come to an end soon.]"
)

// turn is what one message of the user sets off.
type turn struct {
	*Conversation
	id      string
	task    string // what the user asked for
	begun   time.Time
	first   int // index of the user's message in the history
	guard   *guard
	out     Outcome
	text    strings.Builder
	charged int            // requests that count against the budget
	invalid map[string]int // responses in a row that held this invalid call
	warned  map[string]bool
	asked   bool // an empty reply was asked for again
	notes   []string
}

// Turn gives the model a message of the user and lets it work until it has answered. It returns when the turn has ended; ending ctx
// with a tool.Interruption as its cause, or Interrupt, ends it within the grace that handlers have (3 s) and a second. The history is
// valid and stored on every way out.
func (c *Conversation) Turn(ctx context.Context, text string) Outcome {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	t := &turn{Conversation: c, id: newTurnID(), task: text, begun: time.Now(), guard: newGuard(c.options.Guard), invalid: map[string]int{}, warned: map[string]bool{}}
	if strings.TrimSpace(text) == "" {
		return t.end(Failed, ExitError, errors.New("begin a turn: the message is empty"))
	}
	leave, err := c.enter(stop)
	if err != nil {
		return t.end(Failed, ExitError, err)
	}
	defer leave()
	if err := firstSpent(c.shared()); err != nil { // the turn that used it up had its summary
		return t.end(Failed, ExitBudget, fmt.Errorf("begin a turn: %w; raise it, or begin another conversation", err))
	}
	t.first = c.keep(ctx, provider.Message{Role: provider.User, Text: text}, store.Message{})
	t.hear(ctx)
	t.notes = c.today()
	return t.run(ctx)
}

// enter begins a turn, of which there is one at a time.
func (c *Conversation) enter(stop context.CancelCauseFunc) (leave func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return nil, errors.New("begin a turn: the conversation is closed")
	case c.stop != nil:
		return nil, errors.New("begin a turn: another one of this conversation runs")
	}
	c.stop, c.ended, c.turnBegun = stop, make(chan struct{}), time.Now()
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.stop = nil
		close(c.ended)
	}, nil
}

// hear gives the model what has happened besides. It is nobody's order, and may hold text from anywhere.
func (t *turn) hear(ctx context.Context) {
	if t.options.News == nil {
		return
	}
	news, told := t.options.News(ctx)
	for _, n := range news {
		t.keep(ctx, provider.Message{Role: provider.User, Text: fence(n, t.marker)}, store.Message{})
	}
	if len(news) > 0 {
		told(context.WithoutCancel(ctx))
	}
}

func newTurnID() string {
	var b [6]byte
	_, _ = rand.Read(b[:])
	return "turn_" + hex.EncodeToString(b[:])
}

// run asks the model until it has answered.
func (t *turn) run(ctx context.Context) Outcome {
	for {
		t.tell(ctx)
		r, err := t.reply(ctx)
		if spent, ok := errors.AsType[*spentError](err); ok {
			return t.summarise(ctx, spent)
		}
		if err != nil {
			return t.broken(ctx, r, err)
		}
		if len(r.calls) == 0 {
			t.keepReply(ctx, r)
			return t.answered(r)
		}
		if end, ended := t.perform(ctx, r); ended {
			return end
		}
		if t.charged++; onlyScripts(r.calls) {
			t.charged--
		}
	}
}

// answered ends the turn with what the model said.
func (t *turn) answered(r reply) Outcome {
	t.out.Answer = r.begun + r.text
	switch {
	case r.end == provider.EndRefused:
		return t.end(Failed, ExitError, fmt.Errorf("%s declined to answer", t.Model().Model))
	case strings.TrimSpace(r.text) == "":
		return t.end(Failed, ExitError, fmt.Errorf("%s gave an empty answer, twice", t.Model().Model))
	case r.end == provider.EndLength:
		return t.end(Partial, ExitBudget, fmt.Errorf("the answer is cut off: it was continued %d times and reached the limit of tokens again", continuations))
	}
	return t.end(Completed, ExitCompleted, nil)
}

// broken ends a turn whose request failed or was interrupted. What was said so far is kept.
func (t *turn) broken(ctx context.Context, r reply, err error) Outcome {
	if strings.TrimSpace(r.text) != "" {
		r.calls, r.cut = nil, true
		t.keepReply(ctx, r)
	}
	t.out.Answer = r.text
	if ctx.Err() != nil {
		return t.stopped(ctx)
	}
	t.events.send(Event{Type: EventError, Text: err.Error()})
	if _, cut := errors.AsType[endless](err); cut {
		return t.end(Partial, ExitBudget, err)
	}
	return t.end(Failed, ExitError, err)
}

// stopped ends a turn that was interrupted.
func (t *turn) stopped(ctx context.Context) Outcome {
	cause := context.Cause(ctx)
	switch {
	case errors.Is(cause, tool.Budget):
		return t.end(Partial, ExitBudget, cause)
	case errors.Is(cause, context.DeadlineExceeded):
		return t.end(Partial, ExitTimeout, cause)
	}
	return t.end(Interrupted, ExitInterrupted, cause)
}

func (t *turn) end(s Status, why ExitReason, err error) Outcome {
	t.out.Status, t.out.ExitReason, t.out.Err = s, why, err
	t.out.Text = t.text.String()
	t.out.Duration = time.Since(t.begun).Seconds()
	if err != nil {
		t.out.Error = err.Error()
	}
	return t.out
}

// onlyScripts tells whether all calls are scripts: what they do in one turn would otherwise have been many.
func onlyScripts(calls []provider.Call) bool {
	for _, c := range calls {
		if c.Name != script.ToolName {
			return false
		}
	}
	return true
}

// summarise ends a turn whose budget is used up: one more request, without tools, asks what is done and what is left.
func (t *turn) summarise(ctx context.Context, spent *spentError) Outcome {
	t.keep(ctx, provider.Message{Role: provider.User, Text: fmt.Sprintf(wrapUp, spent.bound)}, store.Message{})
	r, err := t.ask(ctx, request{toolless: true})
	if err != nil {
		return t.broken(ctx, r, err)
	}
	r.calls = nil
	t.keepReply(ctx, r)
	t.out.Answer = r.text
	return t.end(Partial, spent.exit, spent)
}

// tell gives the model what it has to hear before the next request: steered messages, notes, that the budget nears its end.
func (t *turn) tell(ctx context.Context) {
	notes := append(t.notes, t.Unread()...)
	t.notes = nil
	for _, n := range append(notes, t.nearlySpent()...) {
		t.keep(ctx, provider.Message{Role: provider.User, Text: n}, store.Message{})
	}
}
