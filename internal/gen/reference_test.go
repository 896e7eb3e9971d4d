package gen_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	_ "github.com/hermes-runtime/hermes/backend/all"
	_ "github.com/hermes-runtime/hermes/channel/all"
	_ "github.com/hermes-runtime/hermes/internal/chat" // those of the screen
	"github.com/hermes-runtime/hermes/internal/config"
	"github.com/hermes-runtime/hermes/internal/gen"
	_ "github.com/hermes-runtime/hermes/internal/runtime"
	_ "github.com/hermes-runtime/hermes/provider/all"
	"github.com/hermes-runtime/hermes/tool"
	_ "github.com/hermes-runtime/hermes/toolset/all"
)

func TestReference_PagesAreFresh(t *testing.T) {
	root, err := gen.Root()
	if err != nil {
		t.Fatal(err)
	}
	pages, err := gen.Pages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range pages {
		if got, err := os.ReadFile(filepath.Join(root, name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s is stale: run go generate ./... (%v)\n%s", name, err, cmp.Diff(string(want), string(got)))
		}
	}
}

func TestReference_PagesAreTheSameEachTime(t *testing.T) {
	first, err := gen.Pages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		again, err := gen.Pages(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(first, again); diff != "" {
			t.Fatal(diff)
		}
	}
}

func TestReference_NamesEveryToolAndSetting(t *testing.T) {
	pages, err := gen.Pages(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tools := string(pages["docs/tools.md"])
	for _, e := range tool.Default().Entries() {
		if !strings.Contains(tools, "\n## "+e.Tool.Spec().Name+"\n") {
			t.Errorf("docs/tools.md has no section for %s", e.Tool.Spec().Name)
		}
	}
	settings := regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(string(pages["docs/config.md"]), -1)
	var listed, want []string
	for _, m := range settings {
		listed = append(listed, m[1])
	}
	for _, k := range config.Keys(config.Registered()) {
		want = append(want, k.Path)
	}
	if diff := cmp.Diff(slices.Compact(want), listed); diff != "" {
		t.Errorf("settings of docs/config.md: %s", diff)
	}
}
