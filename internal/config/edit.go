package config

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/hermes-runtime/hermes/internal/atomicfile"
)

// Set writes one value at a dotted path and leaves every other byte of the file as it was: comments, order, quoting. value is
// YAML for one scalar or a flow list. The file is read again under a lock, verified after the edit and replaced as a whole.
func Set(ctx context.Context, file, path, value string) error {
	var want any
	if err := yaml.Unmarshal([]byte(value), &want); err != nil || strings.ContainsAny(value, "\n\r") {
		return &Problem{File: file, Key: path, Text: conceal(path, bad(value, "is no YAML value on one line; put text into quotes")).Error()}
	}
	return (&edit{file: file, path: path, want: normal(want)}).make(ctx, func(d *Document, text string) (string, error) {
		return splice(d, text, path, value)
	})
}

// edit is a change of one key in a file.
type edit struct {
	file, path string
	want       any // what the key must hold afterwards; nil = it isn't looked at
}

func (e *edit) make(ctx context.Context, change func(*Document, string) (string, error)) error {
	return atomicfile.Update(ctx, e.file, 0o600, func(old []byte) ([]byte, error) {
		d, err := Parse(e.file, string(old), nil)
		if err != nil {
			return nil, err
		}
		text, err := change(d, string(old))
		if err != nil || text == string(old) {
			return old, err
		}
		return []byte(text), e.verify(d, text)
	})
}

