// Package v4a reads patches in the V4A form and works out what they do to a text.
package v4a

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"sync"
)

// Kind is what an operation does.
type Kind string

// The kinds of operation.
const (
	Update Kind = "Update"
	Add    Kind = "Add"
	Delete Kind = "Delete"
	Move   Kind = "Move"
)

// Operation is one file's part of a patch.
type Operation struct {
	Kind  Kind
	Path  string
	To    string   // Move: where to
	Hunks []Hunk   // Update, Move
	Lines []string // Add: the content
	Line  int      // of the header in the patch
}

// String names the operation.
func (o Operation) String() string {
	if o.Kind == Move {
		return fmt.Sprintf("Move File: %s -> %s (line %d)", o.Path, o.To, o.Line)
	}
	return fmt.Sprintf("%s File: %s (line %d)", o.Kind, o.Path, o.Line)
}

// Hunk is one change.
type Hunk struct {
	Hints []string // lines that lead to the place, from the outermost
	Lines []Line
	AtEnd bool // the last line is the file's
	Line  int  // in the patch
}

// Line is a line of a hunk: its sign is ' ', '-' or '+'.
type Line struct {
	Sign byte
	Text string
}

// Error is a patch that can't be read, or that makes no sense.
type Error struct {
	Line int // in the patch; 0 = the patch as a whole
	Text string
}

// Error says where and what.
func (e *Error) Error() string {
	if e.Line == 0 {
		return "the patch can't be read: " + e.Text
	}
	return fmt.Sprintf("line %d of the patch: %s", e.Line, e.Text)
}

func bad(line int, format string, args ...any) error {
	return &Error{Line: line, Text: fmt.Sprintf(format, args...)}
}

var (
	beginLine  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\*\*\*\s*(?i:begin\s+patch)\s*$`) })
	endLine    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\*\*\*\s*(?i:end\s+patch)\s*$`) })
	headerLine = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\*\*\*\s*(?i:(update|add|delete|move)\s+file)\s*:\s*(.*?)\s*$`)
	})
	moveToLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\*\*\*\s*(?i:move\s+to)\s*:\s*(.*?)\s*$`) })
	eofLine    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\*\*\*\s*(?i:end\s+of\s+file)\s*$`) })
	rangeLine  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^-\d+(,\d+)?\s+\+\d+(,\d+)?\s*(@@\s*(.*))?$`) })
)

// kinds are the header words.
var kinds = map[string]Kind{"update": Update, "add": Add, "delete": Delete, "move": Move}

// Parse reads a patch. What stands before its first header and behind its end is passed over; between them every line must fit.
func Parse(patch string) ([]Operation, error) {
	p := &parser{lines: strings.Split(strings.ReplaceAll(patch, "\r\n", "\n"), "\n")}
	p.start()
	for p.at < len(p.lines) && !p.over {
		if err := p.line(p.lines[p.at]); err != nil {
			return nil, err
		}
		p.at++
	}
	if err := p.finish(); err != nil {
		return nil, err
	}
	if len(p.ops) == 0 {
		return nil, bad(0, "it has no operation: a patch has lines such as *** Update File: PATH")
	}
	return p.ops, check(p.ops)
}

type parser struct {
	lines  []string
	at     int
	fenced bool // a fence was opened in front
	over   bool
	ops    []Operation
	op     *Operation // the one under way
	hunk   *Hunk
	blanks int // empty lines whose meaning depends on what follows
}

// start goes to the first line of the patch.
func (p *parser) start() {
	for i, l := range p.lines {
		t := strings.TrimSpace(l)
		switch {
		case beginLine().MatchString(t):
			p.at = i + 1
			return
		case headerLine().MatchString(t):
			p.at = i
			return
		case strings.HasPrefix(t, "```"):
			p.fenced = !p.fenced
		}
	}
	p.at = len(p.lines)
}

// number is that of the present line.
func (p *parser) number() int { return p.at + 1 }

func (p *parser) line(l string) error {
	head := l
	if p.op == nil || p.op.Kind == Delete || p.op.Kind == Move && p.hunk == nil || p.op.Kind == Update && p.hunk == nil {
		head = strings.TrimLeft(l, " \t") // no content is possible here
	}
	switch {
	case endLine().MatchString(head):
		p.over = true
		return nil
	case headerLine().MatchString(head):
		return p.header(headerLine().FindStringSubmatch(head))
	case beginLine().MatchString(head) && p.op == nil:
		return nil
	case p.fenced && strings.TrimRight(l, " \t") == "```" && p.closes():
		p.over = true
		return nil
	case p.op == nil:
		if strings.TrimSpace(l) == "" {
			return nil
		}
		return bad(p.number(), "%q belongs to no operation", clip(l))
	}
	return p.content(l, head)
}

// closes reports whether nothing of the patch follows a fence.
func (p *parser) closes() bool {
	for _, l := range p.lines[p.at+1:] {
		t := strings.TrimSpace(l)
		if headerLine().MatchString(t) || endLine().MatchString(t) {
			return false
		}
	}
	return true
}

