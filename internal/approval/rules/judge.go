package rules

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hermes-runtime/hermes/internal/approval/analysis"
)

// Check lists every finding in a reading, gravest first, then by place. A fault in a row is a finding, never a crash.
func Check(r *analysis.Reading) (found []Finding) {
	defer func() {
		if v := recover(); v != nil {
			span := analysis.Span{Start: 0, End: len(r.Text)}
			found = append(found, Finding{Row: table().byNote[analysis.NoteUnparsed], Span: span, Text: r.Text, Command: -1,
				Reason: fmt.Sprintf("the judgement of the command failed: %v", v)})
		}
	}()
	j := &judgement{reading: r, known: &known{work: r.Budget()}}
	for i := range r.Commands {
		if !j.command(i) {
			j.exceeds(i)
			break
		}
	}
	j.notes()
	j.sort()
	return j.found
}

// judgement is what the rows have found in a reading so far.
type judgement struct {
	reading *analysis.Reading
	found   []Finding
	seen    map[string]bool // acts that were found
	piped   map[int]bool    // commands that run what came from the network
	known   *known
}

// What judging costs, in steps of the reading's budget: a command, a row, a finding, and so many words or bytes of SQL to a step.
const (
	stepsCommand = 10
	stepsRow     = 4
	stepsFinding = 20
	wordsPerStep = 8
	bytesOfSQL   = 2
)

// exceeds notes that the i-th command and those behind it are too much to judge.
func (j *judgement) exceeds(i int) {
	c := &j.reading.Commands[i]
	j.found = append(j.found, Finding{Row: table().byNote[analysis.NoteLimit], Span: c.Span, Text: c.Span.Slice(j.reading.Text), Reason: analysis.TooMuch, Command: i})
}

// command holds the i-th command against the rows that look at it. It tells whether the budget had room for all that.
func (j *judgement) command(i int) bool {
	t, c := table(), &j.reading.Commands[i]
	rows := t.byProgram[c.Program]
	if rows == nil && len(c.Words) > 0 && !analysis.Listed(c.Program) {
		rows = []*Row{t.unlisted}
	}
	script := initScript(c)
	if rows == nil && len(c.Redirects) == 0 && c.Code.Empty() && c.Runs == nil && !script {
		return true
	}
	work := &j.known.work
	if !work.Spend(stepsCommand + (len(rows)+1)*(stepsRow+len(c.Words)/wordsPerStep)) {
		return false
	}
	act := &Act{Command: c, Reading: j.reading, Index: i, known: j.known}
	if helps(act) {
		return true
	}
	for _, row := range rows {
		j.row(row, act)
	}
	for _, more := range [...]struct {
		rows []*Row
		ok   bool
	}{{t.onWrites, act.redirects(true)}, {t.onReads, act.redirects(false)}, {t.onRuns, !c.Code.Empty() || c.Runs != nil}} {
		if !more.ok {
			continue
		}
		for _, row := range more.rows {
			if !slices.Contains(rows, row) {
				j.row(row, act)
			}
		}
	}
	if script {
		j.row(serviceRow(), act)
	}
	return work.Spend(0)
}

func (j *judgement) row(row *Row, act *Act) {
	if row.Match == nil {
		return
	}
	for _, h := range row.Match(act) {
		j.known.work.Spend(stepsFinding)
		f := Finding{Row: row, Span: act.Span, Text: act.Line(), Reason: h.Reason, Targets: h.Targets, Floor: h.Floor, Command: act.Index}
		key := f.act()
		if j.seen[key] {
			continue
		}
		if j.seen == nil {
			j.seen, j.piped = map[string]bool{}, map[int]bool{}
		}
		j.seen[key] = true
		if row.ID == "remote.pipe" {
			j.piped[act.Index] = true
		}
		j.found = append(j.found, f)
	}
}

// act tells acts apart: by row and targets, or by the text where there are none.
func (f *Finding) act() string {
	var b strings.Builder
	flags := func(all ...bool) {
		for _, f := range all {
			if f {
				b.WriteByte('+')
			} else {
				b.WriteByte('-')
			}
		}
	}
	b.WriteString(f.Row.ID)
	flags(f.Floor)
	for _, t := range f.Targets {
		for _, part := range [...]string{t.Path, string(t.Class), string(t.Kind)} {
			b.WriteByte(1)
			b.WriteString(part)
		}
		flags(t.All, t.Link)
	}
	if len(f.Targets) == 0 {
		b.WriteByte(2)
		b.WriteString(f.Text)
	}
	return b.String()
}

// notes adds what the analysis itself found.
func (j *judgement) notes() {
	type place struct {
		row  *Row
		span analysis.Span
	}
	said := map[place]bool{} // a program text is one place, however often it does the same
	for _, n := range j.reading.Notes {
		row := table().byNote[n.Kind]
		if row == nil || said[place{row, n.Span}] {
			continue
		}
		if (n.Kind == analysis.NoteOpaque || n.Kind == analysis.NoteCode) && j.piped[n.Command] {
			continue // the graver row says it already
		}
		said[place{row, n.Span}] = true
		j.found = append(j.found, Finding{Row: row, Span: n.Span, Text: n.Span.Slice(j.reading.Text), Reason: n.Reason, Floor: row.Floor, Command: n.Command})
	}
}

// sort puts the gravest first: floor acts, then by row, then by place.
func (j *judgement) sort() {
	rank := table().rank
	slices.SortStableFunc(j.found, func(a, b Finding) int {
		if a.Floor != b.Floor {
			if a.Floor {
				return -1
			}
			return 1
		}
		if d := rank[a.Row] - rank[b.Row]; d != 0 {
			return d
		}
		return a.Span.Start - b.Span.Start
	})
}

// redirects tells whether a redirect of the command writes, or reads.
func (a *Act) redirects(writes bool) bool {
	return slices.ContainsFunc(a.Redirects, func(r analysis.Redirect) bool { return r.Write == writes })
}

// helps tells whether a command only shows its help or version.
func helps(a *Act) bool {
	for _, w := range a.Words[min(1, len(a.Words)):] {
		switch w.Text {
		case "--":
			return false
		case "--help", "--version":
			if w.Text == "--version" && slices.Contains([]string{"cargo", "gem", "choco", "winget", "nuget"}, a.Program) {
				continue // there it takes the version of a package
			}
			return a.Program != "find" // there they are words of an expression
		}
	}
	return false
}
