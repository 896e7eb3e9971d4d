package registry_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/hermes-runtime/hermes/internal/registry"
	"github.com/hermes-runtime/hermes/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

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

func TestDeregister_BringsBackWhatWasBelow_REG7(t *testing.T) {
	p, s := registry.PluginOrigin("p"), registry.ServerOrigin("s")
	over := registry.Override{Any: true}
	r := newRegistry(t, coreTable(), registry.Settings{Overrides: map[registry.Origin]registry.Override{p: over, s: over}})
	body := func() string {
		d, err := r.Definitions(context.Background(), registry.Request{})
		if err != nil {
			t.Fatal(err)
		}
		return d.Body
	}
	states := []string{body()}
	for _, o := range []registry.Origin{s, p} {
		other := raw("web_search", "mine", fmt.Sprintf(`{"properties":{%q:{"type":"string"}}}`, o))
		if err := r.Apply(registry.Change{Origin: o, Add: []registry.Addition{{Tool: other, Override: true}}}); err != nil {
			t.Fatal(err)
		}
		states = append(states, body())
	}
	if states[0] == states[1] || states[1] == states[2] {
		t.Fatal("nothing was replaced")
	}
	r.Withdraw(p)
	if body() != states[1] {
		t.Error("the server's tool is not back")
	}
	r.Deregister(s, "web_search")
	if body() != states[0] {
		t.Error("the builtin tool is not back")
	}
}

// REG-16: what is later depends on the stage and the configuration, never on which was ready first.
func TestRegister_ReadinessDecidesNothing_REG16(t *testing.T) {
	origins := []registry.Origin{registry.ServerOrigin("s2"), registry.ServerOrigin("s1"), registry.PluginOrigin("p2"), registry.PluginOrigin("p1")}
	settings := registry.Settings{Servers: []string{"s2", "s1"}, Plugins: []string{"p2", "p1"}}
	rapid.Check(t, func(rt *rapid.T) {
		r := registry.New(registry.Options{Table: &tool.Table{}, Settings: settings})
		for _, o := range rapid.Permutation(origins).Draw(rt, "order") {
			if err := r.Register(o, made("t", "set")); err != nil {
				rt.Fatal(err)
			}
		}
		for i := len(origins) - 1; i >= 0; i-- {
			e, ok := r.Lookup("t")
			if !ok || e.Origin != origins[i] {
				rt.Fatalf("on top is %v, want %s", e.Origin, origins[i])
			}
			r.Withdraw(origins[i])
		}
		if len(r.Names()) != 0 {
			rt.Fatal("something is left")
		}
	})
}

func TestRegister_RejectFollowsTheOrderToo_REG16(t *testing.T) {
	r := newRegistry(t, nil, registry.Settings{Collisions: registry.CollisionsReject})
	r.add(t, registry.PluginOrigin("p"), made("t", "x"))
	r.add(t, registry.ServerOrigin("s"), made("t", ""))
	if e, _ := r.Lookup("t"); e.Origin != "mcp:s" {
		t.Errorf("the first in order stays: %s", e.Origin)
	}
	if f := r.Refused(); len(f) != 1 || f[0].Origin != "plugin:p" {
		t.Errorf("refused %v", f)
	}
	r.Withdraw(registry.ServerOrigin("s"))
	if e, _ := r.Lookup("t"); e == nil || e.Origin != "plugin:p" || len(r.Refused()) != 0 {
		t.Error("the plugin's tool is not back")
	}
}

