package registry_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/hermes-runtime/hermes/internal/registry"
	"github.com/hermes-runtime/hermes/internal/registry/schema"
	"github.com/hermes-runtime/hermes/tool"
)

// DEF-1, DEF-3: rows of what is enabled and disabled.
func TestDefinitions_EnabledAndDisabled_DEF1_DEF3(t *testing.T) {
	core := all28()
	for _, c := range []struct {
		name              string
		enabled, disabled []string
		config            []string
		want              []string
	}{
		{"neither", nil, nil, nil, core},
		{"enabled", []string{"web", "todo"}, nil, nil, []string{"todo", "web_extract", "web_search"}},
		{"none", []string{}, nil, nil, []string{}},
		{"none, and disabled", []string{}, []string{"web"}, nil, []string{}},
		{"disabled", nil, []string{"browser"}, nil, minus(core, coreTools["browser"]...)},
		{"disabled is empty", nil, []string{}, nil, core},
		{"all disabled", nil, []string{"all"}, nil, []string{}},
		{"leaf over composite", []string{"terminal"}, []string{"debugging"}, nil, []string{"process", "terminal"}},
		{"leaf against preset", []string{"hermes-cli"}, []string{"terminal"}, nil, minus(core, "terminal", "process")},
		{"tool over leaf", []string{"read_file"}, []string{"file"}, nil, []string{"read_file"}},
		{"tool against leaf", []string{"file"}, []string{"patch"}, nil, []string{"read_file", "search_files", "write_file"}},
		{"equals", []string{"file"}, []string{"file"}, nil, []string{}},
		{"composites are equals", []string{"hermes-cli"}, []string{"debugging"}, nil,
			minus(core, "terminal", "process", "web_search", "web_extract", "read_file", "write_file", "patch", "search_files")},
		{"composite over wildcard", []string{"search"}, []string{"*"}, nil, []string{"web_search"}},
		{"glob is a wildcard", []string{"web"}, []string{"w?b"}, nil, []string{"web_extract", "web_search"}},
		{"legacy is a leaf", []string{"file_tools"}, []string{"debugging"}, nil, []string{"patch", "read_file", "search_files", "write_file"}},
		{"the configuration disables", []string{"hermes-cli"}, nil, []string{"browser", "terminal"}, minus(core, append([]string{"terminal", "process"}, coreTools["browser"]...)...)},
		{"both disable", nil, []string{"web"}, []string{"browser"}, minus(core, append([]string{"web_search", "web_extract"}, coreTools["browser"]...)...)},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRegistry(t, coreTable(), registry.Settings{Disabled: c.config})
			if got := r.offered(t, registry.Request{Enabled: c.enabled, Disabled: c.disabled}); !slices.Equal(got, c.want) {
				t.Errorf("offered %v, want %v", got, c.want)
			}
		})
	}
}

func TestDefinitions_OpenAIFormSorted_DEF5_DEF16(t *testing.T) {
	r := newRegistry(t, tableOf(made("b", "x"), made("a", "x")), registry.Settings{})
	d, err := r.Definitions(context.Background(), registry.Request{Quiet: true})
	if err != nil {
		t.Fatal(err)
	}
	one := func(n string) string {
		return `{"function":{"description":"does ` + n + `","name":"` + n + `","parameters":{"additionalProperties":false,"properties":{"path":` +
			`{"description":"where","type":"string"}},"required":["path"],"type":"object"}},"type":"function"}`
	}
	if want := "[" + one("a") + "," + one("b") + "]"; d.Body != want {
		t.Errorf("got  %s\nwant %s", d.Body, want)
	}
	if d.Report != nil || d.Dialect != schema.OpenAI {
		t.Errorf("report %v, dialect %s", d.Report, d.Dialect)
	}
	for _, dialect := range schema.Dialects() {
		d, err := r.Definitions(context.Background(), registry.Request{Dialect: dialect})
		if err != nil || !json.Valid([]byte(d.Body)) || len(d.List) != 2 {
			t.Errorf("%s: %v, %v", dialect, d.Body, err)
		}
	}
	if _, err := r.Definitions(context.Background(), registry.Request{Dialect: "klingon"}); err == nil {
		t.Error("an unknown dialect is taken")
	}
}

// DEF-5: the order in which tools came, and what was asked before, don't show.
func TestDefinitions_AreByteIdentical_DEF5(t *testing.T) {
	names := all28()[:8]
	var first string
	rapid.Check(t, func(rt *rapid.T) {
		table := &tool.Table{}
		for _, n := range rapid.Permutation(names).Draw(rt, "order") {
			table.Register(made(n, "x"))
		}
		r := registry.New(registry.Options{Table: table})
		d, err := r.Definitions(context.Background(), registry.Request{})
		if err != nil {
			rt.Fatal(err)
		}
		if first == "" {
			first = d.Body
		}
		if d.Body != first {
			rt.Fatal("other bytes")
		}
	})
}

