package config

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

type settings struct {
	Timeout time.Duration     `yaml:"timeout" default:"180" env:"TERMINAL_TIMEOUT" min:"1" help:"seconds"`
	Backend string            `yaml:"backend" default:"local" env:"TERMINAL_ENV"`
	Mode    string            `yaml:"mode" default:"auto" enum:"auto|always|never"`
	Calls   int               `yaml:"calls" default:"50" min:"0" max:"100"`
	List    []string          `yaml:"list"`
	Env     map[string]string `yaml:"env" env:"TERMINAL_DOCKER_ENV"`
	Keep    bool              `yaml:"keep" default:"true"`
	Limits  struct {
		Memory int `yaml:"memory_mb"`
	} `yaml:"limits"`
}

func sections() []Section {
	return []Section{{Path: "terminal", New: func() any { return &settings{} }}}
}

func env(m map[string]string) func(string) (string, bool) {
	return func(n string) (string, bool) { v, ok := m[n]; return v, ok }
}

// CFG-1: the file, else the environment, else the default.
func TestDecode_FileBeatsEnvironmentBeatsDefault(t *testing.T) {
	d, err := Parse("c.yaml", "terminal:\n  timeout: \"20\"\n  list: one\n  limits: {memory_mb: 5}\n",
		env(map[string]string{"TERMINAL_TIMEOUT": "7", "TERMINAL_ENV": "docker", "TERMINAL_DOCKER_ENV": `{"A":"1"}`}))
	if err != nil {
		t.Fatal(err)
	}
	var got settings
	if err := d.Decode("terminal", &got); err != nil {
		t.Fatal(err)
	}
	want := settings{Timeout: 20 * time.Second, Backend: "docker", Mode: "auto", Calls: 50, List: []string{"one"}, Env: map[string]string{"A": "1"}, Keep: true}
	want.Limits.Memory = 5
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// XC-9, CFG-1: a bad value is one line naming place, key, value and what is allowed.
func TestDecode_BadValueNamesPlaceKeyAndWhatIsAllowed(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"terminal:\n  timeout: soon\n", `c.yaml:2:12: terminal.timeout: "soon" is not a number of seconds, at least 1`},
		{"terminal:\n  timeout: 0\n", "c.yaml:2:12: terminal.timeout: 0 is not a number, at least 1"},
		{"terminal:\n  calls: 101\n", "c.yaml:2:10: terminal.calls: 101 is not a whole number from 0 to 100"},
		{"terminal:\n  calls: 1.5\n", "c.yaml:2:10: terminal.calls: 1.5 is not a whole number from 0 to 100"},
		{"terminal:\n  mode: fast\n", `c.yaml:2:9: terminal.mode: "fast" is not one of auto, always, never`},
		{"terminal:\n  keep: maybe\n", `c.yaml:2:9: terminal.keep: "maybe" is neither true nor false`},
		{"terminal:\n  env: [a]\n", "c.yaml:2:8: terminal.env: [a] is not a mapping of keys"},
		{"terminal: 3\n", "c.yaml:1:11: terminal: must be a mapping of keys"},
		{"terminal:\n  limits: 3\n", "c.yaml:2:11: terminal.limits: must be a mapping of keys"},
	} {
		d, err := Parse("c.yaml", c.text, nil)
		if err != nil {
			t.Fatal(err)
		}
		err = d.Decode("terminal", &settings{})
		if err == nil || err.Error() != c.want {
			t.Errorf("%q: got %v, want %s", c.text, err, c.want)
		}
	}
}

