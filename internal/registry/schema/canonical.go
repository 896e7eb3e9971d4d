package schema

import "slices"

// canonical gives the form of a flattened schema that every dialect starts from: object nodes have properties, required names only what is declared,
// and null as an alternative is written `nullable: true`.
func canonical(flat map[string]any) map[string]any {
	c := &canonicaliser{}
	root := inlineRootRef(cloneMap(flat))
	c.defs, _ = root["$defs"].(map[string]any)
	out := c.node(root, nil)
	for _, name := range sortedKeys(c.defs) {
		def, _ := c.schema(c.defs[name], nil)
		c.defs[name] = def
	}
	out["type"] = "object"
	delete(out, "nullable") // a call always has an argument object
	if _, ok := out["properties"]; !ok {
		out["properties"] = map[string]any{}
	}
	return out
}

// inlineRootRef writes out a reference at the root, because no API takes one there. The root's own words win.
func inlineRootRef(root map[string]any) map[string]any {
	defs, _ := root["$defs"].(map[string]any)
	for hops := 0; hops < maxDepth; hops++ {
		ref, ok := root["$ref"].(string)
		if !ok || ref == "#" {
			break
		}
		delete(root, "$ref")
		target, ok := defs[defName(ref)].(map[string]any)
		if !ok {
			break
		}
		for k, v := range cloneMap(target) {
			if _, has := root[k]; !has || k == "properties" && isEmpty(root[k]) {
				root[k] = v
			}
		}
		root["type"] = "object"
	}
	return root
}

func isEmpty(v any) bool {
	m, ok := v.(map[string]any)
	return ok && len(m) == 0
}

type canonicaliser struct{ defs map[string]any }

// schema canonicalises any schema. The schema true becomes {}, false is kept for the parent to act on.
func (c *canonicaliser) schema(v any, inherited []string) (any, bool) {
	switch v := v.(type) {
	case bool:
		if !v {
			return map[string]any{"not": map[string]any{}}, false
		}
		return map[string]any{}, true
	case map[string]any:
		return c.node(v, inherited), true
	}
	return map[string]any{}, true
}

// node canonicalises one schema node in place. inherited are the names declared by the nodes that this one is a part of.
func (c *canonicaliser) node(m map[string]any, inherited []string) map[string]any {
	if props, ok := m["properties"].(map[string]any); ok {
		for name, p := range props {
			if p == false { // must not be given, so it isn't offered
				delete(props, name)
			}
		}
	}
	declared := append(slices.Clone(inherited), c.declared(m, map[string]bool{})...)
	eachChild(m, func(s step, child any) any { return c.child(s, child, declared) })
	dropImpossible(m)
	foldTypes(m)
	foldChoices(m)
	foldEnum(m)
	c.object(m, declared)
	if _, ok := m["$ref"]; ok {
		delete(m, "default")
	}
	return m
}

func (c *canonicaliser) child(s step, child any, declared []string) any {
	_, isBool := child.(bool)
	switch s.keyword {
	case "$defs": // canonicalised once, by the caller
		return child
	case "additionalProperties", "items", "unevaluatedItems", "unevaluatedProperties":
		if isBool {
			return child
		}
		declared = nil
	case "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas":
		if child == false {
			return false
		}
	default:
		declared = nil
	}
	out, _ := c.schema(child, declared)
	return out
}

// declared lists the property names that a node knows, through whatever it is put together from.
// seen are the definitions looked into already.
func (c *canonicaliser) declared(m map[string]any, seen map[string]bool) []string {
	var names []string
	props, _ := m["properties"].(map[string]any)
	for name := range props {
		names = append(names, name)
	}
	if ref, ok := m["$ref"].(string); ok && !seen[ref] {
		seen[ref] = true
		if target, ok := c.defs[defName(ref)].(map[string]any); ok {
			names = append(names, c.declared(target, seen)...)
		}
	}
	for _, kw := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := m[kw].([]any)
		for _, e := range list {
			if sub, ok := e.(map[string]any); ok {
				names = append(names, c.declared(sub, seen)...)
			}
		}
	}
	for _, kw := range []string{"then", "else"} {
		if sub, ok := m[kw].(map[string]any); ok {
			names = append(names, c.declared(sub, seen)...)
		}
	}
	return names
}

