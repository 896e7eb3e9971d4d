package arguments_test

import (
	"encoding/json"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	google "github.com/google/jsonschema-go/jsonschema"
	second "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/hermes-runtime/hermes/internal/registry/arguments"
	"github.com/hermes-runtime/hermes/internal/registry/schema"
)

// judge is one schema as three validators see it.
type judge struct {
	text   string
	ours   *schema.Compiled
	google *google.Resolved
	second *second.Schema
}

func newJudge(t testing.TB, text string) judge {
	t.Helper()
	j := judge{text: text, ours: compile(t, text)}
	own := j.ours.Own()
	var s google.Schema
	if err := json.Unmarshal(own, &s); err != nil {
		t.Fatalf("%s: %v", own, err)
	}
	var err error
	if j.google, err = s.Resolve(nil); err != nil {
		t.Fatalf("%s: %v", own, err)
	}
	doc, err := second.UnmarshalJSON(strings.NewReader(string(own)))
	if err != nil {
		t.Fatal(err)
	}
	c := second.NewCompiler()
	c.DefaultDraft(second.Draft2020)
	if err := c.AddResource("mem:s", doc); err != nil {
		t.Fatal(err)
	}
	if j.second, err = c.Compile("mem:s"); err != nil {
		t.Fatalf("%s: %v", own, err)
	}
	return j
}

// check fails if the three don't agree about an object, and gives their verdict.
func (j judge) check(t testing.TB, text string) bool {
	t.Helper()
	d, err := arguments.Decode(json.RawMessage(text), arguments.Limits{})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	refusal := arguments.Validate(j.ours, d.Object)
	var plain any
	if err := json.Unmarshal([]byte(text), &plain); err != nil {
		t.Fatal(err)
	}
	byGoogle := j.google.Validate(plain)
	exact, err := second.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	bySecond := j.second.Validate(exact)
	if (refusal == nil) != (byGoogle == nil) || (refusal == nil) != (bySecond == nil) {
		t.Errorf("schema %s\nvalue %s\nours: %v\njsonschema-go: %v\nsanthosh-tekuri: %v", j.text, text, refusal, byGoogle, bySecond)
	}
	return refusal == nil
}

// generator makes random schemas and values from one small vocabulary, so that values fit often enough to matter.
type generator struct{ *rand.Rand }

var (
	names   = []string{"a", "b", "c", "aa", "x-1"}
	scalars = []string{`null`, `true`, `false`, `0`, `1`, `2`, `3`, `-1`, `1.0`, `2.5`, `1e1`, `9007199254740993`, `""`, `"a"`, `"b"`, `"abc"`, `"é✗"`, `"1"`, `"true"`}
	typeSet = []string{"null", "boolean", "integer", "number", "string", "array", "object"}
)

func pick[T any](g generator, list []T) T { return list[g.IntN(len(list))] }

func (g generator) value(depth int) string {
	switch n := g.IntN(10); {
	case depth > 0 && n < 2:
		return g.object(depth - 1)
	case depth > 0 && n < 4:
		return "[" + g.join(g.IntN(4), func() string { return g.value(depth - 1) }) + "]"
	}
	return pick(g, scalars)
}

func (g generator) object(depth int) string {
	var parts []string
	for _, name := range names {
		if name == "b" && depth > 2 {
			parts = append(parts, `"b":`+g.like())
		} else if name == "a" && depth > 2 || g.IntN(2) == 0 {
			parts = append(parts, `"`+name+`":`+g.value(depth))
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func (g generator) join(n int, f func() string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = f()
	}
	return strings.Join(parts, ",")
}

func (g generator) schema(depth int) string {
	if g.IntN(12) == 0 {
		return pick(g, []string{"true", "false", "{}"})
	}
	parts := map[string]string{}
	switch g.IntN(4) {
	case 0, 1:
		parts["type"] = `"` + pick(g, typeSet) + `"`
	case 2:
		parts["type"] = `["` + pick(g, typeSet[:3]) + `","` + pick(g, typeSet[3:]) + `"]`
	}
	for range g.IntN(4) {
		k, v := g.keyword(depth)
		parts[k] = v
	}
	var out []string
	for k, v := range parts {
		out = append(out, `"`+k+`":`+v)
	}
	return "{" + strings.Join(out, ",") + "}"
}

func (g generator) keyword(depth int) (string, string) {
	small := func() string { return strconv.Itoa(g.IntN(4)) }
	sub := func() string { return g.schema(depth - 1) }
	if depth <= 0 || g.IntN(3) == 0 {
		switch g.IntN(5) {
		case 0:
			return "enum", "[" + g.join(3, func() string { return pick(g, scalars) }) + "]"
		case 1:
			return "const", g.value(1)
		case 2:
			return "pattern", pick(g, []string{`"^a"`, `"[0-9]"`, `"✗$"`})
		case 3:
			return pick(g, []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}), pick(g, []string{"0", "1", "2.5", "1.0", "-1"})
		}
		return pick(g, []string{"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"}), small()
	}
	list := func() string { return "[" + g.join(1+g.IntN(3), sub) + "]" }
	named := func() string {
		return `{"` + names[g.IntN(2)] + `":` + sub() + `,"` + names[2+g.IntN(3)] + `":` + sub() + `}`
	}
	switch g.IntN(17) {
	case 0, 1, 2:
		return "properties", named()
	case 3:
		return "required", `["` + pick(g, names) + `"]`
	case 4:
		return "additionalProperties", sub()
	case 5:
		return "items", sub()
	case 6:
		return "prefixItems", list()
	case 7:
		return "anyOf", list()
	case 8:
		return "oneOf", list()
	case 9:
		return "allOf", list()
	case 10:
		return "not", sub()
	case 11:
		return "patternProperties", `{"^a":` + sub() + `}`
	case 12:
		return "propertyNames", sub()
	case 13:
		return "contains", sub()
	case 14:
		return "uniqueItems", "true"
	case 15:
		return "dependentRequired", `{"` + pick(g, names) + `":["` + pick(g, names) + `"]}`
	}
	return pick(g, []string{"if", "then", "else"}), sub()
}

// narrow makes a schema of one type whose values meet its limits now and then.
func (g generator) narrow() string {
	switch g.IntN(3) {
	case 0:
		return `{"type":"number","` + pick(g, []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}) + `":` + pick(g, []string{"1", "2", "1.0", "3", "0.5"}) + `}`
	case 1:
		return `{"type":"array","` + pick(g, []string{"minItems", "maxItems", "minContains", "maxContains"}) + `":` + pick(g, []string{"1", "2"}) + `,"uniqueItems":` + pick(g, []string{"true", "false"}) +
			`,"contains":` + g.schema(0) + `}`
	}
	return `{"type":"string","` + pick(g, []string{"minLength", "maxLength"}) + `":` + pick(g, []string{"1", "2"}) + `}`
}

