package all_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes"
	_ "github.com/hermes-runtime/hermes/backend/all"
	"github.com/hermes-runtime/hermes/internal/script/scripttest"
	"github.com/hermes-runtime/hermes/tool"
	"github.com/hermes-runtime/hermes/tool/tooltest"
	_ "github.com/hermes-runtime/hermes/toolset/all"
)

var dialects = []tooltest.Dialect{
	{ID: string(hermes.OpenAI), Name: "function.name", Description: "function.description", Parameters: "function.parameters"},
	{ID: string(hermes.Anthropic), Name: "name", Description: "description", Parameters: "input_schema"},
	{ID: string(hermes.Gemini), Name: "name", Description: "description", Parameters: "parameters"},
	{ID: string(hermes.MCP), Name: "name", Description: "description", Parameters: "inputSchema"},
}

// Effects that several tools share.
const (
	twoFiles  = "a.txt\x00one\ntwo\nthree\n\x00b.txt\x00four\n"
	elsewhere = `"path": "$HOME/profiles/other/skills/notes.txt"`
)

// tools says of each shipped tool what the suite can't know. A tool that is missing here fails the test.
var tools = map[string]tooltest.Options{
	"terminal": {
		Example: `{"command": "echo hi"}`,
		Lasting: `{"command": "sleep 60"}`,
		Parameters: map[string]tooltest.Effect{
			"command":            {Without: `{"command": "echo a"}`, With: `{"command": "echo b"}`},
			"timeout":            {Without: `{"command": "sleep 1.2"}`, With: `{"command": "sleep 1.2", "timeout": 1}`},
			"workdir":            {Without: `{"command": "pwd"}`, With: `{"command": "pwd", "workdir": "sub"}`, Before: files("sub/x\x00")},
			"background":         {Without: `{"command": "echo a"}`, With: `{"command": "echo a", "background": true}`},
			"pty":                {Without: `{"command": "test -t 1"}`, With: `{"command": "test -t 1", "pty": true}`},
			"keep_stdin":         {Without: inBackground(``), With: inBackground(`, "keep_stdin": true`), After: reading},
			"persist":            {Without: inBackground(``), With: inBackground(`, "persist": true`), After: reading},
			"notify_on_complete": {Without: inBackground(``), With: inBackground(`, "notify_on_complete": true`), After: reading},
			"watch_patterns":     {Without: inBackground(``), With: inBackground(`, "watch_patterns": ["x"]`), After: reading},
		},
	},
	"process": {
		Example: `{"action": "list"}`,
		Parameters: map[string]tooltest.Effect{
			"action":     {Without: `{"action": "list"}`, With: `{"action": "poll", "session_id": "$JOB"}`, Before: job},
			"session_id": {Without: `{"action": "poll"}`, With: `{"action": "poll", "session_id": "$JOB"}`, Before: job},
			"data":       {Without: `{"action": "submit", "session_id": "$JOB"}`, With: `{"action": "submit", "session_id": "$JOB", "data": "x"}`, Before: job},
			"keys":       {Without: `{"action": "write", "session_id": "$JOB"}`, With: `{"action": "write", "session_id": "$JOB", "keys": ["x"]}`, Before: job},
			"timeout":    {Without: `{"action": "wait", "session_id": "$JOB", "timeout": 2}`, With: `{"action": "wait", "session_id": "$JOB", "timeout": 1}`, Before: job},
			"offset":     {Without: `{"action": "log", "session_id": "$JOB"}`, With: `{"action": "log", "session_id": "$JOB", "offset": 1}`, Before: job},
			"limit":      {Without: `{"action": "log", "session_id": "$JOB"}`, With: `{"action": "log", "session_id": "$JOB", "limit": 1}`, Before: job},
			"rows":       {Without: `{"action": "resize", "session_id": "$JOB", "cols": 80}`, With: `{"action": "resize", "session_id": "$JOB", "cols": 80, "rows": 24}`, Before: job},
			"cols":       {Without: `{"action": "resize", "session_id": "$JOB", "rows": 24}`, With: `{"action": "resize", "session_id": "$JOB", "rows": 24, "cols": 80}`, Before: job},
		},
	},
	"execute_code": {
		Example: `{"code": "print('hi')"}`,
		Lasting: `{"code": "import time\ntime.sleep(60)"}`,
		Parameters: map[string]tooltest.Effect{
			"code": {Without: `{"code": "print(1)"}`, With: `{"code": "print(2)"}`},
		},
	},
	"read_file": {
		Example: `{"path": "a.txt"}`,
		Parameters: map[string]tooltest.Effect{
			"path":   {Without: `{"path": "a.txt"}`, With: `{"path": "b.txt"}`, Before: files(twoFiles)},
			"offset": {Without: `{"path": "a.txt"}`, With: `{"path": "a.txt", "offset": 2}`, Before: files(twoFiles)},
			"limit":  {Without: `{"path": "a.txt"}`, With: `{"path": "a.txt", "limit": 1}`, Before: files(twoFiles)},
		},
	},
	"write_file": {
		Example: `{"path": "new.txt", "content": "text"}`,
		Parameters: map[string]tooltest.Effect{
			"path":          {Without: `{"path": "a", "content": "x"}`, With: `{"path": "b", "content": "x"}`, After: tree},
			"content":       {Without: `{"path": "a", "content": "x"}`, With: `{"path": "a", "content": "y"}`, After: tree},
			"cross_profile": {Without: `{` + elsewhere + `, "content": "x"}`, With: `{` + elsewhere + `, "content": "x", "cross_profile": true}`, Before: profiles, After: tree},
		},
	},
	"patch": {
		Example: `{"path": "a.txt", "old_string": "one\ntwo", "new_string": "one\ntwo\nend"}`, // more than once
		Parameters: map[string]tooltest.Effect{
			"path":        {Without: `{"path": "a", "old_string": "x", "new_string": "y"}`, With: `{"path": "b", "old_string": "x", "new_string": "y"}`, Before: files("a\x00x\x00b\x00x"), After: tree},
			"old_string":  {Without: `{"path": "a", "old_string": "x", "new_string": "z"}`, With: `{"path": "a", "old_string": "y", "new_string": "z"}`, Before: files("a\x00x\ny\n"), After: tree},
			"new_string":  {Without: `{"path": "a", "old_string": "x", "new_string": "y"}`, With: `{"path": "a", "old_string": "x", "new_string": "z"}`, Before: files("a\x00x\n"), After: tree},
			"replace_all": {Without: `{"path": "a", "old_string": "x", "new_string": "y"}`, With: `{"path": "a", "old_string": "x", "new_string": "y", "replace_all": true}`, Before: files("a\x00x\nx\n"), After: tree},
			"mode": {Without: `{"path": "a", "old_string": "x", "new_string": "y", "patch": "*** Begin Patch\n*** Delete File: a\n*** End Patch"}`,
				With: `{"mode": "patch", "path": "a", "old_string": "x", "new_string": "y", "patch": "*** Begin Patch\n*** Delete File: a\n*** End Patch"}`, Before: files("a\x00x\n"), After: tree},
			"patch": {Without: `{"mode": "patch", "patch": "*** Begin Patch\n*** Add File: b\n+x\n*** End Patch"}`,
				With: `{"mode": "patch", "patch": "*** Begin Patch\n*** Add File: b\n+y\n*** End Patch"}`, After: tree},
			"cross_profile": {Without: `{` + elsewhere + `, "old_string": "x", "new_string": "y"}`,
				With: `{` + elsewhere + `, "old_string": "x", "new_string": "y", "cross_profile": true}`, Before: profiles, After: tree},
		},
	},
	"skills_list": {
		Example: `{}`,
		Parameters: map[string]tooltest.Effect{
			"category": {Without: `{}`, With: `{"category": "dev"}`, Before: taught},
		},
	},
	"skill_view": {
		Example: `{"name": "one"}`,
		Parameters: map[string]tooltest.Effect{
			"name":      {Without: `{"name": "one"}`, With: `{"name": "two"}`, Before: taught},
			"file_path": {Without: `{"name": "one"}`, With: `{"name": "one", "file_path": "a.txt"}`, Before: taught},
		},
	},
	"search_files": {
		Example: `{"pattern": "two"}`,
		Parameters: map[string]tooltest.Effect{
			"pattern":     {Without: `{"pattern": "one"}`, With: `{"pattern": "four"}`, Before: files(twoFiles)},
			"target":      {Without: `{"pattern": "a.txt"}`, With: `{"pattern": "a.txt", "target": "files"}`, Before: files(twoFiles)},
			"path":        {Without: `{"pattern": "x"}`, With: `{"pattern": "x", "path": "sub"}`, Before: files("a\x00x\n\x00sub/b\x00x\n")},
			"file_glob":   {Without: `{"pattern": "x"}`, With: `{"pattern": "x", "file_glob": "*.go"}`, Before: files("a.go\x00x\n\x00b.py\x00x\n")},
			"limit":       {Without: `{"pattern": "x"}`, With: `{"pattern": "x", "limit": 1}`, Before: files("a\x00x\nx\nx\n")},
			"offset":      {Without: `{"pattern": "x"}`, With: `{"pattern": "x", "offset": 1}`, Before: files("a\x00x1\nx2\nx3\n")},
			"output_mode": {Without: `{"pattern": "x"}`, With: `{"pattern": "x", "output_mode": "count"}`, Before: files("a\x00x\nx\n")},
			"context":     {Without: `{"pattern": "x"}`, With: `{"pattern": "x", "context": 1}`, Before: files("a\x00b\nx\nc\n")},
		},
	},
}

