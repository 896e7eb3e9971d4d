package approval

import (
	"fmt"
	"slices"
	"sync"

	"github.com/hermes-runtime/hermes/internal/approval/rules"
)

// aliases are names under which rows stood in older lists.
var aliases = map[string]string{
	"delete in root path":                            "delete.protected",
	"find -delete":                                   "delete.bulk",
	"find -exec/-execdir rm":                         "delete.bulk",
	"xargs with rm":                                  "delete.bulk",
	"overwrite system file via tee":                  "sysconf.write",
	"copy/move file into system config path":         "sysconf.write",
	"stop/restart system service":                    "service.stop",
	"pipe remote content to shell":                   "remote.pipe",
	"execute remote script via process substitution": "remote.pipe",
}

// Allowlist is the permanent list, read once: what its entries open.
type Allowlist struct {
	rows     map[string]bool // by id
	programs map[string]bool
	exact    map[exactKey]bool
	Unknown  []string // entries that open nothing
}

type exactKey struct{ id, binding string }

// ParseAllowlist reads plain entries: a key, an id, an older name, or a bare program name, which opens the rows about that program.
// An entry can't open a row that is only remembered exactly or not at all, and an odd one opens nothing.
func ParseAllowlist(entries []string) *Allowlist {
	l := &Allowlist{rows: map[string]bool{}, programs: map[string]bool{}, exact: map[exactKey]bool{}}
	for _, e := range entries {
		name := e
		if id, ok := aliases[e]; ok {
			name = id
		}
		row := rules.ByName(name)
		switch {
		case row != nil && row.Remember == rules.RememberAll:
			l.rows[row.ID] = true
		case row == nil && namesProgram(name):
			l.programs[name] = true
		default:
			l.Unknown = append(l.Unknown, e)
		}
	}
	return l
}

func namesProgram(name string) bool {
	return slices.ContainsFunc(rules.Table(), func(r rules.Row) bool { return slices.Contains(r.Programs, name) && r.Remember == rules.RememberAll })
}

// memory is what people have answered. It holds no lock while anyone is asked.
type memory struct {
	mu       sync.RWMutex
	sessions map[string]*sessionMemory
	list     *Allowlist
}

type sessionMemory struct {
	rows  map[string]bool
	exact map[exactKey]bool
	yolo  bool
}

func (m *memory) session(id string) *sessionMemory {
	s := m.sessions[id]
	if s == nil {
		if m.sessions == nil {
			m.sessions = map[string]*sessionMemory{}
		}
		s = &sessionMemory{rows: map[string]bool{}, exact: map[exactKey]bool{}}
		m.sessions[id] = s
	}
	return s
}

// covers tells whether one finding is opened already, and by what.
func (m *memory) covers(session, binding, program string, f *rules.Finding) (How, bool) {
	if f.Row.Remember == rules.RememberNever || f.Floor {
		return "", false
	}
	key := exactKey{f.Row.ID, binding}
	m.mu.RLock()
	defer m.mu.RUnlock()
	if s := m.sessions[session]; s != nil && (s.rows[f.Row.ID] || s.exact[key]) {
		return BySession, true
	}
	if m.list == nil {
		return "", false
	}
	if m.list.rows[f.Row.ID] || m.list.exact[key] || f.Row.Remember == rules.RememberAll && program != "" && m.list.programs[program] {
		return ByAllowlist, true
	}
	return "", false
}

func (m *memory) yolo(session string) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	s := m.sessions[session]
	return s != nil && s.yolo
}

func (m *memory) store(session, binding string, findings []rules.Finding) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.session(session)
	for _, f := range findings {
		switch {
		case f.Floor:
		case f.Row.Remember == rules.RememberAll:
			s.rows[f.Row.ID] = true
		case f.Row.Remember == rules.RememberExact:
			s.exact[exactKey{f.Row.ID, binding}] = true
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
		switch {
		case row == nil:
			return fmt.Errorf("approve %q in advance: there is no such key; see the list of patterns", name)
		case row.Remember != rules.RememberAll:
			return fmt.Errorf("approve %q in advance: this act is only ever approved one command at a time, or not at all", name)
		}
		g.memory.mu.Lock()
		g.memory.session(session).rows[row.ID] = true
		g.memory.mu.Unlock()
	}
	return nil
}

// Yolo turns the questions of one session off. The floor and rules that deny still hold, and each bypass is recorded.
func (g *Gate) Yolo(session string) {
	g.memory.mu.Lock()
	defer g.memory.mu.Unlock()
	g.memory.session(session).yolo = true
}

// EndSession forgets what a session's people answered.
func (g *Gate) EndSession(session string) {
	g.memory.mu.Lock()
	defer g.memory.mu.Unlock()
	delete(g.memory.sessions, session)
}

// allow adds keys to the permanent list in memory; what is on disk is the Rememberer's.
func (m *memory) allow(keys []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.list == nil {
		m.list = ParseAllowlist(nil)
	}
	for _, k := range keys {
		if row := rules.ByName(k); row != nil {
			m.list.rows[row.ID] = true
		}
	}
}
