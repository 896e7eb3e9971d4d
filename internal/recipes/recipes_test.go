package recipes

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The recipes of CONTRIBUTING.md, and what each goes on from.
var recipes = []struct{ title, base string }{
	{"Add a tool: one file", ""},
	{"Add a toolset: one folder and go generate", ""},
	{"Add a setting", "Add a toolset: one folder and go generate"},
	{"Add a backend: one folder and go generate", ""},
	{"Add a channel: one folder and go generate", ""},
	{"Add an approval row", ""},
	{"Add a dependency", ""},
}

func TestRecipes_DoWhatTheySay(t *testing.T) {
	page := readPage(t, "../../CONTRIBUTING.md")
	for _, r := range recipes {
		t.Run(r.title, func(t *testing.T) {
			t.Parallel()
			x := copyTree(t)
			if r.base != "" {
				for _, s := range stepsOf(t, page, r.base) {
					if s.file != "" {
						x.apply(t, s)
					}
				}
			}
			x.carryOut(t, stepsOf(t, page, r.title))
		})
	}
}

func TestRecipes_EachIsTested(t *testing.T) {
	listed := map[string]bool{}
	for _, r := range recipes {
		listed[r.title] = true
	}
	for _, s := range readPage(t, "../../CONTRIBUTING.md") {
		if len(s.steps) > 0 && !listed[s.title] {
			t.Errorf("%q has blocks that nobody carries out", s.title)
		}
	}
}

// Whoever breaks the rules of the house is told so by the tests of the tree they work in.
func TestRecipes_AForbiddenImportIsCaught(t *testing.T) {
	x := copyTree(t)
	for file, text := range map[string]string{
		"toolset/terminal/shortcut.go": "package terminal\n\nimport _ \"github.com/hermes-runtime/hermes/internal/runtime\"\n",
		"internal/redact/shortcut.go":  "package redact\n\nimport _ \"github.com/spf13/cobra\"\n",
	} {
		if err := os.WriteFile(filepath.Join(x.root, filepath.FromSlash(file)), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	exit, out, errs := x.run(t, "go test ./internal/arch")
	for _, want := range []string{
		"toolset/terminal/shortcut.go:3: toolset/terminal may not import internal/runtime",
		"internal/redact/shortcut.go:3: internal/redact may not import github.com/spf13/cobra",
	} {
		if exit != "1" || !strings.Contains(out, want) {
			t.Errorf("exit %s, want 1 and %q\n%s%s", exit, want, out, errs)
		}
	}
}
