package schema_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	second "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/hermes-runtime/hermes/internal/registry/schema"
)

func tree(t testing.TB, text []byte) map[string]any {
	t.Helper()
	v, err := second.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	m, _ := v.(map[string]any)
	return m
}

// compileSecond compiles a schema with another library, as draft 2020-12 and without any loader.
func compileSecond(doc any) (*second.Schema, error) {
	c := second.NewCompiler()
	c.DefaultDraft(second.Draft2020)
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(javaScriptPattern)
	if err := c.AddResource("mem:schema", doc); err != nil {
		return nil, err
	}
	return c.Compile("mem:schema")
}

var (
	lookaround    = regexp.MustCompile(`\(\?[=!<]`)
	unicodeEscape = regexp.MustCompile(`\\u([0-9a-fA-F]{4})`)
)

// javaScriptPattern takes what is right in JavaScript's regular expressions, the kind that schemas use; a look-around then matches anything.
func javaScriptPattern(s string) (second.Regexp, error) {
	if lookaround.MatchString(s) {
		s = "."
	}
	re, err := regexp.Compile(unicodeEscape.ReplaceAllString(s, `\x{$1}`))
	return re, err
}

type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("nothing may be fetched: %s", url)
}

// DEF-8 to DEF-12: the table of awkward schemas.
func TestDefinition_AwkwardSchemasAreValidInEveryDialect(t *testing.T) {
	if len(awkward) < 60 {
		t.Fatalf("only %d awkward schemas", len(awkward))
	}
	for _, tc := range awkward {
		c, err := schema.Compile(schema.Source{Name: "tool", Description: "does", Declared: tc.declared})
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		for _, d := range schema.Dialects() {
			for _, s := range []schema.Strictness{schema.Lenient, schema.Strict} {
				def, err := c.Definition(d, s)
				if err != nil {
					t.Errorf("%s, %s: %v", tc.name, d, err)
					continue
				}
				if s == schema.Lenient || def.Strict {
					checkDefinition(t, tc.name, def)
				}
			}
		}
	}
}

func checkDefinition(t *testing.T, name string, def schema.Definition) {
	t.Helper()
	if !json.Valid(def.JSON) || len(def.JSON) > 256<<10 {
		t.Errorf("%s, %s: %d bytes, valid %v", name, def.Dialect, len(def.JSON), json.Valid(def.JSON))
	}
	if def.Parameters == nil {
		if def.Dialect != schema.Gemini && def.Dialect != schema.GeminiCompatible {
			t.Errorf("%s, %s: no parameters", name, def.Dialect)
		}
		return
	}
	params := tree(t, def.Parameters)
	if (def.Dialect == schema.Gemini || def.Dialect == schema.GeminiCompatible) && len(params["properties"].(map[string]any)) == 0 {
		t.Errorf("%s, %s: empty parameters are sent", name, def.Dialect)
	}
	if def.Strict {
		strictFaults(t, name, params)
	} else {
		for _, f := range faults(def.Dialect, params) {
			t.Errorf("%s, %s: %s\n\t%.600s", name, def.Dialect, f, def.Parameters)
		}
	}
	if _, err := compileSecond(params); err != nil {
		t.Errorf("%s, %s: refused by the other library: %v\n\t%.600s", name, def.Dialect, err, def.Parameters)
	}
}

// The predicates of the test above can fail: each of these has exactly one fault, in the dialects named.
func TestFaults_EachRuleIsSeenToBeBroken(t *testing.T) {
	const every = "openai anthropic gemini gemini-compatible"
	in := func(p string) string { return `{"type":"object","properties":{"a":` + p + `}}` }
	for _, tc := range []struct{ params, dialects, want string }{
		{`{"type":"array"}`, every + " mcp", "type array"},
		{`{"type":"object"}`, every, "properties"},
		{`{"type":"object","properties":{},"anyOf":[{"type":"string"}]}`, every, "root: anyOf"},
		{`{"type":"object","properties":{},"not":{"type":"object","properties":{}}}`, every, "root: not"},
		{in(`{"type":"array"}`), every, "without items"},
		{in(`{"type":"objekt"}`), every, "objekt"},
		{in(`{"type":"object"}`), every, "object without properties"},
		{in(`{"type":["string","null"]}`), every, "not folded"},
		{in(`{"$ref":"#/$defs/x"}`), every, "leads nowhere"},
		{in(`{"$ref":"#","default":1}`), every, "default beside"},
		{in(`{"type":"string","description":3}`), every, "description"},
		{in(`{"type":"string","definitions":{}}`), every, "definitions"},
		{in(`true`), every, "schema true"}, {in(`null`), every, "schema <nil>"},
		{`{"type":"object","properties":{"a":{"type":"string"}},"required":["b"]}`, every, "undeclared b"},
		{`{"type":"object","properties":{"a":{"type":"string"}},"required":[]}`, every, "required"},
		{`{"type":"object","properties":{"a b":{"type":"string"}}}`, "anthropic gemini gemini-compatible", "property name"},
		{`{"type":"object","properties":{"a.b":{"type":"string"}}}`, "gemini gemini-compatible", "property name"},
		{`{"type":"object","properties":{"1a":{"type":"string"}}}`, "gemini gemini-compatible", "property name"},
		{in(`{"type":"string","pattern":"x"}`), "gemini gemini-compatible", "keyword pattern"},
		{in(`{"type":["string","integer","null"]}`), "gemini gemini-compatible", "type ["},
		{in(`{"type":"integer","enum":[1]}`), "gemini gemini-compatible", "enum value"},
		{in(`{"type":"integer","enum":["a"]}`), "gemini gemini-compatible", "enum of type"},
		{in(`{"type":"array","items":{}}`), "gemini gemini-compatible", "items: type"},
		{in(`{"type":"array","items":true}`), "gemini gemini-compatible", "schema true"},
		{in(`{"type":"object","properties":{}}`), "gemini gemini-compatible", "without named"},
		{in(`{"$ref":"#"}`), "gemini gemini-compatible", "keyword $ref"},
	} {
		for _, d := range schema.Dialects() {
			got := strings.Join(faults(d, tree(t, []byte(tc.params))), "; ")
			if caught, want := strings.Contains(got, tc.want), strings.Contains(" "+tc.dialects+" ", " "+string(d)+" "); caught != want {
				t.Errorf("%s in %s: faults %q; caught %v, want %v", tc.params, d, got, caught, want)
			}
		}
	}
	for _, bad := range []string{`{"type":"objekt"}`, `{"type":"object","required":"a"}`, `{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}}}`,
		`{"type":"object","properties":{"a":{"$ref":"https://example.com/x"}}}`, `{"type":"object","properties":{"a":null}}`} {
		if _, err := compileSecond(tree(t, []byte(bad))); err == nil {
			t.Errorf("the other library takes %s", bad)
		}
	}
}
