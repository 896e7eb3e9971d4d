package schema_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/hermes-runtime/hermes/internal/registry/schema"
)

// strictFaults fails for each object of a strict schema that leaves something open. DEF-15.
func strictFaults(t *testing.T, name string, v any) {
	t.Helper()
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			strictFaults(t, name, e)
		}
	case map[string]any:
		if props, ok := v["properties"].(map[string]any); ok && v["type"] != nil {
			req, _ := v["required"].([]any)
			if len(req) != len(props) || v["additionalProperties"] != false {
				t.Errorf("%s: strict, yet %v", name, v)
			}
		}
		for _, e := range v {
			strictFaults(t, name, e)
		}
	}
}

func definition(t testing.TB, c *schema.Compiled, d schema.Dialect) schema.Definition {
	t.Helper()
	def, err := c.Definition(d, schema.Lenient)
	if err != nil {
		t.Fatal(err)
	}
	return def
}

// propertyOf gives the definition's schema of property x.
func propertyOf(t testing.TB, c *schema.Compiled, d schema.Dialect) string {
	t.Helper()
	var params struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if err := json.Unmarshal(definition(t, c, d).Parameters, &params); err != nil {
		t.Fatal(err)
	}
	return string(params.Properties["x"])
}

// DEF-9 to DEF-12: one property x, and what becomes of it. "same" is what OpenAI gets.
func TestDefinition_EachRuleOfTheDialectTable(t *testing.T) {
	for _, tc := range []struct{ rule, in, openai, anthropic, gemini string }{
		{"DEF-9 a bare name is a type", `"string"`, `{"type":"string"}`, "same", "same"},
		{"DEF-9 boolean items stay", `{"type":"array","items":true}`, `{"items":true,"type":"array"}`, "same", `{"items":{"type":"string"},"type":"array"}`},
		{"DEF-9 boolean additionalProperties stay", `{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`,
			`{"additionalProperties":false,"properties":{"a":{"type":"string"}},"type":"object"}`, "same", `{"properties":{"a":{"type":"string"}},"type":"object"}`},
		{"DEF-10 type and null", `{"type":["string","null"],"default":null,"title":"X"}`, `{"default":null,"nullable":true,"title":"X","type":"string"}`, "same", "same"},
		{"DEF-10 a branch and null", `{"anyOf":[{"type":"integer","description":"inner","minimum":1},{"type":"null"}],"description":"outer","default":3,"title":"X","examples":[4]}`,
			`{"default":3,"description":"outer","examples":[4],"minimum":1,"nullable":true,"title":"X","type":"integer"}`, "same",
			`{"default":3,"description":"outer","minimum":1,"nullable":true,"title":"X","type":"integer"}`},
		{"DEF-10 two real branches are left alone", `{"anyOf":[{"type":"integer"},{"type":"string"},{"type":"null"}]}`,
			`{"anyOf":[{"type":"integer"},{"type":"string"},{"type":"null"}]}`, "same", `{"anyOf":[{"type":"integer"},{"type":"string"}],"nullable":true}`},
		{"DEF-12 several types", `{"type":["integer","string","null"]}`, `{"type":["integer","string","null"]}`, "same", `{"nullable":true,"type":"integer"}`},
		{"DEF-12 arrays get items, at every depth", `{"type":"array","items":{"type":"array"}}`, `{"items":{"items":{},"type":"array"},"type":"array"}`, "same",
			`{"items":{"items":{"type":"string"},"type":"array"},"type":"array"}`},
		{"DEF-12 free-form object", `{"type":"object","description":"Labels","additionalProperties":{"type":"integer"}}`,
			`{"additionalProperties":{"type":"integer"},"description":"Labels","properties":{},"type":"object"}`, "same",
			`{"description":"Labels. Give an object (other members being integer) written as JSON text.","type":"string"}`},
		{"DEF-12 string enum", `{"enum":["a","b"]}`, `{"enum":["a","b"]}`, "same", `{"enum":["a","b"],"type":"string"}`},
		{"DEF-12 other enum", `{"type":"integer","enum":[1,2]}`, `{"enum":[1,2],"type":"integer"}`, "same", `{"description":"Must be: one of 1, 2","type":"integer"}`},
		{"DEF-12 const", `{"const":"a"}`, `{"const":"a"}`, "same", `{"enum":["a"],"type":"string"}`},
		{"DEF-12 const number", `{"const":5}`, `{"const":5}`, "same", `{"description":"Must be: one of 5","type":"integer"}`},
		{"DEF-12 pattern and format", `{"type":"string","description":"A site.","pattern":"^h","format":"uri"}`, `{"description":"A site.","format":"uri","pattern":"^h","type":"string"}`, "same",
			`{"description":"A site. Must be: matching the pattern ^h, in uri format","type":"string"}`},
		{"DEF-12 exclusive bounds", `{"type":"number","exclusiveMinimum":0}`, `{"exclusiveMinimum":0,"type":"number"}`, "same", `{"description":"Must be: above 0","type":"number"}`},
		{"DEF-12 not", `{"type":"string","not":{"const":"a"}}`, `{"not":{"const":"a"},"type":"string"}`, "same", `{"description":"Must be: but not: \"a\"","type":"string"}`},
		{"DEF-12 if", `{"type":"string","if":{"minLength":2},"then":{"pattern":"^x"}}`, `{"if":{"minLength":2},"then":{"pattern":"^x"},"type":"string"}`, "same",
			`{"description":"Must be: if it is (at least 2 characters) then also (matching the pattern ^x)","type":"string"}`},
		{"draft 4 bound", `{"type":"integer","minimum":1,"exclusiveMinimum":true}`, `{"exclusiveMinimum":1,"type":"integer"}`, "same", `{"description":"Must be: above 1","type":"integer"}`},
		{"any value", `{}`, `{}`, "same", `{"description":"Give any value written as JSON text.","type":"string"}`},
		{"text is not escaped for HTML", `{"type":"string","description":"a < b"}`, `{"description":"a < b","type":"string"}`, "same", "same"},
	} {
		c := compile(t, `{"type":"object","properties":{"x":`+tc.in+`}}`)
		for d, want := range map[schema.Dialect]string{schema.OpenAI: tc.openai, schema.Anthropic: tc.anthropic, schema.Gemini: tc.gemini, schema.GeminiCompatible: tc.gemini} {
			if want == "same" {
				want = tc.openai
			}
			if got := propertyOf(t, c, d); got != want {
				t.Errorf("%s, %s:\n got %s\nwant %s", tc.rule, d, got, want)
			}
		}
	}
}

