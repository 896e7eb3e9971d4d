package arguments

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hermes-runtime/hermes/internal/registry/schema"
)

// report gathers problems. Missing and unknown names of one object become one problem, since one is often the other misspelt.
type report struct {
	problems []Problem
	more     int
	names    []*namesProblem
}

// namesProblem is what is missing from and unknown in one object.
type namesProblem struct {
	path     string
	node     *schema.Node
	object   map[string]any
	missing  []string
	unknown  []string
	others   int // unknown names beyond those kept
	declared []string
}

// maxNames bounds the unknown names kept of one object.
const maxNames = 20

func (r *report) add(p Problem) {
	if slices.Contains(r.problems, p) {
		return
	}
	if len(r.problems) == maxProblems {
		r.more++
		return
	}
	r.problems = append(r.problems, p)
}

func (w *walker) wrong(expected string, v any) bool {
	if w.report != nil {
		w.report.add(Problem{Path: pathText(w.path), Expected: cut("expected "+expected, maxExpected), Got: preview(v)})
	}
	return false
}

func (w *walker) wrongAt(h hop, expected string, v any) {
	w.path = append(w.path, h)
	w.wrong(expected, v)
	w.path = w.path[:len(w.path)-1]
}

// mismatch reports that v is not what the node says, in the words of the whole node: type, range and allowed values.
func (w *walker) mismatch(n *schema.Node, v any) bool {
	if w.report == nil {
		return false
	}
	return w.wrong(schema.Words(n.Tree), v)
}

func (w *walker) missing(n *schema.Node, name string, m map[string]any) bool {
	if w.report != nil {
		if p := w.report.at(pathText(w.path), n, m); p != nil && !slices.Contains(p.missing, name) {
			p.missing = append(p.missing, name)
		}
	}
	return false
}

func (w *walker) unknown(n *schema.Node, name string, m map[string]any) bool {
	if w.report != nil {
		switch p := w.report.at(pathText(w.path), n, m); {
		case p == nil || slices.Contains(p.unknown, name):
		case len(p.unknown) == maxNames:
			p.others++
		default:
			p.unknown = append(p.unknown, name)
		}
	}
	return false
}

// at finds the entry of an object; nil if there are too many already.
func (r *report) at(path string, n *schema.Node, m map[string]any) *namesProblem {
	for _, p := range r.names {
		if p.path == path {
			if p.node != n {
				p.declared = union(p.declared, n.Declared())
			}
			return p
		}
	}
	if len(r.names) == maxProblems {
		r.more++
		return nil
	}
	p := &namesProblem{path: path, node: n, object: m, declared: n.Declared()}
	r.names = append(r.names, p)
	return p
}

func union(a, b []string) []string {
	for _, s := range b {
		if !slices.Contains(a, s) {
			a = append(a, s)
		}
	}
	return a
}

// finish turns the report into a refusal; names come first, for a misspelt name explains more than what follows from it.
func (r *report) finish() *Invalid {
	values, more := r.problems, r.more
	r.problems, r.more = nil, 0
	for _, p := range r.names {
		r.add(Problem{Path: p.path, Expected: p.words()})
	}
	for _, p := range values {
		r.add(p)
	}
	return refuse(r.problems, r.more+more)
}

func (p *namesProblem) words() string {
	var parts []string
	if len(p.missing) > 0 {
		var names []string
		for _, name := range p.missing {
			s := strconv.Quote(cut(name, maxPreview))
			if prop := p.node.Property(name); prop != nil && prop.Tree != nil {
				if w := schema.Words(prop.Tree); w != "anything" {
					s += " (" + cut(w, maxPreview) + ")"
				}
			}
			names = append(names, s)
		}
		parts = append(parts, "missing "+strings.Join(names, ", "))
	}
	if len(p.unknown) > 0 {
		var names []string
		for _, name := range p.unknown {
			s := strconv.Quote(cut(name, maxPreview))
			if near := closest(name, p.declared); near != "" {
				s += " (did you mean " + strconv.Quote(near) + "?)"
			}
			names = append(names, s)
		}
		if p.others > 0 {
			names = append(names, strconv.Itoa(p.others)+" more")
		}
		parts = append(parts, "unknown "+strings.Join(names, ", "))
		if len(p.declared) > 0 {
			parts = append(parts, "known are "+strings.Join(p.declared, ", "))
		} else {
			parts = append(parts, "it takes none")
		}
	}
	return strings.Join(parts, "; ")
}

// pathText writes a path the way programmers do: edits[2].path; a key that is no plain name is quoted.
func pathText(path []hop) string {
	var b strings.Builder
	for _, h := range path {
		switch {
		case h.index >= 0 && h.key == "":
			b.WriteString("[" + strconv.Itoa(h.index) + "]")
		case plainName(h.key):
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(h.key)
		default:
			b.WriteString("[" + quoteText(cut(h.key, maxPreview)) + "]")
		}
	}
	return b.String()
}

func plainName(s string) bool {
	for _, c := range s {
		if !(c == '_' || c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z') {
			return false
		}
	}
	return s != "" && len(s) <= maxPreview
}

// preview shows a value as JSON in at most 80 characters, without writing out all of a large one.
func preview(v any) string {
	var b strings.Builder
	writePreview(&b, v)
	return cut(b.String(), maxPreview)
}

func writePreview(b *strings.Builder, v any) {
	const enough = 4 * maxPreview // bytes
	if b.Len() > enough {
		return
	}
	switch v := v.(type) {
	case string:
		b.WriteString(quoteText(cut(v, maxPreview+1)))
	case []any:
		b.WriteByte('[')
		for i, e := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			if writePreview(b, e); b.Len() > enough {
				return
			}
		}
		b.WriteByte(']')
	case map[string]any:
		b.WriteByte('{')
		for i, k := range sortedNames(v) {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(quoteText(cut(k, maxPreview)))
			b.WriteByte(':')
			if writePreview(b, v[k]); b.Len() > enough {
				return
			}
		}
		b.WriteByte('}')
	default:
		writeKeyAsIs(b, v)
	}
}

// closest finds the declared name nearest to a wrong one: equal but for spelling, else the fewest edits, at most a third of its length.
func closest(name string, declared []string) string {
	if len(name) > 200 {
		return ""
	}
	best, least := "", 0
	folded := fold(name)
	for _, d := range declared {
		f := fold(d)
		dist := distance(folded, f)
		if strings.Contains(f, folded) && len(folded) >= 3 || strings.Contains(folded, f) && len(f) >= 3 {
			dist = min(dist, 1)
		}
		if dist <= max(len(folded), len(f))/3 && (best == "" || dist < least) {
			best, least = d, dist
		}
	}
	return best
}

// distance counts the letters to add, drop or change between two names.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i, c := range x {
		diagonal := row[0]
		row[0] = i + 1
		for j, d := range y {
			next := diagonal
			if c != d {
				next = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal = row[j+1]
			row[j+1] = next
		}
	}
	return row[len(y)]
}
