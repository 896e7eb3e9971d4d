package registry_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/internal/leaktest"
	"github.com/hermes-runtime/hermes/internal/registry"
	"github.com/hermes-runtime/hermes/tool"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

type broken struct{ tool.Tool }

func (broken) Spec() tool.Spec { panic("no driver") }

type sick struct{ *tool.Function }

func (sick) Validate() error { return errors.New("the client library is missing") }

func raw(name, toolset, schema string) tool.Tool {
	return made(name, toolset, func(s *tool.Spec) { s.Schema = json.RawMessage(schema) })
}

// REG-1, REG-11: what can't be used is refused with tool and field, listed with the reason, and disturbs no other.
func TestRegister_RefusesWhatCannotBeUsed_REG1_REG11(t *testing.T) {
	noHandler := tool.Func[struct{}](tool.Spec{Name: "no_handler", Toolset: "x"}, nil)
	var nilFunction *tool.Function
	for _, c := range []struct {
		tool tool.Tool
		says []string
	}{
		{made("", "x"), []string{"name"}},
		{made("9lives", "x"), []string{"9lives", "name"}},
		{made("a b", "x"), []string{"a b", "name"}},
		{made(strings.Repeat("a", 65), "x"), []string{"name"}},
		{made("no_set", ""), []string{"no_set", "toolset"}},
		{noHandler, []string{"no_handler", "handler"}},
		{nil, []string{"handler"}},
		{nilFunction, []string{"panicked"}},
		{broken{}, []string{"broken", "no driver"}},
		{sick{made("sick", "x").(*tool.Function)}, []string{"sick", "client library"}},
		{raw("bad_json", "x", `{"type":`), []string{"bad_json", "schema"}},
		{raw("no_object", "x", `{"type":"string"}`), []string{"no_object", "parameters"}},
		{raw("bad_ref", "x", `{"type":"object","properties":{"a":{"$ref":"#/$defs/none"}}}`), []string{"bad_ref", "parameters"}},
		{made("bad_check", "x", checked(&tool.Check{Name: "c"})), []string{"bad_check", "check"}},
	} {
		r := newRegistry(t, tableOf(c.tool, made("good", "x")), registry.Settings{})
		if got := r.Names(); !slices.Equal(got, []string{"good"}) {
			t.Errorf("%v: registered %v", c.says, got)
		}
		err := r.Register(registry.Embedder, c.tool)
		var refused *registry.RefusedError
		if !errors.As(err, &refused) {
			t.Errorf("%v: error %v", c.says, err)
			continue
		}
		list, _ := r.Tools(context.Background())
		i := slices.IndexFunc(list, func(s registry.ToolStatus) bool { return !s.Available && s.Origin == registry.Builtin })
		if i < 0 {
			t.Errorf("%v: not listed", c.says)
			continue
		}
		for _, word := range c.says {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("error %q doesn't say %q", err, word)
			}
			if line := list[i].Name + " " + list[i].Reason; !strings.Contains(line, word) {
				t.Errorf("list %q doesn't say %q", line, word)
			}
		}
		if r.log.count("tool refused") == 0 {
			t.Errorf("%v: not logged", c.says)
		}
	}
	if r := newRegistry(t, tableOf(made(strings.Repeat("a", 64), "x")), registry.Settings{}); len(r.Names()) != 1 {
		t.Error("64 characters are allowed")
	}
}

func TestRegister_LaterWinsWithWarning_REG2(t *testing.T) {
	r := newRegistry(t, tableOf(made("t", "first"), made("t", "second")), registry.Settings{})
	if got := r.ToolsetOf("t"); got != "second" {
		t.Errorf("owner %q", got)
	}
	if r.log.count("two toolsets own one tool name") != 1 || r.log.count("first (builtin), second (builtin)") != 1 {
		t.Errorf("log: %s", r.log.buf.String())
	}
	r.add(t, registry.Embedder, made("t", "third"))
	if got := r.ToolsetOf("t"); got != "third" || r.log.count("two toolsets own") != 2 {
		t.Errorf("owner %q", got)
	}
}

func TestRegister_RejectKeepsTheFirst_REG2(t *testing.T) {
	r := newRegistry(t, tableOf(made("t", "first"), made("t", "second")), registry.Settings{Collisions: registry.CollisionsReject})
	if got := r.ToolsetOf("t"); got != "first" {
		t.Errorf("owner %q", got)
	}
	err := r.Register(registry.Embedder, made("t", "third"))
	if !errors.Is(err, registry.ErrCollision) || r.ToolsetOf("t") != "first" || r.log.count("level=ERROR") != 2 {
		t.Errorf("%v, owner %s", err, r.ToolsetOf("t"))
	}
}

