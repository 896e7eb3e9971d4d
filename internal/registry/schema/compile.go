package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

// Source is a tool's declaration.
type Source struct {
	Name string // as models see it
	// Description is used where the declared schema has none.
	Description string
	// Declared is a function object {name, description, parameters}, that in its {type: function} envelope, or parameters alone: as JSON text
	// ([]byte, json.RawMessage, string), a map, a *jsonschema.Schema or anything that marshals to one of these. nil: no parameters.
	Declared any
}

// Compiled is a tool's schema, ready for offering and for checking calls. It never changes and may be shared freely.
type Compiled struct {
	name, description string
	*core

	mu   sync.Mutex
	memo map[memoKey]Definition
}

// core is what doesn't depend on the description. Compile does all that can fail; the rest is made when first asked for, because a process that only
// lists its tools needs none of it.
type core struct {
	notes      []string
	own        func() json.RawMessage
	canonical  func() map[string]any
	parameters func() json.RawMessage
	root       func() *Node
	rest       *jsonschema.Resolved
}

type memoKey struct {
	dialect    Dialect
	strictness Strictness
}

// Compile reads a declaration. An error wraps a *FieldError that names the field which can't be used. Nothing is ever fetched: a reference that leads
// out of the document accepts any value and is noted.
func Compile(src Source) (*Compiled, error) {
	decl, err := readDeclaration(src.Declared)
	if err != nil {
		return nil, fmt.Errorf("tool %q: %w", src.Name, err)
	}
	c := &Compiled{name: src.Name, description: decl.description, memo: map[memoKey]Definition{}}
	if c.name == "" {
		c.name = decl.name
	}
	own, err := c.compile(decl.parameters)
	if err != nil {
		return nil, fmt.Errorf("tool %q: %w", c.name, err)
	}
	if c.description == "" {
		c.description = src.Description
	}
	if c.description == "" {
		c.description, _ = own["description"].(string)
	}
	return c, nil
}

// compile fills the core and gives the own schema.
func (c *Compiled) compile(parameters any) (map[string]any, error) {
	d := &mender{}
	own, err := d.mendRoot(parameters)
	if err != nil {
		return nil, err
	}
	flat := sync.OnceValue(func() map[string]any { // without links this can't fail
		m, _, _ := flattenRefs(own)
		return m
	})
	var rest *jsonschema.Resolved
	if d.linked {
		m, outside, err := flattenRefs(own)
		if err != nil {
			return nil, err
		}
		if outside {
			own = m // what lay outside of any keyword may be no valid schema where it lay
		}
		if rest, err = resolveRest(m); err != nil {
			return nil, err
		}
		flat = func() map[string]any { return m }
	}
	canon := sync.OnceValue(func() map[string]any { return canonical(flat()) })
	c.core = &core{
		notes:      d.notes,
		own:        sync.OnceValue(func() json.RawMessage { return encodeTree(own) }),
		canonical:  canon,
		parameters: sync.OnceValue(func() json.RawMessage { return encodeTree(canon()) }),
		root:       sync.OnceValue(func() *Node { return buildNodes(flat()) }),
		rest:       rest,
	}
	return own, nil
}

// resolveRest prepares the library's validator for the keywords that depend on what others have looked at; nil if there are none. The node tree is
// quicker and reports every problem, so it judges the rest.
func resolveRest(flat map[string]any) (*jsonschema.Resolved, error) {
	needed := false
	everyNode(flat, func(m map[string]any) {
		needed = needed || m["unevaluatedProperties"] != nil || m["unevaluatedItems"] != nil
	})
	if !needed {
		return nil, nil
	}
	tree := cloneMap(flat)
	everyNode(tree, goPatterns)
	text, err := Encode(tree)
	if err != nil {
		return nil, err
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(text, &s); err != nil {
		return nil, &FieldError{"parameters", err.Error()}
	}
	r, err := s.Resolve(nil)
	if err != nil {
		return nil, &FieldError{"parameters", err.Error()}
	}
	return r, nil
}

// goPatterns writes a node's patterns for Go, and leaves out those that Go can't run.
func goPatterns(m map[string]any) {
	if p, ok := m["pattern"].(string); ok {
		delete(m, "pattern")
		if re, err := goPattern(p); err == nil {
			m["pattern"] = re.String()
		}
	}
	pats, _ := m["patternProperties"].(map[string]any)
	for _, p := range sortedKeys(pats) {
		sub := pats[p]
		delete(pats, p)
		if re, err := goPattern(p); err == nil {
			pats[re.String()] = sub
		}
	}
}

// Name is the tool's name.
func (c *Compiled) Name() string { return c.name }

// Description is what the model reads about the tool.
func (c *Compiled) Description() string { return c.description }

// Own is the tool's own schema as valid JSON Schema 2020-12: what calls are checked against. The caller may keep the copy.
func (c *Compiled) Own() json.RawMessage { return slices.Clone(c.own()) }

// Parameters is the canonical schema, before any dialect. The caller may keep the copy.
func (c *Compiled) Parameters() json.RawMessage { return slices.Clone(c.parameters()) }

// Root is the node tree of the own schema. Read only.
func (c *Compiled) Root() *Node { return c.root() }

// Rest judges a value by keywords that the node tree has no place for; nil if the schema uses none. It takes float64 and int64, not json.Number.
func (c *Compiled) Rest() *jsonschema.Resolved { return c.rest }

// Notes says what of the declaration can't be enforced or was dropped, each as "field: remark".
func (c *Compiled) Notes() []string { return slices.Clone(c.notes) }

// Definition gives the tool in a dialect; equal declarations give equal bytes. It is built once and then kept; the byte slices are the caller's.
func (c *Compiled) Definition(d Dialect, s Strictness) (Definition, error) {
	if _, ok := dialects[d]; !ok {
		return Definition{}, fmt.Errorf("tool %q: no dialect %q; known are %v", c.name, d, Dialects())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	key := memoKey{d, s}
	def, ok := c.memo[key]
	if !ok {
		var err error
		if def, err = c.define(d, s); err != nil {
			return Definition{}, fmt.Errorf("tool %q: defining it for %s: %w", c.name, d, err)
		}
		c.memo[key] = def
	}
	def.Parameters, def.JSON = slices.Clone(def.Parameters), slices.Clone(def.JSON)
	return def, nil
}
