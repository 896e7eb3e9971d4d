package arguments

import (
	"encoding/json"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/hermes-runtime/hermes/internal/registry/schema"
)

// maxHops bounds how many schema nodes lie on one path of a walk; a schema whose references turn in a circle ends there, as invalid.
const maxHops = 5000

// walker judges values by schema nodes. Without a report it stops at the first problem; with one it goes on and notes where each lies.
type walker struct {
	effort   *effort
	report   *report
	path     []hop
	depth    int
	rewrites bool // an integer that fits was written as 3.0 or 3e0
}

// hop is one step into a value: a key, or an index when key is "" and index ≥ 0.
type hop struct {
	key   string
	index int
}

func (w *walker) at(h hop, n *schema.Node, v any) bool {
	if w.report == nil {
		return w.check(n, v)
	}
	w.path = append(w.path, h)
	ok := w.check(n, v)
	w.path = w.path[:len(w.path)-1]
	return ok
}

// check reports whether v fits n.
func (w *walker) check(n *schema.Node, v any) bool {
	if n == nil || n.Anything {
		return true
	}
	if !w.effort.spend() {
		return false
	}
	if w.depth++; w.depth > maxHops {
		w.depth--
		return w.wrong("a schema that comes to an end (it refers to itself)", v)
	}
	ok := w.node(n, v)
	w.depth--
	return ok
}

func (w *walker) node(n *schema.Node, v any) bool {
	if n.Never {
		return w.wrong("must not be given", v)
	}
	if n.Types != 0 && !w.typed(n, v) {
		return w.mismatch(n, v)
	}
	if (n.Enum != nil || n.Const != nil) && !listed(n, v) {
		return w.mismatch(n, v)
	}
	ok := true
	switch v := v.(type) {
	case string:
		ok = w.text(n, v)
	case json.Number:
		ok = w.number(n, v)
	case map[string]any:
		ok = w.object(n, v)
	case []any:
		ok = w.array(n, v)
	}
	if !ok && w.report == nil {
		return false
	}
	if n.Plain() {
		return ok
	}
	return w.combined(n, v) && ok
}

// typed reports whether v is of one of the node's types.
func (w *walker) typed(n *schema.Node, v any) bool {
	switch v := v.(type) {
	case nil:
		return n.Types.Has(schema.Null)
	case bool:
		return n.Types.Has(schema.Boolean)
	case string:
		return n.Types.Has(schema.String)
	case []any:
		return n.Types.Has(schema.Array)
	case map[string]any:
		return n.Types.Has(schema.Object)
	case json.Number:
		if n.Types.Has(schema.Numeric) {
			return true
		}
		if !n.Types.Has(schema.Integer) {
			return false
		}
		if plainInteger(string(v)) {
			return true
		}
		num, ok := schema.ParseNumber(string(v))
		if ok = ok && num.IsInt(); ok {
			w.rewrites = true
		}
		return ok
	}
	return false
}

// plainInteger reports a number without fraction and exponent.
func plainInteger(s string) bool { return !strings.ContainsAny(s, ".eE") }

func listed(n *schema.Node, v any) bool {
	for _, c := range n.Const {
		if !equal(c, v) {
			return false
		}
	}
	if n.Enum == nil {
		return true
	}
	for _, e := range n.Enum {
		if equal(e, v) {
			return true
		}
	}
	return false
}

// equal compares as JSON Schema does: numbers by value.
func equal(a, b any) bool {
	return alike(a, b, func(a, b json.Number) bool {
		x, ok1 := schema.ParseNumber(string(a))
		y, ok2 := schema.ParseNumber(string(b))
		return ok1 && ok2 && x.Cmp(y) == 0
	})
}

// identical compares what a model wrote twice: numbers must be written alike.
func identical(a, b any) bool {
	return alike(a, b, func(json.Number, json.Number) bool { return false })
}

// alike compares two decoded values. numbers judges two that are written differently.
func alike(a, b any, numbers func(a, b json.Number) bool) bool {
	switch a := a.(type) {
	case json.Number:
		b, ok := b.(json.Number)
		return ok && (a == b || numbers(a, b))
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for k, e := range a {
			f, has := b[k]
			if !has || !alike(e, f, numbers) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, func(x, y any) bool { return alike(x, y, numbers) })
	}
	switch b.(type) {
	case map[string]any, []any, json.Number:
		return false
	}
	return a == b
}

func (w *walker) text(n *schema.Node, s string) bool {
	if n.MinLength >= 0 || n.MaxLength >= 0 {
		count := utf8.RuneCountInString(s)
		if count < n.MinLength || n.MaxLength >= 0 && count > n.MaxLength {
			return w.mismatch(n, s)
		}
	}
	if n.Pattern != nil && !n.Pattern.MatchString(s) {
		return w.mismatch(n, s)
	}
	return true
}

func (w *walker) number(n *schema.Node, v json.Number) bool {
	if n.Min == nil && n.Max == nil && n.OverMin == nil && n.UnderMax == nil && n.Multiple == nil {
		return true
	}
	num, ok := schema.ParseNumber(string(v))
	if !ok || n.Min != nil && num.Cmp(*n.Min) < 0 || n.Max != nil && num.Cmp(*n.Max) > 0 ||
		n.OverMin != nil && num.Cmp(*n.OverMin) <= 0 || n.UnderMax != nil && num.Cmp(*n.UnderMax) >= 0 ||
		n.Multiple != nil && !num.MultipleOf(*n.Multiple) {
		return w.mismatch(n, v)
	}
	return true
}

