package schema

import (
	"encoding/json"
	"regexp"
	"strconv"
)

// Types is a set of JSON types.
type Types uint8

// The JSON types. A value whose number is whole is an Integer as well as a Number.
const (
	Null Types = 1 << iota
	Boolean
	Integer
	Numeric
	String
	Array
	Object
)

// typeBit gives the type that JSON Schema calls name, none for other words.
func typeBit(name string) Types {
	switch name {
	case "null":
		return Null
	case "boolean":
		return Boolean
	case "integer":
		return Integer
	case "number":
		return Numeric
	case "string":
		return String
	case "array":
		return Array
	case "object":
		return Object
	}
	return 0
}

// Has reports whether t holds any of u.
func (t Types) Has(u Types) bool { return t&u != 0 }

// Node is one schema made ready for walking a value beside it. It is shared and must not be changed. Absent limits are -1, absent schemas nil.
type Node struct {
	Types    Types // empty: any type
	Never    bool  // the schema false
	Anything bool  // no keyword constrains the value
	Enum     []any // from enum; nil: any value
	Const    []any // at most one value

	Min, Max, OverMin, UnderMax, Multiple *Number

	MinLength, MaxLength, MinItems, MaxItems, MinProps, MaxProps int
	Pattern                                                      *regexp.Regexp
	PatternText                                                  string
	Document                                                     bool // a text with a contentMediaType: only text is one

	Properties        map[string]*Node
	Required          []string
	PatternProperties []PatternNode
	Additional        *Node // nil: not said
	PropertyNames     *Node
	DependentRequired map[string][]string
	DependentSchemas  map[string]*Node

	Prefix                   []*Node
	Items                    *Node
	Contains                 *Node
	MinContains, MaxContains int
	Unique                   bool

	Ref                 *Node
	AllOf, AnyOf, OneOf []*Node
	Not, If, Then, Else *Node

	// Tree is the schema the node was made of, for describing it. Read only.
	Tree map[string]any
}

// PatternNode is an entry of patternProperties. Match is nil if Go can't run the pattern; it then matches nothing.
type PatternNode struct {
	Match *regexp.Regexp
	Node  *Node
}

// Plain reports that only the node's own types and limits matter: no reference and no combination of schemas.
func (n *Node) Plain() bool {
	return n.Ref == nil && n.AllOf == nil && n.AnyOf == nil && n.OneOf == nil && n.Not == nil && n.If == nil
}

type nodeBuilder struct {
	root  *Node
	trees map[string]any
	defs  map[string]*Node
}

// buildNodes makes the node tree of a flattened schema.
func buildNodes(flat map[string]any) *Node {
	b := &nodeBuilder{root: &Node{}, defs: map[string]*Node{}}
	b.trees, _ = flat["$defs"].(map[string]any)
	for name := range b.trees {
		b.defs[name] = &Node{}
	}
	for _, name := range sortedKeys(b.trees) {
		b.fill(b.defs[name], b.trees[name])
	}
	b.fill(b.root, flat)
	return b.root
}

func (b *nodeBuilder) node(v any) *Node {
	if v == nil {
		return nil
	}
	n := &Node{}
	b.fill(n, v)
	return n
}

func (b *nodeBuilder) fill(n *Node, v any) {
	n.MinLength, n.MaxLength, n.MinItems, n.MaxItems, n.MinProps, n.MaxProps = -1, -1, -1, -1, -1, -1
	n.MinContains, n.MaxContains = -1, -1
	m, ok := v.(map[string]any)
	if !ok {
		n.Never = v == false
		n.Anything = v == true
		return
	}
	n.Tree = m
	n.Anything = true
	for kw := range m {
		if !annotation(kw) {
			n.Anything = false
		}
	}
	n.Types = typesOf(m["type"])
	n.Enum, _ = m["enum"].([]any)
	if c, ok := m["const"]; ok {
		n.Const = []any{c}
	}
	_, n.Document = m["contentMediaType"].(string)
	b.limits(n, m)
	b.object(n, m)
	b.array(n, m)
	b.combine(n, m)
}

