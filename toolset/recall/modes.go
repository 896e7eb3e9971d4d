package recall

import (
	"context"
	"time"

	"github.com/hermes-runtime/hermes/internal/store"
	"github.com/hermes-runtime/hermes/provider"
)

const (
	// readFirst and readLast are how much of a conversation is shown without an anchor.
	readFirst, readLast = 20, 10
	// bookend is how many messages show how a conversation began, and how it ended.
	bookend = 2

	// Characters of a message that are shown: beside a match, where a conversation is read, and of the message that it is read around.
	shownBeside, shownRead, shownAnchor = 500, 2000, 20_000
)

// hidden are sources of conversations that are shown only to who knows their id.
var hidden = []string{"subagent", "tool"}

// reading is one call.
type reading struct {
	archive       Archive
	current       string // the session of the call
	limit, window int
	roles         []provider.Role
	query         string
	sort          store.Sort
}

func (r *reading) answer(ctx context.Context, args Args) (any, error) {
	switch {
	case args.Session != "" && args.Around != nil:
		return r.scroll(ctx, args.Session, *args.Around)
	case args.Session != "":
		return r.read(ctx, args.Session)
	case r.query != "":
		return r.discover(ctx)
	}
	return r.browse(ctx)
}

// meta says what a session was.
type meta struct {
	When   string `json:"when"`
	Source string `json:"source"`
	Model  string `json:"model"`
	Title  string `json:"title"`
}

