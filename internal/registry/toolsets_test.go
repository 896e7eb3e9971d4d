package registry_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hermes-runtime/hermes/internal/registry"
)

func all28() []string {
	var out []string
	for _, names := range coreTools {
		out = append(out, names...)
	}
	slices.Sort(out)
	return out
}

func minus(from []string, out ...string) []string {
	return slices.DeleteFunc(slices.Clone(from), func(n string) bool { return slices.Contains(out, n) })
}

// SET-1, SET-4: every row of both tables.
func TestResolve_ShippedSets(t *testing.T) {
	r := newRegistry(t, coreTable(), registry.Settings{})
	core := all28()
	if len(core) != 28 {
		t.Fatalf("the core has %d tools", len(core))
	}
	browser := coreTools["browser"]
	rows := map[string][]string{
		"search": {"web_search"}, "debugging": {"terminal", "process", "web_search", "web_extract", "read_file", "write_file", "patch", "search_files"},
		"safe": {"web_search", "web_extract", "vision_analyze", "image_generate"}, "coding": minus(core, "image_generate"),
		"hermes-cli": core, "hermes-telegram": core, "hermes-cron": core, "hermes-gateway": core,
		"hermes-acp": minus(core, "image_generate", "clarify"), "hermes-api-server": minus(core, "clarify"),
		"hermes-webhook": {"web_search", "web_extract", "vision_analyze", "clarify"},
		"hermes-mcp":     minus(core, "todo", "memory", "session_search", "delegate_task", "clarify"),
		"web_tools":      {"web_search", "web_extract"}, "terminal_tools": {"terminal"}, "vision_tools": {"vision_analyze"},
		"image_tools": {"image_generate"}, "skills_tools": {"skills_list", "skill_view"}, "browser_tools": browser,
		"file_tools": {"read_file", "write_file", "patch", "search_files"}, "read_file": {"read_file"}, "all": core, "*": core,
	}
	maps.Copy(rows, coreTools)
	for name, want := range rows {
		want = slices.Sorted(slices.Values(want))
		if got := r.Resolve(name); !slices.Equal(got, want) {
			t.Errorf("Resolve(%q) = %v, want %v", name, got, want)
		}
	}
}

func TestResolve_UnknownIsEmptyAndWarnedAboutOnce_SET1(t *testing.T) {
	r := newRegistry(t, coreTable(), registry.Settings{})
	for range 3 {
		if got := r.Resolve("termnal"); len(got) != 0 {
			t.Fatalf("got %v", got)
		}
	}
	if n := r.log.count("toolset=termnal nearest=terminal"); n != 1 {
		t.Fatalf("warned %d times", n)
	}
}

func TestResolve_SetsNameToolsThatAreNotBuilt(t *testing.T) {
	r := newRegistry(t, tableOf(made("terminal", "terminal")), registry.Settings{})
	if got := r.Resolve("hermes-cli"); !slices.Equal(got, []string{"terminal"}) {
		t.Fatalf("got %v", got)
	}
	if got := r.Resolve("web_search"); len(got) != 0 || r.log.count("unknown toolset") != 0 {
		t.Fatalf("a shipped tool that isn't built is no unknown name: %v", got)
	}
}

// SET-1: whatever includes whatever, each tool comes once, sorted, and resolution ends.
func TestResolve_CyclesAndDiamonds_SET1(t *testing.T) {
	names := []string{"a", "b", "c", "d", "web", "mcp-*", "all"}
	r := newRegistry(t, coreTable(), registry.Settings{})
	core := all28()
	rapid.Check(t, func(t *rapid.T) {
		custom := map[string]registry.CustomSet{}
		for _, n := range names[:4] {
			custom[n] = registry.CustomSet{
				Tools:    rapid.SliceOfN(rapid.SampledFrom(append(core, "nothing")), 0, 3).Draw(t, n+" tools"),
				Includes: rapid.SliceOfN(rapid.SampledFrom(names), 0, 4).Draw(t, n+" includes"),
			}
		}
		r.SetSettings(registry.Settings{Custom: custom})
		for _, n := range names[:4] {
			want := map[string]bool{}
			walk(custom, n, want, map[string]bool{}, core)
			if got := r.Resolve(n); !slices.Equal(got, slices.Sorted(maps.Keys(want))) {
				t.Fatalf("Resolve(%s) of %v = %v, want %v", n, custom, got, slices.Sorted(maps.Keys(want)))
			}
		}
	})
}

