package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// FieldError says which field of a declaration can't be used and why.
type FieldError struct {
	Field   string // e.g. "parameters.properties.limit.type"
	Problem string
}

func (e *FieldError) Error() string { return e.Field + ": " + e.Problem }

// declaration is what a declared schema holds after its outer form is read.
type declaration struct {
	name, description string
	parameters        any
}

// readDeclaration takes a declared schema in any of its forms apart: a function object, its envelope, or parameters alone.
func readDeclaration(declared any) (declaration, error) {
	tree, err := toTree(declared)
	if err != nil {
		return declaration{}, &FieldError{"schema", err.Error()}
	}
	m, ok := tree.(map[string]any)
	if !ok {
		return declaration{parameters: tree}, nil
	}
	if inner, ok := m["function"].(map[string]any); ok && (m["type"] == "function" || m["type"] == nil) {
		m = inner
	}
	key := parametersKey(m)
	if key == "" && !bareFunction(m) {
		return declaration{parameters: m}, nil
	}
	d := declaration{parameters: m[key]}
	d.name, _ = m["name"].(string)
	d.description, _ = m["description"].(string)
	return d, nil
}

// parametersKey names the member of a function object that holds its parameters. A schema can have a stray member of that name, but no schema
// that says something about objects lacks all of the words looked for here.
func parametersKey(m map[string]any) string {
	for _, key := range []string{"parameters", "input_schema", "inputSchema"} {
		if _, ok := m[key]; !ok {
			continue
		}
		if _, named := m["name"].(string); named || !saysSchema(m) {
			return key
		}
	}
	return ""
}

// bareFunction reports a function object without parameters.
func bareFunction(m map[string]any) bool {
	_, named := m["name"].(string)
	return named && !saysSchema(m)
}

func saysSchema(m map[string]any) bool {
	for k := range m {
		switch k {
		case "name", "title", "description", "strict":
		default:
			if shapeOf(k) != shapeUnknown {
				return true
			}
		}
	}
	return false
}

// toTree gives any form of JSON as maps, slices, strings, booleans and json.Number, sharing nothing with its input.
func toTree(v any) (any, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case json.RawMessage:
		return parseTree(v)
	case []byte:
		return parseTree(v)
	case string:
		// Text that is no JSON document is a stray string in the place of parameters; the mend pass knows what to do with it.
		if t, err := parseTree([]byte(v)); err == nil {
			return t, nil
		} else if s := strings.TrimSpace(v); strings.HasPrefix(s, "{") {
			return nil, err
		}
		return v, nil
	}
	text, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("the schema can't be written as JSON: %w", err)
	}
	return parseTree(text)
}

func parseTree(text []byte) (any, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, nil
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, fmt.Errorf("the schema is not valid JSON: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("the schema is followed by other text")
	}
	return v, nil
}
