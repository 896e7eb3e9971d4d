package schema_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/hermes-runtime/hermes/internal/registry/schema"
)

// The predicates are written from what each API accepts, apart from the code that rewrites schemas, so that each can catch the other.

type checker struct {
	dialect schema.Dialect
	defs    map[string]any
	faults  []string
}

func (c *checker) fault(path, format string, args ...any) {
	c.faults = append(c.faults, path+": "+fmt.Sprintf(format, args...))
}

var (
	anthropicNames = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)
	geminiNames    = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)

	childOne  = []string{"items", "additionalProperties", "propertyNames", "contains", "not", "if", "then", "else", "unevaluatedItems", "unevaluatedProperties", "contentSchema"}
	childMap  = []string{"properties", "patternProperties", "$defs", "dependentSchemas"}
	childList = []string{"allOf", "anyOf", "oneOf", "prefixItems"}
)

// faults lists what a dialect's API would reject about parameters.
func faults(d schema.Dialect, params map[string]any) []string {
	c := &checker{dialect: d}
	c.defs, _ = params["$defs"].(map[string]any)
	if params["type"] != "object" {
		c.fault("root", "type %v", params["type"])
	}
	if d == schema.MCP {
		return c.faults
	}
	if _, ok := params["properties"].(map[string]any); !ok {
		c.fault("root", "properties %v", params["properties"])
	}
	for _, kw := range []string{"anyOf", "oneOf", "allOf", "enum", "const", "not", "$ref"} {
		if _, ok := params[kw]; ok {
			c.fault("root", "%s", kw)
		}
	}
	c.node("root", params, nil)
	return c.faults
}

func (c *checker) node(path string, v any, inherited []string) {
	m, ok := v.(map[string]any)
	if !ok {
		if _, isBool := v.(bool); !isBool || !strings.HasSuffix(path, "items") && !strings.HasSuffix(path, "Properties") && !strings.HasSuffix(path, "Items") || c.gemini() {
			c.fault(path, "schema %v", v)
		}
		return
	}
	c.common(path, m, inherited)
	switch c.dialect {
	case schema.Anthropic:
		c.names(path, m, anthropicNames)
	case schema.Gemini, schema.GeminiCompatible:
		c.names(path, m, geminiNames)
		c.geminiNode(path, m)
	}
	props, _ := m["properties"].(map[string]any)
	here := append(slices.Clone(inherited), slices.Collect(maps.Keys(props))...)
	for _, kw := range childOne {
		if sub, ok := m[kw]; ok {
			c.node(path+"/"+kw, sub, passed(kw, here))
		}
	}
	for _, kw := range childMap {
		sub, _ := m[kw].(map[string]any)
		for name, s := range sub {
			c.node(path+"/"+kw+"/"+name, s, passed(kw, here))
		}
	}
	for _, kw := range childList {
		list, _ := m[kw].([]any)
		for i, s := range list {
			c.node(fmt.Sprintf("%s/%s/%d", path, kw, i), s, passed(kw, here))
		}
	}
}

// passed are the declared names that a part of the same object may require.
func passed(kw string, names []string) []string {
	if slices.Contains([]string{"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"}, kw) {
		return names
	}
	return nil
}

func (c *checker) gemini() bool {
	return c.dialect == schema.Gemini || c.dialect == schema.GeminiCompatible
}

func types(m map[string]any) []string {
	switch t := m["type"].(type) {
	case string:
		return []string{t}
	case []any:
		var out []string
		for _, e := range t {
			out = append(out, fmt.Sprint(e))
		}
		return out
	}
	return nil
}

func (c *checker) common(path string, m map[string]any, inherited []string) {
	ts := types(m)
	for _, t := range ts {
		if !slices.Contains([]string{"null", "boolean", "integer", "number", "string", "array", "object"}, t) {
			c.fault(path, "type %q", t)
		}
	}
	if len(ts) == 2 && slices.Contains(ts, "null") {
		c.fault(path, "null not folded: %v", ts)
	}
	if slices.Contains(ts, "array") && m["items"] == nil {
		c.fault(path, "array without items")
	}
	if _, ok := m["properties"].(map[string]any); slices.Contains(ts, "object") && !ok {
		c.fault(path, "object without properties")
	}
	for _, kw := range []string{"definitions", "$schema", "$id", "id", "dependencies", "additionalItems"} {
		if _, ok := m[kw]; ok {
			c.fault(path, "%s", kw)
		}
	}
	if ref, ok := m["$ref"].(string); ok {
		if name := strings.TrimPrefix(ref, "#/$defs/"); ref != "#" && c.defs[name] == nil {
			c.fault(path, "$ref %s leads nowhere", ref)
		}
		if _, ok := m["default"]; ok {
			c.fault(path, "default beside $ref")
		}
	}
	if d, ok := m["description"]; ok {
		if _, isText := d.(string); !isText {
			c.fault(path, "description %v", d)
		}
	}
	c.required(path, m, inherited)
}

func (c *checker) required(path string, m map[string]any, inherited []string) {
	req, ok := m["required"]
	if !ok {
		return
	}
	list, _ := req.([]any)
	if len(list) == 0 {
		c.fault(path, "required %v", req)
	}
	if m["$ref"] != nil || m["allOf"] != nil || m["anyOf"] != nil || m["oneOf"] != nil || m["then"] != nil {
		return // names may be declared there
	}
	props, _ := m["properties"].(map[string]any)
	for _, name := range list {
		if s, _ := name.(string); props[s] == nil && !slices.Contains(inherited, s) {
			c.fault(path, "requires undeclared %v", name)
		}
	}
}

func (c *checker) names(path string, m map[string]any, valid *regexp.Regexp) {
	props, _ := m["properties"].(map[string]any)
	for name := range props {
		if !valid.MatchString(name) {
			c.fault(path, "property name %q", name)
		}
	}
}

func (c *checker) geminiNode(path string, m map[string]any) {
	for kw := range m {
		if !slices.Contains([]string{"type", "title", "description", "default", "nullable", "enum", "items", "properties", "required", "anyOf", "minimum", "maximum",
			"minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"}, kw) {
			c.fault(path, "keyword %s", kw)
		}
	}
	t, isOne := m["type"].(string)
	if !isOne && m["anyOf"] == nil || t == "null" {
		c.fault(path, "type %v", m["type"])
	}
	if enum, ok := m["enum"].([]any); ok {
		for _, e := range enum {
			if s, isText := e.(string); !isText || s == "" {
				c.fault(path, "enum value %v", e)
			}
		}
		if t != "string" {
			c.fault(path, "enum of type %v", m["type"])
		}
	}
	if props, _ := m["properties"].(map[string]any); t == "object" && len(props) == 0 && path != "root" {
		c.fault(path, "object without named properties")
	}
}