// walk is the plain meaning of sets that include sets: what can be reached.
func walk(custom map[string]registry.CustomSet, name string, out, seen map[string]bool, core []string) {
	if seen[name] {
		return
	}
	seen[name] = true
	add := func(tools []string) {
		for _, t := range tools {
			if slices.Contains(core, t) {
				out[t] = true
			}
		}
	}
	switch name {
	case "all":
		add(core)
	case "web":
		add(coreTools["web"])
	default:
		add(custom[name].Tools)
		for _, i := range custom[name].Includes {
			walk(custom, i, out, seen, core)
		}
	}
}

func TestResolve_Globs_SET2(t *testing.T) {
	r := newRegistry(t, coreTable(), registry.Settings{})
	r.remote(t, "github", "create_issue")
	r.remote(t, "gitlab", "create_issue")
	r.remote(t, "jira", "create_issue")
	for pattern, want := range map[string][]string{
		"mcp-*":   {"mcp_github_create_issue", "mcp_gitlab_create_issue", "mcp_jira_create_issue"},
		"git*":    {"mcp_github_create_issue", "mcp_gitlab_create_issue"},
		"?ira":    {"mcp_jira_create_issue"},
		"m?c-j*a": {},
		"mcp-j*a": {"mcp_jira_create_issue"},
		"t?do":    {"todo"},
	} {
		if got := r.Resolve(pattern); !slices.Equal(got, want) {
			t.Errorf("Resolve(%q) = %v, want %v", pattern, got, want)
		}
	}
	if got := len(r.Resolve("*")); got != 31 {
		t.Errorf("* gives %d tools", got)
	}
}

func TestResolve_OrderOfMeanings_SET3(t *testing.T) {
	r := newRegistry(t, coreTable(), registry.Settings{Custom: map[string]registry.CustomSet{
		"web":       {Tools: []string{"terminal"}},  // shipped wins
		"mine":      {Tools: []string{"read_file"}}, // over the registered set and the server's raw name
		"web_tools": {Tools: []string{"todo"}},      // over the legacy name
	}})
	r.add(t, registry.Embedder, made("kv_get", "kv"), made("x", "mine"), made("memory_tool", "file_tools"), made("kv", "other"))
	r.remote(t, "mine", "list")
	r.remote(t, "web", "fetch")
	r.remote(t, "srv", "a")
	for name, want := range map[string][]string{
		"web": {"web_extract", "web_search"}, "mine": {"read_file"}, "web_tools": {"todo"}, "kv": {"kv_get"}, "file_tools": {"memory_tool"},
		"srv": {"mcp_srv_a"}, "mcp-srv": {"mcp_srv_a"}, "mcp-mine": {"mcp_mine_list"}, "kv_get": {"kv_get"},
	} {
		if got := r.Resolve(name); !slices.Equal(got, want) {
			t.Errorf("Resolve(%q) = %v, want %v", name, got, want)
		}
	}
}

func TestResolve_PluginJoinsALeafServerDoesNot_SET3(t *testing.T) {
	r := newRegistry(t, coreTable(), registry.Settings{})
	r.add(t, registry.PluginOrigin("p"), made("web_archive", "web"))
	r.remote(t, "web", "fetch")
	if got, want := r.Resolve("web"), []string{"web_archive", "web_extract", "web_search"}; !slices.Equal(got, want) {
		t.Errorf("web = %v", got)
	}
	if !slices.Contains(r.Resolve("debugging"), "web_archive") || slices.Contains(r.Resolve("hermes-webhook"), "web_archive") {
		t.Error("a composite has the leaf's tools, a preset of tools only those")
	}
}