// DEF-12: references, and what stands at the root.
func TestDefinition_WholeSchemas(t *testing.T) {
	for _, tc := range []struct {
		rule, in string
		dialect  schema.Dialect
		want     string
	}{
		{"definitions become $defs", `{"type":"object","properties":{"x":{"$ref":"#/definitions/P","default":1}},"definitions":{"P":{"type":"integer"}}}`, schema.OpenAI,
			`{"$defs":{"P":{"type":"integer"}},"properties":{"x":{"$ref":"#/$defs/P"}},"type":"object"}`},
		{"references are written out", `{"type":"object","properties":{"x":{"$ref":"#/definitions/P","description":"d"}},"definitions":{"P":{"type":"integer"}}}`, schema.Gemini,
			`{"properties":{"x":{"description":"d","type":"integer"}},"type":"object"}`},
		{"a cycle becomes a free object", `{"type":"object","properties":{"x":{"$ref":"#/$defs/N"}},"$defs":{"N":{"type":"object","properties":{"v":{"type":"string"},"n":{"$ref":"#/$defs/N"}}}}}`, schema.Gemini,
			`{"properties":{"x":{"properties":{"n":{"description":"Give an object written as JSON text.","type":"string"},"v":{"type":"string"}},"type":"object"}},"type":"object"}`},
		{"a reference at the root is written out", `{"$ref":"#/$defs/A","$defs":{"A":{"type":"object","properties":{"x":{"type":"string"}},"required":["x"]}}}`, schema.OpenAI,
			`{"properties":{"x":{"type":"string"}},"required":["x"],"type":"object"}`},
		{"required keeps declared names", `{"type":"object","properties":{"x":{"type":"string"}},"required":["x","ghost"]}`, schema.OpenAI,
			`{"properties":{"x":{"type":"string"}},"required":["x"],"type":"object"}`},
		{"what branches at the root declare is kept", `{"anyOf":[{"properties":{"x":{"type":"string"},"k":{"const":1}},"required":["x","k"]},{"properties":{"y":{"type":"string"},"k":{"const":2}},"required":["k"]}]}`, schema.OpenAI,
			`{"properties":{"k":{"anyOf":[{"const":1},{"const":2}]},"x":{"type":"string"},"y":{"type":"string"}},"required":["k"],"type":"object"}`},
		{"properties named like keywords are left alone", `{"type":"object","properties":{"pattern":{"type":"string"},"definitions":{"type":"string"},"enum":{"type":"string"},"required":{"type":"string"}},"required":["enum"]}`, schema.OpenAI,
			`{"properties":{"definitions":{"type":"string"},"enum":{"type":"string"},"pattern":{"type":"string"},"required":{"type":"string"}},"required":["enum"],"type":"object"}`},
	} {
		if got := string(definition(t, compile(t, tc.in), tc.dialect).Parameters); got != tc.want {
			t.Errorf("%s:\n got %s\nwant %s", tc.rule, got, tc.want)
		}
	}
}

