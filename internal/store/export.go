package store

import (
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/hermes-runtime/hermes/provider"
)

// Whole is a view of all of a session.
var Whole = View{First: 1<<31 - 1}

// exportedSession is the line that a session's messages follow.
type exportedSession struct {
	Role    string     `json:"role"` // session
	ID      string     `json:"id"`
	Source  string     `json:"source,omitempty"`
	Model   string     `json:"model,omitempty"`
	Dir     string     `json:"cwd,omitempty"`
	Title   string     `json:"title,omitempty"`
	Parent  string     `json:"parent_session_id,omitempty"`
	Started time.Time  `json:"started_at"`
	Ended   *time.Time `json:"ended_at,omitempty"`
}

// exportedMessage is the line of a message. A tape takes those of assistants as replies and passes over the others.
type exportedMessage struct {
	Session   string          `json:"session"`
	Role      provider.Role   `json:"role"`
	ID        int64           `json:"id"`
	Time      time.Time       `json:"time"`
	Text      string          `json:"text,omitempty"`
	Reasoning string          `json:"reasoning,omitempty"`
	Calls     []exportedCall  `json:"calls,omitempty"`
	CallID    string          `json:"call_id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Status    string          `json:"status,omitempty"`
	End       string          `json:"end,omitempty"`
	Usage     *provider.Usage `json:"usage,omitempty"`
	Replaced  bool            `json:"replaced,omitempty"` // by a compaction
}

// exportedCall is a call; its arguments are JSON, or a string where they are none.
type exportedCall struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

// Export writes a session as JSON Lines: one for itself, then one for each message, replaced ones included.
func Export(ctx context.Context, s Store, session Session, w io.Writer) error {
	x, err := s.Look(ctx, session.ID, Whole)
	if err != nil {
		return err
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	head := exportedSession{
		Role: "session", ID: session.ID, Source: session.Source, Model: session.Model, Dir: session.Dir, Title: session.Title, Parent: session.Parent,
		Started: session.Started,
	}
	if !session.Ended.IsZero() {
		head.Ended = &session.Ended
	}
	if err := e.Encode(head); err != nil {
		return err
	}
	for i := range x.Start {
		m := &x.Start[i]
		line := exportedMessage{
			Session: session.ID, Role: m.Role, ID: m.ID, Time: m.Time, Text: m.Text, Reasoning: m.Reasoning, CallID: m.CallID, Name: m.Name,
			Status: m.Status, End: m.Finish, Replaced: !m.Active,
		}
		if m.Tokens > 0 {
			line.Usage = &provider.Usage{Output: m.Tokens}
		}
		for _, c := range m.Calls {
			arguments := json.RawMessage(c.Arguments)
			if !json.Valid(arguments) {
				arguments, _ = json.Marshal(c.Arguments)
			}
			line.Calls = append(line.Calls, exportedCall{c.ID, c.Name, arguments})
		}
		if err := e.Encode(line); err != nil {
			return err
		}
	}
	return nil
}