func metaOf(s *store.Session) meta {
	return meta{When: stamp(s.Started), Source: s.Source, Model: s.Model, Title: s.Title}
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// message is one message as it is shown.
type message struct {
	ID        int64         `json:"id"`
	Role      provider.Role `json:"role"`
	Content   string        `json:"content"`
	ToolCalls []call        `json:"tool_calls,omitempty"`
	ToolName  string        `json:"tool_name,omitempty"`
	Timestamp string        `json:"timestamp"`
	CutOff    int           `json:"characters_left_out,omitempty"`
}

type call struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// messages shows n characters of each message, and more of the anchor.
func messages(list []store.Message, n int, anchor int64) []message {
	out := make([]message, 0, len(list))
	for i := range list {
		m := &list[i]
		room := n
		if m.ID == anchor {
			room = max(n, shownAnchor)
		}
		shown := message{ID: m.ID, Role: m.Role, ToolName: m.Name, Timestamp: stamp(m.Time)}
		shown.Content, shown.CutOff = cut(m.Text, room)
		for _, c := range m.Calls {
			arguments, left := cut(c.Arguments, room)
			shown.ToolCalls = append(shown.ToolCalls, call{c.Name, arguments})
			shown.CutOff += left
		}
		out = append(out, shown)
	}
	return out
}

// cut gives the first n characters of a text, and how many it leaves out.
func cut(text string, n int) (string, int) {
	at := 0
	for i := range text {
		if at == n {
			return text[:i], len([]rune(text[i:]))
		}
		at++
	}
	return text, 0
}

type scrolled struct {
	Success         bool      `json:"success"`
	Mode            string    `json:"mode"`
	SessionID       string    `json:"session_id"`
	AroundMessageID int64     `json:"around_message_id"`
	SessionMeta     meta      `json:"session_meta"`
	Window          int       `json:"window"`
	Messages        []message `json:"messages"`
	MessagesBefore  int       `json:"messages_before"`
	MessagesAfter   int       `json:"messages_after"`
}

func (r *reading) scroll(ctx context.Context, ref string, anchor int64) (any, error) {
	s, err := r.archive.Find(ctx, ref)
	if err != nil {
		return nil, err
	}
	if anchor == 0 {
		anchor = -1 // no message has it, and no anchor is not what was asked for
	}
	x, err := r.archive.Look(ctx, s.ID, store.View{Roles: r.roles, Anchor: anchor, Sides: r.window})
	if err != nil {
		return nil, err
	}
	return scrolled{
		Success: true, Mode: "scroll", SessionID: s.ID, AroundMessageID: anchor, SessionMeta: metaOf(&s), Window: r.window,
		Messages: messages(x.Around, shownRead, anchor), MessagesBefore: x.Before, MessagesAfter: x.After,
	}, nil
}

type read struct {
	Success      bool      `json:"success"`
	Mode         string    `json:"mode"`
	SessionMeta  meta      `json:"session_meta"`
	MessageCount int       `json:"message_count"`
	Truncated    bool      `json:"truncated"`
	Messages     []message `json:"messages"`
}

func (r *reading) read(ctx context.Context, ref string) (any, error) {
	s, err := r.archive.Find(ctx, ref)
	if err != nil {
		return nil, err
	}
	x, err := r.archive.Look(ctx, s.ID, store.View{Roles: r.roles, First: readFirst, Last: readLast})
	if err != nil {
		return nil, err
	}
	return read{
		Success: true, Mode: "read", SessionMeta: metaOf(&s), MessageCount: x.Total, Truncated: x.Total > len(x.Start)+len(x.End),
		Messages: messages(append(x.Start, x.End...), shownRead, 0),
	}, nil
}

type discovered struct {
	Success          bool    `json:"success"`
	Mode             string  `json:"mode"`
	Query            string  `json:"query"`
	Results          []match `json:"results"`
	Count            int     `json:"count"`
	SessionsSearched int     `json:"sessions_searched"`
}

type match struct {
	SessionID string `json:"session_id"`
	meta
	MatchedRole     provider.Role `json:"matched_role"`
	MatchMessageID  int64         `json:"match_message_id"`
	Snippet         string        `json:"snippet"`
	BookendStart    []message     `json:"bookend_start"`
	Messages        []message     `json:"messages"`
	BookendEnd      []message     `json:"bookend_end"`
	MessagesBefore  int           `json:"messages_before"`
	MessagesAfter   int           `json:"messages_after"`
	ParentSessionID string        `json:"parent_session_id,omitempty"`
}

func (r *reading) discover(ctx context.Context) (any, error) {
	found, err := r.archive.Search(ctx, store.Query{
		Text: r.query, Roles: r.roles, Sort: r.sort, Limit: r.limit, Without: r.current, Hidden: hidden,
	})
	if err != nil {
		return nil, err
	}
	out := discovered{Success: true, Mode: "discover", Query: r.query, Results: []match{}, SessionsSearched: found.Sessions}
	for i := range found.Hits {
		h := &found.Hits[i]
		x, err := r.archive.Look(ctx, h.Session.ID, store.View{Roles: r.roles, Anchor: h.Message.ID, Sides: r.window, First: bookend, Last: bookend})
		if err != nil {
			return nil, err
		}
		out.Results = append(out.Results, match{
			SessionID: h.Session.ID, meta: metaOf(&h.Session), MatchedRole: h.Message.Role, MatchMessageID: h.Message.ID, Snippet: h.Snippet,
			BookendStart: messages(x.Start, shownBeside, 0), Messages: messages(x.Around, shownBeside, 0), BookendEnd: messages(x.End, shownBeside, 0),
			MessagesBefore: x.Before, MessagesAfter: x.After, ParentSessionID: h.Session.Parent,
		})
	}
	out.Count = len(out.Results)
	return out, nil
}

type browsed struct {
	Success bool    `json:"success"`
	Mode    string  `json:"mode"`
	Results []brief `json:"results"`
	Count   int     `json:"count"`
}

type brief struct {
	SessionID    string `json:"session_id"`
	Title        string `json:"title"`
	Source       string `json:"source"`
	StartedAt    string `json:"started_at"`
	LastActive   string `json:"last_active"`
	MessageCount int    `json:"message_count"`
	Preview      string `json:"preview"`
}

func (r *reading) browse(ctx context.Context) (any, error) {
	list, err := r.archive.List(ctx, store.Filter{Limit: r.limit, Without: r.current, Hidden: hidden, Lineages: true})
	if err != nil {
		return nil, err
	}
	out := browsed{Success: true, Mode: "browse", Results: []brief{}, Count: len(list)}
	for i := range list {
		e := &list[i]
		out.Results = append(out.Results, brief{
			SessionID: e.ID, Title: e.Title, Source: e.Source, StartedAt: stamp(e.Started), LastActive: stamp(e.Active), MessageCount: e.Messages, Preview: e.Preview,
		})
	}
	return out, nil
}
