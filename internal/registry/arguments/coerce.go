package arguments

import (
	"encoding/json"
	"slices"
	"sort"
	"strings"
	"unicode"

	"github.com/hermes-runtime/hermes/internal/registry/schema"
)

// Coerce brings an argument object nearer to the schema where there is only one thing it can mean, and gives what it did, one entry per change. aliases
// maps other spellings of root parameters to declared ones. The object is changed in place; values that fit are never touched, and what can't be
// made to fit is left as it came.
func Coerce(n *schema.Node, aliases map[string]string, object map[string]any) (repairs []string) {
	c := coercer{effort: newEffort(object)}
	c.names(n, object, aliases)
	c.value(n, object) // an object stays itself: its members are changed in place
	sort.Strings(c.repairs)
	return c.repairs
}

type coercer struct {
	effort  *effort
	repairs []string
	path    []hop
	depth   int
}

// maxRepairs bounds the record, not the repairs: a list of a million texts for numbers is one kind of news.
const maxRepairs = 50

func (c *coercer) did(what string) {
	if len(c.repairs) < maxRepairs {
		at := pathText(c.path)
		if at == "" {
			at = "arguments"
		}
		c.repairs = append(c.repairs, at+": "+what)
	}
}

func (c *coercer) fits(n *schema.Node, v any) bool {
	w := walker{effort: c.effort}
	return w.check(n, v)
}

// value gives v made to fit n, or v itself.
func (c *coercer) value(n *schema.Node, v any) any {
	if n == nil || n.Anything || n.Never || c.depth > maxHops {
		return v
	}
	if !c.effort.spend() {
		return v
	}
	c.depth++
	defer func() { c.depth-- }()
	if n.Types != 0 {
		v = c.typed(n, v)
	}
	switch v := v.(type) {
	case map[string]any:
		c.object(n, v)
	case []any:
		c.array(n, v)
	}
	if n.Plain() {
		return v
	}
	return c.combined(n, v)
}

// enter begins with a value that nothing has looked at yet: an object's names first, by all that its schema is put together from.
func (c *coercer) enter(n *schema.Node, v any) any {
	if m, ok := v.(map[string]any); ok {
		c.depth++
		c.names(n, m, nil)
		c.depth--
	}
	return c.value(n, v)
}

// combined follows the schemas that apply as a whole, and a choice when only one branch of it is not null.
func (c *coercer) combined(n *schema.Node, v any) any {
	if n.Ref != nil {
		v = c.value(n.Ref, v)
	}
	for _, sub := range n.AllOf {
		v = c.value(sub, v)
	}
	for _, branches := range [][]*schema.Node{n.AnyOf, n.OneOf} {
		if len(branches) == 0 {
			continue
		}
		var real []*schema.Node
		nullable := false
		for _, b := range branches {
			if b.Types == schema.Null {
				nullable = true
			} else {
				real = append(real, b)
			}
		}
		_, isNumber := v.(json.Number) // one that fits may still have to be written plainly
		if w := (&walker{effort: c.effort}); len(real) != 1 || !isNumber && w.some(branches, v) {
			continue
		}
		if s, ok := v.(string); ok && nullable && strings.EqualFold(s, "null") && !acceptsText(real[0]) {
			c.did("text to null")
			return nil
		}
		v = c.value(real[0], v)
	}
	return v
}

func acceptsText(n *schema.Node) bool {
	for hops := 0; n.Ref != nil && hops < maxNesting; hops++ {
		n = n.Ref
	}
	return n.Types == 0 || n.Types.Has(schema.String)
}

// typed converts v if it is of none of the node's types.
func (c *coercer) typed(n *schema.Node, v any) any {
	var w walker
	if w.typed(n, v) {
		if w.rewrites {
			if whole, ok := wholeNumber(string(v.(json.Number))); ok {
				c.did("whole number written plainly")
				return whole
			}
		}
		return v
	}
	for _, to := range conversionOrder {
		if !n.Types.Has(to) {
			continue
		}
		if out, ok := c.convert(to, n, v); ok && c.fits(n, out) {
			c.did(schema.KindOf(v) + " to " + strings.TrimPrefix(strings.TrimPrefix(schema.KindOf(out), "a "), "an "))
			return out
		}
	}
	return v
}

// conversionOrder is the order in which types are tried when a schema allows several.
var conversionOrder = []schema.Types{schema.Null, schema.Boolean, schema.Integer, schema.String, schema.Object, schema.Array}

func (c *coercer) convert(to schema.Types, n *schema.Node, v any) (any, bool) {
	switch to {
	case schema.Null:
		return toNull(v)
	case schema.Boolean:
		return toBoolean(v)
	case schema.Integer:
		return toNumber(n, v)
	case schema.String:
		if n.Document {
			return nil, false // what is to be a whole document isn't guessed from a number
		}
		return toText(v)
	case schema.Object:
		return c.toObject(n, v)
	case schema.Array:
		return c.toArray(n, v)
	}
	return nil, false
}

func toNull(v any) (any, bool) {
	s, ok := v.(string)
	return nil, ok && strings.EqualFold(s, "null")
}

func toBoolean(v any) (any, bool) {
	s, ok := v.(string)
	switch s = strings.TrimSpace(s); {
	case ok && strings.EqualFold(s, "true"):
		return true, true
	case ok && strings.EqualFold(s, "false"):
		return false, true
	}
	return nil, false
}

// toNumber reads text that is a JSON number. A value that must be whole is written without fraction and exponent.
func toNumber(n *schema.Node, v any) (any, bool) {
	s, ok := v.(string)
	if !ok {
		return nil, false
	}
	s = strings.TrimSpace(s)
	if _, ok := schema.ParseNumber(s); !ok {
		return nil, false
	}
	if n.Types.Has(schema.Numeric) {
		return json.Number(s), true
	}
	whole, ok := wholeNumber(s)
	return whole, ok
}

