package v4a

import (
	"fmt"
	"strings"

	"github.com/hermes-runtime/hermes/toolset/file/match"
	"github.com/hermes-runtime/hermes/toolset/file/text"
)

// Applied is what hunks do to a text.
type Applied struct {
	Edits    []text.Edit
	Strategy match.Strategy // the loosest that was needed
}

// Apply finds the place of each hunk, in order, each behind the one before.
func Apply(d *text.Doc, hunks []Hunk) (Applied, error) {
	a := &applier{doc: d, blocks: match.NewBlocks(d), out: Applied{Strategy: match.Exact}}
	for i, h := range hunks {
		if err := a.hunk(h); err != nil {
			return Applied{}, fmt.Errorf("hunk %d (line %d of the patch): %w", i+1, h.Line, err)
		}
	}
	return a.out, nil
}

type applier struct {
	doc    *text.Doc
	blocks *match.Blocks
	cursor int // line behind the last hunk
	out    Applied
}

func (a *applier) hunk(h Hunk) error {
	var old []string
	for _, l := range h.Lines {
		if l.Sign != '+' {
			old = append(old, l.Text)
		}
	}
	scope, err := a.scope(h)
	if err != nil {
		return err
	}
	if len(old) == 0 {
		return a.insert(h, scope)
	}
	block := a.blocks.Find(old, match.Range{From: scope.from, To: len(a.blocks.Lines()), AtEnd: h.AtEnd})
	if len(block.Starts) > 1 && scope.end > 0 { // the hint's own block may tell them apart
		if inner := a.blocks.Find(old, match.Range{From: scope.from, To: scope.end, AtEnd: false}); len(inner.Starts) == 1 {
			block = inner
		}
	}
	switch len(block.Starts) {
	case 0:
		return a.missing(old, scope)
	case 1:
	default:
		return fmt.Errorf("its lines are found %d times (%s), first at lines %s: give more context, or a hint behind @@", len(block.Starts), block.Strategy, numbers(block.Starts))
	}
	a.edit(h, &block)
	if block.Strategy != match.Exact {
		a.out.Strategy = block.Strategy
	}
	return nil
}

func numbers(starts []int) string {
	var b strings.Builder
	for i, s := range starts[:min(len(starts), 10)] {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprint(&b, s+1)
	}
	return b.String()
}

// missing says what couldn't be found, and whether it stands before the place where it was looked for.
func (a *applier) missing(old []string, s scope) error {
	where := "the file"
	if s.from > 0 {
		where = fmt.Sprintf("the file from line %d on", s.from+1)
		if before := a.blocks.Find(old, match.Range{To: len(a.blocks.Lines())}); len(before.Starts) > 0 {
			return fmt.Errorf("its lines are found at line %s only, which is before line %d, where it has to be: hunks stand in the order of the file, behind their hints", numbers(before.Starts), s.from+1)
		}
	}
	return fmt.Errorf("its lines are not in %s: %q", where, clip(firstOf(old)))
}

func firstOf(lines []string) string {
	for _, l := range lines {
		if strings.TrimSpace(l) != "" {
			return l
		}
	}
	return lines[0]
}

// edit turns a hunk at its place into edits: context stays as the file has it.
func (a *applier) edit(h Hunk, b *match.Block) {
	at := b.Starts[0]
	for i := 0; i < len(h.Lines); {
		if h.Lines[i].Sign == ' ' {
			at++
			i++
			continue
		}
		from := at
		var fresh []string
		for i < len(h.Lines) && h.Lines[i].Sign != ' ' {
			if h.Lines[i].Sign == '-' {
				at++
			} else {
				fresh = append(fresh, b.Indent(h.Lines[i].Text))
			}
			i++
		}
		a.out.Edits = append(a.out.Edits, a.doc.ReplaceLines(from, at, fresh))
	}
	a.cursor = at
}

// insert puts a hunk of additions alone behind its hint, or at the end.
func (a *applier) insert(h Hunk, s scope) error {
	at := len(a.blocks.Lines())
	if s.hinted {
		if s.count > 1 {
			return fmt.Errorf("the hint %q stands %d times in the file, and lines that are only added need one place", h.Hints[len(h.Hints)-1], s.count)
		}
		at = s.line + 1
	}
	if at < a.cursor {
		return fmt.Errorf("the place behind its hint (line %d) lies before the hunk before it", at)
	}
	var fresh []string
	for _, l := range h.Lines {
		fresh = append(fresh, l.Text)
	}
	a.out.Edits = append(a.out.Edits, a.doc.ReplaceLines(at, at, fresh))
	a.cursor = at
	return nil
}

// scope is the part of the file that hints lead to.
type scope struct {
	hinted bool
	from   int // first line
	end    int // line behind the block that the last hint heads; 0 = not known
	line   int // of the last hint
	count  int // how often it stands in the file
}

// scope follows the hints one after the other.
func (a *applier) scope(h Hunk) (scope, error) {
	s := scope{from: a.cursor}
	at := a.cursor
	for _, hint := range h.Hints {
		found := a.hints(hint)
		if len(found) == 0 {
			return s, fmt.Errorf("its hint %q is not in the file", clip(hint))
		}
		s.hinted, s.count = true, len(found)
		s.line = found[0]
		behind := false
		for _, f := range found {
			if f >= at {
				s.line, behind = f, true
				break
			}
		}
		s.from = max(a.cursor, s.line)
		if !behind { // the hunks before this one are in the block that it heads
			s.line = found[len(found)-1]
			s.from = a.cursor
		}
		s.end = a.blockEnd(s.line)
		at = s.line + 1
	}
	if s.hinted && s.line < a.cursor && s.end <= a.cursor {
		return s, fmt.Errorf("its hint %q stands before the hunk before it", clip(h.Hints[len(h.Hints)-1]))
	}
	return s, nil
}

// hints are the lines that a hint means: equal ones, else those that begin with it, else those that hold it.
func (a *applier) hints(hint string) []int {
	want := strings.Join(strings.Fields(hint), " ")
	for _, test := range []func(have, want string) bool{
		func(have, want string) bool { return have == want },
		strings.HasPrefix,
		strings.Contains,
	} {
		var out []int
		for i, l := range a.blocks.Lines() {
			if test(strings.Join(strings.Fields(l), " "), want) {
				out = append(out, i)
			}
		}
		if len(out) > 0 {
			return out
		}
	}
	return nil
}

// blockEnd is the line behind the block that a line heads: the next one that is indented no deeper and isn't a closing bracket, or
// the next heading of the same rank.
func (a *applier) blockEnd(head int) int {
	lines := a.blocks.Lines()
	rank := headingRank(lines[head])
	depth := depthOf(lines[head])
	for i := head + 1; i < len(lines); i++ {
		t := strings.TrimSpace(lines[i])
		switch {
		case t == "":
		case rank > 0:
			if r := headingRank(lines[i]); r > 0 && r <= rank {
				return i
			}
		case depthOf(lines[i]) <= depth && !strings.ContainsAny(t[:1], "})]"):
			return i
		}
	}
	return len(lines)
}

func depthOf(l string) int {
	n := 0
	for _, r := range l {
		switch r {
		case ' ':
			n++
		case '\t':
			n += 4
		default:
			return n
		}
	}
	return n
}

// headingRank is that of a heading in Markdown, 0 for other lines.
func headingRank(l string) int {
	n := len(l) - len(strings.TrimLeft(l, "#"))
	if n > 0 && n <= 6 && strings.HasPrefix(l[n:], " ") {
		return n
	}
	return 0
}