// A value under a secret's name is in no error, wherever it stands and however it is wrong.
func TestErrors_ShowNoSecret(t *testing.T) {
	type server struct {
		Token int `yaml:"auth_token"`
	}
	type keys struct {
		APIKey  int               `yaml:"api_key"`
		Env     map[string]int    `yaml:"env" env:"SOME_ENV"`
		Servers map[string]server `yaml:"servers"`
		Plain   map[string]string `yaml:"plain"`
		Many    []int             `yaml:"passwords"`
		FromEnv int               `yaml:"token" env:"MY_TOKEN"`
	}
	const value = "hunter2-hunter2"
	for _, text := range []string{
		"a:\n  api_key: " + value + "\n", "a:\n  env: {MY_SECRET: " + value + "}\n", "a:\n  servers: {s: {auth_token: " + value + "}}\n",
		"a:\n  plain: [{API_KEY: " + value + "}]\n", "a:\n  passwords: [" + value + "]\n", "a:\n  env: '{\"MY_SECRET\": " + value + "'\n", "a: {}\n",
	} {
		d, err := Parse("c.yaml", text, env(map[string]string{"MY_TOKEN": value}))
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Decode("a", &keys{}); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", text, err)
		}
	}
	d, _ := Parse("c.yaml", "a:\n  api_key: "+value+"\n", nil)
	if err := d.Decode("a", &keys{}); err == nil || err.Error() != "c.yaml:2:12: a.api_key: the value (not shown, for the key names a secret) is not a whole number" {
		t.Errorf("got %v", err)
	}
	if err := Set(t.Context(), filepath.Join(t.TempDir(), "c.yaml"), "a.api_key", "["+value); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("Set: %v", err)
	}
}

func TestParse_ErrorsAreOneLineWithPlace(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"a: 1\na: 2\n", "c.yaml:2:1: mapping key \"a\" already defined"},
		{"a:\n  b: 1\n  b: 2\n", "c.yaml:3:3: mapping key \"b\" already defined"},
		{"- a\n", "must be a mapping"},
		{"a: [1\n", "c.yaml:1:"},
		{"a: 1\n---\nb: 2\n", "second YAML document"},
	} {
		_, err := Parse("c.yaml", c.text, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: got %v, want %s", c.text, err, c.want)
		}
	}
}