func (p *parser) header(m []string) error {
	if err := p.finish(); err != nil {
		return err
	}
	o := Operation{Kind: kinds[strings.ToLower(m[1])], Path: m[2], Line: p.number()}
	if o.Kind == Move {
		from, to, ok := strings.Cut(m[2], "->")
		if o.Path, o.To = strings.TrimSpace(from), strings.TrimSpace(to); !ok || o.To == "" {
			return bad(p.number(), "Move File needs a target: *** Move File: OLD -> NEW")
		}
	}
	if o.Path == "" {
		return bad(p.number(), "%s File names no path", o.Kind)
	}
	p.op = &o
	return nil
}

// content takes a line of the present operation.
func (p *parser) content(l, head string) error {
	switch {
	case p.op.Kind == Delete:
		if strings.TrimSpace(l) == "" {
			return nil
		}
		return bad(p.number(), "%q: nothing follows a Delete File", clip(l))
	case p.op.Kind == Add:
		return p.addition(l)
	case moveToLine().MatchString(head) && p.op.Kind == Update && p.hunk == nil:
		p.op.Kind, p.op.To = Move, moveToLine().FindStringSubmatch(head)[1]
		if p.op.To == "" {
			return bad(p.number(), "Move to names no path")
		}
		return nil
	case eofLine().MatchString(l):
		if p.hunk == nil {
			return bad(p.number(), "End of File belongs behind the lines of a hunk")
		}
		p.blanks = 0
		p.hunk.AtEnd = true
		return nil
	case strings.HasPrefix(l, "@@") || p.hunk == nil && strings.HasPrefix(head, "@@"):
		return p.hint(head)
	}
	return p.hunkLine(l)
}

func (p *parser) addition(l string) error {
	switch {
	case strings.HasPrefix(l, "+"):
		for ; p.blanks > 0; p.blanks-- {
			p.op.Lines = append(p.op.Lines, "")
		}
		p.op.Lines = append(p.op.Lines, l[1:])
	case strings.TrimSpace(l) == "":
		p.blanks++ // counts if more follows
	default:
		return bad(p.number(), "%q: each line of an Add File begins with +", clip(l))
	}
	return nil
}

// hint begins a hunk, or adds a further hint to one that has no lines yet.
func (p *parser) hint(l string) error {
	h := strings.TrimSpace(strings.TrimPrefix(l, "@@"))
	if m := rangeLine().FindStringSubmatch(h); m != nil {
		h = m[4]
	}
	h = strings.TrimSpace(strings.TrimSuffix(h, "@@"))
	if p.hunk != nil && len(p.hunk.Lines) == 0 {
		if h != "" {
			p.hunk.Hints = append(p.hunk.Hints, h)
		}
		return nil
	}
	if err := p.endHunk(); err != nil {
		return err
	}
	p.hunk = &Hunk{Line: p.number()}
	if h != "" {
		p.hunk.Hints = []string{h}
	}
	return nil
}

func (p *parser) hunkLine(l string) error {
	if l == "" {
		if p.hunk != nil {
			p.blanks++
		}
		return nil
	}
	switch l[0] {
	case ' ', '-', '+':
	default:
		return bad(p.number(), "%q fits nothing: lines of a hunk begin with a blank, - or +", clip(l))
	}
	if p.hunk == nil {
		p.hunk = &Hunk{Line: p.number()}
	}
	if p.hunk.AtEnd {
		return bad(p.number(), "%q follows End of File", clip(l))
	}
	if len(p.hunk.Lines) > 0 {
		for ; p.blanks > 0; p.blanks-- {
			p.hunk.Lines = append(p.hunk.Lines, Line{' ', ""})
		}
	}
	p.blanks = 0
	p.hunk.Lines = append(p.hunk.Lines, Line{l[0], l[1:]})
	return nil
}

func (p *parser) endHunk() error {
	h := p.hunk
	p.hunk, p.blanks = nil, 0
	if h == nil {
		return nil
	}
	for _, l := range h.Lines {
		if l.Sign != ' ' {
			p.op.Hunks = append(p.op.Hunks, *h)
			return nil
		}
	}
	return bad(h.Line, "the hunk of %s changes nothing: it has no line with - or +", p.op)
}

// finish ends the present operation.
func (p *parser) finish() error {
	if p.op == nil {
		return nil
	}
	if err := p.endHunk(); err != nil {
		return err
	}
	if p.op.Kind == Update && len(p.op.Hunks) == 0 {
		return bad(p.op.Line, "%s has no hunk", p.op)
	}
	p.ops = append(p.ops, *p.op)
	p.op, p.blanks = nil, 0
	return nil
}

// check refuses operations that can't all be meant.
func check(ops []Operation) error {
	owner := map[string]Operation{}
	for _, o := range ops {
		for _, name := range o.Paths() {
			key := path.Clean(name)
			if first, taken := owner[key]; taken {
				return bad(o.Line, "%s and %s name the same path: say it in one operation", first, o)
			}
			owner[key] = o
		}
	}
	return nil
}

// Paths are the names that an operation reads or writes.
func (o Operation) Paths() []string {
	if o.Kind == Move {
		return []string{o.Path, o.To}
	}
	return []string{o.Path}
}

func clip(s string) string {
	if r := []rune(s); len(r) > 60 {
		return string(r[:59]) + "…"
	}
	return s
}
