package approval

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hermes-runtime/hermes/internal/approval/analysis"
	"github.com/hermes-runtime/hermes/internal/approval/rules"
)

// Listed is one item of a list in a configuration: a string, a map, or what else stands there.
type Listed struct {
	Value   any
	Line    int    // 1-based, 0 = unknown
	Comment string // behind the item, on its line
}

// Fault is an item of a configuration that doesn't do what its writer meant.
type Fault struct {
	Line int
	Text string
}

// Grant is what one entry of the permanent list opens: a key as a whole, or narrowed to one command or one directory.
type Grant struct {
	Key     string
	Exact   string // the command's text, or "sha256:" and the hash of it
	Dir     string // with Exact: only there; "" = anywhere
	Env     string // with Exact: only in this environment; "" = in any
	Under   string // only what lies below this directory
	Added   time.Time
	By      string
	Expires time.Time
}

// ListEntry is one entry of the permanent list, and what it does.
type ListEntry struct {
	Grant
	Name    string   // as written
	Line    int      // in its file
	Opens   []string // ids of rows; empty = nothing
	Program string   // set when the entry is the name of a program
	Nothing string   // why it opens nothing
}

// Allowlist is the permanent list, read once: what its entries open. It does not change.
type Allowlist struct {
	Entries []ListEntry
	Faults  []Fault  // entries whose shape is wrong; they open nothing
	Unknown []string // names that open nothing
	byKey   map[string][]*ListEntry
	program map[string]*ListEntry
	script  *ListEntry // opens the question about a script's text
}

// ParseAllowlist reads plain entries: see ReadAllowlist.
func ParseAllowlist(entries []string) *Allowlist {
	items := make([]Listed, len(entries))
	for i, e := range entries {
		items[i].Value = e
	}
	return ReadAllowlist(items, nil)
}

// ReadAllowlist reads the permanent list. An entry is a string: a key, an id, an older name, a key of the user's own patterns, or a bare
// program name, which opens the rows about that program; or a map of key, exact or under, added, by, expires, and with exact cwd and env.
// An entry can't open a row that is never remembered, a plain one none that is remembered exactly only, and an odd one opens nothing.
func ReadAllowlist(items []Listed, own *UserRows) *Allowlist {
	l := &Allowlist{byKey: map[string][]*ListEntry{}, program: map[string]*ListEntry{}}
	for _, item := range items {
		var e ListEntry
		var wrong string
		switch v := item.Value.(type) {
		case string:
			e = ListEntry{Name: v, Grant: Grant{Key: v}}
			if m := addedComment().FindStringSubmatch(item.Comment); m != nil {
				e.Added, _ = time.Parse(time.DateOnly, m[1])
				e.By = m[2]
			}
		case map[string]any:
			e, wrong = readEntry(v)
		default:
			e, wrong = ListEntry{Name: fmt.Sprint(v)}, "is neither a key nor a map with one"
		}
		e.Line = item.Line
		if wrong == "" {
			wrong = l.resolve(&e, own)
		}
		e.Nothing = wrong
		l.Entries = append(l.Entries, e)
		if wrong != "" {
			l.Unknown = append(l.Unknown, e.Name)
			l.Faults = append(l.Faults, Fault{item.Line, fmt.Sprintf("%q opens nothing: it %s", e.Name, wrong)})
		}
	}
	for i := range l.Entries {
		l.index(&l.Entries[i])
	}
	return l
}

// addedComment is what is written behind an entry that an answer made.
var addedComment = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`added (\d{4}-\d\d-\d\d)(?: by (.+))?`)
})

// AddedComment says when and by whom an entry was made.
func AddedComment(g Grant) string {
	s := "added " + g.Added.Format(time.DateOnly)
	if g.By != "" {
		s += " by " + g.By
	}
	return s
}

func readEntry(m map[string]any) (e ListEntry, wrong string) {
	text := func(name string) string {
		switch v := m[name].(type) {
		case nil:
			return ""
		case string:
			return v
		default:
			wrong = fmt.Sprintf("has a %s that is no text", name)
			return fmt.Sprint(v)
		}
	}
	when := func(name string) time.Time {
		s := text(name)
		if s == "" {
			return time.Time{}
		}
		for _, layout := range []string{time.RFC3339, time.DateOnly, time.DateTime} {
			if t, err := time.Parse(layout, s); err == nil {
				return t
			}
		}
		wrong = fmt.Sprintf("has a time %q in %s that is not like 2026-01-31 or 2026-01-31T12:00:00Z", s, name)
		return time.Time{}
	}
	e.Grant = Grant{Key: text("key"), Exact: text("exact"), Dir: text("cwd"), Env: text("env"), Under: text("under"), By: text("by"),
		Added: when("added"), Expires: when("expires")}
	e.Name = e.Key
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if !slices.Contains([]string{"key", "exact", "cwd", "env", "under", "by", "added", "expires"}, name) {
			wrong = fmt.Sprintf("has the unknown field %q", name)
		}
	}
	switch {
	case wrong != "":
	case e.Key == "":
		e.Name, wrong = "a map", "has no key"
	case e.Exact != "" && e.Under != "":
		wrong = "has both exact and under; one entry has one scope"
	case e.Under != "" && (!strings.HasPrefix(e.Under, "/") || analysis.Join("", e.Under) == "/"):
		wrong = "has an under that is no absolute directory below the root"
	}
	return e, wrong
}