func (w *walker) object(n *schema.Node, m map[string]any) bool {
	ok := true
	for _, name := range n.Required {
		if _, has := m[name]; !has {
			if ok = w.missing(n, name, m); w.report == nil {
				return false
			}
		}
	}
	if len(m) < n.MinProps || n.MaxProps >= 0 && len(m) > n.MaxProps {
		if ok = w.mismatch(n, m); w.report == nil {
			return false
		}
	}
	if n.Properties == nil && n.PatternProperties == nil && n.Additional == nil && n.PropertyNames == nil && n.DependentRequired == nil && n.DependentSchemas == nil {
		return ok
	}
	if w.report == nil {
		for k, v := range m {
			if !w.member(n, k, v, m) {
				return false
			}
		}
	} else {
		for _, k := range sortedNames(m) {
			ok = w.member(n, k, m[k], m) && ok
		}
	}
	if n.DependentRequired == nil && n.DependentSchemas == nil {
		return ok
	}
	return w.dependents(n, m) && ok
}

func sortedNames[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for k := range m {
		names = append(names, k)
	}
	sort.Strings(names)
	return names
}

func (w *walker) member(n *schema.Node, k string, v any, m map[string]any) bool {
	ok := true
	if n.PropertyNames != nil {
		ok = w.quietly(n.PropertyNames, k)
		if !ok {
			w.wrongAt(hop{k, -1}, "a name that is "+schema.Words(n.PropertyNames.Tree), k)
		}
	}
	known := false
	if p, declared := n.Properties[k]; declared {
		known = true
		ok = w.at(hop{k, -1}, p, v) && ok
	}
	for _, p := range n.PatternProperties {
		if p.Match != nil && p.Match.MatchString(k) {
			known = true
			ok = w.at(hop{k, -1}, p.Node, v) && ok
		}
	}
	if known || n.Additional == nil {
		return ok
	}
	if n.Additional.Never {
		return w.unknown(n, k, m)
	}
	return w.at(hop{k, -1}, n.Additional, v) && ok
}

func (w *walker) dependents(n *schema.Node, m map[string]any) bool {
	ok := true
	for _, name := range sortedNames(n.DependentRequired) {
		if _, has := m[name]; !has {
			continue
		}
		for _, need := range n.DependentRequired[name] {
			if _, has := m[need]; !has {
				ok = w.missing(n, need, m)
			}
		}
	}
	for _, name := range sortedNames(n.DependentSchemas) {
		if _, has := m[name]; has {
			ok = w.check(n.DependentSchemas[name], m) && ok
		}
	}
	return ok
}

func (w *walker) array(n *schema.Node, list []any) bool {
	ok := true
	if len(list) < n.MinItems || n.MaxItems >= 0 && len(list) > n.MaxItems || n.Unique && !unique(list) {
		if ok = w.mismatch(n, list); w.report == nil {
			return false
		}
	}
	for i, v := range list {
		item := n.Items
		if i < len(n.Prefix) {
			item = n.Prefix[i]
		} else if item == nil {
			break
		}
		if !w.at(hop{index: i}, item, v) {
			if ok = false; w.report == nil {
				return false
			}
		}
	}
	if n.Contains != nil && !w.contains(n, list) {
		return w.mismatch(n, list)
	}
	return ok
}

func (w *walker) contains(n *schema.Node, list []any) bool {
	count := 0
	for _, v := range list {
		if w.quietly(n.Contains, v) {
			count++
		}
	}
	return count >= max(n.MinContains, 0) && (n.MinContains >= 0 || count > 0) && (n.MaxContains < 0 || count <= n.MaxContains)
}

// unique compares by a text that equal values share.
func unique(list []any) bool {
	if len(list) < 2 {
		return true
	}
	seen := make(map[string]bool, len(list))
	for _, v := range list {
		var b strings.Builder
		writeKey(&b, v)
		if seen[b.String()] {
			return false
		}
		seen[b.String()] = true
	}
	return true
}

func writeKey(b *strings.Builder, v any) {
	switch v := v.(type) {
	case nil:
		b.WriteString("null")
	case bool:
		if v {
			b.WriteString("true")
		} else {
			b.WriteString("false")
		}
	case string:
		b.WriteString(quoteText(v))
	case json.Number:
		if num, ok := schema.ParseNumber(string(v)); ok {
			b.WriteString(num.Key())
		} else {
			b.WriteString(string(v))
		}
	case []any:
		b.WriteByte('[')
		for _, e := range v {
			writeKey(b, e)
			b.WriteByte(',')
		}
		b.WriteByte(']')
	case map[string]any:
		b.WriteByte('{')
		for _, k := range sortedNames(v) {
			b.WriteString(quoteText(k))
			b.WriteByte(':')
			writeKey(b, v[k])
			b.WriteByte(',')
		}
		b.WriteByte('}')
	}
}