// dropImpossible takes branches that accept nothing out of a choice.
func dropImpossible(m map[string]any) {
	for _, kw := range []string{"anyOf", "oneOf"} {
		list, ok := m[kw].([]any)
		if !ok {
			continue
		}
		kept := slices.DeleteFunc(list, func(e any) bool { return e == false })
		if len(kept) == 0 {
			kept = []any{map[string]any{"not": map[string]any{}}}
		}
		m[kw] = kept
	}
	for _, kw := range []string{"allOf", "not", "if", "then", "else", "dependentSchemas"} {
		switch v := m[kw].(type) {
		case bool:
			m[kw] = map[string]any{"not": map[string]any{}}
		case []any:
			for i, e := range v {
				if e == false {
					v[i] = map[string]any{"not": map[string]any{}}
				}
			}
		case map[string]any:
			if kw != "dependentSchemas" {
				continue
			}
			for k, e := range v {
				if e == false {
					v[k] = map[string]any{"not": map[string]any{}}
				}
			}
		}
	}
}

// foldTypes turns a type beside null into that type and `nullable`.
func foldTypes(m map[string]any) {
	list, ok := m["type"].([]any)
	if !ok {
		return
	}
	if len(list) == 2 && slices.Contains(list, any("null")) {
		m["nullable"] = true
		list = slices.DeleteFunc(slices.Clone(list), func(e any) bool { return e == "null" })
	}
	if len(list) == 1 {
		m["type"] = list[0]
	} else {
		m["type"] = list
	}
}

// foldChoices turns a choice with one branch beside null into that branch.
func foldChoices(m map[string]any) {
	for _, kw := range []string{"anyOf", "oneOf"} {
		list, ok := m[kw].([]any)
		if !ok {
			continue
		}
		var real []map[string]any
		nulls := 0
		for _, e := range list {
			b, _ := e.(map[string]any)
			if isNull(b) {
				nulls++
			} else {
				real = append(real, b)
			}
		}
		if len(real) != 1 || !mergeable(m, real[0], kw) {
			continue
		}
		delete(m, kw)
		for k, v := range real[0] {
			if _, has := m[k]; !has {
				m[k] = v
			}
		}
		if nulls > 0 {
			m["nullable"] = true
		}
	}
}

func isNull(m map[string]any) bool {
	if m == nil {
		return false
	}
	if c, ok := m["const"]; ok && c == nil {
		return true
	}
	if enum, ok := m["enum"].([]any); ok && len(enum) == 1 && enum[0] == nil {
		return true
	}
	return m["type"] == "null"
}

// mergeable reports that a branch can take the place of its choice: the two share no keyword but annotations and an equal type.
func mergeable(m, branch map[string]any, choice string) bool {
	for k, v := range branch {
		switch k {
		case "title", "description", "default", "examples":
			continue
		}
		if k == choice {
			return false
		}
		if own, has := m[k]; has && !(k == "type" && equalJSON(own, v)) {
			return false
		}
	}
	return true
}

func equalJSON(a, b any) bool {
	x, err1 := Encode(a)
	y, err2 := Encode(b)
	return err1 == nil && err2 == nil && string(x) == string(y)
}

// foldEnum makes enum and `nullable` say the same about null.
func foldEnum(m map[string]any) {
	enum, ok := m["enum"].([]any)
	if !ok || m["nullable"] != true {
		return
	}
	rest := slices.DeleteFunc(slices.Clone(enum), func(e any) bool { return e == nil })
	if len(rest) == len(enum) {
		delete(m, "nullable")
		return
	}
	if len(rest) > 0 {
		m["enum"] = rest
	}
}

func (c *canonicaliser) object(m map[string]any, declared []string) {
	_, hasProps := m["properties"].(map[string]any)
	_, typed := m["type"]
	if hasProps && !typed && m["$ref"] == nil {
		m["type"] = "object"
	}
	if hasType(m, "object") && !hasProps {
		m["properties"] = map[string]any{}
	}
	if names, ok := m["required"].([]any); ok {
		kept := slices.DeleteFunc(slices.Clone(names), func(n any) bool { return !slices.Contains(declared, n.(string)) })
		if len(kept) == 0 {
			delete(m, "required")
		} else {
			m["required"] = kept
		}
	}
}

// hasType reports whether a node names a type, alone or in a list.
func hasType(m map[string]any, name string) bool {
	switch t := m["type"].(type) {
	case string:
		return t == name
	case []any:
		return slices.Contains(t, any(name))
	}
	return false
}
