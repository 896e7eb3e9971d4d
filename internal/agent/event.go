package agent

import (
	"encoding/json"
	"sync"
	"time"

	"github.com/hermes-runtime/hermes/provider"
)

// EventType says what an Event tells.
type EventType string

// The types of event.
const (
	EventSession   EventType = "session" // Text: the model
	EventText      EventType = "text"
	EventReasoning EventType = "reasoning"
	EventToolStart EventType = "tool_start"
	EventProgress  EventType = "tool_progress"
	EventToolEnd   EventType = "tool_end"
	EventApproval  EventType = "approval" // Text: what is asked about; without Status it is asked, with it decided
	EventClarify   EventType = "clarify"  // Text: what a person is asked
	EventUsage     EventType = "usage"
	EventNotice    EventType = "notice"
	EventError     EventType = "error"
	EventDone      EventType = "done" // Outcome; nothing follows
)

// Event is one thing that happens in a conversation, as it is shown to people and programs.
type Event struct {
	Type    EventType       `json:"type"`
	Session string          `json:"session_id"`
	Seq     int             `json:"seq"`
	Time    time.Time       `json:"time"`
	Text    string          `json:"text,omitempty"`      // text, reasoning: the next piece; notice, error: what is to be said
	Call    string          `json:"call_id,omitempty"`   // tool_*, approval, clarify
	Tool    string          `json:"tool,omitempty"`      // tool_*, approval, clarify
	Args    json.RawMessage `json:"arguments,omitempty"` // tool_start; tool_end of a call that never began
	Status  string          `json:"status,omitempty"`    // tool_end; approval: once, session, always, deny or timeout
	Result  string          `json:"result,omitempty"`    // tool_end
	Seconds float64         `json:"seconds,omitempty"`   // tool_end
	Done    float64         `json:"done,omitempty"`      // tool_progress
	Total   float64         `json:"total,omitempty"`     // tool_progress; 0 = unknown
	Usage   *provider.Usage `json:"usage,omitempty"`     // usage: of the conversation
	Left    *Left           `json:"left,omitempty"`      // usage
	Outcome *Outcome        `json:"outcome,omitempty"`   // done
}

// events hands events on, one at a time, in order.
type events struct {
	mu      sync.Mutex
	listen  func(Event)
	session string
	seq     int
}

func (e *events) send(ev Event) {
	if e.listen == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.seq++
	ev.Session, ev.Seq, ev.Time = e.session, e.seq, time.Now().UTC()
	e.listen(ev)
}

// Send hands on an event of somebody else: a call's progress, a question.
func (c *Conversation) Send(ev Event) { c.events.send(ev) }
