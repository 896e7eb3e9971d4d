// Package rules is the table of dangerous acts: one row an act, matched against what will run and never against text. Rows are data
// and functions of a reading; they do no input or output.
package rules

import (
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/hermes-runtime/hermes/internal/approval/analysis"
	"github.com/hermes-runtime/hermes/internal/approval/payload"
)

// Remember says what an answer to a row may be stored for.
type Remember string

// What may be remembered.
const (
	RememberNever Remember = ""      // nothing is asked, or nothing is stored
	RememberExact Remember = "exact" // only for the same command
	RememberAll   Remember = "all"   // for the row as a whole
)

// Row is one dangerous act.
type Row struct {
	ID       string // stable machine name; never changes
	Key      string // description, and what an approval is remembered by; never changes
	Family   string
	Matches  string // what the row matches, in words
	Floor    bool   // hits may be ones that nobody can approve on a host-like environment
	Remember Remember
	Leaves   bool // the harm leaves the environment
	Smart    bool // a reviewing model may approve it

	Programs []string          // the programs that Match looks at
	Writes   bool              // Match also looks at every command that writes by redirect
	Reads    bool              // Match also looks at every command that reads by redirect
	Runs     bool              // Match also looks at every command that runs the output of another, or a file that the session brought
	Unlisted bool              // Match looks at programs that no table lists
	Note     analysis.NoteKind // the row stands for this finding of the analysis itself
	Match    func(*Act) []Hit

	Examples   []string // commands that match, in /data/app of a user whose home is /home/ann
	LookAlikes []string // commands that don't
}

// Act is one command under judgement.
type Act struct {
	*analysis.Command
	Reading *analysis.Reading
	Index   int // in the reading

	known *known // what was found out about the reading's commands
	wrote memo[[]analysis.Target]
	gone  memo[removal]
	sql   memo[[]payload.SQLFinding]
	paths map[*analysis.Word][]analysis.Target // what lists of operands name, by their first
	words map[string][]analysis.Target         // what single words name
	args  []parsed
}

// memo holds what several rows ask for.
type memo[T any] struct {
	value T
	asked bool
}

func (m *memo[T]) get(find func() T) T {
	if !m.asked {
		m.value, m.asked = find(), true
	}
	return m.value
}

// known is shared by the acts of one reading.
type known struct {
	private map[int]bool       // by index: the command reads what is private
	lines   map[lineKey]string // what commands look like
	work    analysis.Budget    // what is left for judging
}

// Hit is one match of a row.
type Hit struct {
	Reason  string // why, in plain words, with what on
	Targets []analysis.Target
	Floor   bool
}

// Finding is one dangerous act in a command.
type Finding struct {
	Row     *Row
	Span    analysis.Span // in the original text
	Text    string        // the act as it will run
	Reason  string
	Targets []analysis.Target
	Floor   bool
	Command int // index in the reading, −1 for a finding about no command
}

// Table lists every row, gravest first. It is not to be changed.
func Table() []Row { return table().rows }

// index is the table with what a reading is looked up by.
type index struct {
	rows      []Row
	byProgram map[string][]*Row
	programs  []string
	byNote    map[analysis.NoteKind]*Row
	onWrites  []*Row
	onReads   []*Row
	onRuns    []*Row
	unlisted  *Row // for programs that no table lists
	rank      map[*Row]int
}

// table is made when the first command is judged: most processes judge none.
var table = sync.OnceValue(func() *index {
	t := &index{
		rows: slices.Concat(floorRows(), deleteRows(), diskRows(), sqlRows(), databaseRows(), systemRows(), userRows(), secretRows(), permRows(),
			kernelRows(), accountRows(), processRows(), netRows(), remoteRows(), codeRows, gitRows(), containerRows(), clusterRows(), infraRows(), cloudRows(), packageRows(),
			sudoRows(), agentRows(), unlistedRows(), analysisRows()),
		byProgram: map[string][]*Row{}, byNote: map[analysis.NoteKind]*Row{}, rank: map[*Row]int{},
	}
	for i := range t.rows {
		r := &t.rows[i]
		t.rank[r] = i
		if r.Unlisted {
			t.unlisted = r
		}
		for _, p := range r.Programs {
			if !slices.Contains(t.byProgram[p], r) {
				t.byProgram[p] = append(t.byProgram[p], r)
			}
		}
		if r.Writes {
			t.onWrites = append(t.onWrites, r)
		}
		if r.Reads {
			t.onReads = append(t.onReads, r)
		}
		if r.Runs {
			t.onRuns = append(t.onRuns, r)
		}
		if r.Note != "" {
			t.byNote[r.Note] = r
		}
	}
	t.programs = slices.Sorted(maps.Keys(t.byProgram))
	return t
})

