//go:build linux || darwin

package file_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine/search"
	"github.com/hermes-runtime/hermes/tool"
	"github.com/hermes-runtime/hermes/toolset/file"
)

// cd changes the session's directory as a command in the terminal does.
func (h *host) cd(dir string) {
	h.t.Helper()
	p, err := h.Place(context.Background())
	if err != nil {
		h.t.Fatal(err)
	}
	p.State.SetDir(environment.Path(dir))
}

func TestWrite_WarnsThatTheDirectoryMoved_STL1(t *testing.T) {
	h := here(t)
	h.put("a.txt", "one\n")
	h.put("sub/a.txt", "two\n")
	h.do("read_file", m{"path": "a.txt"})
	h.do("read_file", m{"path": "sub/a.txt"})
	h.cd(h.path("sub"))
	r := h.do("patch", m{"path": "a.txt", "old_string": "two", "new_string": "2"}) // another file of that name, read from elsewhere
	if !r.Success {
		t.Fatalf("%s", r.text)
	}
	mention(t, r.Warning, "moved", h.dir, h.path("sub"), "sub/a.txt is now meant")
	h.holds("a.txt", "one\n")
	h.holds("sub/a.txt", "2\n")
	if r := h.do("patch", m{"path": "a.txt", "old_string": "2", "new_string": "two"}); r.Warning != "" { // the write was from here
		t.Errorf("%s", r.text)
	}
	if r := h.do("patch", m{"path": h.path("a.txt"), "old_string": "one", "new_string": "1"}); r.Warning != "" { // a whole path means one file
		t.Errorf("%s", r.text)
	}
}

// hanging is a place whose search hangs behind what it has found, like a disk that doesn't answer.
type hanging struct {
	environment.Environment
	at      string
	reached func()
	release chan struct{}
}

func (e hanging) Search(ctx context.Context, q environment.Query) (environment.Matches, error) {
	skip := q.Skip
	q.Skip = func(p environment.Path) bool {
		if strings.HasSuffix(string(p), e.at) {
			e.reached()
			<-e.release
		}
		return skip != nil && skip(p)
	}
	return search.New(search.Options{Engine: search.Builtin}).Search(ctx, q)
}

func TestSearch_AtItsTimeLimitGivesWhatItHas_SRC8(t *testing.T) {
	h := here(t)
	h.put("a/f.txt", "needle\n")
	h.put("z/f.txt", "needle\n")
	cfg := &file.Config{}
	cfg.Search.Timeout = 1500 * time.Millisecond // enough for the first file, on any machine
	h.services = []any{&tool.Memory{}, cfg}
	e := hanging{at: "z/f.txt", reached: func() {}, release: make(chan struct{})}
	defer close(e.release)
	h.around = func(inner environment.Environment) environment.Environment { e.Environment = inner; return e }
	r := h.do("search_files", m{"pattern": "needle"})
	if hits := r.hits(t); len(hits) != 1 || hits[0].Path != "a/f.txt" || !r.Truncated || r.Error != "" {
		t.Errorf("%s", r.text)
	}
	mention(t, r.text, `"limit_reason":"search_timeout"`, `"total_is_minimum":true`, "1.5s", "narrower")
}

func TestSearch_EndsWithItsCall_SRC8(t *testing.T) {
	h := here(t)
	h.put("a/f.txt", "needle\n")
	ctx, cancel := context.WithCancelCause(context.Background())
	e := hanging{at: "a/f.txt", reached: func() { cancel(tool.Stop) }, release: make(chan struct{})}
	defer close(e.release)
	h.around = func(inner environment.Environment) environment.Environment { e.Environment = inner; return e }
	args := []byte(`{"pattern":"needle"}`)
	c := &tool.Call{ID: "c", Session: "s", Task: h.task, Caller: h.caller, Name: "search_files", Raw: args, Args: args, Host: h}
	if v, err := registered(t, "search_files").Run(ctx, c); !errors.Is(err, tool.Stop) { // it returns although the disk never answers
		t.Errorf("%+v, %v", v, err)
	}
}

func TestLint_ByProgramsOfThePlace_LNT1_LNT3(t *testing.T) {
	for _, c := range []struct{ program, name, good, bad, says string }{
		{"python3", "a.py", "def f():\n    return 1\n", "def f():\n    return (\n", "a.py:2: "},
		{"python3", "with blank {} $X.py", "x = 1\n", "x = = 1\n", "with blank {} $X.py:1: "},
		{"node", "a.js", "const x = 1;\n", "const x = ;\n", "a.js:1: SyntaxError"},
		{"node", "esm.js", "import x from 'y';\nexport default x;\n", "import x from 'y';\nexport {\n", "esm.js:"},
		{"node", "a.mjs", "export const x = await 1;\n", "export const = 1;\n", "a.mjs:1: SyntaxError"},
		{"node", "a.cjs", "module.exports = 1;\n", "module.exports = ;\n", "a.cjs:1: SyntaxError"},
		{"rustfmt", "-a.rs", "fn main(){let x=1;}\n", "fn main() {\n    let = ;\n}\n", "-a.rs:2: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			if exec.Command(c.program, "--version").Run() != nil {
				t.Skip(c.program + " doesn't work here")
			}
			t.Parallel()
			h := here(t)
			h.put("sitecustomize.py", "raise SystemExit(1)\n") // a project's own files and settings are not run
			h.put("ast.py", "raise SystemExit(1)\n")
			h.put("rustfmt.toml", "nonsense = [\n")
			h.put("package.json", "{")
			r := h.do("write_file", m{"path": c.name, "content": c.bad})
			if r.Lint == nil || r.Lint.Status != "error" {
				t.Fatalf("%s", r.text)
			}
			mention(t, r.Lint.Output, c.says)
			h.holds(c.name, c.bad)
			if r = h.do("write_file", m{"path": c.name, "content": c.bad + "\n"}); r.Lint.Status != "ok" || !strings.Contains(r.Lint.Message, "before") { // LNT-2
				t.Errorf("%s", r.text)
			}
			if r = h.do("write_file", m{"path": c.name, "content": c.good}); r.Lint.Status != "ok" || strings.Contains(r.text, "error") {
				t.Errorf("%s", r.text)
			}
		})
	}
}

// without is a place in which no program is found.
type without struct{ environment.Environment }

func (without) Run(context.Context, environment.Command) (environment.Result, error) {
	return environment.Result{Reason: environment.Exited, ExitCode: 127}, nil
}

func TestLint_AProgramThatIsMissingOrBrokenIsNamed_LNT3(t *testing.T) {
	bin := t.TempDir()
	for _, name := range []string{"python3", "node", "rustfmt"} {
		if err := os.WriteFile(bin+"/"+name, []byte("#!/bin/sh\necho error: out of order >&2\nexit 70\n"), 0o755); err != nil { //nolint:gosec // it is to be started
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin)
	h := here(t)
	for says, around := range map[string]func(environment.Environment) environment.Environment{
		"does not work": nil, "is not there": func(e environment.Environment) environment.Environment { return without{e} },
	} {
		h.around = around
		for name, program := range map[string]string{"a.py": "python3", "a.mjs": "node", "a.rs": "rustfmt"} {
			r := h.do("write_file", m{"path": name, "content": "x " + says})
			if r.Lint == nil || r.Lint.Status != "skipped" || r.Error != "" {
				t.Errorf("%s: %s", name, r.text)
				continue
			}
			mention(t, r.Lint.Message, program, says)
		}
	}
}