func TestRegister_SameOwnerReplacesSilently_REG3(t *testing.T) {
	r := newRegistry(t, tableOf(made("t", "x"), raw("t", "x", `{"properties":{"q":{"type":"string"}}}`)), registry.Settings{})
	e, _ := r.Lookup("t")
	if !strings.Contains(string(e.Schema.Own()), `"q"`) || r.log.buf.Len() != 0 {
		t.Errorf("schema %s, log %s", e.Schema.Own(), r.log.buf.String())
	}
}

func TestOrigin_IsSetByTheRegistrar_REG4(t *testing.T) {
	r := newRegistry(t, tableOf(made("a", "x")), registry.Settings{})
	r.add(t, registry.Embedder, made("b", "x"))
	r.add(t, registry.PluginOrigin("p"), made("c", "x"))
	r.remote(t, "s", "d")
	for name, want := range map[string]registry.Origin{"a": "builtin", "b": "embedder", "c": "plugin:p", "mcp_s_d": "mcp:s"} {
		if e, ok := r.Lookup(name); !ok || e.Origin != want {
			t.Errorf("%s: %+v", name, e)
		}
	}
	if got := r.ToolsetOf("mcp_s_d"); got != "mcp-s" {
		t.Errorf("set %q", got)
	}
	for _, o := range []registry.Origin{"", "else", "plugin:", "mcp:"} {
		if r.Register(o, made("e", "x")) == nil {
			t.Errorf("origin %q was taken", o)
		}
	}
}

// REG-5: replacing needs a wish and leave, whatever registry.collisions says.
func TestRegister_ForeignReplacesOnlyWithWishAndLeave_REG5(t *testing.T) {
	for _, collisions := range []registry.Collisions{"", registry.CollisionsReject} {
		for _, o := range []registry.Origin{registry.PluginOrigin("p"), registry.ServerOrigin("s")} {
			for _, c := range []struct {
				wish  bool
				leave registry.Override
				wins  bool
			}{
				{false, registry.Override{}, false},
				{true, registry.Override{}, false},
				{false, registry.Override{Any: true}, false},
				{true, registry.Override{Any: true}, true},
				{true, registry.Override{Names: []string{"t"}}, true},
				{true, registry.Override{Names: []string{"u"}}, false},
			} {
				s := registry.Settings{Collisions: collisions, Overrides: map[registry.Origin]registry.Override{o: c.leave}}
				r := newRegistry(t, tableOf(made("t", "x")), s)
				r.add(t, registry.Embedder, made("e", "x"))
				for _, name := range []string{"t", "e"} {
					wins := c.wins && (c.leave.Any || name == "t")
					err := r.Apply(registry.Change{Origin: o, Add: []registry.Addition{{Tool: made(name, "y"), Override: c.wish}}})
					e, _ := r.Lookup(name)
					if (err == nil) != wins || (e.Origin == o) != wins {
						t.Errorf("%s %s %+v: %v, owner %s", collisions, name, c, err, e.Origin)
					}
					listed := slices.ContainsFunc(r.Refused(), func(f registry.Refused) bool { return f.Origin == o && f.Name == name })
					if listed == wins {
						t.Errorf("%s %+v: refused is %v", name, c, r.Refused())
					}
				}
			}
		}
	}
}

func TestRegister_AgentsOwnToolsAreReserved_REG6(t *testing.T) {
	for _, name := range []string{"todo", "memory", "session_search", "delegate_task", "clarify"} {
		p := registry.PluginOrigin("p")
		r := newRegistry(t, coreTable(), registry.Settings{Overrides: map[registry.Origin]registry.Override{p: {Any: true}}})
		if r.Apply(registry.Change{Origin: p, Add: []registry.Addition{{Tool: made(name, "x"), Override: true}}}) == nil {
			t.Errorf("a plugin took %s", name)
		}
		if r.Register(registry.Builtin, made(name, "else")) == nil {
			t.Errorf("another set took %s", name)
		}
		if err := r.Register(registry.Embedder, made(name, "x")); err != nil || r.ToolsetOf(name) != "x" {
			t.Errorf("the embedder couldn't: %v", err)
		}
		empty := newRegistry(t, nil, registry.Settings{})
		if empty.Register(p, made(name, "x")) == nil {
			t.Errorf("a plugin took %s where nobody has it", name)
		}
	}
}