// verify reads the edited text back: the value must be there, and nothing else may have changed.
func (e *edit) verify(old *Document, text string) error {
	d, err := Parse(e.file, text, nil)
	if err == nil {
		got, _ := d.Get(e.path)
		if e.want != nil && !reflect.DeepEqual(got, e.want) {
			err = fmt.Errorf("%s would hold something else", e.path)
		} else if !sameBut(old, d, e.path) {
			err = fmt.Errorf("other keys would change")
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %s can't be set without disturbing the file; edit it by hand: %w", e.file, e.path, err)
	}
	return nil
}

func sameBut(a, b *Document, path string) bool {
	return reflect.DeepEqual(without(a, path), without(b, path))
}

func without(d *Document, path string) any {
	if d.root == nil {
		return map[string]any(nil)
	}
	m, _ := plain(d.root).(map[string]any)
	drop(m, strings.Split(path, "."))
	if len(m) == 0 {
		return map[string]any(nil)
	}
	return m
}

// drop takes the key out, and every mapping that is empty without it.
func drop(m map[string]any, path []string) {
	if len(path) == 1 {
		delete(m, path[0])
		return
	}
	sub, ok := m[path[0]].(map[string]any)
	if !ok {
		if m[path[0]] == nil {
			delete(m, path[0])
		}
		return
	}
	if drop(sub, path[1:]); len(sub) == 0 {
		delete(m, path[0])
	}
}

func splice(d *Document, text, path, value string) (string, error) {
	parts := strings.Split(path, ".")
	m, depth, last := d.deepest(parts)
	if depth == len(parts) { // the key is there
		return target{d, last, path}.replace(text, value)
	}
	return insert(d, text, place{parts: parts, depth: depth, parent: m, holder: last}, value)
}

// deepest follows parts as far as keys exist. It returns the innermost mapping, how many parts were found, and the last pair.
func (d *Document) deepest(parts []string) (*ast.MappingNode, int, *ast.MappingValueNode) {
	m := d.root
	var last *ast.MappingValueNode
	for i, part := range parts {
		if m == nil {
			return nil, i, last
		}
		found := false
		for _, v := range m.Values {
			if keyOf(v) == part {
				last, found = v, true
				break
			}
		}
		if !found {
			return m, i, last
		}
		if i == len(parts)-1 {
			return m, len(parts), last
		}
		m, _ = mapping(last.Value)
	}
	return m, len(parts), last
}

// target is a pair that is there already.
type target struct {
	doc  *Document
	pair *ast.MappingValueNode
	path string
}

// wrong says why the pair can't be changed.
func (t target) wrong(why string) error {
	return at(t.doc.Path, t.pair.Value, t.path, why+"; edit it by hand")
}

// replace gives the pair another value.
func (t target) replace(text, value string) (string, error) {
	v := t.pair
	lines := strings.SplitAfter(text, "\n")
	if v.Value.Type() == ast.NullType {
		return afterKey(lines, v, value), nil
	}
	switch v.Value.(type) {
	case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
	case *ast.SequenceNode:
		if s := v.Value.(*ast.SequenceNode); !s.IsFlowStyle {
			return "", t.wrong("is a list")
		}
	default:
		return "", t.wrong("is no single value")
	}
	pos := v.Value.GetToken().Position
	line := []rune(lines[pos.Line-1])
	start := pos.Column - 1
	if start >= len(line) {
		return "", t.wrong("spans lines")
	}
	end := valueEnd(line, start)
	lines[pos.Line-1] = string(line[:start]) + value + string(line[end:])
	return strings.Join(lines, ""), nil
}

// valueEnd finds where the scalar or flow list that begins at start ends in its line.
func valueEnd(line []rune, start int) int {
	var quote rune
	depth := 0
	for i := start; i < len(line); i++ {
		switch c := line[i]; {
		case quote != 0:
			if c == '\\' && quote == '"' {
				i++
			} else if c == quote {
				if quote = 0; depth == 0 {
					return i + 1
				}
			}
		case c == '"' || c == '\'' && (i == start || depth > 0):
			quote = c
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			if depth--; depth <= 0 {
				return i + 1
			}
		case depth == 0 && (c == '\n' || c == '\r' || c == '#' && i > start && line[i-1] == ' '):
			return len([]rune(strings.TrimRight(string(line[:i]), " \t\r\n")))
		}
	}
	return len([]rune(strings.TrimRight(string(line), " \t\r\n")))
}

// afterKey gives a key without value one.
func afterKey(lines []string, v *ast.MappingValueNode, value string) string {
	pos := v.Key.GetToken().Position
	line := lines[pos.Line-1]
	colon := strings.IndexByte(line[min(len(line), pos.Column-1):], ':') + pos.Column - 1
	rest := line[colon+1:]
	for _, null := range []string{"null", "~"} {
		if strings.HasPrefix(strings.TrimSpace(rest), null) {
			rest = strings.Replace(rest, null, "", 1)
		}
	}
	if strings.HasPrefix(value, "\n") && strings.HasSuffix(value, "\n") {
		lines[pos.Line-1] = line[:colon+1] + strings.TrimRight(rest, " \t\r\n") + value
	} else {
		lines[pos.Line-1] = line[:colon+1] + " " + value + rest
	}
	return strings.Join(lines, "")
}

type place struct {
	parts  []string
	depth  int
	parent *ast.MappingNode      // nil: the holder has no mapping yet
	holder *ast.MappingValueNode // the pair that parent is the value of; nil: the root
}

// insert writes the missing keys below the deepest one that is there.
func insert(d *Document, text string, p place, value string) (string, error) {
	if p.parent != nil && p.parent.IsFlowStyle || p.holder != nil && p.parent == nil && p.holder.Value.Type() != ast.NullType {
		return "", at(d.Path, p.holder, strings.Join(p.parts, "."), "its parent is no block mapping; edit it by hand")
	}
	indent := 0
	if p.holder != nil {
		indent = p.holder.Key.GetToken().Position.Column + 1
		if p.parent != nil && len(p.parent.Values) > 0 {
			indent = p.parent.Values[0].Key.GetToken().Position.Column - 1
		}
	}
	var b strings.Builder
	for i, part := range p.parts[p.depth:] {
		b.WriteString(strings.Repeat(" ", indent+2*i) + part + ":")
		if p.depth+i < len(p.parts)-1 {
			b.WriteString("\n")
		}
	}
	if strings.HasPrefix(value, "\n") {
		b.WriteString(value)
	} else {
		b.WriteString(" " + value + "\n")
	}
	if p.holder == nil {
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		return text + b.String(), nil
	}
	lines := strings.SplitAfter(text, "\n")
	line := p.holder.Key.GetToken().Position.Line - 1
	if !strings.HasSuffix(lines[line], "\n") {
		lines[line] += "\n"
	}
	lines[line] += b.String()
	return strings.Join(lines, ""), nil
}

// lastLine is the last line that a node stands in.
func lastLine(n ast.Node) int {
	line := n.GetToken().Position.Line
	switch n := n.(type) {
	case *ast.MappingNode:
		for _, v := range n.Values {
			line = max(line, lastLine(v))
		}
	case *ast.MappingValueNode:
		line = max(lastLine(n.Key), lastLine(n.Value))
	case *ast.SequenceNode:
		for _, v := range n.Values {
			line = max(line, lastLine(v))
		}
		if n.End != nil {
			line = max(line, n.End.Position.Line)
		}
	case *ast.LiteralNode:
		line += strings.Count(n.Value.Value, "\n")
	}
	return line
}
