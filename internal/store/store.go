// Package store keeps conversations: sessions, their messages and todos, and what can be found in them.
package store

import (
	"context"
	"errors"
	"time"

	"github.com/hermes-runtime/hermes/provider"
)

// Errors of a Store, for errors.Is.
var (
	ErrUnknown   = errors.New("no such session")
	ErrAmbiguous = errors.New("several sessions begin so")
	ErrTitle     = errors.New("another session has this title")
	ErrReadOnly  = errors.New("the store was written by a newer version and is read-only")
	ErrBusy      = errors.New("another process compacts this session")
)

// Session is one conversation. Times are UTC.
type Session struct {
	ID        string
	Source    string // what it was had through: cli, api, subagent, tool, …
	User      string // who, where a source has users
	Model     string // [PROVIDER/]MODEL
	Dir       string
	Title     string // unique; "" = none
	Parent    string // the session that began this one; "" = none
	Enabled   []string
	Disabled  []string
	Started   time.Time
	Ended     time.Time // zero = it has not
	EndReason string
	Active    time.Time // of its last message
	Messages  int
	Calls     int // of tools
	Input     int // tokens
	Output    int
	Archived  bool
}

// Message is one message as it is kept.
type Message struct {
	ID int64 // given by the store, growing; unique in it
	provider.Message
	Time   time.Time
	Status string // tool: a tool.Status; assistant: "cut" if it was interrupted
	Finish string // assistant: a provider.End
	Tokens int    // assistant: of the reply; 0 = not known
	Active bool   // false = a compaction has replaced it
}

// Todo is one item of a session's plan.
type Todo struct {
	ID      string `json:"id"`
	Content string `json:"content"`
	Status  string `json:"status"` // pending, in_progress, completed, cancelled
}

// Store keeps conversations. It is safe for concurrent use, by several processes where it lies on disk.
type Store interface {
	// Begin makes a session, or changes one that is there: fields that aren't zero are written, counters are left alone.
	Begin(ctx context.Context, s Session) error
	// Append adds messages at the end of a session, all or none, and returns their ids.
	Append(ctx context.Context, session string, m ...Message) ([]int64, error)
	// Amend changes the text of a message that has just been appended.
	Amend(ctx context.Context, id int64, text string) error
	// Count adds tokens and calls to a session's counters.
	Count(ctx context.Context, session string, u provider.Usage, calls int) error
	// Find gives a session by its id, an unambiguous prefix of it, its title, or "last".
	Find(ctx context.Context, ref string) (Session, error)
	// Messages are a session's active messages, in order.
	Messages(ctx context.Context, session string) ([]Message, error)
	// Compact puts messages in the place of the active ones up to and including the id through, which stay but are no longer active.
	Compact(ctx context.Context, session string, through int64, with []Message) error
	// Todos is a session's plan; SetTodos replaces it.
	Todos(ctx context.Context, session string) ([]Todo, error)
	SetTodos(ctx context.Context, session string, todos []Todo) error
	// Close ends the store. What was written is on disk.
	Close() error
}
