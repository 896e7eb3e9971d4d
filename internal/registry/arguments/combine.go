package arguments

import "github.com/hermes-runtime/hermes/internal/registry/schema"

// quietly checks without reporting.
func (w *walker) quietly(n *schema.Node, v any) bool {
	q := walker{depth: w.depth, effort: w.effort}
	ok := q.check(n, v)
	// Only where the branch holds does its integer reading count.
	w.rewrites = w.rewrites || ok && q.rewrites
	return ok
}

// combined judges v by the schemas that a node is put together from.
func (w *walker) combined(n *schema.Node, v any) bool {
	ok := true
	if n.Ref != nil {
		ok = w.check(n.Ref, v)
	}
	for _, sub := range n.AllOf {
		if !ok && w.report == nil {
			return false
		}
		ok = w.check(sub, v) && ok
	}
	if !ok && w.report == nil {
		return false
	}
	if n.AnyOf != nil && !w.some(n.AnyOf, v) {
		ok = w.noBranch(n, n.AnyOf, v)
	}
	if n.OneOf != nil {
		if count := w.count(n.OneOf, v); count == 0 {
			ok = w.noBranch(n, n.OneOf, v)
		} else if count > 1 {
			ok = w.wrong("exactly one of the alternatives, but it fits several: "+schema.Words(only(n, "oneOf")), v)
		}
	}
	if n.Not != nil && w.quietly(n.Not, v) {
		ok = w.wrong(schema.Words(only(n, "not")), v)
	}
	if n.If != nil {
		branch := n.Else
		if w.quietly(n.If, v) {
			branch = n.Then
		}
		ok = w.check(branch, v) && ok
	}
	return ok
}

func (w *walker) some(branches []*schema.Node, v any) bool {
	for _, b := range branches {
		if w.quietly(b, v) {
			return true
		}
	}
	return false
}

func (w *walker) count(branches []*schema.Node, v any) int {
	n := 0
	for _, b := range branches {
		if w.quietly(b, v) {
			n++
		}
	}
	return n
}

// noBranch reports that no alternative fits. If the value is of one alternative's type alone, that one was meant, and its problems help most.
func (w *walker) noBranch(n *schema.Node, branches []*schema.Node, v any) bool {
	if w.report == nil {
		return false
	}
	var meant []*schema.Node
	for _, b := range branches {
		at := b
		for hops := 0; at != nil && at.Ref != nil && hops < maxNesting; hops++ {
			at = at.Ref
		}
		if at != nil && at.Types != 0 && w.typed(at, v) {
			meant = append(meant, b)
		}
	}
	if len(meant) == 1 && !w.check(meant[0], v) {
		return false
	}
	keyword := "anyOf"
	if len(n.OneOf) > 0 && len(branches) > 0 && branches[0] == n.OneOf[0] {
		keyword = "oneOf"
	}
	return w.wrong(schema.Words(only(n, keyword)), v)
}

// only gives the part of a node's schema that one keyword makes up.
func only(n *schema.Node, keyword string) map[string]any {
	return map[string]any{keyword: n.Tree[keyword]}
}
