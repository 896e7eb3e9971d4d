package arguments_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/internal/registry/arguments"
	"github.com/hermes-runtime/hermes/internal/registry/schema"
)

// Neither a schema of a strange server nor the arguments of a model may hold the caller up: each of these comes back with an answer.
func TestPrepare_HostileInputComesToAnEnd(t *testing.T) {
	deep := func(open, middle, end string, n int) string {
		return strings.Repeat(open, n) + middle + strings.Repeat(end, n)
	}
	keys := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `"key%d":1,`, i)
		}
		return b.String()
	}
	const nested = `{"type":"object","properties":{"x":{"$ref":"#/$defs/n"}},"$defs":{"n":{"anyOf":[{"type":"array","items":{"$ref":"#/$defs/n"}},{"type":"array","items":{"$ref":"#/$defs/n"},"minItems":1},{"type":"integer"}]}}}`
	for _, tc := range []struct{ name, schema, in, want string }{
		{"choices within choices", nested, `{"x":` + deep("[", `"a"`, "]", 60) + `}`, "nests alternatives"},
		{"choices that fit", nested, `{"x":` + deep("[", `1`, "]", 60) + `}`, ""},
		{"a hundred thousand unknown names", `{"type":"object","properties":{"a":{"type":"integer"}},"additionalProperties":false}`, `{` + keys(100_000) + `"a":1}`, "99980 more"},
		{"a hundred thousand misspelt objects", `{"type":"object","properties":{"l":{"type":"array","items":{"type":"object","properties":{"ab":{"type":"integer"}},"required":["ab","c"]}}}}`,
			`{"l":[` + strings.Repeat(`{"a_b":"1"},`, 100_000) + `{}]}`, "and 99992 more"},
		{"every item wrong", `{"type":"object","properties":{"l":{"type":"array","items":{"type":"integer"}}}}`, `{"l":[` + strings.Repeat(`"a",`, 200_000) + `1]}`, "and 199990 more"},
		{"deep as it may be", `{"type":"object","properties":{"x":{}}}`, `{"x":` + deep("[", `1`, "]", 490) + `}`, ""},
		{"a pattern that backtracks elsewhere", `{"type":"object","properties":{"x":{"type":"string","pattern":"^(a+)+$"}}}`, `{"x":"` + strings.Repeat("a", 100_000) + `!"}`, "matching the pattern"},
		{"a number of a million digits", `{"type":"object","properties":{"x":{"type":"integer"}}}`, `{"x":` + strings.Repeat("1", 1_000_000) + `}`, "number"},
	} {
		_, err := arguments.Prepare(compile(t, tc.schema), nil, json.RawMessage(tc.in))
		if tc.want == "" {
			if err != nil {
				t.Errorf("%s: %v", tc.name, err)
			}
			continue
		}
		var bad *arguments.Invalid
		if !errors.As(err, &bad) || !strings.Contains(bad.Error(), tc.want) {
			t.Errorf("%s: %.300v, want %q", tc.name, err, tc.want)
		}
	}
}

// ARG-7: keywords that the node tree has no place for are judged too, and by exact kinds of numbers.
func TestPrepare_UnevaluatedMembersAreRefused(t *testing.T) {
	c := compile(t, `{"type":"object","allOf":[{"properties":{"a":{"type":"integer"}}}],"properties":{"l":{"type":"array","prefixItems":[{"type":"string"}],"unevaluatedItems":false}},"unevaluatedProperties":false}`)
	for in, fits := range map[string]bool{`{"a":"1"}`: true, `{"a":1,"l":["x"]}`: true, `{"a":1,"b":2}`: false, `{"l":["x",1]}`: false, `{"a":1.5}`: false} {
		if _, err := arguments.Prepare(c, nil, json.RawMessage(in)); (err == nil) != fits {
			t.Errorf("%s: %v", in, err)
		}
	}
}

// DEF-13: the model is shown names that its API takes, and the tool gets its own.
func TestPrepareText_RenamedPropertiesComeBackBeforeValidation(t *testing.T) {
	c := compile(t, `{"type":"object","properties":{"file name":{"type":"string"},"n":{"type":"object"}},"required":["file name"],"additionalProperties":false}`)
	def, err := c.Definition(schema.Gemini, schema.Lenient)
	if err != nil {
		t.Fatal(err)
	}
	p, err := arguments.PrepareText(c, arguments.Text{Raw: json.RawMessage(`{"file_name":"a","n":"{\"file_name\":1}"}`), Definition: def})
	if err != nil || string(p.JSON) != `{"file name":"a","n":{"file_name":1}}` {
		t.Errorf("got %s, %v", p.JSON, err)
	}
}

// ARG-8: what was meant among alternatives is what the problem is told about.
func TestPrepare_ProblemOfTheBranchThatWasMeant(t *testing.T) {
	c := compile(t, `{"type":"object","properties":{"x":{"anyOf":[{"type":"string"},{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}]},"y":{"oneOf":[{"type":"integer"},{"type":"boolean"}]}}}`)
	_, err := arguments.Prepare(c, nil, json.RawMessage(`{"x":{"n":"many"},"y":"z"}`))
	if err == nil || !strings.Contains(err.Error(), `x.n: expected integer, got "many"`) || !strings.Contains(err.Error(), `y: expected exactly one of: (integer) / (boolean), got "z"`) {
		t.Errorf("got %v", err)
	}
}