// DEF-11: keywords count where schemas stand; names of properties, and values, that look like them pass every pass unchanged.
func TestDefinition_KeywordsCountOnSchemaNodesOnly(t *testing.T) {
	names := []string{"pattern", "required", "definitions", "enum", "items", "anyOf", "type", "default", "properties", "additionalProperties", "nullable", "format"}
	props, want := map[string]any{}, map[string]any{}
	for _, n := range names {
		props[n] = map[string]any{"type": "string"}
		want[n] = map[string]any{"type": "string"}
	}
	c := compile(t, map[string]any{"type": "object", "required": names, "properties": map[string]any{
		"deep": map[string]any{"type": "object", "properties": props, "required": names},
	}})
	for _, d := range []schema.Dialect{schema.OpenAI, schema.Anthropic, schema.MCP} {
		params := tree(t, definition(t, c, d).Parameters)
		deep := params["properties"].(map[string]any)["deep"].(map[string]any)
		if got := deep["properties"]; string(mustEncode(t, got)) != string(mustEncode(t, want)) {
			t.Errorf("%s: properties %s, want %s", d, mustEncode(t, got), mustEncode(t, want))
		}
		if req, _ := deep["required"].([]any); len(req) != len(names) {
			t.Errorf("%s: required %v", d, req)
		}
	}
	const values = `{"type":"object","properties":{"x":{"default":{"$ref":"#/nowhere","definitions":{},"type":["string","null"]},"enum":[{"$ref":"#/nowhere","definitions":{},"type":["string","null"]}]}}}`
	def := definition(t, compile(t, values), schema.OpenAI)
	if got := string(def.Parameters); !strings.Contains(got, `"default":{"$ref":"#/nowhere","definitions":{},"type":["string","null"]}`) ||
		!strings.Contains(got, `"enum":[{"$ref":"#/nowhere","definitions":{},"type":["string","null"]}]`) {
		t.Errorf("a value was taken for a schema: %s", got)
	}
}

// DEF-12: what is removed at the root is said in words.
func TestDefinition_RootChoicesGoIntoTheDescription(t *testing.T) {
	c := compile(t, `{"type":"object","properties":{"id":{"type":"integer"},"name":{"type":"string"}},"oneOf":[{"required":["id"]},{"required":["name"]}],"not":{"required":["id","name"]}}`)
	const want = `does. The arguments together must be: exactly one of: (with "id" given) / (with "name" given), but not: with "id" and "name" given`
	for _, d := range []schema.Dialect{schema.OpenAI, schema.Anthropic, schema.Gemini} {
		if got := definition(t, c, d).Description; got != want {
			t.Errorf("%s: %q, want %q", d, got, want)
		}
	}
	if own := definition(t, c, schema.MCP); own.Description != "does" || !strings.Contains(string(own.Parameters), "oneOf") {
		t.Errorf("the own schema was changed: %s, %s", own.Description, own.Parameters)
	}
}

