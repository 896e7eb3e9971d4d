package schema

import (
	"slices"
	"strings"
)

// shape says what a keyword's value is, so that one walk serves every pass and keywords are looked for on schema nodes only.
type shape uint8

const (
	shapeUnknown    shape = iota
	shapeSchema           // one schema
	shapeSchemaMap        // names to schemas
	shapeSchemaList       // list of schemas
	shapeNumber           // any number
	shapeCount            // whole number ≥ 0
	shapeText             // string
	shapeFlag             // boolean
	shapeNames            // list of distinct strings
	shapeNamesMap         // names to lists of distinct strings
	shapeValues           // list of values
	shapeValue            // any value
	shapeType             // type name or list of them
)

// shapeOf tells what the value of a keyword is.
func shapeOf(keyword string) shape {
	switch keyword {
	case "items", "additionalProperties", "propertyNames", "contains", "not", "if", "then", "else", "unevaluatedItems",
		"unevaluatedProperties", "contentSchema":
		return shapeSchema
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
		return shapeSchemaMap
	case "allOf", "anyOf", "oneOf", "prefixItems":
		return shapeSchemaList
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf":
		return shapeNumber
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains":
		return shapeCount
	case "title", "description", "$comment", "format", "pattern", "$ref", "$anchor", "$id", "$schema", "contentEncoding",
		"contentMediaType":
		return shapeText
	case "uniqueItems", "deprecated", "readOnly", "writeOnly":
		return shapeFlag
	case "required":
		return shapeNames
	case "dependentRequired":
		return shapeNamesMap
	case "enum", "examples":
		return shapeValues
	case "const", "default":
		return shapeValue
	case "type":
		return shapeType
	}
	return shapeUnknown
}

// typeName gives the JSON Schema name for a spelling of a type met in the wild; "" stands for any type.
func typeName(spelling string) (name string, known bool) {
	switch strings.ToLower(strings.TrimSpace(spelling)) {
	case "null", "none":
		return "null", true
	case "boolean", "bool":
		return "boolean", true
	case "integer", "int", "long":
		return "integer", true
	case "number", "float", "double", "decimal":
		return "number", true
	case "string", "str", "text":
		return "string", true
	case "array", "list", "tuple":
		return "array", true
	case "object", "dict", "map":
		return "object", true
	case "any", "":
		return "", true
	}
	return "", false
}

// sortedKeys gives a map's keys in order; every walk goes through it so that equal inputs give equal bytes.
func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// step is one hop from a schema node to a child schema: keyword, and the name or index within it ("" and -1 for a single schema).
type step struct {
	keyword string
	name    string
	index   int
}

// eachChild calls f for every schema directly under m, in order, and puts what f returns in its place.
func eachChild(m map[string]any, f func(s step, child any) any) {
	for _, kw := range sortedKeys(m) {
		switch shapeOf(kw) {
		case shapeSchema:
			m[kw] = f(step{kw, "", -1}, m[kw])
		case shapeSchemaMap:
			if sub, ok := m[kw].(map[string]any); ok {
				for _, name := range sortedKeys(sub) {
					sub[name] = f(step{kw, name, -1}, sub[name])
				}
			}
		case shapeSchemaList:
			if list, ok := m[kw].([]any); ok {
				for i, child := range list {
					list[i] = f(step{kw, "", i}, child)
				}
			}
		}
	}
}

// clone copies a tree of maps, slices and scalars.
func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		c := make(map[string]any, len(v))
		for k, e := range v {
			c[k] = clone(e)
		}
		return c
	case []any:
		c := make([]any, len(v))
		for i, e := range v {
			c[i] = clone(e)
		}
		return c
	}
	return v
}

func cloneMap(m map[string]any) map[string]any { return clone(m).(map[string]any) }

func emptyObject() map[string]any {
	return map[string]any{"type": "object", "properties": map[string]any{}}
}