// annotation reports keywords that never make a value invalid.
func annotation(kw string) bool {
	switch kw {
	case "title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "format", "contentEncoding",
		"contentMediaType", "contentSchema", "$defs", "$comment":
		return true
	}
	return shapeOf(kw) == shapeUnknown
}

func typesOf(v any) Types {
	var t Types
	switch v := v.(type) {
	case string:
		t = typeBit(v)
	case []any:
		for _, e := range v {
			if s, ok := e.(string); ok {
				t |= typeBit(s)
			}
		}
	}
	if t.Has(Numeric) {
		t |= Integer
	}
	return t
}

func (b *nodeBuilder) limits(n *Node, m map[string]any) {
	n.Min, n.Max, n.Multiple = numberOf(m["minimum"]), numberOf(m["maximum"]), numberOf(m["multipleOf"])
	n.OverMin, n.UnderMax = numberOf(m["exclusiveMinimum"]), numberOf(m["exclusiveMaximum"])
	n.MinLength, n.MaxLength = countOf(m["minLength"]), countOf(m["maxLength"])
	n.MinItems, n.MaxItems = countOf(m["minItems"]), countOf(m["maxItems"])
	n.MinProps, n.MaxProps = countOf(m["minProperties"]), countOf(m["maxProperties"])
	n.MinContains, n.MaxContains = countOf(m["minContains"]), countOf(m["maxContains"])
	if p, ok := m["pattern"].(string); ok {
		n.PatternText = p
		n.Pattern, _ = goPattern(p) // nil: a pattern of another engine, noted when it was mended
	}
}

func numberOf(v any) *Number {
	if t, ok := v.(json.Number); ok {
		if num, ok := ParseNumber(string(t)); ok {
			return &num
		}
	}
	return nil
}

func countOf(v any) int {
	if t, ok := v.(json.Number); ok {
		if c, err := strconv.Atoi(string(t)); err == nil {
			return c
		}
	}
	return -1
}

func (b *nodeBuilder) object(n *Node, m map[string]any) {
	if props, ok := m["properties"].(map[string]any); ok && len(props) > 0 {
		n.Properties = make(map[string]*Node, len(props))
		for name, p := range props {
			n.Properties[name] = b.node(p)
		}
	}
	n.Required = stringsOf(m["required"])
	if pats, ok := m["patternProperties"].(map[string]any); ok {
		for _, p := range sortedKeys(pats) {
			re, _ := goPattern(p)
			n.PatternProperties = append(n.PatternProperties, PatternNode{re, b.node(pats[p])})
		}
	}
	n.Additional = b.node(m["additionalProperties"])
	n.PropertyNames = b.node(m["propertyNames"])
	if deps, ok := m["dependentRequired"].(map[string]any); ok {
		n.DependentRequired = map[string][]string{}
		for k, v := range deps {
			n.DependentRequired[k] = stringsOf(v)
		}
	}
	if deps, ok := m["dependentSchemas"].(map[string]any); ok {
		n.DependentSchemas = map[string]*Node{}
		for k, v := range deps {
			n.DependentSchemas[k] = b.node(v)
		}
	}
}

func stringsOf(v any) []string {
	list, _ := v.([]any)
	var out []string
	for _, e := range list {
		if s, ok := e.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

func (b *nodeBuilder) array(n *Node, m map[string]any) {
	n.Prefix = b.list(m["prefixItems"])
	n.Items = b.node(m["items"])
	n.Contains = b.node(m["contains"])
	n.Unique = m["uniqueItems"] == true
}

func (b *nodeBuilder) combine(n *Node, m map[string]any) {
	if ref, ok := m["$ref"].(string); ok {
		n.Ref = b.root
		if name := defName(ref); name != "" {
			n.Ref = b.defs[name]
		}
	}
	n.AllOf, n.AnyOf, n.OneOf = b.list(m["allOf"]), b.list(m["anyOf"]), b.list(m["oneOf"])
	n.Not, n.If = b.node(m["not"]), b.node(m["if"])
	if n.If != nil {
		n.Then, n.Else = b.node(m["then"]), b.node(m["else"])
	}
}

func (b *nodeBuilder) list(v any) []*Node {
	list, _ := v.([]any)
	var out []*Node
	for _, e := range list {
		out = append(out, b.node(e))
	}
	return out
}
