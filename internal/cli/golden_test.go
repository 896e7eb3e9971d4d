package cli_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

var update = flag.Bool("update", false, "write the golden files anew")

// dialects are the forms of definitions, and where a definition of that form has its name and its parameters.
var dialects = map[string]struct{ name, parameters string }{
	"openai":    {"function.name", "function.parameters"},
	"anthropic": {"name", "input_schema"},
	"gemini":    {"name", "parameters"},
	"mcp":       {"name", "inputSchema"},
}

func TestSchema_IsTheGoldenFile(t *testing.T) { // DEF-5, DEF-12
	if runtime.GOOS == "windows" {
		t.Skip("there the tools that run commands are not on offer")
	}
	for dialect := range dialects {
		t.Run(dialect, func(t *testing.T) {
			t.Parallel()
			got, file := schemas(t, dialect), filepath.Join("testdata", "golden", dialect+".json")
			if *update {
				write(t, file, string(got))
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want) {
				t.Errorf("%s differs; if that is meant: go test ./internal/cli -run TestSchema -update\n%s", file, firstDifference(want, got))
			}
		})
	}
}

func TestSchema_AnIndependentValidatorTakesEach(t *testing.T) { // DEF-9, DEF-12
	for dialect, at := range dialects {
		b, err := os.ReadFile(filepath.Join("testdata", "golden", dialect+".json"))
		if err != nil {
			t.Fatal(err)
		}
		var list []map[string]any
		if err := json.Unmarshal(b, &list); err != nil || len(list) == 0 {
			t.Fatalf("%s: %d definitions, %v", dialect, len(list), err)
		}
		for _, d := range list {
			name := fmt.Sprint(member(d, at.name))
			c := jsonschema.NewCompiler()
			c.DefaultDraft(jsonschema.Draft2020)
			if err := c.AddResource("tool.json", member(d, at.parameters)); err != nil {
				t.Errorf("%s, %s: %v", dialect, name, err)
				continue
			}
			s, err := c.Compile("tool.json")
			if err != nil {
				t.Errorf("%s, %s: %v", dialect, name, err)
				continue
			}
			if err := s.Validate("no object"); err == nil {
				t.Errorf("%s, %s: arguments that are no object pass", dialect, name)
			}
		}
	}
}

// schemas runs hermes without the tools of the tests.
func schemas(t *testing.T, dialect string) []byte {
	t.Helper()
	c := exec.Command(os.Args[0], "tools", "schema", "--disable", "lab", "--format", dialect)
	c.Env = append(os.Environ(), playHermes+"=1", "HERMES_HOME="+t.TempDir(), "HERMES_PROFILE=")
	var errs bytes.Buffer
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, errs.String())
	}
	return out
}

func member(v any, path string) any {
	for step := range strings.SplitSeq(path, ".") {
		m, _ := v.(map[string]any)
		v = m[step]
	}
	return v
}

func firstDifference(want, got []byte) string {
	a, b := strings.Split(string(want), "\n"), strings.Split(string(got), "\n")
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) || a[i] != b[i] {
			return fmt.Sprintf("line %d\n- %s\n+ %s", i+1, strings.Join(a[i:min(i+1, len(a))], ""), strings.Join(b[i:min(i+1, len(b))], ""))
		}
	}
	return ""
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