// DEF-12: envelopes.
func TestDefinition_Envelopes(t *testing.T) {
	c := compile(t, `{"type":"object","properties":{"x":{"type":"string"}}}`)
	const p = `{"properties":{"x":{"type":"string"}},"type":"object"}`
	none := compile(t, nil)
	const empty = `{"properties":{},"type":"object"}`
	for d, want := range map[schema.Dialect][2]string{
		schema.OpenAI: {`{"function":{"description":"does","name":"tool","parameters":` + p + `},"type":"function"}`,
			`{"function":{"description":"does","name":"tool","parameters":` + empty + `},"type":"function"}`},
		schema.Anthropic: {`{"description":"does","input_schema":` + p + `,"name":"tool"}`, `{"description":"does","input_schema":` + empty + `,"name":"tool"}`},
		schema.Gemini:    {`{"description":"does","name":"tool","parameters":` + p + `}`, `{"description":"does","name":"tool"}`},
		schema.GeminiCompatible: {`{"function":{"description":"does","name":"tool","parameters":` + p + `},"type":"function"}`,
			`{"function":{"description":"does","name":"tool"},"type":"function"}`},
		schema.MCP: {`{"description":"does","inputSchema":` + p + `,"name":"tool"}`, `{"description":"does","inputSchema":` + empty + `,"name":"tool"}`},
	} {
		if got := string(definition(t, c, d).JSON); got != want[0] {
			t.Errorf("%s: %s, want %s", d, got, want[0])
		}
		if got := string(definition(t, none, d).JSON); got != want[1] {
			t.Errorf("%s without parameters: %s, want %s", d, got, want[1])
		}
	}
	if got, err := schema.Request(schema.Gemini, []schema.Definition{definition(t, none, schema.Gemini)}); err != nil || string(got) != `[{"functionDeclarations":[{"description":"does","name":"tool"}]}]` {
		t.Errorf("Request: %s, %v", got, err)
	}
	if _, err := c.Definition("martian", schema.Lenient); err == nil || !strings.Contains(err.Error(), "martian") {
		t.Errorf("an unknown dialect: %v", err)
	}
}

