package registry_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/hermes-runtime/hermes/internal/registry"
	"github.com/hermes-runtime/hermes/tool"
)

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

func TestRefused_IsForgottenWhenMendedOrWithdrawn(t *testing.T) {
	p := registry.PluginOrigin("p")
	for name, mend := range map[string]func(r env){
		"registered": func(r env) { r.add(t, p, made("t", "x")) },
		"removed":    func(r env) { r.Deregister(p, "t") },
		"withdrawn":  func(r env) { r.Withdraw(p) },
	} {
		r := newRegistry(t, nil, registry.Settings{})
		if r.Register(p, made("t", "")) == nil || len(r.Refused()) != 1 {
			t.Fatalf("refused %v", r.Refused())
		}
		if mend(r); len(r.Refused()) != 0 {
			t.Errorf("%s: refused %v", name, r.Refused())
		}
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
	for i := range 60 {
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
	if got := r.Generation() - before; got != 60 {
		t.Errorf("60 changes raised the generation by %d", got)
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

type serverTool struct {
	tool.Tool
	name     string
	override bool
}

func (s serverTool) RemoteName() string { return s.name }
func (s serverTool) Override() bool     { return s.override }

func TestSink_TakesWhatASourceBrings(t *testing.T) {
	o := registry.ServerOrigin("s")
	r := newRegistry(t, tableOf(made("kept", "x"), made("given", "x")), registry.Settings{
		Overrides: map[registry.Origin]registry.Override{o: {Names: []string{"given", "kept"}}}})
	apply := r.Sink(o)
	apply([]tool.Tool{serverTool{made("mcp_s_list_all", ""), "list-all", false}, serverTool{made("given", ""), "given", true},
		serverTool{made("kept", ""), "kept", false}, nil}, nil)
	if res := r.Repair("ListAll", r.Scope(registry.Request{})); res.Name != "mcp_s_list_all" {
		t.Errorf("%+v", res)
	}
	if r.ToolsetOf("given") != "mcp-s" || r.ToolsetOf("kept") != "x" || len(r.Refused()) != 2 {
		t.Errorf("given is of %s, kept of %s, refused %v", r.ToolsetOf("given"), r.ToolsetOf("kept"), r.Refused())
	}
	apply(nil, []string{"mcp_s_list_all", "given", "never"})
	if got := r.Names(); !slices.Equal(got, []string{"given", "kept"}) || r.ToolsetOf("given") != "x" {
		t.Errorf("names %v", got)
	}
}
