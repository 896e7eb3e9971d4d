// Package provider is the contract of a model's API: what a request holds, what streams back, and how it fails.
//
// A provider is one folder that registers a Descriptor. It keeps nothing between requests but what it has learned about its endpoint.
package provider

import (
	"context"
	"encoding/json"
	"iter"
)

// Model answers requests. It is safe for concurrent use.
type Model interface {
	Info() Info
	// Stream makes one request. The sequence ends with an Event of KindEnd, or with an error (an *Error, or the cause of ctx), which is
	// its last pair. Breaking the loop or ending ctx closes the connection within 100 ms; no goroutine is left. A whole (unstreamed)
	// reply gives the same events as a streamed one.
	Stream(ctx context.Context, r Request) iter.Seq2[Event, error]
}

// Info says what a model is.
type Info struct {
	Provider string // as registered
	Model    string
	Dialect  string // the form of Request.Tools: openai or anthropic
	Context  int    // tokens that a request and its reply may have together; 0 = unknown
	MaxTools int    // tools that one request may offer; 0 = no limit known
}

// Request is one request. The history is valid: every call has its result, right behind the message that holds it.
type Request struct {
	Session   string // a stable id for the conversation, for caches; "" = none
	System    string
	Messages  []Message
	Tools     string // definitions as one JSON array in the dialect of Info; "" = none are offered
	MaxTokens int    // of the reply; 0 = the configured or the provider's own
}

// Role says who a message is from.
type Role string

// The roles. What a system says stands in Request.System.
const (
	User      Role = "user"
	Assistant Role = "assistant"
	Tool      Role = "tool"
)

// Message is one message of a conversation, in no provider's form.
type Message struct {
	Role      Role    `json:"role"`
	Text      string  `json:"text,omitempty"`
	Calls     []Call  `json:"calls,omitempty"`     // assistant
	CallID    string  `json:"call_id,omitempty"`   // tool: the call that it answers
	Name      string  `json:"name,omitempty"`      // tool: the tool that was called
	Failed    bool    `json:"failed,omitempty"`    // tool: the call did not end well
	Reasoning string  `json:"reasoning,omitempty"` // assistant, as shown to people
	Opaque    *Opaque `json:"opaque,omitempty"`    // assistant
}

// Call is a tool call as the model wrote it.
type Call struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"` // JSON text, not checked
}

// Opaque is the part of a message that only the API that made it understands, such as signed thinking. It goes back to it byte for byte
// and to no other.
type Opaque struct {
	Provider string          `json:"provider"`
	Model    string          `json:"model"`
	Data     json.RawMessage `json:"data"`
}

// Kind says what an Event holds.
type Kind string

// The kinds of event.
const (
	KindText      Kind = "text"      // Text: the next piece
	KindReasoning Kind = "reasoning" // Text: the next piece
	KindCall      Kind = "call"      // Call: one whole call
	KindUsage     Kind = "usage"     // Usage: of the request so far; the last one counts
	KindNotice    Kind = "notice"    // Text: tells people what delays the reply, such as another attempt
	KindEnd       Kind = "end"       // End and Opaque; nothing follows
)

// Event is one thing that a reply streams.
type Event struct {
	Kind   Kind
	Text   string
	Call   *Call
	Usage  *Usage
	End    End
	Opaque *Opaque // of the whole reply; nil = none
}

// Usage is in tokens.
type Usage struct {
	Input     int  `json:"input"`            // cached ones included
	Output    int  `json:"output"`           // reasoning included
	Cached    int  `json:"cached,omitempty"` // of Input, read from a cache
	Estimated bool `json:"estimated,omitempty"`
}

// End says why a reply ended.
type End string

// The ends of a reply.
const (
	EndStop    End = "stop"    // the model had said what it wanted, or wants its calls made
	EndLength  End = "length"  // at the limit of tokens: the last thing may be cut off
	EndRefused End = "refused" // the provider or the model declined
)
