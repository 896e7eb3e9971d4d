package registry_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/internal/registry"
)

func withServers(t testing.TB, s registry.Settings) env {
	t.Helper()
	r := newRegistry(t, coreTable(), s)
	r.remote(t, "github", "create_issue", "list_issues", "get_file_contents")
	r.remote(t, "jira", "delete_issue", "get_x")
	r.add(t, registry.PluginOrigin("p"), made("x_list", "p"), made("kv_tool", "p"), made("bye_bye", "p"), made("send-mail", "p"))
	return r
}

// NAM-1, NAM-3, NAM-4, NAM-5: what a name stands for; "" = nothing.
var repairs = []struct{ asked, want string }{
	// NAM-1
	{"read_file", "read_file"}, {"bye_bye", "bye_bye"}, {"mcp_github_create_issue", "mcp_github_create_issue"},
	// NAM-3
	{"ReadFile", "read_file"}, {"web-search", "web_search"}, {"websearch", "web_search"}, {"BrowserClick_tool", "browser_click"},
	{"skills_listskills_list", "skills_list"}, {"READ_FILE", "read_file"}, {"functions.read_file", "read_file"},
	{"functions.terminal:3", "terminal"}, {"default_api.functions.web_search", "web_search"}, {"tools/patch", "patch"},
	{`terminal"command"`, "terminal"}, {"todo<|channel|>commentary", "todo"}, {"terminal>ls", "terminal"}, {`"read_file"`, "read_file"},
	{"<todo>", "todo"}, {"terminalterminalterminal", "terminal"}, {"read_file read_file", "read_file"}, {"kv", "kv_tool"}, {"KvTool", "kv_tool"},
	{"send_mail", "send-mail"}, {" read_file\n", "read_file"}, {"read file", "read_file"}, {"ByeBye", "bye_bye"},
	// NAM-4
	{"create_issue", "mcp_github_create_issue"}, {"CreateIssue", "mcp_github_create_issue"}, {"github.create_issue", "mcp_github_create_issue"},
	{"mcp__github__create_issue", "mcp_github_create_issue"}, {"jira/get_x", "mcp_jira_get_x"},
	// NAM-5
	{"red_file", "read_file"}, {"read_flie", "read_file"}, {"readd_file", "read_file"}, {"serch_files", "search_files"},
	{"terminall", "terminal"}, {"termnial", "terminal"}, {"read_ffile", "read_file"}, {"readx_file", "read_file"}, {"redfile", "read_file"},
	{"mcp_github_creat_issue", "mcp_github_create_issue"}, {"github.list_issue", "mcp_github_list_issues"},
	// no typo
	{"set_x", ""}, {"mcp_jira_set_x", ""}, {"x_link", ""}, {"ead_file", ""}, {"read_ile", ""}, {"sread_file", ""}, {"read_xfile", ""},
	{"erad_file", ""}, {"mcp_gihtub_create_issue", ""}, {"mcp_jira_create_issue", ""}, {"creat_issue", ""}, {"rd_file", ""},
	{"read_file2", ""}, {"readе_file", ""}, {"", ""}, {"<>", ""}, {"\"", ""}, {"functions.", ""}, {"nothing_like_it", ""}, {"\xff\xfe", ""},
	{strings.Repeat("read_file", 100), ""},
}

func TestRepair_Names_NAM1_NAM3_NAM4_NAM5(t *testing.T) {
	r := withServers(t, registry.Settings{})
	scope := r.Scope(registry.Request{})
	for _, c := range repairs {
		res := r.Repair(c.asked, scope)
		got := ""
		if res.Entry != nil {
			got = res.Entry.Spec.Name
		}
		if got != c.want {
			t.Errorf("%q stands for %q, want %q", c.asked, got, c.want)
		}
		if (res.Repair != "") != (got != "" && got != c.asked) {
			t.Errorf("%q: repair %q", c.asked, res.Repair)
		}
		if (res.Message() == "") != (got != "") {
			t.Errorf("%q: message %q", c.asked, res.Message())
		}
	}
}

func TestRepair_TwoMatchesAreNone_NAM6(t *testing.T) {
	r := withServers(t, registry.Settings{})
	r.remote(t, "gitlab", "create_issue", "create-issue")
	r.remote(t, "fs", "read_file")
	r.add(t, registry.PluginOrigin("p"), made("readFile", "p"), made("send_mial", "p"), made("send_mails", "p"))
	scope := r.Scope(registry.Request{})
	for _, asked := range []string{"create_issue", "READFILE", "gitlab.create.issue", "send_mails_", "send_mal"} {
		if res := r.Repair(asked, scope); res.Entry != nil && asked != "send_mails_" {
			t.Errorf("%q stands for %s", asked, res.Name)
		}
	}
	if res := r.Repair("send_mails_", scope); res.Name != "send_mails" {
		t.Errorf("got %+v", res)
	}
}

