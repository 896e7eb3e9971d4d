package tooltest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/hermes-runtime/hermes/tool"
)

// How long texts for a model may be, in characters: they are paid for with every request.
const (
	longestDescription = 6000
	longestParameter   = 600
)

var names = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,63}$`)

// declaration: a tool can be registered, listed and understood without being called.
func (s *suite) declaration(t *testing.T) {
	if !names.MatchString(s.spec.Name) || s.spec.Toolset == "" {
		t.Errorf("name %q, toolset %q", s.spec.Name, s.spec.Toolset)
	}
	if v, ok := tool.As[tool.Validator](s.tool); ok {
		if err := v.Validate(); err != nil {
			t.Error(err)
		}
	}
	again := s.tool.Spec()
	if again.Check != s.spec.Check {
		t.Error("Spec gives another Check each time: one probe can't serve several tools")
	}
	one, other := s.spec, again
	one.Check, other.Check = nil, nil
	if !reflect.DeepEqual(one, other) {
		t.Error("Spec differs from call to call")
	}
	if s.spec.Description == "" {
		t.Error("there is no description for people")
	}
	first, _, _ := strings.Cut(s.spec.Description, "\n")
	if strings.TrimSpace(first) != first || first == "" {
		t.Errorf("the first line of the description is %q", first)
	}
	for alias, to := range s.spec.Aliases {
		if _, ok := s.Parameters[to]; !ok {
			t.Errorf("%q is another word for %q, which is no parameter", alias, to)
		}
	}
	if _, scoper := tool.As[tool.Scoper](s.tool); s.spec.Effects == tool.PathScoped && !scoper {
		t.Error("its effects are bounded by paths, but it names none (tool.Scoper)")
	}
}

// definitions: every dialect describes the tool with a schema that an independent validator takes.
func (s *suite) definitions(t *testing.T) {
	t.Parallel()
	b := s.open(t)
	for _, d := range s.Dialects {
		body, err := b.Definitions(t.Context(), d.ID)
		if err != nil {
			t.Errorf("%s: %v", d.ID, err)
			continue
		}
		if again, err := b.Definitions(t.Context(), d.ID); err != nil || again != body {
			t.Errorf("%s: other bytes at the second time, %v", d.ID, err)
		}
		var list []any
		if err := json.Unmarshal([]byte(body), &list); err != nil {
			t.Errorf("%s: %v", d.ID, err)
			continue
		}
		i := slices.IndexFunc(list, func(v any) bool { return member(v, d.Name) == s.spec.Name })
		if i < 0 {
			t.Errorf("%s: the tool is not among the %d on offer", d.ID, len(list))
			continue
		}
		s.definition(t, d, list[i])
	}
}

func (s *suite) definition(t *testing.T, d Dialect, v any) {
	t.Helper()
	text, _ := member(v, d.Description).(string)
	if n := utf8.RuneCountInString(text); n == 0 || n > longestDescription {
		t.Errorf("%s: a description of %d characters, at most %d", d.ID, n, longestDescription)
	}
	parameters := member(v, d.Parameters)
	if parameters == nil {
		if len(s.Parameters) > 0 {
			t.Errorf("%s: there are no parameters", d.ID)
		}
		return
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource("tool.json", parameters); err != nil {
		t.Errorf("%s: %v", d.ID, err)
		return
	}
	compiled, err := c.Compile("tool.json")
	if err != nil {
		t.Errorf("%s: %v", d.ID, err)
		return
	}
	var example any
	if err := json.Unmarshal([]byte(s.Example), &example); err != nil {
		t.Errorf("the example: %v", err)
	} else if err := compiled.Validate(example); err != nil {
		t.Errorf("%s: the example doesn't fit: %v", d.ID, err)
	}
	properties, _ := member(parameters, "properties").(map[string]any)
	for name, p := range properties {
		text, _ := member(p, "description").(string)
		if n := utf8.RuneCountInString(text); n == 0 || n > longestParameter {
			t.Errorf("%s: %s has a description of %d characters, at most %d", d.ID, name, n, longestParameter)
		}
		if _, ok := s.Parameters[name]; !ok {
			t.Errorf("%s: nothing shows that %s matters", d.ID, name)
		}
	}
	for name := range s.Parameters {
		if _, ok := properties[name]; !ok {
			t.Errorf("%s: %s is not declared", d.ID, name)
		}
	}
}

// member finds a value by a path of member names; "" is v itself.
func member(v any, path string) any {
	for step := range strings.SplitSeq(path, ".") {
		if m, ok := v.(map[string]any); ok {
			v = m[step]
		} else {
			return fmt.Sprintf("no object at %s", step)
		}
	}
	return v
}
