package approval

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/hermes-runtime/hermes/channel"
	"github.com/hermes-runtime/hermes/internal/approval/analysis"
	"github.com/hermes-runtime/hermes/internal/approval/rules"
)

// memory is what people have answered. It holds no lock while anyone is asked.
type memory struct {
	mu       sync.RWMutex
	sessions map[string]*sessionMemory
	list     *Allowlist
	current  func() *Allowlist // nil = list
}

type exactKey struct{ key, binding string }

// sessionMemory is one session's: what was answered in it, by the keys of rows, and what it did to files.
type sessionMemory struct {
	rows   map[string]bool
	exact  map[exactKey]bool
	under  map[string][]string
	calls  map[string][]string // keys that were approved for a script, by its call: what the script calls isn't asked again
	yolo   bool
	files  map[string]analysis.FileOrigin
	oldest []string // the files in order of their coming

}

// What a session remembers at most. Beyond it the oldest is forgotten, which asks more often or opens less.
const (
	maxCalls = 64
	maxFiles = 1000
)

// session finds or makes a session's memory; m.mu is held.
func (m *memory) session(id string) *sessionMemory {
	s := m.sessions[id]
	if s == nil {
		if m.sessions == nil {
			m.sessions = map[string]*sessionMemory{}
		}
		s = &sessionMemory{rows: map[string]bool{}, exact: map[exactKey]bool{}, under: map[string][]string{}}
		m.sessions[id] = s
	}
	return s
}

// allowlist is the permanent list as it is now.
func (m *memory) allowlist() *Allowlist {
	if m.current != nil {
		return m.current()
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.list
}

// covers tells whether one finding is opened already, by what, and, for the permanent list, by which entry.
func (m *memory) covers(c *check, f *rules.Finding) (How, *ListEntry) {
	if f.Row.Remember == rules.RememberNever || f.Floor {
		return "", nil
	}
	if !c.trial && m.inSession(c, f) {
		return BySession, nil
	}
	if c.list == nil {
		c.list = m.allowlist()
	}
	if e := c.list.covers(c, f); e != nil {
		return ByAllowlist, e
	}
	return "", nil
}

func (m *memory) inSession(c *check, f *rules.Finding) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	s := m.sessions[c.req.Session]
	if s.covers(c, f) {
		return true
	}
	return c.gate.config.SubagentsShare && c.req.Root != "" && m.sessions[c.req.Root].covers(c, f)
}

func (s *sessionMemory) covers(c *check, f *rules.Finding) bool {
	if s == nil {
		return false
	}
	key := f.Row.Key
	if s.rows[key] || s.exact[exactKey{key, c.decision.Binding}] {
		return true
	}
	if c.req.Parent != "" && slices.Contains(s.calls[c.req.Parent], key) {
		return true
	}
	return slices.ContainsFunc(s.under[key], func(dir string) bool { return below(f.Targets, dir) })
}

// yolo tells whether a session's questions are turned off. A child session has to be told by itself.
func (m *memory) yolo(session string) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	s := m.sessions[session]
	return s != nil && s.yolo
}

// stored is what a person's consent is stored for.
type stored struct {
	scope    channel.Choice
	findings []rules.Finding
	keys     []string // only these; empty = all
	under    string
}

// store keeps an answer for the session.
func (m *memory) store(c *check, a stored) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.session(c.req.Session)
	for _, f := range a.findings {
		key := f.Row.Key
		if f.Floor || f.Row.Remember == rules.RememberNever || len(a.keys) > 0 && !slices.Contains(a.keys, key) {
			continue
		}
		switch {
		case a.scope == channel.Under:
			if f.Row.Remember == rules.RememberAll && below(f.Targets, a.under) && !slices.Contains(s.under[key], a.under) {
				s.under[key] = append(s.under[key], a.under)
			}
		case a.scope == channel.Exact || f.Row.Remember == rules.RememberExact:
			s.exact[exactKey{key, c.decision.Binding}] = true
		default:
			s.rows[key] = true
		}
	}
}

// storeCall keeps what was approved for a script, for the calls that it makes.
func (m *memory) storeCall(c *check, open []rules.Finding) {
	if c.req.Kind != KindCode || c.req.CallID == "" {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.session(c.req.Session)
	if len(s.calls) >= maxCalls {
		clear(s.calls)
	}
	for _, f := range open {
		if f.Row.Remember == rules.RememberAll && !f.Floor {
			if s.calls == nil {
				s.calls = map[string][]string{}
			}
			s.calls[c.req.CallID] = append(s.calls[c.req.CallID], f.Row.Key)
		}
	}
}

// Preapprove opens rows for a session in advance, by key, id or older name. It fails on a name that is no row and on a row that
// isn't remembered as a whole; the others are opened.
func (g *Gate) Preapprove(session string, names ...string) error {
	for _, name := range names {
		id := name
		if a, ok := aliases[name]; ok {
			id = a
		}
		row := rules.ByName(id)
		if row == nil {
			row = g.config.Rows.byKey(id)
		}
		switch {
		case row == nil:
			return fmt.Errorf("approve %q in advance: there is no such key; see the list of patterns", name)
		case row.Remember != rules.RememberAll:
			return fmt.Errorf("approve %q in advance: this act is only ever approved one command at a time, or not at all", name)
		}
		g.memory.mu.Lock()
		g.memory.session(session).rows[row.Key] = true
		g.memory.mu.Unlock()
	}
	return nil
}

// Yolo turns the questions of one session off. The floor and rules that deny still hold, and each bypass is recorded. Sessions that it
// begins are not reached.
func (g *Gate) Yolo(session string) {
	g.memory.mu.Lock()
	defer g.memory.mu.Unlock()
	g.memory.session(session).yolo = true
}

// EndSession forgets what a session's people answered and what it did to files.
func (g *Gate) EndSession(session string) {
	g.memory.mu.Lock()
	defer g.memory.mu.Unlock()
	delete(g.memory.sessions, session)
}

// allow adds grants to the permanent list in memory; what is on disk is the Rememberer's.
func (m *memory) allow(grants []Grant, own *UserRows) {
	if m.current != nil {
		return // it sees the file
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.list = m.list.grow(grants, own)
}

// common is the nearest directory that holds every target of the findings whose rows can be remembered for a directory; "" if there is
// none, or if it is one that nobody should open as a whole.
func common(findings []rules.Finding, home string) string {
	dir, any := "", false
	for _, f := range findings {
		if f.Row.Remember != rules.RememberAll || f.Floor {
			continue
		}
		for _, t := range f.Targets {
			if !analysis.Literal(t.Path) || !strings.HasPrefix(t.Path, "/") {
				return ""
			}
			at := t.Path
			if !t.All {
				at = at[:max(strings.LastIndexByte(at, '/'), 1)]
			}
			if !any {
				dir, any = at, true
			}
			for dir != "/" && !beneath(at, dir) {
				dir = dir[:max(strings.LastIndexByte(dir, '/'), 1)]
			}
		}
	}
	switch analysis.Paths(analysis.Input{Home: home}).Target("/", dir).Class {
	case analysis.ClassRoot, analysis.ClassSystemRoot, analysis.ClassHomeRoot, analysis.ClassUnknown:
		return ""
	}
	return dir
}