// inBackground are the arguments of a start.
func inBackground(more string) string { return `{"command": "read x", "background": true` + more + `}` }

// reading tells of each job whether it runs, and what else its record says of it.
func reading(t *testing.T, b tooltest.Bench) string {
	t.Helper()
	records, err := filepath.Glob(filepath.Join(b.Home, "jobs", "*", "job.json"))
	if err != nil {
		t.Fatal(err)
	}
	var out string
	for _, name := range records {
		var r map[string]any
		if text, err := os.ReadFile(name); err != nil || json.Unmarshal(text, &r) != nil {
			t.Fatal(err)
		}
		out += fmt.Sprint(r["keep_stdin"], r["notify_on_complete"], r["watch_patterns"])
	}
	return out
}

// job starts a job that has printed three lines and reads on.
func job(t *testing.T, b tooltest.Bench) {
	t.Helper()
	r := b.Call(t.Context(), tool.Request{Name: "terminal", Arguments: json.RawMessage(`{"command": "echo a; echo b; echo c; cat", "background": true, "keep_stdin": true}`)})
	var started struct {
		ID string `json:"session_id"`
	}
	if err := json.Unmarshal([]byte(r.JSON), &started); err != nil || started.ID == "" {
		t.Fatalf("%v: %s", err, r.JSON)
	}
	b.Vars["JOB"] = started.ID
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		text, _ := os.ReadFile(filepath.Join(b.Home, "jobs", started.ID, "log"))
		if strings.Count(string(text), "\n") == 3 {
			return
		}
		if time.Now().After(end) {
			t.Fatal("the job prints nothing")
		}
	}
}

