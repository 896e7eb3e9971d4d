// Package store keeps conversations: sessions, their messages and todos, and what can be found in them.
package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hermes-runtime/hermes/provider"
)

// Errors of a Store, for errors.Is.
var (
	ErrUnknown   = errors.New("no such session")
	ErrAmbiguous = errors.New("several sessions begin so")
	ErrNoMessage = errors.New("no such message in this session")
	ErrTitle     = errors.New("another session has this title")
	ErrReadOnly  = errors.New("the store was written by a newer version and is read-only")
	ErrBusy      = errors.New("another process compacts this session")
	ErrInUse     = errors.New("the session is in use elsewhere: leave it there first, or begin another one")
)

// NotFound is the error for a session, or a message of one, that can't be given.
type NotFound struct {
	Kind error // ErrUnknown, ErrAmbiguous or ErrNoMessage
	Ref  string
	Near []string // what may have been meant; sessions by id
}

// Error names what was looked for, and what there is.
func (e *NotFound) Error() string {
	text := fmt.Sprintf("%q: %v", e.Ref, e.Kind)
	if len(e.Near) > 0 {
		text += "; nearest: " + strings.Join(e.Near, ", ")
	}
	return text
}

// Unwrap gives the kind.
func (e *NotFound) Unwrap() error { return e.Kind }

// Lost is the error of Close for a session of which something is not on disk.
type Lost struct {
	Session string
	Whole   bool // nothing of it is; otherwise what was said last isn't
	Err     error
}

// Error names the session, what of it is lost, and why.
func (e *Lost) Error() string {
	if e.Whole {
		return fmt.Sprintf("session %s is lost: %v", e.Session, e.Err)
	}
	return fmt.Sprintf("what was said last in session %s is lost: %v", e.Session, e.Err)
}

// Unwrap gives the reason.
func (e *Lost) Unwrap() error { return e.Err }

// LostIn gives what an error of Close says is lost, by session.
func LostIn(err error) map[string]*Lost {
	out := map[string]*Lost{}
	var walk func(error)
	walk = func(err error) {
		switch e := err.(type) {
		case *Lost:
			out[e.Session] = e
		case interface{ Unwrap() []error }:
			for _, one := range e.Unwrap() {
				walk(one)
			}
		case interface{ Unwrap() error }:
			walk(e.Unwrap())
		}
	}
	walk(err)
	return out
}

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

// Message is one message as it is kept. NUL and what isn't UTF-8 stand in it as ␀ and U+FFFD.
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

// Event is something that waits for a session's next turn.
type Event struct {
	ID   int64
	Kind string
	Data json.RawMessage
	Time time.Time
}

// Filter says which sessions are listed. The zero value lists all that are not archived.
type Filter struct {
	Limit    int      // 0 = all
	Without  string   // a session whose lineage is left out
	Hidden   []string // sources that are left out
	Lineages bool     // of a session, its compactions and its children only the one that was active last
	Archived bool     // archived ones, too
}

// Entry is a session in a list.
type Entry struct {
	Session
	Preview string // how its first message of a user begins, on one line
}

// Sort is the order of what is found.
type Sort string

// The orders.
const (
	ByRelevance Sort = ""
	Newest      Sort = "newest"
	Oldest      Sort = "oldest"
)

// MaxQuery is how many characters of a query count.
const MaxQuery = 1000

// Query says what is searched for.
type Query struct {
	// Text is words, all of which a message must hold, as part of longer ones too and in any case; what stands in double quotes is one of
	// them. Any text is a query. What of it no word begins with, such as a lone quote, is looked for as it is.
	Text    string
	Roles   []provider.Role // nil = users and assistants
	Sort    Sort
	Limit   int      // lineages; 0 = 3
	Without string   // a session whose lineage is left out
	Hidden  []string // sources that are left out
}

// Found is what a query has found: of each lineage, which is a session with its compactions and children, the best message.
type Found struct {
	Hits     []Hit
	Sessions int // that were searched
}

// Hit is one message that was found.
type Hit struct {
	Session Session
	Message Message
	Snippet string // around the first match, on one line; each match in it stands between >>> and <<<
}

// View says which of a session's messages are shown, replaced ones included.
type View struct {
	Roles  []provider.Role // nil = all
	Anchor int64           // the message around which the others are shown, whatever its role; 0 = none
	Sides  int             // how many on each side of the anchor
	First  int             // how many from the session's beginning, and
	Last   int             // from its end, as far as they aren't shown already
}

// Excerpt is a view of a session's messages, in order: Start, Around, End. What was left out between them is counted where there is an anchor.
type Excerpt struct {
	Start, Around, End []Message
	Before, After      int // messages of the roles before the first and after the last of Around
	Total              int // messages of the roles
}

// Store keeps conversations. It is safe for concurrent use, by several processes where it lies on disk.
type Store interface {
	// Begin makes a session, or changes one that is there: fields that aren't zero are written, counters are left alone.
	Begin(ctx context.Context, s Session) error
	// Append adds messages at the end of a session, all or none, and returns their ids. Results that are added one by one stand in the
	// order of their calls, whichever came first. A session that had ended goes on.
	Append(ctx context.Context, session string, m ...Message) ([]int64, error)
	// Amend changes the text of one of a session's messages.
	Amend(ctx context.Context, session string, id int64, text string) error
	// Count adds tokens and calls to a session's counters.
	Count(ctx context.Context, session string, u provider.Usage, calls int) error
	// Find gives a session by its id, an unambiguous prefix of it, its title, or "last": the one that was active last, of those that are
	// neither archived nor begun by another. The error is a *NotFound.
	Find(ctx context.Context, ref string) (Session, error)
	// Messages are a session's active messages, in order.
	Messages(ctx context.Context, session string) ([]Message, error)
	// Compact puts messages in the place of the active ones up to and including the id through, which stay but are no longer active. It is
	// ErrBusy if through isn't active any more.
	Compact(ctx context.Context, session string, through int64, with []Message) error
	// Todos is a session's plan; SetTodos replaces it.
	Todos(ctx context.Context, session string) ([]Todo, error)
	SetTodos(ctx context.Context, session string, todos []Todo) error

	// List gives sessions, those that were active last first.
	List(ctx context.Context, f Filter) ([]Entry, error)
	// Search finds messages.
	Search(ctx context.Context, q Query) (Found, error)
	// Look shows messages of a session, given by its whole id. An anchor that isn't one of its messages is a *NotFound that names the nearest.
	Look(ctx context.Context, session string, v View) (Excerpt, error)
	// Delete removes a session with all that belongs to it, in short steps. Its children stay.
	Delete(ctx context.Context, session string) error

	// Post leaves an event for a session's next turn. It waits, also for another process, until it is told to be Delivered.
	Post(ctx context.Context, session, kind string, data json.RawMessage) error
	// Waiting are the events that wait, in order.
	Waiting(ctx context.Context, session string) ([]Event, error)
	// Delivered removes events.
	Delivered(ctx context.Context, session string, ids ...int64) error

	// Claim says that a session is in use here until release is called or the process ends. It is ErrInUse if it is in use already.
	Claim(ctx context.Context, session string) (release func(), err error)
	// Close ends the store. What was written is on disk.
	Close() error
}