// wholeNumber writes a number without a fraction as plain digits, all of them.
func wholeNumber(s string) (json.Number, bool) {
	num, ok := schema.ParseNumber(s)
	if !ok {
		return "", false
	}
	i, ok := num.Int()
	if !ok {
		return "", false
	}
	return json.Number(i.String()), true
}

func toText(v any) (any, bool) {
	switch v := v.(type) {
	case json.Number:
		return string(v), true
	case bool:
		if v {
			return "true", true
		}
		return "false", true
	}
	return nil, false
}

// toObject reads an object out of text.
func (c *coercer) toObject(n *schema.Node, v any) (any, bool) {
	inner, ok := parseInside(v, '{')
	if !ok {
		return nil, false
	}
	return c.inside(n, inner), true
}

// toArray reads a list out of text, or makes a list of one.
func (c *coercer) toArray(n *schema.Node, v any) (any, bool) {
	if inner, ok := parseInside(v, '['); ok {
		return c.inside(n, inner), true
	}
	if v == nil {
		return nil, false
	}
	return c.inside(n, []any{v}), true
}

// inside makes what was found inside a value fit, without a record of each step: the outer change is the one to tell.
func (c *coercer) inside(n *schema.Node, v any) any {
	sub := coercer{path: c.path, depth: c.depth, effort: c.effort}
	return sub.enter(n, v)
}

// parseInside reads a text that holds one JSON value starting with the given byte, strictly.
func parseInside(v any, first byte) (any, bool) {
	s, ok := v.(string)
	if s = strings.TrimSpace(s); !ok || s == "" || s[0] != first {
		return nil, false
	}
	p := parser{text: s}
	out, err := p.value(0)
	p.space()
	if err != nil || p.pos != len(s) || p.repairs != nil {
		return nil, false
	}
	return out, true
}

func (c *coercer) array(n *schema.Node, list []any) {
	for i, v := range list {
		item := n.Items
		if i < len(n.Prefix) {
			item = n.Prefix[i]
		} else if item == nil || item.Anything {
			return
		}
		c.path = append(c.path, hop{index: i})
		if out := c.enter(item, v); changed(out, v) {
			list[i] = out
		}
		c.path = c.path[:len(c.path)-1]
	}
}

// changed reports whether a scalar was replaced; containers are changed in place or replaced by another kind.
func changed(a, b any) bool {
	switch a.(type) {
	case map[string]any:
		_, ok := b.(map[string]any)
		return !ok
	case []any:
		_, ok := b.([]any)
		return !ok
	}
	switch b.(type) {
	case map[string]any, []any:
		return true
	}
	return a != b
}

func (c *coercer) object(n *schema.Node, m map[string]any) {
	if n.Properties == nil && n.Additional == nil && n.PatternProperties == nil {
		return
	}
	for k, v := range m {
		sub, declared := n.Properties[k]
		if !declared {
			if sub = n.Additional; sub == nil || sub.Never || matchesPattern(n, k) {
				continue
			}
		}
		c.path = append(c.path, hop{k, -1})
		if v == nil && declared && !slices.Contains(n.Required, k) && !c.fits(sub, nil) {
			delete(m, k)
			c.did("null left out")
		} else if out := c.enter(sub, v); changed(out, v) {
			m[k] = out
		}
		c.path = c.path[:len(c.path)-1]
	}
}

func matchesPattern(n *schema.Node, k string) bool {
	for _, p := range n.PatternProperties {
		if p.Match == nil || p.Match.MatchString(k) {
			return true
		}
	}
	return false
}

// names gives undeclared members the place of the declared, absent one whose spelling they differ from, or whose alias they are.
func (c *coercer) names(n *schema.Node, m map[string]any, aliases map[string]string) {
	if n == nil || n.Additional != nil && !n.Additional.Never && c.depth > 0 {
		return // any name is data here
	}
	var strange []string
	for k := range m {
		if _, ok := n.Properties[k]; !ok && n.Property(k) == nil && !matchesPattern(n, k) {
			strange = append(strange, k)
		}
	}
	if strange == nil {
		return
	}
	free := absent(n.Declared(), m, aliases)
	claims := map[string][]string{} // declared name → the strange ones that may mean it
	for _, k := range strange {
		if meant := free[fold(k)]; len(meant) == 1 {
			claims[meant[0]] = append(claims[meant[0]], k)
		}
	}
	for target, from := range claims {
		if len(from) != 1 {
			continue
		}
		m[target] = m[from[0]]
		delete(m, from[0])
		c.path = append(c.path, hop{from[0], -1})
		c.did("renamed to " + target)
		c.path = c.path[:len(c.path)-1]
	}
}

// absent maps each folded spelling, aliases included, to the declared names without a value that it may stand for.
func absent(declared []string, m map[string]any, aliases map[string]string) map[string][]string {
	free := map[string][]string{}
	add := func(spelling, d string) {
		if _, taken := m[d]; !taken && !slices.Contains(free[fold(spelling)], d) {
			free[fold(spelling)] = append(free[fold(spelling)], d)
		}
	}
	for _, d := range declared {
		add(d, d)
	}
	for alias, d := range aliases {
		// A declared name's own spelling stands for that name alone.
		if slices.Contains(declared, d) && !slices.Contains(declared, alias) {
			add(alias, d)
		}
	}
	return free
}

// fold drops case and the separators of snake_case and kebab-case.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '-' || r == '_' {
			return -1
		}
		return unicode.ToLower(r)
	}, s)
}