func TestTools_Conform(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the cases are for a POSIX shell")
	}
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for _, e := range tool.Default().Entries() {
		name := e.Tool.Spec().Name
		t.Run(name, func(t *testing.T) {
			o, ok := tools[name]
			o.Open = open
			if !ok {
				if o, ok = attended[name]; !ok {
					t.Fatal("the tables above say nothing of this tool")
				}
				o.Open = openAttended
			}
			o.Dialects = dialects
			tooltest.Run(t, e.Tool, o)
		})
	}
}

// open makes a runtime with all tools, a home and a directory with a few files.
func open(t *testing.T) tooltest.Bench {
	t.Helper()
	b := tooltest.Bench{Dir: resolved(t), Home: resolved(t), Vars: map[string]string{}}
	venv := filepath.Join(t.TempDir(), "venv")
	if err := scripttest.VirtualEnv(venv); err != nil {
		t.Fatal(err)
	}
	rt, err := hermes.New(hermes.Options{Home: b.Home, Dir: b.Dir, Environ: append(os.Environ(), "VIRTUAL_ENV="+venv)}).Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	files("a.txt\x00one\ntwo\n")(t, b)
	put(t, filepath.Join(b.Home, "skills", "one", "SKILL.md"), "---\ndescription: x\n---\n")
	b.Call, b.Close = rt.Call, rt.Close
	b.Definitions = func(ctx context.Context, dialect string) (string, error) {
		return rt.Definitions(ctx, hermes.Request{Dialect: hermes.Dialect(dialect)})
	}
	return b
}

// resolved is a new directory by the name under which the system knows it.
func resolved(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// files makes files in the directory of a bench: names and contents in turn, parted by NUL.
func files(list string) func(*testing.T, tooltest.Bench) {
	return func(t *testing.T, b tooltest.Bench) {
		t.Helper()
		parts := strings.Split(list, "\x00")
		for i := 0; i+1 < len(parts); i += 2 {
			put(t, filepath.Join(b.Dir, parts[i]), parts[i+1])
		}
	}
}

// taught makes skills: one beside the one that every home has, of another category, and a file of that one.
func taught(t *testing.T, b tooltest.Bench) {
	t.Helper()
	put(t, filepath.Join(b.Home, "skills", "dev", "two", "SKILL.md"), "---\ndescription: y\n---\ntext")
	put(t, filepath.Join(b.Home, "skills", "one", "a.txt"), "a")
}

// profiles makes another profile beside the one that works.
func profiles(t *testing.T, b tooltest.Bench) {
	t.Helper()
	put(t, filepath.Join(b.Home, "profiles", "other", "skills", "notes.txt"), "x\n")
}

func put(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// tree tells every file that a tool may have changed, with its contents.
func tree(t *testing.T, b tooltest.Bench) string {
	t.Helper()
	var out strings.Builder
	for _, root := range []string{b.Dir, filepath.Join(b.Home, "profiles")} {
		err := filepath.WalkDir(root, func(p string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return nil // not there is an answer too
			}
			text, err := os.ReadFile(p)
			out.WriteString(strings.TrimPrefix(p, filepath.Dir(root)) + "\n" + string(text))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return strings.ReplaceAll(out.String(), filepath.Base(b.Dir), "")
}