// SET-9: a misspelt or misplaced key is reported with the nearest one.
func TestCheck_UnknownAndMisplacedKeysAreNamed(t *testing.T) {
	d, err := Parse("c.yaml", "terminal:\n  timeuot: 3\ncalls: 3\nlater:\n  x: 1\nquite_different: 1\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range d.Check(sections(), []string{"later"}) {
		got = append(got, p.Error())
	}
	want := []string{
		"c.yaml:2:3: terminal.timeuot: unknown key; did you mean terminal.timeout?",
		"c.yaml:3:1: calls: unknown key; did you mean terminal.calls? It is in the wrong place",
		"c.yaml:6:1: quite_different: unknown key, and there is none like it; `hermes config get` lists those that there are",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSet_KeepsEveryOtherByte(t *testing.T) {
	for _, c := range []struct{ name, old, path, value, want string }{
		{"empty file", "", "terminal.timeout", "5", "terminal:\n  timeout: 5\n"},
		{"scalar with comment", "# top\nterminal:\n    timeout: 180   # long\n    x: 'a'\n", "terminal.timeout", "5", "# top\nterminal:\n    timeout: 5   # long\n    x: 'a'\n"},
		{"quoted", "a: \"x # y\" # c\n", "a", "z", "a: z # c\n"},
		{"missing key", "terminal:\n    x: 1\n\nb: 2\n", "terminal.timeout", "5", "terminal:\n    timeout: 5\n    x: 1\n\nb: 2\n"},
		{"null", "a:\nb: 1\n", "a", "5", "a: 5\nb: 1\n"},
		{"no final newline", "a: 1", "b", "2", "a: 1\nb: 2\n"},
		{"deep", "a: 1\n", "b.c.d", "true", "a: 1\nb:\n  c:\n    d: true\n"},
		{"flow list", "a: [x, 'y']\n", "a", "[z]", "a: [z]\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "config.yaml")
			if c.old != "" {
				if err := os.WriteFile(file, []byte(c.old), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := Set(context.Background(), file, c.path, c.value); err != nil {
				t.Fatal(err)
			}
			got, _ := os.ReadFile(file)
			if diff := cmp.Diff(c.want, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSet_RefusesWhatItCantEditExactly(t *testing.T) {
	for _, c := range []struct{ old, path, value string }{
		{"a: {b: 1}\n", "a.c", "2"},
		{"a:\n  - x\n", "a", "2"},
		{"a: |\n  text\n", "a", "2"},
		{"a: 1\n", "a.b", "2"},
		{"a: 1\n", "b", "[x"},
		{"a: &x 1\nb: *x\n", "b", "2\n"},
	} {
		file := filepath.Join(t.TempDir(), "config.yaml")
		if err := os.WriteFile(file, []byte(c.old), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := Set(context.Background(), file, c.path, c.value); err == nil {
			got, _ := os.ReadFile(file)
			t.Errorf("%q: %s = %s was accepted, file is now %q", c.old, c.path, c.value, got)
		}
		if got, _ := os.ReadFile(file); string(got) != c.old {
			t.Errorf("a refused edit changed the file to %q", got)
		}
	}
}

func TestAdd_AppendsOneItem(t *testing.T) {
	for _, c := range []struct{ name, old, want string }{
		{"empty", "", "command_allowlist:\n  - \"x y\"\n"},
		{"block", "command_allowlist:\n- a # why\n- b\nz: 1\n", "command_allowlist:\n- a # why\n- b\n- \"x y\"\nz: 1\n"},
		{"flow", "command_allowlist: [a]\n", "command_allowlist: [a, \"x y\"]\n"},
		{"empty flow", "command_allowlist: []\n", "command_allowlist: [\"x y\"]\n"},
		{"null", "command_allowlist:\nz: 1\n", "command_allowlist:\n  - \"x y\"\nz: 1\n"},
		{"there already", "command_allowlist:\n  - x y\n", "command_allowlist:\n  - x y\n"},
		{"maps", "command_allowlist:\n  - key: a\n    exact: b\n", "command_allowlist:\n  - key: a\n    exact: b\n  - \"x y\"\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "config.yaml")
			if err := os.WriteFile(file, []byte(c.old), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := Add(context.Background(), file, "command_allowlist", "x y"); err != nil {
				t.Fatal(err)
			}
			got, _ := os.ReadFile(file)
			if diff := cmp.Diff(c.want, string(got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDotEnv_ReadsNamesQuotesAndComments(t *testing.T) {
	file := filepath.Join(t.TempDir(), ".env")
	text := "# c\nexport A=1\nB='x y'\nC=\"q\\\"r\" \nD=plain # note\nE=\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := LoadDotEnv(file)
	want := map[string]string{"A": "1", "B": "x y", "C": `q"r`, "D": "plain", "E": ""}
	if err != nil || !cmp.Equal(want, got) {
		t.Errorf("%v: %s", err, cmp.Diff(want, got))
	}
	if err := os.WriteFile(file, []byte("A=1\nnonsense\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadDotEnv(file); err == nil || !strings.Contains(err.Error(), ":2:1:") {
		t.Errorf("a bad line gave %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("a: 1\nb:\n  - x\n", "a", "2")
	f.Add("a: {b: [1, 2]}\n", "a.b", "[x]")
	f.Add("# only\n", "k.l", "'q'")
	f.Fuzz(func(t *testing.T, text, path, value string) {
		d, err := Parse("c.yaml", text, nil)
		if err != nil {
			return
		}
		_ = d.Decode("a", &settings{})
		d.Check(sections(), nil)
		if path == "" || strings.Contains(path, "..") {
			return
		}
		edited, err := splice(d, text, path, value)
		if err != nil {
			return
		}
		_ = (&edit{file: "c.yaml", path: path}).verify(d, edited) // must not panic on whatever came out
	})
}
