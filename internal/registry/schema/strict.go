package schema

import "slices"

// strictAllows are the keywords of a strict schema.
var strictAllows = []string{"type", "title", "description", "enum", "const", "items", "properties", "required", "additionalProperties", "anyOf", "$ref",
	"$defs", "pattern", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems", "maxItems", "nullable", "default"}

// strictly gives a strict copy of a dialect's schema: every property required, optional ones nullable, nothing else allowed. false if the tool can't
// be expressed so: free-form objects, untyped values and conditions have no strict form.
func strictly(root map[string]any) (map[string]any, bool) {
	out := cloneMap(root)
	ok := true
	everyNode(out, func(m map[string]any) { ok = ok && strictNode(m) })
	if !ok {
		return nil, false
	}
	return out, true
}

func strictNode(m map[string]any) bool {
	delete(m, "contentMediaType") // says nothing that a model has to keep to
	for k := range m {
		if !slices.Contains(strictAllows, k) {
			return false
		}
	}
	delete(m, "default") // a value that is always sent has none
	if m["type"] == nil && m["anyOf"] == nil && m["$ref"] == nil && m["enum"] == nil && m["const"] == nil {
		return false
	}
	if hasType(m, "object") && !strictObject(m) {
		return false
	}
	if hasType(m, "array") {
		if items, ok := m["items"].(map[string]any); !ok || len(items) == 0 {
			return false
		}
	}
	if m["nullable"] == true {
		acceptNull(m)
	}
	delete(m, "nullable")
	return true
}

func strictObject(m map[string]any) bool {
	switch extra := m["additionalProperties"].(type) {
	case nil, bool:
		if extra == true {
			return false
		}
	default:
		return false
	}
	props, _ := m["properties"].(map[string]any)
	if len(props) == 0 && m["additionalProperties"] != false {
		return false
	}
	required := stringsOf(m["required"])
	all := make([]any, 0, len(props))
	for _, name := range sortedKeys(props) {
		all = append(all, name)
		child, ok := props[name].(map[string]any)
		if !ok {
			return false
		}
		if !slices.Contains(required, name) {
			child["nullable"] = true
		}
	}
	m["additionalProperties"] = false
	m["required"] = all
	return true
}

// acceptNull makes a node accept null in plain JSON Schema, which is what strict readers go by.
func acceptNull(m map[string]any) {
	null := map[string]any{"type": "null"}
	switch t := m["type"].(type) {
	case string:
		if t != "null" {
			m["type"] = []any{t, "null"}
		}
	case []any:
		if !slices.Contains(t, any("null")) {
			m["type"] = append(slices.Clone(t), "null")
		}
	}
	if enum, ok := m["enum"].([]any); ok && !slices.Contains(enum, nil) {
		m["enum"] = append(slices.Clone(enum), nil)
	}
	if list, ok := m["anyOf"].([]any); ok && !slices.ContainsFunc(list, func(e any) bool { b, _ := e.(map[string]any); return isNull(b) }) {
		m["anyOf"] = append(slices.Clone(list), null)
	}
	if c, ok := m["const"]; ok && c != nil {
		delete(m, "const")
		m["enum"] = []any{c, nil}
	}
	if ref, ok := m["$ref"]; ok {
		delete(m, "$ref")
		m["anyOf"] = []any{map[string]any{"$ref": ref}, null}
	}
}