// like makes a value near to what narrow describes.
func (g generator) like() string {
	switch g.IntN(3) {
	case 0:
		return pick(g, []string{"0", "0.5", "1", "1.0", "2", "2.25", "3", "1e0"})
	case 1:
		return "[" + g.join(g.IntN(4), func() string { return pick(g, []string{"1", "1.0", `"a"`, `{"a":1}`, `{"a":1.0}`, "[]"}) }) + "]"
	}
	return pick(g, []string{`""`, `"✗"`, `"é✗"`, `"abc"`})
}

func (g generator) root() string {
	s := g.schema(3)
	for !strings.HasPrefix(s, `{"`) {
		s = g.schema(3)
	}
	var m map[string]any
	if err := json.Unmarshal([]byte(s), &m); err != nil {
		panic(err)
	}
	m["type"] = "object"
	// Most roots describe a and b, which nearly every value has, so that the schemas below them are put to use.
	switch g.IntN(4) {
	case 0:
		m["$defs"] = map[string]any{"r": json.RawMessage(g.schema(2))}
		m["properties"] = map[string]any{"a": map[string]any{"$ref": "#/$defs/r"}, "b": map[string]any{"type": "array", "items": map[string]any{"$ref": "#"}}}
	case 1, 2:
		m = map[string]any{"type": "object", "properties": map[string]any{"a": json.RawMessage(g.schema(2)), "b": json.RawMessage(g.narrow())}}
	}
	text, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// ARG-7: the walk over the node tree gives the verdict of two independent validators, on random schemas and values.
func TestValidate_AgreesWithTwoOtherValidators(t *testing.T) {
	g := generator{rand.New(rand.NewPCG(1, 2))}
	yes, no := 0, 0
	for range 400 {
		j := newJudge(t, g.root())
		for range 10 {
			if j.check(t, g.object(3)) {
				yes++
			} else {
				no++
			}
		}
		if t.Failed() {
			return
		}
	}
	if yes < 400 || no < 400 {
		t.Errorf("%d fit and %d don't: too one-sided to show anything", yes, no)
	}
}

func FuzzValidate(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		g := generator{rand.New(rand.NewPCG(seed, 7))}
		j := newJudge(t, g.root())
		for range 10 {
			j.check(t, g.object(3))
		}
	})
}

// ARG-4: a value that validates is never touched but for the writing of whole numbers; what Prepare gives out always validates; doing it again does nothing.
func FuzzCoerce(f *testing.F) {
	for seed := range uint64(60) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		g := generator{rand.New(rand.NewPCG(seed, 9))}
		s := g.root()
		c := compile(t, s)
		for range 10 {
			text := g.object(3)
			d, err := arguments.Decode(json.RawMessage(text), arguments.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			fit := arguments.Validate(c, d.Object) == nil
			p, err := arguments.Prepare(c, nil, json.RawMessage(text))
			if err != nil {
				if fit {
					t.Fatalf("schema %s\nrefused %s, which fits: %v", s, text, err)
				}
				continue
			}
			if err := arguments.Validate(c, p.Object); err != nil {
				t.Fatalf("schema %s\ngave out %s for %s: %v", s, p.JSON, text, err)
			}
			if fit && !sameNumbers(text, string(p.JSON)) {
				t.Fatalf("schema %s\n%s fits and became %s (%q)", s, text, p.JSON, p.Repairs)
			}
			again, err := arguments.Prepare(c, nil, p.JSON)
			if err != nil || string(again.JSON) != string(p.JSON) {
				t.Fatalf("schema %s\n%s became %s, and that %s, %v", s, text, p.JSON, again.JSON, err)
			}
		}
	})
}

// sameNumbers compares with numbers by value.
func sameNumbers(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && google.Equal(x, y)
}
