package schema_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/internal/registry/schema"
)

func compile(t testing.TB, declared any) *schema.Compiled {
	t.Helper()
	c, err := schema.Compile(schema.Source{Name: "tool", Description: "does", Declared: declared})
	if err != nil {
		t.Fatalf("Compile(%v): %v", declared, err)
	}
	return c
}

// DEF-9, and the forms in which a schema may be declared.
func TestCompile_EveryFormOfDeclarationGivesTheSameParameters(t *testing.T) {
	const want = `{"properties":{"a":{"type":"string"}},"type":"object"}`
	const params = `{"type":"object","properties":{"a":{"type":"string"}}}`
	var m map[string]any
	if err := json.Unmarshal([]byte(params), &m); err != nil {
		t.Fatal(err)
	}
	for name, declared := range map[string]any{
		"raw": json.RawMessage(params), "bytes": []byte(params), "text": params, "map": m,
		"function": `{"name":"f","description":"d","parameters":` + params + `}`,
		"envelope": `{"type":"function","function":{"name":"f","parameters":` + params + `}}`,
		"mcp":      `{"name":"f","inputSchema":` + params + `}`,
		"struct": struct {
			Parameters map[string]any `json:"parameters"`
		}{m},
	} {
		if got := string(compile(t, declared).Parameters()); got != want {
			t.Errorf("%s: parameters %s, want %s", name, got, want)
		}
	}
	for name, declared := range map[string]any{"nil": nil, "null": "null", "text": "none", "empty": "{}", "function without": `{"name":"f","description":"d"}`, "blank": ""} {
		if got := string(compile(t, declared).Parameters()); got != `{"properties":{},"type":"object"}` {
			t.Errorf("%s: parameters %s, want the empty object", name, got)
		}
	}
}

// REG-1: the error names the field.
func TestCompile_RefusalNamesTheField(t *testing.T) {
	for _, tc := range []struct{ declared, field string }{
		{`{"type":"array"}`, "parameters.type"},
		{`{"type":"object","properties":{"a":{"type":"strng"}}}`, "parameters.properties.a.type"},
		{`{"type":"object","properties":{"a":{"$ref":"#/$defs/None"}}}`, "parameters.properties.a.$ref"},
		{`{"type":"object","properties":{"a":{"minimum":"low"}}}`, "parameters.properties.a.minimum"},
		{`{"type":"object","properties":"none"}`, "parameters.properties"},
		{`{"type":"object","properties":{"a":{"anyOf":[{"type":3}]}}}`, "parameters.properties.a.anyOf[0].type"},
		{`{"type":"object","properties":{"a":7}}`, "parameters.properties.a"},
		{`{"type":"object","$defs":{"a":{"$ref":"#/$defs/a"}},"properties":{"x":{"$ref":"#/$defs/a"}}}`, "parameters.a.$ref"},
		{`false`, "parameters"}, {`[1]`, "parameters"}, {`{"type":`, "schema"},
		{strings.Repeat(`{"items":`, 300) + `{}` + strings.Repeat(`}`, 300), "parameters" + strings.Repeat(".items", 201)},
	} {
		_, err := schema.Compile(schema.Source{Name: "tool", Declared: tc.declared})
		var field *schema.FieldError
		if !errors.As(err, &field) || field.Field != tc.field || !strings.Contains(err.Error(), `"tool"`) {
			t.Errorf("Compile(%.80s) = %v, want an error about tool and %s", tc.declared, err, tc.field)
		}
	}
}
