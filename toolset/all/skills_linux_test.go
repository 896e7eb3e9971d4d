package all_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	inner "github.com/hermes-runtime/hermes/internal/runtime"
	"github.com/hermes-runtime/hermes/internal/script/scripttest"
	"github.com/hermes-runtime/hermes/tool"
)

// SKL-4, SKL-7, XE-4: what a loaded skill declares reaches commands, background processes and scripts of its session, by the values
// of the configuration; of no other session, not before, and not what no skill may have.
func TestSkills_DeclaredVariablesReachChildren(t *testing.T) {
	home, dir := resolved(t), resolved(t)
	venv := filepath.Join(t.TempDir(), "venv")
	if err := scripttest.VirtualEnv(venv); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(home, "skills", "pay", "SKILL.md"), "---\ndescription: pays\nrequired_environment_variables: [FILE_KEY, HOST_KEY, PLAIN, OWN_KEY, OPENAI_API_KEY, LD_AUDIT]\n---\n")
	put(t, filepath.Join(home, ".env"), "FILE_KEY=from-the-file\nPLAIN=from-the-file\nOTHER_KEY=not-declared\nOPENAI_API_KEY=sk-of-hermes\nOWN_KEY=from-the-file\n")
	r, err := inner.Open(t.Context(), inner.Options{Home: home, Dir: dir,
		Environ: append(os.Environ(), "VIRTUAL_ENV="+venv, "HOST_KEY=from-the-host", "LD_AUDIT=", "OPENAI_API_KEY=sk-of-the-host")})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close(t.Context())
	with, without := r.Session(inner.SessionOptions{YesTo: []string{"execute code"}}), r.Session(inner.SessionOptions{})
	const names = "FILE_KEY HOST_KEY PLAIN OTHER_KEY OWN_KEY OPENAI_API_KEY LD_AUDIT"
	// lengths, since values of known secrets are taken out of what is printed
	const command = `for n in ` + names + `; do eval "v=\${$n}"; printf '%s has %s, ' $n ${#v}; done`
	const script = "import os\nprint(*(f'{n} has {len(os.environ.get(n, str()))},' for n in '" + names + "'.split()))"
	ask := func(s *inner.Session, name string, arguments map[string]any) string {
		t.Helper()
		text, _ := json.Marshal(arguments)
		res := s.Call(t.Context(), tool.Request{Name: name, Arguments: text})
		var out struct{ Output string }
		if err := json.Unmarshal([]byte(res.JSON), &out); err != nil || res.Status != tool.StatusOK {
			t.Fatalf("%s: %s", name, res.JSON)
		}
		return strings.TrimSpace(out.Output)
	}
	both := func(s *inner.Session, want string, when string) {
		t.Helper()
		if got := ask(s, "terminal", map[string]any{"command": command}); got != want {
			t.Errorf("%s: a command sees %q, want %q", when, got, want)
		}
		scripted := strings.Replace(want, "HOST_KEY has 13", "HOST_KEY has 0", 1) // scripts see no secret that nobody granted
		if strings.Contains(want, "FILE_KEY has 13") {
			scripted = want
		}
		if got := ask(s, "execute_code", map[string]any{"code": script}); got != scripted {
			t.Errorf("%s: a script sees %q, want %q", when, got, scripted)
		}
	}
	const before = "FILE_KEY has 0, HOST_KEY has 13, PLAIN has 0, OTHER_KEY has 0, OWN_KEY has 0, OPENAI_API_KEY has 0, LD_AUDIT has 0,"
	const after = "FILE_KEY has 13, HOST_KEY has 13, PLAIN has 13, OTHER_KEY has 0, OWN_KEY has 13, OPENAI_API_KEY has 0, LD_AUDIT has 0,"
	both(with, before, "before")
	if res := with.Call(t.Context(), tool.Request{Name: "skill_view", Arguments: json.RawMessage(`{"name":"pay"}`)}); res.Status != tool.StatusOK || !strings.Contains(res.JSON, "terminal.env_passthrough") {
		t.Fatal(res.JSON)
	}
	both(with, after, "loaded")
	both(without, before, "another session")
	var job struct {
		ID string `json:"session_id"`
	}
	start, _ := json.Marshal(map[string]any{"command": command, "background": true})
	if res := with.Call(t.Context(), tool.Request{Name: "terminal", Arguments: start}); json.Unmarshal([]byte(res.JSON), &job) != nil || job.ID == "" {
		t.Fatal(res.JSON)
	}
	if got := ask(with, "process", map[string]any{"action": "wait", "session_id": job.ID}); got != after {
		t.Errorf("a background process sees %q, want %q", got, after)
	}
	err = filepath.WalkDir(home, func(p string, d fs.DirEntry, err error) error { // ENG-12: values lie in no file
		if err != nil || d.IsDir() || d.Name() == ".env" {
			return err
		}
		if text, err := os.ReadFile(p); err != nil || strings.Contains(string(text), "from-the-") {
			t.Errorf("%s: %v: %s", p, err, text)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	ask(with, "terminal", map[string]any{"command": "export OWN_KEY=mine"})
	both(with, strings.Replace(after, "OWN_KEY has 13", "OWN_KEY has 4", 1), "the session's own value")
}