func TestDeregister_DynamicSetsGoWithTheirLastTool_REG8(t *testing.T) {
	r := newRegistry(t, nil, registry.Settings{})
	r.remote(t, "s", "a", "b")
	before := r.Generation()
	r.Deregister(registry.ServerOrigin("s"), "nothing")
	r.Deregister(registry.ServerOrigin("other"), "mcp_s_a")
	if r.Generation() != before {
		t.Error("removing nothing is a change")
	}
	r.Deregister(registry.ServerOrigin("s"), "mcp_s_a")
	if got := r.Resolve("s"); !slices.Equal(got, []string{"mcp_s_b"}) {
		t.Errorf("alias: %v", got)
	}
	r.Deregister(registry.ServerOrigin("s"), "mcp_s_b")
	if len(r.Resolve("s"))+len(r.Resolve("mcp-s"))+len(r.Aliases()) != 0 || slices.Contains(r.ToolsetNames(), "mcp-s") {
		t.Error("the set outlives its tools")
	}
}

func TestApply_IsOneStep_REG9(t *testing.T) {
	r := newRegistry(t, nil, registry.Settings{})
	r.remote(t, "s", "a", "b", "c")
	before := r.Generation()
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if got := r.Names(); !slices.Contains(got, "mcp_s_a") || len(got) != 3 {
					t.Errorf("half a change: %v", got)
					return
				}
			}
		})
	}
	for i := range 200 {
		out, in := "mcp_s_b", "b2"
		if i%2 == 1 {
			out, in = "mcp_s_b2", "b"
		}
		err := r.Apply(registry.Change{Origin: registry.ServerOrigin("s"), Remove: []string{out, "mcp_s_a"}, Add: []registry.Addition{
			{Tool: made("mcp_s_a", ""), Remote: "a"}, {Tool: made("mcp_s_"+in, ""), Remote: in}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	readers.Wait()
	if got := r.Generation() - before; got != 200 {
		t.Errorf("200 changes raised the generation by %d", got)
	}
}

// REG-10: everything at once, from 64 goroutines; checks and adapters call back into the registry, so that a lock held would show.
func TestRegistry_EverythingAtOnce_REG10(t *testing.T) {
	ctx := context.Background()
	var r env
	back := &tool.Check{Name: "back", Run: func(context.Context, tool.Services) error {
		r.Deregister(registry.Embedder, "nothing")
		return nil
	}}
	probe := &tool.Check{Name: "probe", Probe: true, Run: back.Run}
	r = newRegistry(t, coreTable(), registry.Settings{})
	r.add(t, registry.Embedder, made("checked", "x", checked(back)), made("probed", "x", checked(probe)),
		adapting("adapted", func(a tool.Adaptation) (tool.Definition, error) {
			r.Deregister(registry.Embedder, "nothing")
			a.Definition.Description = strings.Join(a.Offered, " ")
			return a.Definition, nil
		}))
	var all sync.WaitGroup
	for g := range 64 {
		all.Go(func() {
			for i := range 6 {
				server := registry.ServerOrigin(fmt.Sprint("s", g%8))
				name := fmt.Sprintf("mcp_s%d_t%d", g%8, i)
				switch (g + i) % 8 {
				case 0:
					if err := r.Apply(registry.Change{Origin: server, Add: []registry.Addition{{Tool: made(name, ""), Remote: fmt.Sprint("t", i)}}}); err != nil {
						t.Error(err)
					}
				case 1:
					r.Deregister(server, name)
				case 2:
					if _, err := r.Tools(ctx); err != nil {
						t.Error(err)
					}
				case 3:
					if _, err := r.Toolsets(ctx); err != nil {
						t.Error(err)
					}
				case 4:
					r.Repair("ReadFile", r.Scope(registry.Request{Platform: "cli"}))
				case 5:
					r.SetSettings(registry.Settings{Servers: []string{"s1"}})
				case 6:
					r.Withdraw(server)
				}
				if d, err := r.Definitions(ctx, registry.Request{}); err != nil || !json.Valid([]byte(d.Body)) || len(d.List) < 31 {
					t.Errorf("%d definitions, %v", len(d.List), err)
				}
				if e, ok := r.Lookup("read_file"); !ok || e.Tool == nil {
					t.Error("a builtin was missing")
				}
			}
		})
	}
	all.Wait()
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