// NAM-4: a tool of ours comes before a server's of that bare name.
func TestRepair_OursBeforeRemote_NAM4(t *testing.T) {
	r := newRegistry(t, coreTable(), registry.Settings{})
	r.remote(t, "fs", "read_file", "ReadFile2")
	scope := r.Scope(registry.Request{})
	if res := r.Repair("ReadFile", scope); res.Name != "read_file" {
		t.Errorf("got %+v", res)
	}
	if res := r.Repair("readfile2", scope); res.Name != "mcp_fs_ReadFile2" {
		t.Errorf("got %+v", res)
	}
}

// NAM-2, NAM-6: a hidden tool is said to be so, and never replaced by a neighbour.
func TestRepair_HiddenToolIsNotReplaced_NAM2_NAM6(t *testing.T) {
	r := withServers(t, registry.Settings{Disabled: []string{"file", "x_list"}, Platforms: map[string]any{"cli": []any{"web"}}})
	r.add(t, registry.PluginOrigin("q"), made("x_link", "q"), made("reads_file", "q"))
	for _, c := range []struct {
		asked, hidden, reason string
		req                   registry.Request
	}{
		{"read_file", "read_file", "agent.disabled_toolsets: file", registry.Request{}},
		{"ReadFile", "read_file", "agent.disabled_toolsets: file", registry.Request{}},
		{"XList", "x_list", "agent.disabled_toolsets: x_list", registry.Request{}},
		{"todo", "todo", "disabled for this session (todo)", registry.Request{Disabled: []string{"todo"}}},
		{"terminal", "terminal", "platform_toolsets.cli", registry.Request{Platform: "cli"}},
		{"terminal", "terminal", "not among", registry.Request{Enabled: []string{"web"}}},
		{"create_issue", "mcp_github_create_issue", "not among", registry.Request{Enabled: []string{"web"}}},
	} {
		res := r.Repair(c.asked, r.Scope(c.req))
		if res.Entry != nil || res.Hidden != c.hidden || !strings.Contains(res.Message(), "not available here") || !strings.Contains(res.Reason, c.reason) {
			t.Errorf("%q: %+v", c.asked, res)
		}
		if len(res.Similar) > 0 {
			t.Errorf("%q: a neighbour is suggested: %v", c.asked, res.Similar)
		}
	}
}

func TestRepair_UnknownNameIsAnsweredWithWhatFits_NAM7(t *testing.T) {
	r := newRegistry(t, coreTable(), registry.Settings{})
	r.add(t, registry.Embedder, made("web_searcher", "x", checked(failing("KEY"))))
	if _, err := r.Tools(context.Background()); err != nil {
		t.Fatal(err)
	}
	res := r.Repair("search_web", r.Scope(registry.Request{}))
	if res.Entry != nil || len(res.Similar) != 3 || res.Similar[0] != "web_search" || slices.Contains(res.Similar, "web_searcher") {
		t.Errorf("similar %v", res.Similar)
	}
	if !slices.Equal(res.Offered, all28()) {
		t.Errorf("offered %v", res.Offered)
	}
	for _, word := range []string{`"search_web"`, "web_search", "skill_view"} {
		if !strings.Contains(res.Message(), word) {
			t.Errorf("message %q doesn't say %s", res.Message(), word)
		}
	}
	for i := range 41 {
		r.add(t, registry.Embedder, made(fmt.Sprint("t", i), "many"))
	}
	res = r.Repair("search_web", r.Scope(registry.Request{}))
	if len(res.Offered) != 0 || len(res.Similar) != 3 {
		t.Errorf("%+v", res)
	}
	if got := r.Repair(strings.Repeat("é", 5000), r.Scope(registry.Request{})); len([]rune(got.Message())) > 150 {
		t.Errorf("a long name makes a message of %d characters", len([]rune(got.Message())))
	}
}

func FuzzRepair(f *testing.F) {
	for _, c := range repairs {
		f.Add(c.asked)
	}
	r := withServers(f, registry.Settings{Disabled: []string{"terminal"}})
	scope := r.Scope(registry.Request{})
	f.Fuzz(func(t *testing.T, asked string) {
		res := r.Repair(asked, scope)
		switch {
		case res.Entry != nil && !scope.Has(res.Entry.Spec.Name):
			t.Errorf("%q runs %s, which is out of scope", asked, res.Name)
		case res.Entry != nil && res.Hidden != "":
			t.Errorf("%q is found and hidden", asked)
		case res.Entry == nil && res.Message() == "":
			t.Errorf("%q: no answer", asked)
		}
		if again := r.Repair(res.Name, scope); res.Entry != nil && (again.Entry != res.Entry || again.Repair != "") {
			t.Errorf("%q → %q isn't stable", asked, res.Name)
		}
	})
}