func TestResolve_ServersAreSets_SET5(t *testing.T) {
	r := newRegistry(t, coreTable(), registry.Settings{Servers: []string{"todo", "gh"}})
	r.remote(t, "todo", "x")
	r.remote(t, "gh", "y")
	if got := r.Resolve("todo"); !slices.Equal(got, []string{"todo"}) {
		t.Errorf("todo = %v", got)
	}
	if got := r.Resolve("mcp-todo"); !slices.Equal(got, []string{"mcp_todo_x"}) {
		t.Errorf("mcp-todo = %v", got)
	}
	if a := r.Aliases(); len(a) != 1 || a["gh"] != "mcp-gh" {
		t.Errorf("aliases %v", a)
	}
	w := r.Warnings()
	if len(w) != 1 || w[0].Key != "mcp_servers.todo" || !strings.Contains(w[0].Text, "mcp-todo") {
		t.Errorf("warnings %v", w)
	}
}

func TestCustomSets_SET6(t *testing.T) {
	r := newRegistry(t, coreTable(), registry.Settings{Custom: map[string]registry.CustomSet{
		"web":   {Tools: []string{"terminal"}},
		"notes": {Description: "my notes", Tools: []string{"read_file", "reed_file"}, Includes: []string{"todo", "memroy"}},
	}})
	if got, want := r.Resolve("notes"), []string{"read_file", "todo"}; !slices.Equal(got, want) {
		t.Errorf("notes = %v", got)
	}
	warnings := fmt.Sprintf("%q", r.Warnings())
	for _, text := range []string{`\"reed_file\"`, `\"memroy\"`, `"custom_toolsets.web" `} {
		if n := strings.Count(warnings, text); n != 1 {
			t.Errorf("%d warnings about %s: %s", n, text, warnings)
		}
	}
	if err := r.CreateCustom("later", registry.CustomSet{Tools: []string{"patch"}}); err != nil {
		t.Fatal(err)
	}
	if got := r.Resolve("later"); !slices.Equal(got, []string{"patch"}) {
		t.Errorf("later = %v", got)
	}
	for _, bad := range []string{"", "web", "all", "a*"} {
		if r.CreateCustom(bad, registry.CustomSet{}) == nil {
			t.Errorf("%q was created", bad)
		}
	}
}

