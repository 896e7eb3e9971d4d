package arguments_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/hermes-runtime/hermes/internal/registry/arguments"
	"github.com/hermes-runtime/hermes/internal/registry/schema"
)

func compile(t testing.TB, declared any) *schema.Compiled {
	t.Helper()
	c, err := schema.Compile(schema.Source{Name: "tool", Declared: declared})
	if err != nil {
		t.Fatalf("Compile(%v): %v", declared, err)
	}
	return c
}

func property(t testing.TB, p string) *schema.Compiled {
	return compile(t, `{"type":"object","properties":{"x":`+p+`},"additionalProperties":false}`)
}

// ARG-4, ARG-5: each row is one value for a declared property x; want "" means that it is refused.
func TestPrepare_ConvertsWhatHasOneMeaningAndNothingElse(t *testing.T) {
	const (
		integer  = `{"type":"integer"}`
		number   = `{"type":"number"}`
		boolean  = `{"type":"boolean"}`
		text     = `{"type":"string"}`
		document = `{"type":"string","contentMediaType":"text/plain"}`
		list     = `{"type":"array","items":{"type":"string"}}`
		ints     = `{"type":"array","items":{"type":"integer"}}`
		object   = `{"type":"object","properties":{"a":{"type":"integer"}}}`
		nullable = `{"type":["integer","null"]}`
		openapi  = `{"type":"integer","nullable":true}`
		either   = `{"anyOf":[{"type":"integer"},{"type":"null"}]}`
		oneOf    = `{"oneOf":[{"type":"object","properties":{"n":{"type":"integer"}}},{"type":"null"}]}`
	)
	for _, tc := range []struct{ schema, in, want string }{
		{integer, `"42"`, `42`}, {integer, `" 7 "`, `7`}, {integer, `"-5"`, `-5`}, {integer, `"3.0"`, `3`}, {integer, `"1e5"`, `100000`}, {integer, `3.0`, `3`},
		{integer, `1e2`, `100`}, {integer, `9007199254740993`, `9007199254740993`}, {integer, `"12345678901234567890123"`, `12345678901234567890123`},
		{integer, `"3.14"`, ``}, {integer, `""`, ``}, {integer, `"0x10"`, ``}, {integer, `"inf"`, ``}, {integer, `"nan"`, ``}, {integer, `"1_000"`, ``}, {integer, `"+5"`, ``},
		{integer, `"007"`, ``}, {integer, `3.5`, ``}, {integer, `true`, ``}, {integer, `[1]`, ``}, {integer, `"1e999999999"`, ``},
		{number, `"3.5"`, `3.5`}, {number, `"10"`, `10`}, {number, `"x"`, ``}, {number, `0.1`, `0.1`}, {number, `"inf"`, ``}, {number, `2.0`, `2.0`},
		{number, `" 0.10000000000000000001 "`, `0.10000000000000000001`},
		{boolean, `"true"`, `true`}, {boolean, `" FALSE "`, `false`}, {boolean, `"1"`, ``}, {boolean, `"yes"`, ``}, {boolean, `1`, ``}, {boolean, `0`, ``},
		{text, `42`, `"42"`}, {text, `true`, `"true"`}, {text, `1.50`, `"1.50"`}, {text, `{"a":1}`, ``}, {text, `["a"]`, ``}, {text, `"1"`, `"1"`}, {text, `"null"`, `"null"`},
		{document, `"5"`, `"5"`}, {document, `""`, `""`}, {document, `5`, ``}, {document, `true`, ``}, {document, `["a"]`, ``},
		{list, `"[\"a\"]"`, `["a"]`}, {list, `"a"`, `["a"]`}, {list, `5`, `["5"]`}, {list, `["a",1]`, `["a","1"]`}, {list, `{"a":1}`, ``}, {list, `"[\"a\""`, `["[\"a\""]`},
		{ints, `"[1, \"2\"]"`, `[1,2]`}, {ints, `"7"`, `[7]`}, {ints, `7`, `[7]`}, {ints, `"x"`, ``}, {ints, `[1.0]`, `[1]`},
		{object, `"{\"a\":1}"`, `{"a":1}`}, {object, `"{\"a\":\"1\"}"`, `{"a":1}`}, {object, `{"a":"1"}`, `{"a":1}`}, {object, `"a"`, ``}, {object, `"{\"a\":1,\"a\":2}"`, ``},
		{nullable, `"null"`, `null`}, {nullable, `"NULL"`, `null`}, {nullable, `null`, `null`}, {nullable, `"5"`, `5`}, {openapi, `"null"`, `null`}, {openapi, `"5"`, `5`},
		{either, `"7"`, `7`}, {either, `"Null"`, `null`}, {either, `3.0`, `3`}, {either, `"x"`, ``}, {oneOf, `{"n":"1"}`, `{"n":1}`}, {oneOf, `"{\"n\":1}"`, `{"n":1}`},
		{`{"type":["string","null"]}`, `"null"`, `"null"`}, {`{"type":["string","integer"]}`, `"42"`, `"42"`}, {`{"type":["integer","boolean"]}`, `"true"`, `true`},
		{`{"enum":[1,2]}`, `1.0`, `1.0`}, {`{"type":"integer","enum":[1,2]}`, `"2"`, `2`}, {`{"type":"integer","maximum":3}`, `"4"`, ``},
		{`{}`, `"42"`, `"42"`}, {`true`, `{"a":[1]}`, `{"a":[1]}`}, {`{"anyOf":[{"type":"integer"},{"type":"boolean"}]}`, `"1"`, ``},
	} {
		c := property(t, tc.schema)
		p, err := arguments.Prepare(c, nil, json.RawMessage(`{"x":`+tc.in+`}`))
		if tc.want == "" {
			var bad *arguments.Invalid
			if !errors.As(err, &bad) || bad.Kind != arguments.InvalidArguments || !strings.Contains(bad.Error(), "x") {
				t.Errorf("%s from %s = %s, %v; want a refusal that names x", tc.schema, tc.in, p.JSON, err)
			}
			continue
		}
		if want := `{"x":` + tc.want + `}`; err != nil || string(p.JSON) != want {
			t.Errorf("%s from %s = %s, %v; want %s", tc.schema, tc.in, p.JSON, err, want)
		}
		if untouched := tc.in == tc.want; untouched != (p.Repairs == nil) {
			t.Errorf("%s from %s: repairs %q", tc.schema, tc.in, p.Repairs)
		}
	}
}

