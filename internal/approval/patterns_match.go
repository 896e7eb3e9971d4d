package approval

import (
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/hermes-runtime/hermes/internal/approval/analysis"
	"github.com/hermes-runtime/hermes/internal/approval/rules"
)

// pattern is a user's expression, with what a match of it costs.
type pattern struct {
	*regexp.Regexp
	needs string // a text that is in every match; "" = none is known
	size  int    // of the program that matches: what is done at most for each byte
}

func newPattern(expr string) (*pattern, error) {
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, err
	}
	tree, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil, err
	}
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, err
	}
	return &pattern{re, needed(tree), len(prog.Inst)}, nil
}

// needed is the longest literal text that every match of an expression holds.
func needed(re *syntax.Regexp) (literal string) {
	switch re.Op {
	case syntax.OpLiteral:
		if re.Flags&syntax.FoldCase == 0 {
			return string(re.Rune)
		}
	case syntax.OpRepeat:
		if re.Min > 0 {
			return needed(re.Sub[0])
		}
	case syntax.OpCapture, syntax.OpPlus, syntax.OpConcat:
		for _, sub := range re.Sub {
			if l := needed(sub); len(l) > len(literal) {
				literal = l
			}
		}
	}
	return literal
}

// What matching costs in steps of the reading's budget: setting out, and so many bytes, times the size of the expression, to a step.
const (
	stepsMatch   = 2
	bytesMatched = 10
	bytesSought  = 256
)

// matching holds a user's rows against one reading.
type matching struct {
	reading *analysis.Reading
	lines   []folded // of its commands
	work    analysis.Budget
	over    bool // the budget is spent: nothing more is matched
}

// folded is a command as expressions see it.
type folded struct{ program, args, line, source string }

func newMatching(reading *analysis.Reading) *matching {
	m := &matching{reading: reading, lines: make([]folded, len(reading.Commands)), work: reading.Matching()}
	for i := range reading.Commands {
		c := &reading.Commands[i]
		if len(c.Words) == 0 {
			continue
		}
		f := folded{program: c.Program}
		if f.program == "" {
			f.program = analysis.Show(c.Words[0].Text)
		}
		args := make([]string, 0, len(c.Words))
		for _, w := range c.Words[1:] {
			args = append(args, analysis.Show(w.Text))
		}
		f.args = strings.Join(args, " ")
		f.line = strings.TrimSpace(f.program + " " + f.args)
		if !c.Payload {
			f.source = c.Span.Slice(reading.Text)
		}
		m.lines[i] = f
	}
	return m
}

// is tells whether an expression matches a text, as far as the budget goes.
func (m *matching) is(p *pattern, text string) bool {
	if m.over || !m.spend(stepsMatch+len(text)/bytesSought) || !strings.Contains(text, p.needs) {
		return false
	}
	return m.spend(p.size*len(text)/bytesMatched) && p.MatchString(text)
}

func (m *matching) spend(steps int) bool {
	m.over = m.over || !m.work.Spend(steps)
	return !m.over
}

// find lists the commands that a row matches.
func (m *matching) find(r *userRow) (out []rules.Finding) {
	for i := range m.lines {
		if !m.matches(r, &m.lines[i]) {
			continue
		}
		c := &m.reading.Commands[i]
		act := rules.Act{Command: c, Reading: m.reading}
		out = append(out, rules.Finding{Row: r.row, Span: c.Span, Text: act.Line(), Reason: r.why, Command: i})
	}
	if len(out) > 0 || r.rough == nil {
		return out
	}
	for _, n := range m.reading.Notes { // a text that can't be read as commands is held against the expression as it stands
		if n.Kind != analysis.NoteLimit && n.Kind != analysis.NoteUnparsed {
			continue
		}
		for line := range strings.Lines(m.reading.Text) {
			if line = strings.TrimSpace(line); m.is(r.rough, line) {
				return append(out, rules.Finding{Row: r.row, Span: n.Span, Text: line, Reason: r.why, Command: -1})
			}
		}
	}
	return out
}

func (m *matching) matches(r *userRow, f *folded) bool {
	if f.program == "" || r.prog != nil && !m.is(r.prog, f.program) || r.args != nil && !m.is(r.args, f.args) {
		return false
	}
	return r.text == nil || m.is(r.text, f.line) || f.source != "" && m.is(r.text, f.source)
}

// apply adds what the user's rows find, those that deny first. Where they are more work than the text's length allows, the rest of them
// isn't tried, and that is asked about.
func (u *UserRows) apply(found []rules.Finding, reading *analysis.Reading) []rules.Finding {
	if u == nil || reading == nil || len(u.own) == 0 {
		return found
	}
	m := newMatching(reading)
	for _, denies := range [...]bool{true, false} {
		for i := range u.own {
			if r := &u.own[i]; (r.row.Family == familyDeny) == denies {
				found = append(found, m.find(r)...)
			}
		}
	}
	if m.over {
		span := analysis.Span{Start: 0, End: len(reading.Text)}
		found = append(found, rules.Finding{Row: rules.ByName("analysis.limit"), Span: span, Text: reading.Text, Command: -1,
			Reason: "your own patterns are more work than a text of its length is given"})
	}
	return found
}
