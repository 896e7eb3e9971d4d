package stub

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestSource_EqualOptionsGiveEqualBytes(t *testing.T) {
	o := Options{Available: []string{"terminal", "read_file"}, Reasons: map[string]string{"patch": "x", "web_search": "y"}}
	if !bytes.Equal(Source(o), Source(o)) {
		t.Error("they differ")
	}
}

func TestSource_HoldsWhatIsOfferedOnly(t *testing.T) { // XA-1, XA-3, XT-6
	text := string(Source(Options{Available: []string{"terminal", "mcp_x", "execute_code"}}))
	for part, want := range map[string]bool{
		"def terminal(command, timeout=None, workdir=None):": true, "def read_file(": false, "def execute_code(": false, "mcp_x": false,
		"background": false, "pty": false, "watch_patterns": false,
	} {
		if strings.Contains(text, part) != want {
			t.Errorf("%q: %v", part, !want)
		}
	}
	if none := string(Source(Options{Available: []string{}})); strings.Contains(none, "\ndef terminal(") || !strings.Contains(none, "_TOOLS = ()") {
		t.Error("an empty set offers tools")
	}
}

func TestFunctions_SignaturesAreTheContract(t *testing.T) { // XT-1
	want := []string{
		"web_search(query, limit=5)",
		"web_extract(urls)",
		"read_file(path, offset=1, limit=None)",
		"write_file(path, content, cross_profile=False)",
		`search_files(pattern, target="content", path=".", file_glob=None, limit=50, offset=0, output_mode="content", context=0)`,
		`patch(path=None, old_string=None, new_string=None, replace_all=False, mode="replace", patch=None, cross_profile=False)`,
		"terminal(command, timeout=None, workdir=None)",
	}
	var got []string
	for _, f := range Functions {
		got = append(got, f.Signature())
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestCompare_FindsDifferencesBothWays(t *testing.T) { // XT-1
	params := func(names ...string) map[string]any {
		p := map[string]any{}
		for _, n := range names {
			p[n] = map[string]any{}
		}
		return map[string]any{"properties": p}
	}
	for _, c := range []struct {
		params map[string]any
		want   int
	}{
		{params("command", "timeout", "workdir", "background", "pty", "keep_stdin", "persist", "notify_on_complete", "watch_patterns"), 0},
		{params("command", "timeout"), 1},
		{params("command", "timeout", "workdir", "env"), 1},
	} {
		if got := Compare("terminal", c.params); len(got) != c.want {
			t.Errorf("%v: %v", c.params, got)
		}
	}
}

func TestTypes_ExamplesPassTheTypeChecker(t *testing.T) { // XT-12
	mypy, err := exec.LookPath("mypy")
	if err != nil {
		t.Skip("mypy isn't installed")
	}
	dir := t.TempDir()
	for name, text := range Types(Options{}) {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"--strict", "--no-incremental"}
	for _, name := range []string{"pipeline", "research", "refactoring", "build", "aio"} {
		text, err := os.ReadFile(filepath.Join("..", "testdata", name+".py"))
		if err != nil {
			t.Fatal(err)
		}
		p := filepath.Join(dir, name+".py")
		if err := os.WriteFile(p, text, 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, p)
	}
	cmd := exec.Command(mypy, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestWriteTo_WritesWhatAnEditorNeeds(t *testing.T) { // XT-12
	dir := t.TempDir()
	paths, err := WriteTo(filepath.Join(dir, "deep"))
	if err != nil || len(paths) != 3 {
		t.Fatalf("%v, %v", paths, err)
	}
	for _, p := range paths {
		if b, err := os.ReadFile(p); err != nil || !strings.Contains(string(b), "def search_files(") {
			t.Errorf("%s: %v", p, err)
		}
	}
}
