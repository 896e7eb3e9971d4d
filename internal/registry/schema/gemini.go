package schema

import (
	"maps"
	"slices"
	"strings"
)

const (
	// inlineDepth is how many references deep Gemini's schemas are written out.
	inlineDepth = 8
	// inlineNodes bounds the size of the result: references that fan out double with every level.
	inlineNodes = 600
)

// geminiKeeps are the keywords that Gemini's schema has. Anything else is put into words or, if it is a mere annotation, dropped.
var geminiKeeps = []string{"type", "title", "description", "default", "nullable", "enum", "items", "properties", "required", "anyOf",
	"minimum", "maximum", "minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"}

// geminiRestates are put into words.
var geminiRestates = []string{"pattern", "format", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "uniqueItems", "contains", "minContains",
	"maxContains", "prefixItems", "propertyNames", "patternProperties", "dependentRequired", "dependentSchemas", "unevaluatedProperties",
	"unevaluatedItems", "if", "then", "else", "not", "contentEncoding", "contentMediaType"}

// geminiRoot rewrites a canonical schema into Gemini's, in place.
func geminiRoot(root map[string]any) {
	g := &geminiWriter{defs: map[string]any{}}
	if defs, ok := root["$defs"].(map[string]any); ok {
		g.defs = defs
	}
	delete(root, "$defs")
	start := cloneMap(root)
	extra := start["additionalProperties"]
	delete(start, "additionalProperties")
	out := g.node(start, nil, true)
	if sub, ok := extra.(map[string]any); ok && len(sub) > 0 {
		describe(out, "other members being "+Words(sub))
	}
	clear(root)
	maps.Copy(root, out)
}

type geminiWriter struct {
	defs  map[string]any
	nodes int
}

// free is what stands for a value of any shape: Gemini takes no schema without a type.
func free(m map[string]any, what string) map[string]any {
	out := map[string]any{"type": "string"}
	for _, k := range []string{"title", "description", "nullable"} {
		if v, ok := m[k]; ok {
			out[k] = v
		}
	}
	old, _ := out["description"].(string)
	out["description"] = joinSentences(old, "Give "+what+" written as JSON text.")
	return out
}

// asksForText reports whether any value of any type is asked for as text.
func asksForText(root map[string]any) bool {
	found := false
	everyNode(root, func(m map[string]any) {
		d, _ := m["description"].(string)
		found = found || m["type"] == "string" && strings.HasSuffix(d, "Give "+anyValue+" written as JSON text.")
	})
	return found
}

const anyValue = "any value"

// node rewrites one node. seen are the definitions being written out around it.
func (g *geminiWriter) node(m map[string]any, seen []string, isRoot bool) map[string]any {
	g.nodes++
	m, seen, cyclic := g.inline(m, seen)
	if cyclic || g.nodes > inlineNodes {
		return free(m, "an object")
	}
	m = g.mergeAll(m)
	g.choices(m, seen)
	geminiType(m)
	geminiValues(m)
	if !isRoot && isFreeObject(m) {
		what := "an object"
		if w := restate(m, "additionalProperties", "patternProperties", "propertyNames", "minProperties", "maxProperties"); w != "" {
			what += " (" + w + ")"
		}
		return free(m, what)
	}
	if m["type"] == nil && m["anyOf"] == nil {
		describe(m, restate(m, append(geminiRestates, "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems")...))
		return free(m, anyValue)
	}
	describe(m, restate(m, geminiRestates...))
	for k := range m {
		if !slices.Contains(geminiKeeps, k) {
			delete(m, k)
		}
	}
	g.children(m, seen)
	return m
}

// inline writes a reference out. cyclic reports that it leads back into itself or too deep.
func (g *geminiWriter) inline(m map[string]any, seen []string) (map[string]any, []string, bool) {
	for {
		ref, ok := m["$ref"].(string)
		if !ok {
			return m, seen, false
		}
		name := defName(ref)
		if slices.Contains(seen, name) || name == "" || len(seen) >= inlineDepth {
			return m, seen, true
		}
		seen = append(slices.Clone(seen), name)
		target, _ := clone(g.defs[name]).(map[string]any)
		out := map[string]any{}
		for k, v := range target {
			out[k] = v
		}
		delete(m, "$ref")
		for k, v := range m {
			out[k] = v
		}
		m = out
	}
}

// mergeAll merges the branches of allOf into the node; where two disagree the node's own word stands, and the branch is put into words.
func (g *geminiWriter) mergeAll(m map[string]any) map[string]any {
	for depth := 0; depth < inlineDepth; depth++ {
		list, ok := m["allOf"].([]any)
		if !ok {
			return m
		}
		delete(m, "allOf")
		for _, e := range list {
			branch, ok := clone(e).(map[string]any)
			if g.nodes++; !ok || g.nodes > inlineNodes {
				continue
			}
			if branch["$ref"] != nil {
				var cyclic bool
				if branch, _, cyclic = g.inline(branch, nil); cyclic {
					continue
				}
			}
			mergeBranch(m, branch)
		}
	}
	delete(m, "allOf")
	return m
}

