package config

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// Item is one item of a list in a file.
type Item struct {
	Value   any    // plain data, as of Get
	Line    int    // 1-based, where it begins
	Comment string // behind it on its line, without the #
}

// Items lists what stands at a dotted path. A value that is no list is one item of which the caller makes what it can; nothing there
// is none.
func (d *Document) Items(path string) []Item {
	n := d.node(path)
	if n == nil {
		return nil
	}
	seq, ok := n.(*ast.SequenceNode)
	if !ok {
		return []Item{{Value: []any{plain(n)}, Line: n.GetToken().Position.Line}}
	}
	lines := strings.Split(d.text, "\n")
	out := make([]Item, 0, len(seq.Values))
	for _, v := range seq.Values {
		item := Item{Value: plain(v), Line: firstLine(v)}
		if last := lastLine(v); !seq.IsFlowStyle && last <= len(lines) {
			item.Comment = commentOf(v, []rune(lines[last-1]))
		}
		out = append(out, item)
	}
	return out
}

// firstLine is the line that a node begins in: a mapping's token is that of its first colon.
func firstLine(n ast.Node) int {
	if m, ok := mapping(n); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		return m.Values[0].Key.GetToken().Position.Line
	}
	return n.GetToken().Position.Line
}

// commentOf finds the comment behind a value at the end of its line.
func commentOf(n ast.Node, line []rune) string {
	start := 0
	if lastLine(n) == n.GetToken().Position.Line {
		start = n.GetToken().Position.Column - 1
	}
	if start >= len(line) || start < 0 {
		return ""
	}
	rest := string(line[min(valueEnd(line, start), len(line)):])
	_, comment, _ := strings.Cut(rest, "#")
	return strings.TrimSpace(comment)
}

// NewItem is an item to be added to a list.
type NewItem struct {
	Text    string // YAML for one scalar, or a list or mapping in brackets, on one line
	Comment string // behind it; left out in a list in brackets
}

// Quoted is an item that is a text.
func Quoted(text string) string { return strconv.Quote(text) }

// Add appends a text to the list at a dotted path: see AddItems.
func Add(ctx context.Context, file, path, item string) error {
	return AddItems(ctx, file, path, NewItem{Text: Quoted(item)})
}

// AddItems appends items to the list at a dotted path, which is made if it is missing, in one change of the file. One that is there
// already is left alone. Everything else in the file stays as it is, as with Set.
func AddItems(ctx context.Context, file, path string, items ...NewItem) error {
	e := &edit{file: file, path: path}
	return e.make(ctx, func(d *Document, text string) (string, error) {
		have := d.values(path)
		for _, item := range items {
			var v any
			if err := yaml.Unmarshal([]byte(item.Text), &v); err != nil || strings.ContainsAny(item.Text+item.Comment, "\n\r") {
				return "", &Problem{File: file, Key: path, Text: "an item that is no YAML value on one line can't be added"}
			}
			v = normal(v)
			if slices.ContainsFunc(have, func(o any) bool { return reflect.DeepEqual(o, v) }) {
				continue
			}
			now, err := Parse(file, text, nil)
			if err != nil {
				return "", err
			}
			if text, err = appendItem(now, text, path, item); err != nil {
				return "", err
			}
			have = append(have, v)
			e.want = have
		}
		return text, nil
	})
}

// RemoveItems takes the items out of the list at a dotted path that drop wants gone, and tells how many there were. Comments on lines
// of their own stay.
func RemoveItems(ctx context.Context, file, path string, drop func(Item) bool) (removed int, err error) {
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return 0, nil // nor is one made for that
	}
	e := &edit{file: file, path: path}
	err = e.make(ctx, func(d *Document, text string) (string, error) {
		removed = 0
		var gone []int
		var left []any
		for i, item := range d.Items(path) {
			if drop(item) {
				gone = append(gone, i)
			} else {
				left = append(left, item.Value)
			}
		}
		if removed = len(gone); removed == 0 {
			return text, nil
		}
		if len(left) > 0 {
			e.want = left
		}
		return cut(d, text, path, gone)
	})
	if err != nil {
		return 0, err
	}
	return removed, nil
}

func (d *Document) values(path string) []any {
	v, _ := d.Get(path)
	list, _ := v.([]any)
	return list
}