// ARG-4: null for what is optional and not nullable is left out; for a required one it is refused.
func TestPrepare_NullForAnOptionalParameterIsAbsence(t *testing.T) {
	c := compile(t, `{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string"}},"required":["a"]}`)
	p, err := arguments.Prepare(c, nil, json.RawMessage(`{"a":1,"b":null}`))
	if err != nil || string(p.JSON) != `{"a":1}` || len(p.Repairs) != 1 {
		t.Errorf("got %s, %q, %v", p.JSON, p.Repairs, err)
	}
	if p, err := arguments.Prepare(c, nil, json.RawMessage(`{"a":null}`)); err == nil {
		t.Errorf("null for a required integer became %s", p.JSON)
	}
}

// ARG-6.
func TestPrepare_MisspeltNameTakesItsPlaceIfThereIsOnlyOne(t *testing.T) {
	const s = `{"type":"object","properties":{"old_string":{"type":"string"},"path":{"type":"string"},"maxResults":{"type":"integer"}%s},"additionalProperties":false}`
	closed := strings.Replace(s, "%s", "", 1)
	open := strings.Replace(closed, `"additionalProperties":false`, `"description":"open"`, 1)
	twins := strings.Replace(s, "%s", `,"OldString":{"type":"string"}`, 1)
	aliases := map[string]string{"file_path": "path", "filename": "path"}
	for _, tc := range []struct{ schema, in, want string }{
		{closed, `{"old-string":"a"}`, `{"old_string":"a"}`},
		{closed, `{"oldString":"a"}`, `{"old_string":"a"}`},
		{open, `{"max_results":"5"}`, `{"maxResults":5}`},
		{open, `{"other":1}`, `{"other":1}`},
		{closed, `{"file_path":"p"}`, `{"path":"p"}`},
		{closed, `{"filePath":"p"}`, `{"path":"p"}`},
		{closed, `{"file_path":"p","filename":"q"}`, ``},
		{closed, `{"file_path":"p","path":"q"}`, ``},
		{closed, `{"old-string":"a","oldString":"b"}`, ``},
		{twins, `{"old-string":"a"}`, ``},
		{`{"type":"object","properties":{"edits":{"type":"array","items":{"type":"object","properties":{"new_text":{"type":"string"}},"required":["new_text"]}}}}`,
			`{"edits":[{"newText":"a"}]}`, `{"edits":[{"new_text":"a"}]}`},
		{`{"type":"object","properties":{"env":{"type":"object","properties":{"path":{"type":"string"}},"additionalProperties":{"type":"string"}},"n":{"type":"integer"}}}`,
			`{"env":{"PATH":"/bin"},"n":"1"}`, `{"env":{"PATH":"/bin"},"n":1}`},
	} {
		p, err := arguments.Prepare(compile(t, tc.schema), aliases, json.RawMessage(tc.in))
		if got := string(p.JSON); got != tc.want || (err == nil) != (tc.want != "") {
			t.Errorf("%s from %s = %s, %v", tc.want, tc.in, got, err)
		}
	}
}