// SET-7, SET-8: rows of platform lists.
func TestPlatformSets(t *testing.T) {
	servers := []string{"github", "jira"}
	for _, c := range []struct {
		name, platform string
		value          any
		want           []string
	}{
		{"absent", "cli", nil, []string{"hermes-cli", "mcp-github", "mcp-jira", "plugin:p"}},
		{"no list", "telegram", "web", []string{"hermes-telegram", "mcp-github", "mcp-jira", "plugin:p"}},
		{"a list", "cli", []any{"web", 42}, []string{"web", "42", "mcp-github", "mcp-jira", "plugin:p"}},
		{"names a server", "cli", []any{"web", "jira"}, []string{"web", "jira", "plugin:p"}},
		{"names a server's set", "cli", []any{"mcp-github"}, []string{"mcp-github", "plugin:p"}},
		{"names servers by pattern", "cli", []any{"mcp-g*"}, []string{"mcp-g*", "plugin:p"}},
		{"names a server that isn't there yet", "cli", []any{"web", "late"}, []string{"web", "late", "plugin:p"}},
		{"no servers", "cli", []any{"web", "no_mcp"}, []string{"web", "plugin:p"}},
		{"empty", "cli", []any{}, []string{}},
		{"webhook", "webhook", nil, []string{"hermes-webhook"}},
		{"webhook's list", "webhook", []any{"web", "github"}, []string{"web", "github"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := registry.Settings{Servers: append(slices.Clone(servers), "late"), Platforms: map[string]any{}}
			if c.value != nil {
				s.Platforms[c.platform] = c.value
			}
			r := newRegistry(t, coreTable(), s)
			for _, server := range servers {
				r.remote(t, server, "go")
			}
			r.add(t, registry.PluginOrigin("p"), made("p_tool", "web"))
			if got := r.PlatformSets(c.platform); !slices.Equal(got, c.want) {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestPlatformSets_PluginBringsOnlyItsOwnTools_SET8(t *testing.T) {
	r := newRegistry(t, coreTable(), registry.Settings{Platforms: map[string]any{"cli": []any{"todo"}}})
	r.add(t, registry.PluginOrigin("p"), made("web_archive", "web"))
	if got := r.offered(t, registry.Request{Platform: "cli"}); !slices.Equal(got, []string{"todo", "web_archive"}) {
		t.Errorf("offered %v", got)
	}
	if got := r.offered(t, registry.Request{Enabled: []string{"todo"}, Platform: "cli"}); !slices.Equal(got, []string{"todo"}) {
		t.Errorf("a literal list got %v", got)
	}
}

func TestPlatform_OfAPlugin(t *testing.T) {
	r := newRegistry(t, coreTable(), registry.Settings{})
	o := registry.PluginOrigin("irc")
	if err := r.Apply(registry.Change{Origin: o, Add: []registry.Addition{{Tool: made("irc_send", "irc")}}, Platforms: []string{"irc"}}); err != nil {
		t.Fatal(err)
	}
	want := slices.Sorted(slices.Values(append(all28(), "irc_send")))
	if got := r.Resolve("hermes-irc"); !slices.Equal(got, want) {
		t.Errorf("hermes-irc = %v", got)
	}
	if got := r.Resolve("hermes-gateway"); !slices.Equal(got, want) {
		t.Errorf("hermes-gateway = %v", got)
	}
	r.Withdraw(o)
	if got := r.Resolve("hermes-irc"); len(got) != 0 {
		t.Errorf("after it left: %v", got)
	}
}

func TestWarnings_NameWhatMeansNothing_SET9(t *testing.T) {
	r := newRegistry(t, coreTable(), registry.Settings{
		Disabled:  []string{"brwser", "web", "late"},
		Servers:   []string{"late"},
		Platforms: map[string]any{"cli": []any{"trminal", "no_mcp"}},
	})
	w := r.Warnings()
	if len(w) != 2 || w[0].Key != "agent.disabled_toolsets" || !strings.Contains(w[0].Text, `nearest is "browser"`) ||
		w[1].Key != "platform_toolsets.cli" || !strings.Contains(w[1].Text, `nearest is "terminal"`) {
		t.Errorf("warnings %q", w)
	}
	if u := r.Unknown([]string{"web", "fiel"}); len(u) != 1 || u[0] != (registry.Unknown{Name: "fiel", Nearest: "file"}) {
		t.Errorf("unknown %v", u)
	}
}

func TestDescribe_SET10(t *testing.T) {
	r := newRegistry(t, tableOf(made("terminal", "terminal"), made("web_search", "web", checked(failing("KEY"))), made("process", "")), registry.Settings{})
	d, ok, err := r.Describe(context.Background(), "debugging")
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	if !d.Composite || d.Count != 2 || !slices.Equal(d.Includes, []string{"terminal", "web", "file"}) || len(d.Tools) != 0 ||
		!slices.Equal(d.Resolved, []string{"terminal", "web_search"}) || d.Unavailable["web_search"] != "KEY is missing" || d.Description == "" {
		t.Errorf("%+v", d)
	}
	if d, _, _ = r.Describe(context.Background(), "web"); d.Composite || !slices.Equal(d.Tools, []string{"web_extract", "web_search"}) {
		t.Errorf("%+v", d)
	}
	if _, ok, _ = r.Describe(context.Background(), "nothing"); ok {
		t.Error("nothing is described")
	}
}
