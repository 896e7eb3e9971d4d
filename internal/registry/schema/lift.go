package schema

import "slices"

// rootOnly are the keywords that no API takes at the root of parameters.
var rootOnly = []string{"anyOf", "oneOf", "allOf", "enum", "const", "not"}

// liftRoot removes from the root what no API takes there and gives in words what it demanded. Properties that only a branch declares move to the
// root, so that the model can still send them; which of them go together is in the words, and the own schema checks it.
func liftRoot(root map[string]any) string {
	defs, _ := root["$defs"].(map[string]any)
	l := &lifter{defs: defs, props: map[string][]any{}, seen: map[string]bool{}}
	for _, kw := range []string{"allOf", "anyOf", "oneOf"} {
		list, ok := root[kw].([]any)
		if !ok {
			continue
		}
		var common []string
		for i, branch := range list {
			clear(l.seen) // two branches may refer to one definition
			required := l.collect(branch)
			switch {
			case kw == "allOf":
				common = append(common, required...)
			case i == 0:
				common = required
			default:
				common = slices.DeleteFunc(common, func(n string) bool { return !slices.Contains(required, n) })
			}
		}
		l.required = append(l.required, common...)
	}
	l.moveTo(root)
	remark := restate(root, rootOnly...)
	delete(root, "nullable")
	if len(defs) > 0 {
		pruneDefs(root)
	}
	return remark
}

type lifter struct {
	defs     map[string]any
	props    map[string][]any // name → the different schemas that branches give it
	required []string
	seen     map[string]bool // definitions being looked into
}

// collect gathers the properties of one branch and gives the names it requires.
func (l *lifter) collect(v any) []string {
	m, ok := v.(map[string]any)
	if !ok {
		return nil
	}
	required := stringsOf(m["required"])
	if ref, ok := m["$ref"].(string); ok && !l.seen[ref] {
		l.seen[ref] = true
		required = append(required, l.collect(l.defs[defName(ref)])...)
	}
	props, _ := m["properties"].(map[string]any)
	for _, name := range sortedKeys(props) {
		same := func(e any) bool { return equalJSON(e, props[name]) }
		if !slices.ContainsFunc(l.props[name], same) {
			l.props[name] = append(l.props[name], props[name])
		}
	}
	for _, kw := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := m[kw].([]any)
		for _, sub := range list {
			names := l.collect(sub)
			if kw == "allOf" {
				required = append(required, names...)
			}
		}
	}
	return required
}

func (l *lifter) moveTo(root map[string]any) {
	props, _ := root["properties"].(map[string]any)
	if props == nil {
		props = map[string]any{}
		root["properties"] = props
	}
	if root["additionalProperties"] != false {
		for _, name := range sortedKeys(l.props) {
			if _, has := props[name]; has {
				continue
			}
			if all := l.props[name]; len(all) == 1 {
				props[name] = clone(all[0])
			} else {
				props[name] = map[string]any{"anyOf": clone(all)}
			}
		}
	}
	var names []any
	for _, n := range append(stringsOf(root["required"]), l.required...) {
		if _, declared := props[n]; declared && !slices.Contains(names, any(n)) {
			names = append(names, n)
		}
	}
	if names != nil {
		root["required"] = names
	}
}

// pruneDefs drops definitions that nothing refers to any more.
func pruneDefs(root map[string]any) {
	defs, _ := root["$defs"].(map[string]any)
	used := map[string]bool{}
	var mark func(m map[string]any)
	note := func(m map[string]any) {
		ref, ok := m["$ref"].(string)
		name := defName(ref)
		if !ok || name == "" || used[name] {
			return
		}
		used[name] = true
		if def, ok := defs[name].(map[string]any); ok {
			mark(def)
		}
	}
	mark = func(m map[string]any) { everyNode(m, note) }
	delete(root, "$defs")
	mark(root)
	for name := range defs {
		if !used[name] {
			delete(defs, name)
		}
	}
	if len(defs) > 0 {
		root["$defs"] = defs
	}
}
