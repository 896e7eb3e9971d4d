package schema

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"
)

// modernise rewrites the words of older drafts and of OpenAPI on one node into those of 2020-12.
func modernise(m map[string]any) {
	for _, bound := range [][2]string{{"exclusiveMinimum", "minimum"}, {"exclusiveMaximum", "maximum"}} {
		flag, ok := m[bound[0]].(bool)
		if !ok {
			continue
		}
		delete(m, bound[0])
		if limit, has := m[bound[1]]; has && flag {
			m[bound[0]] = limit
			delete(m, bound[1])
		}
	}
	if list, ok := m["items"].([]any); ok {
		delete(m, "items")
		if len(list) > 0 && m["prefixItems"] == nil {
			m["prefixItems"] = list
			if rest, ok := m["additionalItems"]; ok {
				m["items"] = rest
			}
		}
	}
	delete(m, "additionalItems")
	if deps, ok := m["dependencies"].(map[string]any); ok {
		splitDependencies(m, deps)
	}
	delete(m, "dependencies")
	moderniseRefs(m)
	// Another draft's name would make a reader apply that draft's rules to what is now 2020-12.
	for _, kw := range []string{"$schema", "$vocabulary", "$recursiveAnchor", "id"} {
		if _, isText := m[kw].(string); isText || kw != "id" {
			delete(m, kw)
		}
	}
	if _, ok := m["required"].(bool); ok {
		delete(m, "required") // it speaks of the parent's property, and the caller has read it
	}
}

func moderniseRefs(m map[string]any) {
	for _, kw := range []string{"$dynamicRef", "$recursiveRef"} {
		if ref, ok := m[kw].(string); ok && m["$ref"] == nil {
			m["$ref"] = ref
		}
		delete(m, kw)
	}
	if a, ok := m["$dynamicAnchor"].(string); ok && m["$anchor"] == nil {
		m["$anchor"] = a
	}
	delete(m, "$dynamicAnchor")
}

func splitDependencies(m, deps map[string]any) {
	names, schemas := map[string]any{}, map[string]any{}
	for k, v := range deps {
		if list, ok := v.([]any); ok {
			names[k] = list
		} else if s, ok := v.(string); ok {
			names[k] = []any{s}
		} else {
			schemas[k] = v
		}
	}
	if len(names) > 0 && m["dependentRequired"] == nil {
		m["dependentRequired"] = names
	}
	if len(schemas) > 0 && m["dependentSchemas"] == nil {
		m["dependentSchemas"] = schemas
	}
}

// spreadNullable writes OpenAPI's `nullable` as the null type, the only form in which validators know it.
func spreadNullable(m map[string]any) {
	flag, ok := m["nullable"]
	if !ok {
		return
	}
	delete(m, "nullable")
	if flag != true {
		return
	}
	null := map[string]any{"type": "null"}
	switch t := m["type"].(type) {
	case string:
		if t != "null" {
			m["type"] = []any{t, "null"}
		}
	case []any:
		if !slices.Contains(t, any("null")) {
			m["type"] = append(t, "null")
		}
	}
	if enum, ok := m["enum"].([]any); ok && !slices.Contains(enum, nil) {
		m["enum"] = append(enum, nil)
	}
	for _, kw := range []string{"anyOf", "oneOf"} {
		if list, ok := m[kw].([]any); ok {
			m[kw] = append(list, null)
		}
	}
	if ref, ok := m["$ref"]; ok && m["anyOf"] == nil {
		delete(m, "$ref")
		m["anyOf"] = []any{map[string]any{"$ref": ref}, null}
	}
}

func mendTypes(v any, at string) (any, error) {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	var out []any
	for _, e := range list {
		if e == nil {
			e = "null"
		}
		s, ok := e.(string)
		if !ok {
			return nil, &FieldError{at, fmt.Sprintf("want a type name, got %s", KindOf(e))}
		}
		name, known := typeName(s)
		if !known {
			return nil, &FieldError{at, fmt.Sprintf("%q is no JSON type", s)}
		}
		if name == "" {
			return nil, nil
		}
		if !slices.Contains(out, any(name)) {
			out = append(out, name)
		}
	}
	switch len(out) {
	case 0:
		return nil, nil
	case 1:
		return out[0], nil
	}
	return out, nil
}

func mendNumber(v any, at string) (any, error) {
	n, ok := v.(json.Number)
	if s, isText := v.(string); isText {
		n, ok = json.Number(strings.TrimSpace(s)), true
	}
	if ok {
		if _, valid := ParseNumber(string(n)); valid {
			return n, nil
		}
	}
	return nil, &FieldError{at, fmt.Sprintf("want a number, got %v", v)}
}

func mendCount(v any, at string) (any, error) {
	n, err := mendNumber(v, at)
	if err != nil {
		return nil, err
	}
	num, _ := ParseNumber(string(n.(json.Number)))
	whole, ok := num.Int()
	if !ok || whole.Sign() < 0 || whole.Cmp(big.NewInt(1<<31-1)) > 0 {
		return nil, &FieldError{at, fmt.Sprintf("want a whole number from 0 to 2147483647, got %v", v)}
	}
	return json.Number(whole.String()), nil
}

func mendText(v any, kw string) any {
	if s, ok := v.(string); ok {
		return s
	}
	if kw != "description" && kw != "title" {
		return nil
	}
	if list, ok := v.([]any); ok {
		var lines []string
		for _, e := range list {
			if s, ok := e.(string); ok {
				lines = append(lines, s)
			}
		}
		if len(lines) == len(list) {
			return strings.Join(lines, "\n")
		}
	}
	text, err := Encode(v)
	if err != nil {
		return nil
	}
	return string(text)
}

func mendFlag(v any) any {
	switch v := v.(type) {
	case bool:
		return v
	case string:
		switch strings.ToLower(v) {
		case "true":
			return true
		case "false":
			return false
		}
	}
	return nil
}

func mendNames(v any) any {
	if s, ok := v.(string); ok {
		return []any{s}
	}
	list, _ := v.([]any)
	out := []any{}
	for _, e := range list {
		if _, ok := e.(string); ok && !slices.Contains(out, e) {
			out = append(out, e)
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

func mendNamesMap(v any) any {
	in, _ := v.(map[string]any)
	out := map[string]any{}
	for k, e := range in {
		if names := mendNames(e); names != nil {
			out[k] = names
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// mendValues mends enum and examples: one bare value is a list of one, doubles go, and an empty list says nothing.
func mendValues(v any) any {
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	seen := map[string]bool{}
	var out []any
	for _, e := range list {
		key, err := Encode(e)
		if err != nil || seen[string(key)] {
			continue
		}
		seen[string(key)] = true
		out = append(out, clone(e))
	}
	if out == nil {
		return nil
	}
	return out
}
