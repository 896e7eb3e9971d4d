package schema

import (
	"strconv"
	"strings"
)

// renames maps the property names a dialect shows to the tool's own. One original name gets one new name throughout a tool.
type renames map[string]string

// renameProperties gives every property a name that the dialect takes, in place, and the table that leads back.
func renameProperties(root map[string]any, r rules) renames {
	if r.property == nil {
		return nil
	}
	taken := map[string]bool{}
	var bad []string
	everyNode(root, func(m map[string]any) {
		for _, name := range propertyNames(m) {
			if taken[name] {
				continue
			}
			taken[name] = true
			if !r.property(name) {
				bad = append(bad, name)
			}
		}
	})
	if bad == nil {
		return nil
	}
	forth, back := map[string]string{}, renames{}
	for _, name := range bad {
		fresh := freshName(name, r, taken)
		taken[fresh] = true
		forth[name], back[fresh] = fresh, name
	}
	everyNode(root, func(m map[string]any) { renameIn(m, forth) })
	return back
}

// propertyNames lists, in order, the names of properties that a node speaks of.
func propertyNames(m map[string]any) []string {
	var names []string
	for _, kw := range []string{"properties", "dependentSchemas", "dependentRequired"} {
		sub, _ := m[kw].(map[string]any)
		names = append(names, sortedKeys(sub)...)
	}
	return append(names, stringsOf(m["required"])...)
}

// freshName derives a valid name that nothing else bears.
func freshName(name string, r rules, taken map[string]bool) string {
	base := strings.Map(func(c rune) rune {
		if c < 0x80 && (r.property(string(c)) || strings.ContainsRune(digits, c)) {
			return c
		}
		return '_'
	}, name)
	if len(base) > maxName {
		base = base[:maxName]
	}
	if !r.property(base) {
		base = "_" + base
		base = base[:min(len(base), maxName)]
	}
	fresh := base
	for n := 2; taken[fresh]; n++ {
		suffix := "_" + strconv.Itoa(n)
		fresh = base[:min(len(base), maxName-len(suffix))] + suffix
	}
	return fresh
}

func renameIn(m map[string]any, forth map[string]string) {
	for _, kw := range []string{"properties", "dependentSchemas", "dependentRequired"} {
		sub, ok := m[kw].(map[string]any)
		if !ok {
			continue
		}
		out := make(map[string]any, len(sub))
		for name, v := range sub {
			out[renamed(name, forth)] = renameList(v, forth)
		}
		m[kw] = out
	}
	if req, ok := m["required"]; ok {
		m["required"] = renameList(req, forth)
	}
}

func renamed(name string, forth map[string]string) string {
	if fresh, ok := forth[name]; ok {
		return fresh
	}
	return name
}

func renameList(v any, forth map[string]string) any {
	list, ok := v.([]any)
	if !ok {
		return v
	}
	out := make([]any, len(list))
	for i, e := range list {
		if s, ok := e.(string); ok {
			out[i] = renamed(s, forth)
		} else {
			out[i] = e
		}
	}
	return out
}

// Rewritten reports whether arguments written to this definition must go through [Compiled.Restore] before anything else reads them.
func (d Definition) Rewritten() bool { return len(d.renames) > 0 || d.texts }

// Restore gives decoded arguments as the tool's own schema has them: every property under its own name, and a value that the dialect asked to be
// written as JSON text read out of it. A key is renamed only where the tool's schema declares the original and not the key itself, so free-form data
// passes untouched. The argument is not changed; if there is nothing to restore it is returned as it is.
func (c *Compiled) Restore(d Definition, args map[string]any) map[string]any {
	if !d.Rewritten() {
		return args
	}
	out, _ := restorer{d.renames, d.texts}.value([]*Node{c.root()}, args).(map[string]any)
	return out
}

type restorer struct {
	back  renames
	texts bool
}

func (r restorer) value(nodes []*Node, v any) any {
	switch v := v.(type) {
	case map[string]any:
		nodes = spread(nodes, nil)
		out := make(map[string]any, len(v))
		for key, e := range v {
			own := key
			if orig, ok := r.back[key]; ok && declares(nodes, orig) && !declares(nodes, key) {
				if _, both := v[orig]; !both {
					own = orig
				}
			}
			out[own] = r.member(nodes, own, e)
		}
		return out
	case []any:
		nodes = spread(nodes, nil)
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = r.value(itemNodes(nodes, i), e)
		}
		return out
	}
	return v
}

func (r restorer) member(nodes []*Node, name string, v any) any {
	parts := propertyNodes(nodes, name)
	if text, ok := v.(string); ok && r.texts && declares(nodes, name) && untyped(parts) {
		if read, err := parseTree([]byte(text)); err == nil && read != nil {
			return read
		}
		return v // not written as asked, so it is the text that was meant
	}
	return r.value(parts, v)
}

// untyped reports that nothing says of what type a value is.
func untyped(nodes []*Node) bool {
	for _, n := range spread(nodes, nil) {
		if n.Types != 0 || n.Enum != nil || n.Const != nil || n.Never {
			return false
		}
	}
	return true
}

func itemNodes(nodes []*Node, i int) []*Node {
	var items []*Node
	for _, n := range nodes {
		if i < len(n.Prefix) {
			items = append(items, n.Prefix[i])
		} else if n.Items != nil {
			items = append(items, n.Items)
		}
	}
	return items
}

// spread lists nodes with everything that applies to the same value.
func spread(nodes []*Node, seen map[*Node]bool) []*Node {
	if seen == nil {
		seen = map[*Node]bool{}
	}
	var out []*Node
	for _, n := range nodes {
		if n == nil || seen[n] {
			continue
		}
		seen[n] = true
		out = append(out, n)
		next := append([]*Node{n.Ref, n.Then, n.Else}, n.AllOf...)
		next = append(append(next, n.AnyOf...), n.OneOf...)
		for _, name := range sortedKeys(n.DependentSchemas) {
			next = append(next, n.DependentSchemas[name])
		}
		out = append(out, spread(next, seen)...)
	}
	return out
}

func declares(nodes []*Node, name string) bool {
	for _, n := range nodes {
		if _, ok := n.Properties[name]; ok {
			return true
		}
	}
	return false
}

func propertyNodes(nodes []*Node, name string) []*Node {
	var out []*Node
	for _, n := range nodes {
		if p := n.Properties[name]; p != nil {
			out = append(out, p)
			continue
		}
		if n.Additional != nil {
			out = append(out, n.Additional)
		}
	}
	return out
}

// Declared gives, sorted, the property names that n declares, itself or through what it is put together from.
func (n *Node) Declared() []string {
	if n.Plain() && n.DependentSchemas == nil {
		return sortedKeys(n.Properties)
	}
	names := map[string]bool{}
	for _, part := range spread([]*Node{n}, nil) {
		for name := range part.Properties {
			names[name] = true
		}
	}
	return sortedKeys(names)
}

// Property finds the schema of a declared property, itself or through what n is put together from; nil if nothing declares it.
func (n *Node) Property(name string) *Node {
	if p := n.Properties[name]; p != nil || n.Plain() && n.DependentSchemas == nil {
		return p
	}
	for _, part := range spread([]*Node{n}, nil) {
		if p := part.Properties[name]; p != nil {
			return p
		}
	}
	return nil
}