func mergeBranch(m, branch map[string]any) {
	for _, k := range sortedKeys(branch) {
		v := branch[k]
		own, has := m[k]
		switch {
		case !has:
			m[k] = v
		case k == "properties":
			for name, p := range v.(map[string]any) {
				if props := own.(map[string]any); props[name] == nil {
					props[name] = p
				}
			}
		case k == "required" || k == "allOf":
			merged := slices.Clone(own.([]any))
			for _, e := range v.([]any) {
				if k == "allOf" || !slices.Contains(merged, e) {
					merged = append(merged, e)
				}
			}
			m[k] = merged
		case k == "description" || k == "title" || k == "default" || equalJSON(own, v):
		default:
			describe(m, Words(map[string]any{k: v}))
		}
	}
}

// choices brings oneOf and anyOf into the one form that Gemini knows.
func (g *geminiWriter) choices(m map[string]any, seen []string) {
	if list, ok := m["oneOf"]; ok {
		if m["anyOf"] == nil {
			m["anyOf"] = list
			delete(m, "oneOf")
		} else {
			describe(m, restate(m, "oneOf"))
		}
	}
	list, ok := m["anyOf"].([]any)
	if !ok {
		return
	}
	if props, _ := m["properties"].(map[string]any); len(props) > 0 {
		// Beside properties a choice only narrows the object down, and Gemini wants the choice to stand alone.
		describe(m, restate(m, "anyOf"))
		return
	}
	var out []any
	for _, e := range list {
		branch, ok := e.(map[string]any)
		if !ok {
			continue
		}
		if isNull(branch) {
			m["nullable"] = true
			continue
		}
		if branch["type"] == nil && m["type"] != nil && branch["$ref"] == nil {
			branch["type"] = m["type"]
		}
		out = append(out, g.node(branch, seen, false))
	}
	if len(out) == 0 {
		delete(m, "anyOf")
		return
	}
	m["anyOf"] = out
	delete(m, "type")
	delete(m, "properties")
}

// geminiType leaves one type, the first that is not null.
func geminiType(m map[string]any) {
	list, ok := m["type"].([]any)
	if ok {
		delete(m, "type")
		for _, t := range list {
			if t == "null" {
				m["nullable"] = true
			} else if m["type"] == nil {
				m["type"] = t
			}
		}
	}
	if m["type"] == "null" {
		// A value that can only be null carries nothing; a string that may be null is as near as it gets.
		m["type"], m["nullable"] = "string", true
	}
}

// geminiValues keeps enums of strings and puts other values into words.
func geminiValues(m map[string]any) {
	if c, ok := m["const"]; ok {
		delete(m, "const")
		if m["enum"] == nil {
			m["enum"] = []any{c}
		}
	}
	enum, ok := m["enum"].([]any)
	if !ok {
		return
	}
	if i := slices.Index(enum, nil); i >= 0 {
		m["nullable"] = true
		enum = slices.Delete(slices.Clone(enum), i, i+1)
		m["enum"] = enum
	}
	allText, onlyType := true, ""
	for i, e := range enum {
		text, isText := e.(string)
		allText = allText && isText && text != ""
		if t := jsonTypeOf(e); i == 0 || t == onlyType {
			onlyType = t
		} else {
			onlyType = ""
		}
	}
	if allText && len(enum) > 0 && (m["type"] == nil || m["type"] == "string") {
		m["type"] = "string"
		return
	}
	if m["type"] == nil && onlyType != "" && onlyType != "null" {
		m["type"] = onlyType
	}
	describe(m, restate(m, "enum"))
}

// isFreeObject reports an object without named properties.
func isFreeObject(m map[string]any) bool {
	props, _ := m["properties"].(map[string]any)
	return m["type"] == "object" && len(props) == 0
}

func (g *geminiWriter) children(m map[string]any, seen []string) {
	if m["type"] == "object" {
		props, _ := m["properties"].(map[string]any)
		for _, name := range sortedKeys(props) {
			child, _ := props[name].(map[string]any)
			if child == nil {
				child = map[string]any{}
			}
			props[name] = g.node(child, seen, false)
		}
		if req, ok := m["required"].([]any); ok {
			kept := slices.DeleteFunc(slices.Clone(req), func(n any) bool { return props[n.(string)] == nil })
			if m["required"] = kept; len(kept) == 0 {
				delete(m, "required")
			}
		}
	} else {
		delete(m, "properties")
		delete(m, "required")
	}
	if m["type"] == "array" {
		items, _ := m["items"].(map[string]any)
		if len(items) == 0 {
			m["items"] = map[string]any{"type": "string"}
		} else {
			m["items"] = g.node(items, seen, false)
		}
	} else {
		delete(m, "items")
	}
}
