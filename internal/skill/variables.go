package skill

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hermes-runtime/hermes/internal/config"
	"github.com/hermes-runtime/hermes/internal/secret"
)

// Variable is one that a skill needs from its user.
type Variable struct {
	Name        string `json:"name"`
	Prompt      string `json:"prompt,omitempty"` // what to ask the user
	Help        string `json:"help,omitempty"`   // where to get it
	RequiredFor string `json:"required_for,omitempty"`
	Optional    bool   `json:"optional,omitempty"`
}

// Refused is a variable that a skill declares and doesn't get.
type Refused struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// declaring are the keys that variables stand under.
var declaring = []string{"required_environment_variables", "setup.collect_secrets", "prerequisites.env_vars"}

// variables reads what a skill declares, each name once, whichever way it is written.
func (r *reader) variables() (wanted []Variable, refused []Refused, warnings []string) {
	known := map[string]bool{}
	for _, key := range declaring {
		v, _ := r.doc.Get(key)
		for _, item := range items(v) {
			d, ok := declaration(item)
			switch {
			case !ok || !config.IsVariable(d.Name):
				warnings = append(warnings, fmt.Sprintf("%s: %q is no name of a variable and was ignored", key, d.Name))
			case known[d.Name]:
			default:
				known[d.Name] = true
				if why := refusal(d.Name); why != "" {
					refused = append(refused, Refused{d.Name, why})
				} else {
					wanted = append(wanted, d)
				}
			}
		}
	}
	return wanted, refused, warnings
}

// items makes a list of what may be one thing.
func items(v any) []any {
	switch v := v.(type) {
	case nil:
		return nil
	case []any:
		return v
	}
	return []any{v}
}

// declaration reads a name, or an object that has one.
func declaration(v any) (Variable, bool) {
	m, ok := v.(map[string]any)
	if !ok {
		s, ok := v.(string)
		return Variable{Name: strings.TrimSpace(s)}, ok
	}
	text := func(keys ...string) string {
		for _, k := range keys {
			if v, ok := m[k]; ok && v != nil {
				return strings.TrimSpace(fmt.Sprint(v))
			}
		}
		return ""
	}
	optional, _ := m["optional"].(bool)
	return Variable{Name: text("name", "env_var"), Prompt: text("prompt"), Help: text("help"), RequiredFor: text("required_for"), Optional: optional}, true
}

// loading are variables by which a program is made to load or run something before its own work, or to find another program under a
// name. One that ends in * stands for all that begin so.
var loading = []string{
	"LD_*", "DYLD_*", "_RLD_*", "LIBPATH", "SHLIB_PATH", "GCONV_PATH", "LOCPATH", "NLSPATH", "GLIBC_TUNABLES",
	"PATH", "PATHEXT", "HOME", "SHELL", "IFS", "ENV", "BASH_ENV", "BASH_FUNC_*", "BASH_LOADABLES_PATH", "BASHOPTS", "SHELLOPTS", "PS0", "PS1", "PS2", "PS4",
	"PROMPT_COMMAND", "ZDOTDIR", "FPATH", "CDPATH",
	"PYTHONSTARTUP", "PYTHONPATH", "PYTHONHOME", "PYTHONINSPECT", "PYTHONBREAKPOINT", "PYTHONWARNINGS", "PYTHONUSERBASE", "PYTHONEXECUTABLE",
	"PYTHONPLATLIBDIR", "PYTHONPYCACHEPREFIX", "PYTHON_PRESITE", "NODE_OPTIONS", "NODE_PATH", "NODE_REPL_EXTERNAL_MODULE", "NPM_CONFIG_*", "npm_config_*",
	"BUN_OPTIONS", "PERL5LIB", "PERL5OPT", "PERL5DB", "PERLLIB", "RUBYLIB", "RUBYOPT", "GEM_HOME", "GEM_PATH", "BUNDLE_GEMFILE", "LUA_INIT*", "LUA_PATH*",
	"LUA_CPATH*", "PHPRC", "PHP_INI_SCAN_DIR", "R_PROFILE*", "R_ENVIRON*", "JULIA_LOAD_PATH", "JULIA_DEPOT_PATH", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS",
	"JDK_JAVA_OPTIONS", "CLASSPATH", "MAVEN_OPTS", "GRADLE_OPTS", "DOTNET_STARTUP_HOOKS", "DOTNET_ADDITIONAL_DEPS", "CORECLR_*", "COR_*", "GOFLAGS",
	"RUSTC_WRAPPER", "RUSTC", "RUSTFLAGS", "MAKEFLAGS", "MAKEFILES", "OPENSSL_CONF", "OPENSSL_ENGINES", "OPENSSL_MODULES", "CURL_HOME",
	"GIT_SSH", "GIT_SSH_COMMAND", "GIT_EXTERNAL_DIFF", "GIT_PAGER", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "GIT_ASKPASS", "GIT_EXEC_PATH", "GIT_CONFIG*",
	"GIT_PROXY_COMMAND", "GIT_TEMPLATE_DIR", "SSH_ASKPASS", "SUDO_ASKPASS", "EDITOR", "VISUAL", "PAGER", "MANPAGER", "LESSOPEN", "LESSCLOSE", "BROWSER",
}

// refusal says why a skill doesn't get a variable, "" if it does.
func refusal(name string) string {
	switch {
	case strings.HasPrefix(strings.ToUpper(strings.TrimLeft(name, "_")), "HERMES_"):
		return "it is one of hermes's own"
	case secret.IsOwn(name):
		return "it is a credential or an address of hermes itself; the user alone can let it through, by terminal.env_passthrough"
	case slices.ContainsFunc(loading, func(row string) bool { return covers(row, name) }):
		return "it changes what other programs load and run"
	}
	return ""
}

func covers(row, name string) bool {
	if head, many := strings.CutSuffix(row, "*"); many {
		return strings.HasPrefix(name, head)
	}
	return row == name
}