// DEF-13.
func TestRestore_RenamedPropertiesComeBack(t *testing.T) {
	c := compile(t, `{"type":"object","properties":{"a b":{"type":"string"},"a_b":{"type":"string"},"":{"type":"integer"},"1st":{"type":"array","items":{"type":"object","properties":{"é":{"type":"string"}},"required":["é"]}},
		"free":{"type":"object","properties":{"k":{"type":"string"}}},"tree":{"$ref":"#/$defs/T"}},"required":["a b"],"$defs":{"T":{"type":"object","properties":{"x.y":{"$ref":"#/$defs/T"}}}}}`)
	def := definition(t, c, schema.Gemini)
	if !def.Rewritten() || !strings.Contains(string(def.Parameters), `"required":["a_b_2"]`) {
		t.Fatalf("parameters %s", def.Parameters)
	}
	in := map[string]any{"a_b_2": "x", "a_b": "y", "_": 1, "_1st": []any{map[string]any{"_": "e"}}, "free": map[string]any{"a_b_2": "data"}, "tree": map[string]any{"x_y": map[string]any{"x_y": nil}}}
	got, err := schema.Encode(c.Restore(def, in))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"a b":"x"`, `"a_b":"y"`, `"free":{"a_b_2":"data"}`, `"x.y":{"x.y":null}`} {
		if !strings.Contains(string(got), want) {
			t.Errorf("restored %s lacks %s", got, want)
		}
	}
	if plain := definition(t, c, schema.OpenAI); plain.Rewritten() || string(mustEncode(t, c.Restore(plain, in))) != string(mustEncode(t, in)) {
		t.Error("a dialect that takes any name renamed something")
	}
}

func mustEncode(t *testing.T, v any) []byte {
	t.Helper()
	text, err := schema.Encode(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// DEF-12: Gemini takes no schema without a type, so such a value is asked for as text and read out of it again; texts elsewhere stay texts.
func TestRestore_ValuesOfAnyTypeAreReadOutOfTheirText(t *testing.T) {
	c := compile(t, `{"type":"object","properties":{"any":{},"text":{"type":"string"},"list":{"type":"array"},"choice":{"enum":["1",2]},"ref":{"$ref":"#/$defs/s"}},"$defs":{"s":{"type":"string"}}}`)
	def := definition(t, c, schema.Gemini)
	for in, want := range map[string]string{
		`{"any":"{\"k\":[1]}"}`: `{"any":{"k":[1]}}`, `{"any":"\"x\""}`: `{"any":"x"}`, `{"any":"5"}`: `{"any":5}`, `{"any":"plain words"}`: `{"any":"plain words"}`, `{"any":7}`: `{"any":7}`,
		`{"text":"5"}`: `{"text":"5"}`, `{"list":["5"]}`: `{"list":["5"]}`, `{"choice":"1"}`: `{"choice":"1"}`, `{"ref":"5"}`: `{"ref":"5"}`, `{"other":"5"}`: `{"other":"5"}`,
	} {
		if got := string(mustEncode(t, c.Restore(def, tree(t, []byte(in))))); got != want {
			t.Errorf("%s restored to %s, want %s", in, got, want)
		}
	}
	if definition(t, c, schema.Anthropic).Rewritten() {
		t.Error("Anthropic takes any schema")
	}
}

// DEF-15.
func TestDefinition_StrictWhereItCanBeSaid(t *testing.T) {
	c := compile(t, `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer","default":3},"c":{"type":"string","enum":["x"]}},"required":["a"]}`)
	def, err := c.Definition(schema.OpenAI, schema.Strict)
	if err != nil || !def.Strict || !strings.Contains(string(def.JSON), `"strict":true`) {
		t.Fatalf("%s, %v", def.JSON, err)
	}
	const want = `{"additionalProperties":false,"properties":{"a":{"type":"string"},"b":{"type":["integer","null"]},"c":{"enum":["x",null],"type":["string","null"]}},"required":["a","b","c"],"type":"object"}`
	if string(def.Parameters) != want {
		t.Errorf("strict parameters %s, want %s", def.Parameters, want)
	}
	for _, free := range []string{`{"type":"object","properties":{"a":{"type":"object"}}}`, `{"type":"object","properties":{"a":{}}}`, `{"type":"object","properties":{"a":{"type":"array"}}}`,
		`{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":true}`, `{"type":"object","properties":{"a":{"type":"string","not":{"const":"x"}}}}`} {
		def, err := compile(t, free).Definition(schema.OpenAI, schema.Strict)
		if err != nil || def.Strict || strings.Contains(string(def.JSON), "strict") {
			t.Errorf("%s was sent strict: %s, %v", free, def.JSON, err)
		}
	}
	if def, _ := c.Definition(schema.Gemini, schema.Strict); def.Strict {
		t.Error("Gemini has no strict")
	}
}

// DEF-5, DEF-8: equal bytes each time, whoever asks, and nobody can change them for another.
func TestDefinition_SameBytesForEveryoneAtOnce(t *testing.T) {
	for _, tc := range awkward {
		first := compile(t, tc.declared)
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				again := compile(t, tc.declared)
				for _, d := range schema.Dialects() {
					a, err1 := first.Definition(d, schema.Lenient)
					b, err2 := again.Definition(d, schema.Lenient)
					if err1 != nil || err2 != nil || !bytes.Equal(a.JSON, b.JSON) {
						t.Errorf("%s, %s: %s\nand then %s", tc.name, d, a.JSON, b.JSON)
					}
					clear(a.JSON)
					clear(a.Parameters)
				}
				clear(first.Own())
				clear(first.Parameters())
			})
		}
		wg.Wait()
	}
}

