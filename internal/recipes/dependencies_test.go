package recipes

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var (
	requirement = regexp.MustCompile(`(?m)^(?:require )?\t?(\S+\.\S+) v\S+`)
	dependency  = regexp.MustCompile("(?m)^\\| `([^`]+)` \\|")
)

// Each module that the code imports has its line in docs/dependencies.md, and no line is about a module that isn't there.
func TestDependencies_EachHasItsLine(t *testing.T) {
	required, listed := names(t, "../../go.mod", requirement), names(t, "../../docs/dependencies.md", dependency)
	for _, name := range listed {
		if !slices.Contains(required, name) {
			t.Errorf("docs/dependencies.md lists %s, which go.mod doesn't require", name)
		}
	}
	for target, file := range imports(t, "../..") {
		module := ""
		for _, m := range required {
			if (target == m || strings.HasPrefix(target, m+"/")) && len(m) > len(module) {
				module = m
			}
		}
		if !slices.Contains(listed, module) {
			t.Errorf("%s imports %s: module %q has no line in docs/dependencies.md", file, target, module)
		}
	}
}

func names(t *testing.T, file string, pattern *regexp.Regexp) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, m := range pattern.FindAllStringSubmatch(string(text), -1) {
		out = append(out, m[1])
	}
	if len(out) == 0 {
		t.Fatalf("%s names no modules", file)
	}
	return out
}

// imports gives the import paths of others in the tree, each with a file that has it.
func imports(t *testing.T, root string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(root, func(file string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if name := e.Name(); e.IsDir() {
			if file != root && (name == "testdata" || name == "tools" || name[0] == '.') {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(file, ".go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, i := range f.Imports {
			target, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			if first, _, _ := strings.Cut(target, "/"); strings.Contains(first, ".") && !strings.HasPrefix(target, "github.com/hermes-runtime/") {
				found[target] = file
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