// resolve finds what an entry opens, or says why it opens nothing.
func (l *Allowlist) resolve(e *ListEntry, own *UserRows) (nothing string) {
	name := strings.TrimSpace(e.Key)
	if why := knownNothing[name]; why != "" {
		return why
	}
	if name == scriptKey {
		return ""
	}
	if id, ok := aliases[name]; ok {
		name = id
	}
	row := rules.ByName(name)
	if row == nil {
		row = own.byKey(name)
	}
	if row == nil {
		row = askRow(name)
	}
	switch {
	case name != "" && strings.Trim(name, "*.") == "":
		return "stands for everything, and nothing opens everything"
	case len([]rune(name)) < 2:
		return "is a single character; a key, or a list of keys, was meant"
	case row != nil && (row.Remember == rules.RememberNever || row.Floor && row.Remember != rules.RememberAll):
		return "names an act that nobody can approve in advance"
	case row != nil && row.Remember == rules.RememberExact && e.Exact == "":
		return "names an act that is approved one command at a time; give the command in exact"
	case row != nil:
		e.Opens, e.Key = []string{row.ID}, row.Key
		return ""
	}
	for _, r := range programRows(name) {
		e.Opens = append(e.Opens, r.ID)
	}
	if len(e.Opens) == 0 {
		return "is no key, id or program that any pattern is about; `hermes approvals test` shows the keys of a command"
	}
	e.Program = name
	return ""
}

// programRows lists the rows about a program that may be opened as a whole.
func programRows(name string) []*rules.Row {
	var out []*rules.Row
	table := rules.Table()
	for i := range table {
		if slices.Contains(table[i].Programs, name) && table[i].Remember == rules.RememberAll {
			out = append(out, &table[i])
		}
	}
	return out
}

func (l *Allowlist) index(e *ListEntry) {
	switch {
	case e.Nothing != "":
	case e.Key == scriptKey:
		l.script = e
	case e.Program != "":
		l.program[e.Program] = e
	default:
		l.byKey[e.Key] = append(l.byKey[e.Key], e)
	}
}

// covers finds the entry that opens a finding.
func (l *Allowlist) covers(c *check, f *rules.Finding) *ListEntry {
	if l == nil {
		return nil
	}
	if e := l.script; e != nil && c.req.Kind == KindCode && e.holds(c, f) {
		return e
	}
	for _, e := range l.byKey[f.Row.Key] {
		if e.holds(c, f) {
			return e
		}
	}
	if f.Row.Remember != rules.RememberAll {
		return nil
	}
	if e := l.program[c.program(f)]; e != nil && slices.Contains(e.Opens, f.Row.ID) && e.holds(c, f) {
		return e
	}
	return nil
}

// holds tells whether an entry's scope and time fit.
func (e *ListEntry) holds(c *check, f *rules.Finding) bool {
	switch {
	case !e.Expires.IsZero() && !c.started.Before(e.Expires):
		return false
	case e.Exact != "":
		return (e.Exact == c.exactText() || e.Exact == hashText(c.exactText())) && (e.Dir == "" || e.Dir == c.req.Dir) &&
			(e.Env == "" || e.Env == c.req.EnvID)
	case e.Under != "":
		return below(f.Targets, e.Under)
	}
	return true
}

// exactText is what the scope exact of the permanent list compares.
func (c *check) exactText() string {
	if c.req.Command != "" || len(c.req.Paths) == 0 {
		return strings.TrimSpace(c.req.Command)
	}
	var b strings.Builder
	for _, p := range c.req.Paths {
		b.WriteString(" " + analysis.Join(c.req.Dir, p.Path))
	}
	return strings.TrimSpace(b.String())
}

func hashText(s string) string {
	sum := sha256.Sum256([]byte(s))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// below tells whether all targets are known and lie below dir.
func below(targets []analysis.Target, dir string) bool {
	dir = strings.TrimRight(dir, "/")
	return dir != "" && len(targets) > 0 && !slices.ContainsFunc(targets, func(t analysis.Target) bool {
		if !analysis.Known(t.Path) {
			return true
		}
		rest, ok := strings.CutPrefix(t.Path, dir)
		return !ok || rest == "" && !t.All || rest != "" && rest[0] != '/'
	})
}

// grow is the list with entries added, as long as its file isn't read again.
func (l *Allowlist) grow(grants []Grant, own *UserRows) *Allowlist {
	items := make([]Listed, 0, len(grants))
	for _, g := range grants {
		m := map[string]any{"key": g.Key}
		for name, v := range map[string]string{"exact": g.Exact, "cwd": g.Dir, "env": g.Env, "under": g.Under} {
			if v != "" {
				m[name] = v
			}
		}
		items = append(items, Listed{Value: m})
	}
	out := ReadAllowlist(items, own)
	if l == nil {
		return out
	}
	merged := &Allowlist{Entries: slices.Concat(l.Entries, out.Entries), Faults: l.Faults, Unknown: l.Unknown,
		byKey: map[string][]*ListEntry{}, program: map[string]*ListEntry{}}
	for i := range merged.Entries {
		merged.index(&merged.Entries[i])
	}
	return merged
}