// Programs lists, in order, every program that a row is about. It is not to be changed.
func Programs() []string { return table().programs }

// ByName finds a row by its id or key.
func ByName(name string) *Row {
	rows := Table()
	for i := range rows {
		if rows[i].ID == name || rows[i].Key == name {
			return &rows[i]
		}
	}
	return nil
}

// lineKey tells commands apart by what their lines are made of. A pattern stands for many programs with the same words.
type lineKey struct {
	word     *analysis.Word
	redirect *analysis.Redirect
	words    int
	others   int
}

// Line shows the command as it will run, on one line. It is made once: many rows may find something in a long command.
func (a *Act) Line() string {
	if a.known == nil || len(a.Words) == 0 {
		return a.show()
	}
	key := lineKey{word: &a.Words[0], words: len(a.Words), others: len(a.Redirects)}
	if key.others > 0 {
		key.redirect = &a.Redirects[0]
	}
	line, ok := a.known.lines[key]
	if !ok {
		if a.known.lines == nil {
			a.known.lines = map[lineKey]string{}
		}
		line = a.show()
		a.known.lines[key] = line
	}
	return line
}

func (a *Act) show() string {
	parts := make([]string, 0, len(a.Words)+len(a.Redirects))
	for _, w := range a.Words {
		parts = append(parts, quote(analysis.Show(w.Text)))
	}
	for _, r := range a.Redirects {
		if r.Write {
			parts = append(parts, r.Op+" "+quote(analysis.Show(r.Target.Text)))
		}
	}
	return strings.Join(parts, " ")
}

func quote(s string) string {
	if s == "" || strings.ContainsAny(s, " \t\n;&|<>()'\"$`\\") {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	return s
}

// shows joins targets for people.
func shows(targets []analysis.Target) string {
	parts := make([]string, 0, len(targets))
	for _, t := range targets {
		p := analysis.Show(t.Path)
		if t.All {
			p = "everything in " + p
		}
		if slices.Contains(parts, p) {
			continue
		}
		if len(parts) == 4 {
			parts = append(parts, "…")
			break
		}
		parts = append(parts, p)
	}
	return strings.Join(parts, ", ")
}

// each resolves operands as paths and keeps those that are wanted.
func (a *Act) each(words []analysis.Word, want func(analysis.Target) bool) []analysis.Target {
	var out []analysis.Target
	for _, t := range a.resolved(words) {
		if want(t) {
			out = append(out, t)
		}
	}
	return out
}

// few is how many words are resolved again sooner than remembered.
const few = 4

// resolved lists what words name, each place once.
func (a *Act) resolved(words []analysis.Word) []analysis.Target {
	if len(words) == 0 {
		return nil
	}
	if out, ok := a.paths[&words[0]]; ok && len(words) > few {
		return out
	}
	var out []analysis.Target
	var seen map[analysis.Target]bool // operands may be ten thousand
	if len(words) > few {
		seen, out = make(map[analysis.Target]bool, len(words)), make([]analysis.Target, 0, len(words))
	}
	for _, w := range words {
		for _, t := range a.named(w, len(words)) {
			if seen == nil && slices.Contains(out, t) || seen[t] {
				continue
			}
			if seen != nil {
				seen[t] = true
			}
			out = append(out, t)
		}
	}
	if len(words) > few {
		if a.paths == nil {
			a.paths = map[*analysis.Word][]analysis.Target{}
		}
		a.paths[&words[0]] = out
	}
	return out
}

// named is what one of n words names. Of many the answers are kept: rows look at the same words in lists of their own.
func (a *Act) named(w analysis.Word, n int) []analysis.Target {
	if n <= few || len(w.Alts) > 0 {
		return a.Reading.Targets(a.Command, w)
	}
	out, ok := a.words[w.Text]
	if !ok {
		if out = a.Reading.Targets(a.Command, w); a.words == nil {
			a.words = map[string][]analysis.Target{}
		}
		a.words[w.Text] = out
	}
	return out
}

func one(reason string, targets []analysis.Target) []Hit {
	if len(targets) == 0 {
		return nil
	}
	return []Hit{{Reason: reason + ": " + shows(targets), Targets: targets}}
}
