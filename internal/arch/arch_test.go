package arch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestArch_TheTreeKeepsTheRules(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	found, err := Check(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range found {
		t.Error(v)
	}
}

// A rule that can't fail is none: each kind of violation is planted and found.
func TestArch_PlantedViolationsAreFound(t *testing.T) {
	imports := func(path string) string { return "package x\n\nimport _ \"" + path + "\"\n" }
	for name, c := range map[string]struct{ file, text, want string }{
		"leaf imports contract":     {"internal/redact/x.go", imports(module + "/tool"), "may not import tool"},
		"service imports service":   {"internal/envs/x.go", imports(module + "/internal/script"), "may not import internal/script"},
		"module imports sibling":    {"toolset/code/x.go", imports(module + "/toolset/terminal"), "its sibling"},
		"module imports edge":       {"toolset/code/x.go", imports(module + "/internal/runtime"), "may not import"},
		"tool imports engine":       {"toolset/code/x.go", imports(module + "/internal/engine"), "only backends"},
		"edge imports module":       {"internal/cli/x.go", imports(module + "/toolset/code"), "may not import"},
		"door imports module":       {"internal/dispatch/x.go", imports(module + "/backend/local"), "may not import"},
		"unlisted third party":      {"internal/cli/x.go", imports("example.org/lib"), "not listed"},
		"third party elsewhere":     {"internal/redact/x.go", imports("github.com/spf13/cobra"), "is listed for"},
		"test library in code":      {"internal/cli/x.go", imports("github.com/google/go-cmp/cmp"), "outside a test"},
		"name outside its folder":   {"internal/cli/x.go", "package x\n\nvar _ = \"docker\"\n", "ask for an ability"},
		"compiled at the start":     {"internal/redact/x.go", "package x\n\nimport \"regexp\"\n\nvar _ = []*regexp.Regexp{regexp.MustCompile(`a`)}\n", "compiled at the start"},
		"a package without a layer": {"internal/util/x.go", "package x\n", "in no layer"},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			file := filepath.Join(root, c.file)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(c.text), 0o644); err != nil {
				t.Fatal(err)
			}
			found, err := Check(root)
			if err != nil || len(found) != 1 || !strings.Contains(found[0].Text, c.want) {
				t.Errorf("got %v, %v; want one that says %q", found, err, c.want)
			}
		})
	}
}
