package schema

import "slices"

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

var keywords = map[string]shape{
	"items": shapeSchema, "additionalProperties": shapeSchema, "propertyNames": shapeSchema, "contains": shapeSchema, "not": shapeSchema,
	"if": shapeSchema, "then": shapeSchema, "else": shapeSchema, "unevaluatedItems": shapeSchema, "unevaluatedProperties": shapeSchema,
	"contentSchema": shapeSchema,

	"properties": shapeSchemaMap, "patternProperties": shapeSchemaMap, "$defs": shapeSchemaMap, "definitions": shapeSchemaMap,
	"dependentSchemas": shapeSchemaMap,

	"allOf": shapeSchemaList, "anyOf": shapeSchemaList, "oneOf": shapeSchemaList, "prefixItems": shapeSchemaList,

	"minimum": shapeNumber, "maximum": shapeNumber, "exclusiveMinimum": shapeNumber, "exclusiveMaximum": shapeNumber, "multipleOf": shapeNumber,

	"minLength": shapeCount, "maxLength": shapeCount, "minItems": shapeCount, "maxItems": shapeCount, "minProperties": shapeCount,
	"maxProperties": shapeCount, "minContains": shapeCount, "maxContains": shapeCount,

	"title": shapeText, "description": shapeText, "$comment": shapeText, "format": shapeText, "pattern": shapeText, "$ref": shapeText,
	"$anchor": shapeText, "$id": shapeText, "$schema": shapeText, "contentEncoding": shapeText, "contentMediaType": shapeText,

	"uniqueItems": shapeFlag, "deprecated": shapeFlag, "readOnly": shapeFlag, "writeOnly": shapeFlag,

	"required": shapeNames, "dependentRequired": shapeNamesMap,

	"enum": shapeValues, "examples": shapeValues,
	"const": shapeValue, "default": shapeValue,
	"type": shapeType,
}

// typeNames maps each spelling of a type met in the wild to its JSON Schema name; "" stands for any type.
var typeNames = map[string]string{
	"null": "null", "boolean": "boolean", "integer": "integer", "number": "number", "string": "string", "array": "array", "object": "object",
	"bool": "boolean", "int": "integer", "long": "integer", "float": "number", "double": "number", "decimal": "number",
	"str": "string", "text": "string", "list": "array", "tuple": "array", "dict": "object", "map": "object", "none": "null", "any": "", "": "",
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
		switch keywords[kw] {
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