// A declaration given as Go values stays as it was.
func TestCompile_LeavesTheDeclarationAlone(t *testing.T) {
	declared := map[string]any{"properties": map[string]any{"a": map[string]any{"type": []any{"string", "null"}, "definitions": nil}}, "required": []any{"ghost"}}
	before := string(mustEncode(t, declared))
	c := compile(t, declared)
	for _, d := range schema.Dialects() {
		definition(t, c, d)
	}
	if after := string(mustEncode(t, declared)); after != before {
		t.Errorf("was %s, is %s", before, after)
	}
}

func TestCompile_NotesWhatIsNotEnforced(t *testing.T) {
	c := compile(t, `{"type":"object","properties":{"a":{"$ref":"https://example.com/x"},"b":{"type":"string","pattern":"^(?!x)"},"c":{"type":"string","pattern":"["}}}`)
	notes := strings.Join(c.Notes(), "\n")
	for _, want := range []string{"parameters.properties.a: ", "not fetched", "parameters.properties.b: ", "parameters.properties.c: "} {
		if !strings.Contains(notes, want) {
			t.Errorf("the notes lack %q:\n%s", want, notes)
		}
	}
}

// Anything that parses compiles or is refused; it never panics, and what compiles is defined for each dialect.
func FuzzCompile(f *testing.F) {
	for _, tc := range awkward {
		if len(tc.declared) < 2000 {
			f.Add(tc.declared)
		}
	}
	f.Fuzz(func(t *testing.T, declared string) {
		c, err := schema.Compile(schema.Source{Name: "tool", Declared: declared})
		if err != nil {
			return
		}
		for _, d := range schema.Dialects() {
			def, err := c.Definition(d, schema.Strict)
			if err != nil || !json.Valid(def.JSON) {
				t.Fatalf("%s: %q, %v", d, def.JSON, err)
			}
			if def.Parameters == nil || def.Strict {
				continue
			}
			if got := faults(d, tree(t, def.Parameters)); len(got) > 0 {
				t.Fatalf("%s: %q\n%s", d, got, def.Parameters)
			}
		}
	})
}

func BenchmarkCompileAndDefine(b *testing.B) {
	const declared = `{"type":"object","properties":{"path":{"type":"string","description":"d"},"limit":{"type":"integer","minimum":1,"maximum":500},"mode":{"enum":["a","b"]},"edits":{"type":"array","items":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":["string","null"]}},"required":["a"]}}},"required":["path"]}`
	b.Run("compile", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			compile(b, declared)
		}
	})
	for _, d := range schema.Dialects() {
		b.Run("first-"+string(d), func(b *testing.B) {
			for b.Loop() { // a definition is built once for each schema
				definition(b, compile(b, declared), d)
			}
		})
	}
	b.Run("again", func(b *testing.B) {
		c := compile(b, declared)
		for b.Loop() {
			definition(b, c, schema.OpenAI)
		}
	})
}

// A schema of references that fan out must not grow without bound in any pass.
func TestCompile_FansOfReferencesComeToAnEnd(t *testing.T) {
	for _, kw := range []string{"anyOf", "oneOf", "allOf"} {
		var defs []string
		for i := range 24 {
			next := `{"$ref":"#/$defs/L` + string(rune('a'+i+1)) + `"}`
			defs = append(defs, `"L`+string(rune('a'+i))+`":{"`+kw+`":[`+next+`,`+next+`,`+next+`],"required":["p"]}`)
		}
		defs = append(defs, `"Ly":{"type":"object","properties":{"p":{"type":"string"}}}`)
		c := compile(t, `{"type":"object","`+kw+`":[{"$ref":"#/$defs/La"},{"$ref":"#/$defs/Lb"}],"properties":{"x":{"$ref":"#/$defs/La"}},"$defs":{`+strings.Join(defs, ",")+`}}`)
		for _, d := range schema.Dialects() {
			checkDefinition(t, kw, definition(t, c, d))
		}
	}
}