func TestDefinitions_AdaptersKnowWhatPassed_DEF2(t *testing.T) {
	r := newRegistry(t, tableOf(made("a", "x"), made("hidden", "x", checked(failing("KEY"))),
		adapting("needy", func(a tool.Adaptation) (tool.Definition, error) {
			a.Definition.Description = "beside " + strings.Join(a.Offered, ",")
			a.Definition.Parameters["properties"].(map[string]any)["path"].(map[string]any)["description"] = "changed"
			a.Offered[0] = "spoilt"
			a.Definition.Name = "other"
			return a.Definition, nil
		}),
		adapting("fails", func(a tool.Adaptation) (tool.Definition, error) {
			a.Definition.Parameters["type"] = "spoilt"
			return a.Definition, errors.New("no idea")
		}),
		adapting("panics", func(a tool.Adaptation) (tool.Definition, error) { panic("boom") }),
		adapting("spoils", func(a tool.Adaptation) (tool.Definition, error) {
			a.Definition.Parameters = map[string]any{"type": "string"}
			return a.Definition, nil
		}),
		adapting("zlast", func(a tool.Adaptation) (tool.Definition, error) {
			a.Definition.Description = "beside " + strings.Join(a.Offered, ",")
			return a.Definition, nil
		}),
	), registry.Settings{})
	d, err := r.Definitions(context.Background(), registry.Request{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, x := range d.List {
		got[x.Name] = x.JSON
	}
	beside := "beside a,fails,needy,panics,spoils,zlast"
	if !strings.Contains(got["needy"], beside) || !strings.Contains(got["needy"], "changed") || !strings.Contains(got["needy"], `"name":"needy"`) {
		t.Errorf("needy: %s", got["needy"])
	}
	if !strings.Contains(got["zlast"], beside) {
		t.Errorf("zlast: %s", got["zlast"])
	}
	for _, name := range []string{"fails", "panics", "spoils"} {
		if !strings.Contains(got[name], "does "+name) || strings.Contains(got[name], "spoilt") || r.log.count("tool="+name) != 1 {
			t.Errorf("%s: %s", name, got[name])
		}
	}
	// DEF-8: calls are validated against the tool's own schema.
	if e, _ := r.Lookup("needy"); strings.Contains(string(e.Schema.Own()), "changed") {
		t.Error("the adapter changed the tool's own schema")
	}
}

func TestDefinitions_NoToolLeftIsWarnedAbout_DEF4(t *testing.T) {
	r := newRegistry(t, coreTable(), registry.Settings{})
	if got := r.offered(t, registry.Request{Enabled: []string{"web"}, Disabled: []string{"web_search", "web_extract"}}); len(got) != 0 {
		t.Errorf("offered %v", got)
	}
	if r.log.count("no tool is left") != 1 || r.log.count("web_extract") != 1 {
		t.Errorf("log: %s", r.log.buf.String())
	}
	r.offered(t, registry.Request{Enabled: []string{}})
	if r.log.count("no tool is left") != 1 {
		t.Error("asking for nothing and getting it is no cause for a warning")
	}
}

func TestDefinitions_BelongToTheCaller_DEF6(t *testing.T) {
	r := newRegistry(t, coreTable(), registry.Settings{})
	ask := func() registry.Definitions {
		d, err := r.Definitions(context.Background(), registry.Request{})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	first := ask()
	clear(first.List)
	clear(first.Report.Offered)
	clear(first.Hidden)
	if second := ask(); second.List[0].Name == "" || second.Report.Offered[0] == "" {
		t.Error("changing one answer changed the next")
	}
}

// DEF-6, DEF-7: eight answers are kept; each part of the key makes another answer.
func TestDefinitions_Memo_DEF6_DEF7(t *testing.T) {
	var built atomic.Int32
	var bad atomic.Bool
	flag := &tool.Check{Name: "flag", Run: func(context.Context, tool.Services) error {
		if bad.Load() {
			return errors.New("gone")
		}
		return nil
	}}
	r := newRegistry(t, coreTable(), registry.Settings{})
	r.add(t, registry.Embedder, made("flagged", "x", checked(flag)), adapting("seen", func(a tool.Adaptation) (tool.Definition, error) {
		built.Add(1)
		return a.Definition, nil
	}))
	step := func(why string, fresh bool, req registry.Request) {
		t.Helper()
		before := built.Load()
		r.offered(t, req)
		if got := built.Load() > before; got != fresh {
			t.Errorf("%s: built anew is %v", why, got)
		}
	}
	all := registry.Request{}
	step("first", true, all)
	step("again", false, all)
	if got := r.offered(t, registry.Request{Enabled: []string{}}); len(got) != 0 {
		t.Errorf("an empty list is not the same as none: %v", got)
	}
	step("quiet", false, registry.Request{Quiet: true})
	step("enabled", true, registry.Request{Enabled: []string{"all"}})
	step("disabled", true, registry.Request{Disabled: []string{"web"}})
	step("dialect", true, registry.Request{Dialect: schema.Anthropic})
	step("needs", true, registry.Request{Has: []tool.Need{tool.NeedAsker}})
	step("still there", false, all)
	bad.Store(true)
	step("availability", true, all)
	bad.Store(false)
	step("availability as before", false, all)
	r.add(t, registry.Embedder, made("more", "x"))
	step("registry", true, all)
	r.SetSettings(registry.Settings{})
	step("configuration", true, all)
	for i := range 7 {
		step("others", true, registry.Request{Disabled: []string{fmt.Sprint("t", i)}})
	}
	step("the eighth is kept", false, all)
	for i := range 8 {
		step("others", true, registry.Request{Disabled: []string{fmt.Sprint("u", i)}})
	}
	step("the ninth is not", true, all)
}

func TestDefinitions_BuiltWhileTheRegistryMovedAreNotKept_DEF6(t *testing.T) {
	var r env
	var n int
	r = newRegistry(t, nil, registry.Settings{})
	r.add(t, registry.Embedder, adapting("a", func(a tool.Adaptation) (tool.Definition, error) {
		if n++; n == 1 {
			r.add(t, registry.Embedder, made("b", "x"))
		}
		return a.Definition, nil
	}))
	if got := r.offered(t, registry.Request{}); !slices.Equal(got, []string{"a"}) {
		t.Errorf("offered %v", got)
	}
	if got := r.offered(t, registry.Request{}); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("offered %v", got)
	}
}

func TestDefinitions_SchemaIsCopiedAtRegistration_DEF8(t *testing.T) {
	shared := map[string]any{"type": "object", "properties": map[string]any{"q": map[string]any{"type": "string"}}}
	r := newRegistry(t, tableOf(made("a", "x", func(s *tool.Spec) { s.Schema = shared })), registry.Settings{})
	before, _ := r.Definitions(context.Background(), registry.Request{})
	shared["properties"].(map[string]any)["q"] = "spoilt"
	r.SetSettings(registry.Settings{})
	after, err := r.Definitions(context.Background(), registry.Request{})
	if err != nil || after.Body != before.Body {
		t.Errorf("%s, %v", after.Body, err)
	}
}

func TestDefinitions_LimitWithholdsServersToolsLastFirst_DEF12(t *testing.T) {
	r := newRegistry(t, coreTable(), registry.Settings{MaxTools: 31, Servers: []string{"two", "one"}})
	r.remote(t, "two", "a", "b")
	r.remote(t, "one", "a", "b")
	for _, c := range []struct {
		dialect schema.Dialect
		tools   int
		lost    string
	}{
		{schema.OpenAI, 31, "mcp_one_b"}, {schema.Gemini, 31, "mcp_one_b"}, {schema.GeminiCompatible, 31, "mcp_one_b"},
		{schema.Anthropic, 32, ""},
	} {
		d, err := r.Definitions(context.Background(), registry.Request{Dialect: c.dialect})
		if err != nil || len(d.List) != c.tools {
			t.Errorf("%s: %d tools, %v", c.dialect, len(d.List), err)
		}
		if c.lost != "" && (len(d.Hidden) != 1 || d.Hidden[0].Name != c.lost || !strings.Contains(d.Hidden[0].Reason, "31")) {
			t.Errorf("%s: hidden %v", c.dialect, d.Hidden)
		}
	}
	if r.log.count("model.max_tools") == 0 {
		t.Error("no warning")
	}
	r.SetSettings(registry.Settings{MaxTools: 10, Servers: []string{"two", "one"}})
	if got := r.offered(t, registry.Request{}); !slices.Equal(got, all28()) {
		t.Errorf("only servers' tools are withheld: %v", got)
	}
}

func TestDefinitions_ReportTellsAPerson_DEF16(t *testing.T) {
	r := newRegistry(t, tableOf(made("terminal", "terminal"), made("web_search", "web", checked(failing("KEY")))), registry.Settings{})
	req := registry.Request{Enabled: []string{"debugging", "termnal"}}
	loud, err := r.Definitions(context.Background(), req)
	if err != nil {
		t.Fatal(err)
	}
	want := "debugging: terminal, web_search\n\"termnal\" is no known toolset or tool; nearest is \"terminal\"\n" +
		"not available: web_search (KEY is missing)\noffered: terminal\n"
	if got := loud.Report.String(); got != want {
		t.Errorf("got %q", got)
	}
	logged := r.log.buf.Len()
	req.Quiet = true
	quiet, err := r.Definitions(context.Background(), req)
	if err != nil || quiet.Body != loud.Body || quiet.Report != nil || r.log.buf.Len() != logged {
		t.Errorf("quiet: %+v, %v", quiet, err)
	}
}