// ARG-8.
func TestPrepare_RefusalListsEveryProblem(t *testing.T) {
	c := compile(t, `{"type":"object","properties":{"old_string":{"type":"string"},"mode":{"enum":["replace","patch"]},"limit":{"type":"integer","minimum":1,"maximum":500},
		"edits":{"type":"array","items":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}}},"required":["old_string"],"additionalProperties":false}`)
	_, err := arguments.Prepare(c, nil, json.RawMessage(`{"oldest_string":"a","mode":"replce","limit":900,"edits":[{"path":"a"},{"path":"b"},{"path":["`+strings.Repeat("long", 100)+`"]}]}`))
	var bad *arguments.Invalid
	if !errors.As(err, &bad) {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{`missing "old_string" (string)`, `unknown "oldest_string" (did you mean "old_string"?)`, `one of "replace", "patch"`, `got "replce"`,
		"limit: expected integer at least 1, at most 500, got 900", "edits[2].path: expected string, got [\"long"} {
		if !strings.Contains(bad.Error(), want) {
			t.Errorf("the refusal lacks %q:\n%s", want, bad)
		}
	}
	if len(bad.Problems) != 4 {
		t.Errorf("want 4 problems, got %d: %v", len(bad.Problems), bad.Problems)
	}
	for _, p := range bad.Problems {
		if n := utf8.RuneCountInString(p.Got); n > 80 {
			t.Errorf("a preview of %d characters", n)
		}
	}
}

// ARG-8: ten problems at most, 2 000 characters at most, whatever comes.
func TestPrepare_RefusalIsBounded(t *testing.T) {
	var props []string
	values := map[string]any{}
	for i := range 40 {
		name := string(rune('a'+i%26)) + string(rune('a'+i/26)) + strings.Repeat("name", 30)
		props = append(props, `"`+name+`":{"type":"integer","description":"d"}`)
		values[name] = strings.Repeat("✗", 500)
	}
	c := compile(t, `{"type":"object","properties":{`+strings.Join(props, ",")+`},"required":["nope"],"additionalProperties":false}`)
	_, err := arguments.PrepareObject(c, nil, values)
	var bad *arguments.Invalid
	if !errors.As(err, &bad) {
		t.Fatalf("got %v", err)
	}
	if n := utf8.RuneCountInString(bad.Error()); n > 2000 || len(bad.Problems) != 10 || !strings.Contains(bad.Error(), "and 31 more") {
		t.Errorf("%d characters, %d problems:\n%s", n, len(bad.Problems), bad)
	}
}

func TestPrepare_UntouchedTextIsKeptByteForByte(t *testing.T) {
	const raw = ` { "b" : "<&>\u00e9" ,"a": 1.50e1 } `
	p, err := arguments.Prepare(compile(t, `{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"string"}}}`), nil, json.RawMessage(raw))
	if err != nil || string(p.JSON) != raw || p.Repairs != nil || p.Object["b"] != "<&>é" {
		t.Errorf("got %q, %q, %v, %v", p.JSON, p.Repairs, p.Object, err)
	}
}

// ARG-7: what a hook hands back is judged again, and is not changed by it.
func TestPrepareObject_TakesGoValuesAndLeavesThemAlone(t *testing.T) {
	c := compile(t, `{"type":"object","properties":{"n":{"type":"integer"},"s":{"type":"array","items":{"type":"string"}},"t":{"type":"number"}},"additionalProperties":false}`)
	in := map[string]any{"n": "5", "s": []string{"a"}, "t": 1.5}
	p, err := arguments.PrepareObject(c, nil, in)
	if err != nil || string(p.JSON) != `{"n":5,"s":["a"],"t":1.5}` {
		t.Errorf("got %s, %v", p.JSON, err)
	}
	if in["n"] != "5" {
		t.Errorf("the given object was changed: %v", in)
	}
	if _, err := arguments.PrepareObject(c, nil, map[string]any{"n": make(chan int)}); err == nil {
		t.Error("a channel passed as an argument")
	}
	if p, err := arguments.PrepareObject(c, nil, nil); err != nil || string(p.JSON) != "{}" {
		t.Errorf("nil: %s, %v", p.JSON, err)
	}
	if _, err := arguments.PrepareObject(c, nil, map[string]any{"n": 5, "more": 1}); err == nil {
		t.Error("an unknown parameter passed")
	}
}
