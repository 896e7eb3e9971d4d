//go:build unix

package script_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/internal/script"
	"github.com/hermes-runtime/hermes/internal/script/scripttest"
	"github.com/hermes-runtime/hermes/tool"
)

// example reads a script of the seed's, byte for byte.
func example(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name+".py"))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// withFiles gives the session plain tools over its directory: what they return has the shape of the contract.
func (f *fixture) withFiles() {
	str := func(args map[string]any, name string) string {
		s, _ := args[name].(string)
		return s
	}
	f.Tools["read_file"] = func(_ context.Context, r tool.Request, args map[string]any) tool.Result {
		b, err := os.ReadFile(filepath.Join(f.dir, str(args, "path")))
		if err != nil {
			return scripttest.Failure(r, tool.ErrTypeTool, err.Error())
		}
		return scripttest.Result(r, map[string]any{"content": string(b), "total_lines": strings.Count(string(b), "\n"), "file_size": len(b), "truncated": false})
	}
	f.Tools["search_files"] = func(_ context.Context, r tool.Request, args map[string]any) tool.Result {
		matches := []map[string]any{}
		root := filepath.Join(f.dir, str(args, "path"))
		filepath.WalkDir(root, func(p string, e os.DirEntry, err error) error { //nolint:errcheck // the test's own files
			if ok, _ := filepath.Match(str(args, "file_glob"), filepath.Base(p)); err != nil || e.IsDir() || !ok {
				return err
			}
			b, _ := os.ReadFile(p)
			rel, _ := filepath.Rel(f.dir, p)
			for i, l := range strings.Split(string(b), "\n") {
				if strings.Contains(l, str(args, "pattern")) {
					matches = append(matches, map[string]any{"path": rel, "line": i + 1, "content": l})
				}
			}
			return nil
		})
		return scripttest.Result(r, map[string]any{"matches": matches, "total_count": len(matches), "truncated": false, "error": nil})
	}
	f.Tools["patch"] = func(_ context.Context, r tool.Request, args map[string]any) tool.Result {
		p := filepath.Join(f.dir, str(args, "path"))
		b, _ := os.ReadFile(p)
		if !strings.Contains(string(b), str(args, "old_string")) {
			return scripttest.Failure(r, tool.ErrTypeTool, "nothing found")
		}
		if err := os.WriteFile(p, []byte(strings.ReplaceAll(string(b), str(args, "old_string"), str(args, "new_string"))), 0o600); err != nil {
			return scripttest.Failure(r, tool.ErrTypeTool, err.Error())
		}
		return scripttest.Result(r, map[string]any{"success": true, "diff": "-\n+", "files_modified": []string{p}})
	}
}

func TestExample_Pipeline(t *testing.T) { // XC-3
	t.Parallel()
	f := newFixture(t)
	f.withFiles()
	f.write("a.yaml", "database: "+strings.Repeat("x", 300))
	f.write("sub/b.yaml", "database: y")
	f.write("c.txt", "database")
	rep := f.run(example(t, "pipeline"))
	var got []struct{ File, Preview string }
	if err := json.Unmarshal([]byte(rep.Output), &got); err != nil || rep.Status != script.StatusSuccess || rep.ToolCallsMade != 3 {
		t.Fatalf("%v, %+v", err, rep)
	}
	if len(got) != 2 || got[0].File != "a.yaml" || len(got[0].Preview) != 200 || got[1].Preview != "database: y" {
		t.Errorf("got %+v", got)
	}
}

func TestExample_Refactoring(t *testing.T) { // XC-3, XT-2
	t.Parallel()
	f := newFixture(t)
	f.withFiles()
	f.write("src/a.py", "old_api_call(1)\n")
	f.write("src/deep/b.py", "old_api_call(2)\n")
	rep := f.run(example(t, "refactoring"))
	b, _ := os.ReadFile(filepath.Join(f.dir, "src/deep/b.py"))
	if rep.Output != "Fixed 2 files out of 2 matches\n" || string(b) != "new_api_call(2)\n" {
		t.Errorf("got %+v and %q", rep, b)
	}
}

func TestExample_BuildAndTest(t *testing.T) { // XC-3
	t.Parallel()
	f := newFixture(t)
	f.withFiles()
	f.Tools["terminal"] = func(ctx context.Context, r tool.Request, args map[string]any) tool.Result {
		if args["timeout"] != float64(120) {
			t.Errorf("timeout %v", args["timeout"])
		}
		out, err := exec.CommandContext(ctx, "sh", "-c", "echo '2 passed, 1 failed, 1 error'; exit 1").CombinedOutput()
		code := 0
		if err != nil {
			code = 1
		}
		return scripttest.Result(r, map[string]any{"output": strings.TrimSpace(string(out)), "exit_code": code, "error": nil})
	}
	rep := f.run(example(t, "build"))
	var got map[string]any
	if err := json.Unmarshal([]byte(rep.Output), &got); err != nil || got["passed"] != 1.0 || got["failed"] != 1.0 || got["errors"] != 1.0 || got["exit_code"] != 1.0 {
		t.Errorf("%v, %+v", got, rep)
	}
}

func TestExample_ResearchNamesWhatIsNotAvailable(t *testing.T) { // XC-3
	t.Parallel()
	f := newFixture(t)
	f.withFiles()
	f.Missing = map[string]string{"web_search": "this build has no web tools"}
	rep := f.run(example(t, "research"))
	if rep.Status != script.StatusError || !strings.Contains(rep.Error, "'web_search'") || !strings.Contains(rep.Error, "this build has no web tools") {
		t.Errorf("got %+v", rep)
	}
}

func (f *fixture) withWeb() {
	f.Tools["web_search"] = func(_ context.Context, r tool.Request, args map[string]any) tool.Result {
		return scripttest.Result(r, map[string]any{"data": map[string]any{"web": []map[string]any{
			{"title": "A", "url": "http://a", "description": "", "position": 1}, {"title": "B", "url": "http://b", "description": "", "position": 2}}}})
	}
	f.Tools["web_extract"] = func(_ context.Context, r tool.Request, args map[string]any) tool.Result {
		url := args["urls"].([]any)[0].(string) //nolint:forcetypeassert // the test's own
		if url == "http://b" {
			return scripttest.Result(r, map[string]any{"results": []map[string]any{{"url": url, "error": "gone"}}})
		}
		return scripttest.Result(r, map[string]any{"results": []map[string]any{{"url": url, "title": "A", "content": strings.Repeat("c", 600)}}})
	}
}

func TestExample_Research(t *testing.T) { // XC-3
	t.Parallel()
	f := newFixture(t)
	f.withWeb()
	rep := f.run(example(t, "research"))
	var got []struct{ Title, URL, Excerpt string }
	if err := json.Unmarshal([]byte(rep.Output), &got); err != nil || len(got) != 1 || got[0].Title != "A" || len(got[0].Excerpt) != 500 || rep.ToolCallsMade != 3 {
		t.Errorf("%v, %+v", got, rep)
	}
}

func TestExample_SketchEndsAtTheNameItNeverSets(t *testing.T) { // XC-3
	t.Parallel()
	f := newFixture(t)
	f.withWeb()
	rep := f.run(example(t, "sketch"))
	names := []string{}
	for _, c := range f.Calls() {
		names = append(names, c.Name)
	}
	if rep.Status != script.StatusError || rep.Error != "NameError: name 'summary' is not defined" || !strings.Contains(rep.Output, "    print(summary)") {
		t.Errorf("got %+v", rep)
	}
	if !slices.Equal(names, []string{"web_search", "web_extract", "web_extract"}) {
		t.Errorf("calls %v", names)
	}
}