func appendItem(d *Document, text, path string, item NewItem) (string, error) {
	parts := strings.Split(path, ".")
	m, depth, last := d.deepest(parts)
	line := "- " + item.Text
	if item.Comment != "" {
		line += " # " + item.Comment
	}
	if depth < len(parts) {
		indent := strings.Repeat("  ", len(parts))
		return insert(d, text, place{parts: parts, depth: depth, parent: m, holder: last}, "\n"+indent+line+"\n")
	}
	lines := strings.SplitAfter(text, "\n")
	if last.Value.Type() == ast.NullType {
		indent := strings.Repeat(" ", last.Key.GetToken().Position.Column+1)
		return afterKey(lines, last, "\n"+indent+line+"\n"), nil
	}
	t := target{d, last, path}
	seq, ok := last.Value.(*ast.SequenceNode)
	if !ok {
		return "", t.wrong("is not a list")
	}
	if seq.IsFlowStyle {
		return t.appendFlow(lines, seq, item.Text)
	}
	dash := seq.Start.Position
	end := lastLine(seq.Values[len(seq.Values)-1])
	if end > len(lines) || end < 1 {
		return "", t.wrong("its end was not found")
	}
	if !strings.HasSuffix(lines[end-1], "\n") {
		lines[end-1] += "\n"
	}
	lines[end-1] += strings.Repeat(" ", dash.Column-1) + line + "\n"
	return strings.Join(lines, ""), nil
}

func (t target) appendFlow(lines []string, seq *ast.SequenceNode, item string) (string, error) {
	if seq.End == nil || seq.End.Position.Line > len(lines) {
		return "", t.wrong("its end was not found")
	}
	pos := seq.End.Position
	line := []rune(lines[pos.Line-1])
	i := pos.Column - 1
	if i < 0 || i >= len(line) || line[i] != ']' {
		return "", t.wrong("its end was not found")
	}
	head := strings.TrimRight(string(line[:i]), " ")
	if len(seq.Values) > 0 && !strings.HasSuffix(head, ",") {
		head += ","
	}
	if len(seq.Values) > 0 {
		head += " "
	}
	lines[pos.Line-1] = head + item + string(line[i:])
	return strings.Join(lines, ""), nil
}

// cut takes items out of a list by their indices.
func cut(d *Document, text, path string, gone []int) (string, error) {
	parts := strings.Split(path, ".")
	_, _, last := d.deepest(parts)
	t := target{d, last, path}
	seq, ok := last.Value.(*ast.SequenceNode)
	if !ok {
		return "", t.wrong("is not a list")
	}
	lines := strings.SplitAfter(text, "\n")
	if seq.IsFlowStyle {
		return t.cutFlow(lines, seq, gone)
	}
	for _, i := range slices.Backward(gone) {
		v := seq.Values[i]
		from, to := firstLine(v), lastLine(v)
		if from > 1 && !strings.HasPrefix(strings.TrimSpace(lines[from-1]), "-") {
			from--
		}
		if from < 1 || to > len(lines) || !strings.HasPrefix(strings.TrimSpace(lines[from-1]), "-") {
			return "", t.wrong(fmt.Sprintf("item %d wasn't found", i+1))
		}
		lines = slices.Delete(lines, from-1, to)
	}
	return strings.Join(lines, ""), nil
}

// cutFlow does it in a list in brackets that stands on one line.
func (t target) cutFlow(lines []string, seq *ast.SequenceNode, gone []int) (string, error) {
	at, end := seq.Start.Position, seq.End
	if end == nil || end.Position.Line != at.Line {
		return "", t.wrong("spans lines")
	}
	line := []rune(lines[at.Line-1])
	var kept []string
	start := at.Column // behind the bracket
	for i := range seq.Values {
		stop := end.Position.Column - 1
		if i+1 < len(seq.Values) {
			stop = comma(line, start)
		}
		if !slices.Contains(gone, i) {
			kept = append(kept, strings.TrimSpace(string(line[start:stop])))
		}
		start = stop + 1
	}
	lines[at.Line-1] = string(line[:at.Column]) + strings.Join(kept, ", ") + string(line[end.Position.Column-1:])
	return strings.Join(lines, ""), nil
}

// comma finds the comma that ends the item which begins at start.
func comma(line []rune, start int) int {
	var quote rune
	depth := 0
	for i := start; i < len(line); i++ {
		switch c := line[i]; {
		case quote != 0:
			if c == '\\' && quote == '"' {
				i++
			} else if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			depth--
		case c == ',' && depth == 0:
			return i
		}
	}
	return len(line)
}
