package skill

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/internal/config"
)

func TestParse_Declarations_SKL1_SKL5(t *testing.T) {
	m, body, err := Parse("SKILL.md", "\ufeff---\r\nname: my skill\r\ndescription: >\r\n  does\r\n  things\r\ncategory: dev\r\nallowed-tools: terminal, read_file\r\nversion: 3\r\n"+
		"unknown: {a: [1]}\r\nrequired_environment_variables:\r\n- A_KEY\r\n- {name: B_KEY, prompt: the b, help: at b.example, required_for: all}\r\n- {env_var: C_KEY, optional: true}\r\n- 1bad\r\n- 7\r\n- A_KEY\r\n"+
		"setup:\r\n  collect_secrets:\r\n  - {env_var: D_KEY, prompt: d}\r\nprerequisites:\r\n  env_vars: [E_KEY]\r\n--- \r\n# Text\r\n---\r\n")
	if err != nil {
		t.Fatal(err)
	}
	if m.Name != "my skill" || m.Description != "does things" || m.Category != "dev" || !slices.Equal(m.Tools, []string{"terminal", "read_file"}) || body != "# Text\n---\n" {
		t.Errorf("%+v %q", m, body)
	}
	want := []Variable{{Name: "A_KEY"}, {Name: "B_KEY", Prompt: "the b", Help: "at b.example", RequiredFor: "all"}, {Name: "C_KEY", Optional: true}, {Name: "D_KEY", Prompt: "d"}, {Name: "E_KEY"}}
	if !slices.Equal(m.Variables, want) {
		t.Errorf("%+v", m.Variables)
	}
	if len(m.Warnings) != 2 || !strings.Contains(m.Warnings[0], `"1bad"`) {
		t.Errorf("warnings %q", m.Warnings)
	}
	for _, form := range []string{"A_KEY", "[A_KEY]", "{name: A_KEY}", "[{env_var: A_KEY}]"} {
		m, _, err := Parse("SKILL.md", "---\ndescription: x\nrequired_environment_variables: "+form+"\n---\n")
		if err != nil || len(m.Variables) != 1 || m.Variables[0].Name != "A_KEY" {
			t.Errorf("%s: %+v %v", form, m.Variables, err)
		}
	}
}

func TestParse_WhatIsBrokenHasALine_SKL3(t *testing.T) {
	for name, tc := range map[string]struct {
		text string
		line int
		says string
	}{
		"no front matter":    {"# Text\n", 1, "begins with front matter"},
		"empty":              {"", 1, "begins with front matter"},
		"no end":             {"---\nname: x\n", 1, "no end"},
		"no YAML":            {"---\nname: x\ndescription: [a\n---\n", 3, ""},
		"no mapping":         {"---\n- a\n---\n", 2, "mapping"},
		"a list as a name":   {"---\ndescription: x\nname:\n- a\n---\n", 4, "must be text"},
		"a name with a path": {"---\n\nname: a/b\ndescription: x\n---\n", 3, "no name"},
		"a long name":        {"---\nname: " + strings.Repeat("a", 65) + "\ndescription: x\n---\n", 2, "64"},
		"no description":     {"---\nname: x\n---\n", 1, "there is none"},
		"a long description": {"---\nname: x\ndescription: " + strings.Repeat("é", 1025) + "\n---\n", 3, "1025 characters"},
	} {
		_, _, err := Parse("x/SKILL.md", tc.text)
		p, ok := errors.AsType[*config.Problem](err)
		if !ok || p.Line != tc.line || p.File != "x/SKILL.md" || !strings.Contains(p.Text, tc.says) {
			t.Errorf("%s: %v, want line %d and %q", name, err, tc.line, tc.says)
		}
	}
}

func TestParse_WhatNoSkillGets_SKL7(t *testing.T) {
	for _, name := range []string{"LD_PRELOAD", "DYLD_INSERT_LIBRARIES", "BASH_ENV", "PYTHONSTARTUP", "NODE_OPTIONS", "PATH", "GIT_SSH_COMMAND", "PERL5OPT", "RUBYOPT",
		"JAVA_TOOL_OPTIONS", "HERMES_HOME", "_HERMES_FORCE_X", "hermes_x", "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "TELEGRAM_BOT_TOKEN", "GITHUB_TOKEN", "SUDO_PASSWORD"} {
		m, _, err := Parse("SKILL.md", fmt.Sprintf("---\ndescription: x\nrequired_environment_variables: [%s, MY_KEY]\n---\n", name))
		if err != nil || len(m.Variables) != 1 || len(m.Refused) != 1 || m.Refused[0].Name != name || m.Refused[0].Reason == "" {
			t.Errorf("%s: %+v %+v %v", name, m.Variables, m.Refused, err)
		}
	}
	for _, name := range []string{"MY_API_KEY", "STRIPE_KEY", "AWS_PROFILE", "PYTHONANYWHERE_TOKEN", "KUBECONFIG", "GIT_TOKEN", "PATHFINDER_KEY"} {
		if why := refusal(name); why != "" {
			t.Errorf("%s is refused: %s", name, why)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"", "---\n---\n", "---\nname: x\ndescription: y\n---\ntext", "---\nrequired_environment_variables: [A, {name: B}, 3, null]\ndescription: x\n---\n",
		"---\nsetup: {collect_secrets: {env_var: A}}\nprerequisites: 3\n---", "---\na: &a [*a]\n---\n", "---\nname: !!binary x\n---", "--- \n...\n", "---\nname: |\n  a\n  b\n---\n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, body, err := Parse("SKILL.md", text)
		if err != nil {
			return
		}
		if m.Description == "" || m.Name != "" && !isName(m.Name) || !strings.HasSuffix(strings.ReplaceAll(text, "\r\n", "\n"), body) {
			t.Errorf("%q gives %+v and %q", text, m, body)
		}
		for _, v := range m.Variables {
			if !config.IsVariable(v.Name) || refusal(v.Name) != "" {
				t.Errorf("%q lets %q through", text, v.Name)
			}
		}
	})
}