func TestQueries_RunNoCheckAndAnswerNone_REG12(t *testing.T) {
	asked := &tool.Check{Name: "c", Run: func(context.Context, tool.Services) error { t.Error("asked"); return nil }}
	r := newRegistry(t, tableOf(made("b", "x", checked(asked), func(s *tool.Spec) { s.RequiresEnv = []string{"Z", "A", "Z"} }),
		made("a", "x", func(s *tool.Spec) { s.Emoji = "💻" })), registry.Settings{})
	if got := r.Names(); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("names %v", got)
	}
	if got := r.ToolsOf("x"); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("tools %v", got)
	}
	if r.Emoji("a") != "💻" || r.Emoji("b") != "⚡" || r.ToolsetOf("b") != "x" || !slices.Equal(r.Requirements("b"), []string{"A", "Z"}) {
		t.Error("wrong answers")
	}
	if _, ok := r.Lookup("none"); ok || r.Emoji("none") != "" || r.ToolsetOf("none") != "" || r.Requirements("none") != nil || r.ToolsOf("none") != nil {
		t.Error("an unknown name has an answer")
	}
	r.Resolve("x")
	r.Scope(registry.Request{})
}

func TestToolsets_AreDescribed_REG12(t *testing.T) {
	need := func(s *tool.Spec) { s.RequiresEnv = []string{"KEY"} }
	r := newRegistry(t, tableOf(made("web_search", "web", checked(failing("KEY")), need), made("terminal", "terminal")), registry.Settings{})
	sets, err := r.Toolsets(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	text, _ := json.Marshal(map[string]any{"web": sets["web"], "debugging": sets["debugging"], "skills": sets["skills"]})
	want := `{"debugging":{"available":true,"tools":["terminal","web_search"],"description":"Terminal, web and files","requirements":["KEY"]},` +
		`"skills":{"available":false,"tools":[],"description":"List and read skills","requirements":[]},` +
		`"web":{"available":false,"tools":["web_search"],"description":"Search the web and extract pages","requirements":["KEY"]}}`
	if string(text) != want {
		t.Errorf("got %s", text)
	}
}

func TestRegistries_ShareOnlyDescriptors_REG13_REG14(t *testing.T) {
	table := tableOf(made("a", "x"))
	one := newRegistry(t, table, registry.Settings{})
	table.Register(made("b", "x"))
	two := newRegistry(t, table, registry.Settings{Disabled: []string{"a"}})
	two.add(t, registry.Embedder, made("c", "x"))
	if got := one.Names(); !slices.Equal(got, []string{"a"}) {
		t.Errorf("one has %v", got)
	}
	if got := two.offered(t, registry.Request{}); !slices.Equal(got, []string{"b", "c"}) {
		t.Errorf("two offers %v", got)
	}
	if got := one.offered(t, registry.Request{}); !slices.Equal(got, []string{"a"}) {
		t.Errorf("one offers %v", got)
	}
}

type adapter struct {
	*tool.Function
	adapt func(tool.Adaptation) (tool.Definition, error)
}

func (a adapter) Adapt(_ context.Context, x tool.Adaptation) (tool.Definition, error) {
	return a.adapt(x)
}

func adapting(name string, f func(tool.Adaptation) (tool.Definition, error)) tool.Tool {
	return adapter{made(name, "adapters").(*tool.Function), f}
}

type wrapped struct{ tool.Tool }

func (w wrapped) Unwrap() tool.Tool { return w.Tool }

func TestEntry_FindsAbilitiesThroughWrappers(t *testing.T) {
	inner := adapting("a", func(x tool.Adaptation) (tool.Definition, error) { return x.Definition, nil })
	r := newRegistry(t, tableOf(wrapped{wrapped{inner}}), registry.Settings{})
	e, ok := r.Lookup("a")
	if !ok || e.Adapter == nil || e.Risky != nil || e.Scoper != nil || e.Shaper != nil || e.AgentLevel != nil {
		t.Fatalf("%+v", e)
	}
	if !strings.Contains(string(e.Schema.Own()), `"path"`) {
		t.Errorf("parameters weren't inferred: %s", e.Schema.Own())
	}
}
