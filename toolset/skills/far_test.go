package skills_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/engine/files"
	"github.com/hermes-runtime/hermes/internal/runtime"
)

// away is a place with a file system of its own.
type away struct {
	environment.Environment
	fs   environment.FS
	home string
}

func (a *away) Info() environment.Info {
	return environment.Info{Backend: "away", ID: "1", Namespace: environment.NamespaceOwn, Home: environment.Path(a.home)}
}
func (a *away) Files() environment.FS       { return a.fs }
func (a *away) Close(context.Context) error { return nil }

// away has the commands of a lab run elsewhere, in a home of their own.
func (l *lab) away(t *testing.T) (home string) {
	t.Helper()
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	environment.Register(environment.Backend{Name: "away", Namespace: environment.NamespaceOwn, Open: func(context.Context, environment.OpenOptions) (environment.Environment, error) {
		return &away{fs: files.New(files.Options{Home: home}), home: home}, nil
	}})
	l.environ = append(l.environ, "TERMINAL_ENV=away", "HERMES_FORCE_FILE_SYNC=1")
	return home
}

// A skill's own text, and what it asks for, are where commands run; for as long as a session has it loaded, and not what no skill gets.
func TestSkills_FilesAreWhereCommandsRun_SYN1_SYN4(t *testing.T) {
	l := newLab(t)
	there := l.away(t)
	skill(t, filepath.Join(l.home, "skills", "pay"), "description: x\nrequired_credential_files: [token.json, {path: link.json, description: x}, .env, missing.json, ../user/x, config.yaml]", "see ${HERMES_SKILL_DIR}/a")
	write(t, filepath.Join(l.home, "skills", "pay", "data.bin"), "\x00")
	write(t, filepath.Join(l.home, "token.json"), "token")
	write(t, filepath.Join(l.home, ".env"), "A_KEY=secret")
	elsewhere := filepath.Join(l.user, "own")
	skill(t, elsewhere, "description: linked", "in ${HERMES_SKILL_DIR}")
	for name, to := range map[string]string{"link.json": ".env", "skills/linked": elsewhere} {
		if err := os.Symlink(to, filepath.Join(l.home, name)); err != nil {
			t.Skip(err)
		}
	}
	r := l.open(t)
	one, other := r.Session(runtime.SessionOptions{ID: "one"}), r.Session(runtime.SessionOptions{ID: "other"})
	lies := func(name string, want bool) {
		t.Helper()
		if _, err := other.Place(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(there, ".hermes", name)); (err == nil) != want {
			t.Errorf("%s is there: %v, want %v", name, err, want)
		}
	}
	lies("token.json", false)
	lies("skills/pay/SKILL.md", true)
	v := call(t, one, "skill_view", `{"name":"pay"}`)
	dir := there + "/.hermes/skills/pay"
	if v.Dir != dir || v.Content != "see "+dir+"/a" || strings.Join(v.MissingFiles, " ") != "missing.json" || !v.Setup {
		t.Errorf("%+v", v)
	}
	var refused []string
	for _, f := range v.RefusedFiles {
		refused = append(refused, f.Name)
	}
	if got := strings.Join(refused, " "); got != "link.json .env ../user/x config.yaml" {
		t.Errorf("refused: %s", got)
	}
	if v := call(t, one, "skill_view", `{"name":"pay","file_path":"data.bin"}`); !strings.HasSuffix(v.Error, "programs find it at "+dir+"/data.bin") {
		t.Errorf("%+v", v)
	}
	if v := call(t, one, "skill_view", `{"name":"own"}`); v.Dir != "" || strings.Contains(v.Content, elsewhere) || len(v.Notes) != 1 {
		t.Errorf("a skill that isn't there: %+v", v)
	}
	lies("token.json", true)
	for _, name := range []string{"link.json", ".env", "config.yaml", "skills/linked"} {
		lies(name, false)
	}
	write(t, filepath.Join(l.home, "missing.json"), "came later")
	lies("missing.json", true)
	if err := one.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	lies("token.json", false)
	lies("missing.json", false)
	lies("skills/pay/SKILL.md", true)
}

func TestCredentialFiles_ThatCantBeHandedOverAreReported_SYN4(t *testing.T) {
	l := newLab(t)
	there := l.away(t)
	l.config = "terminal:\n  credential_files: [token.json, gone.json, ../user/x, /etc/passwd, leads/out]\n"
	write(t, filepath.Join(l.home, "token.json"), "token")
	write(t, filepath.Join(l.user, "out"), "x")
	if err := os.Symlink(l.user, filepath.Join(l.home, "leads")); err != nil {
		t.Skip(err)
	}
	r := l.open(t)
	for _, name := range []string{"gone.json", "../user/x", "/etc/passwd", "leads/out"} {
		told := 0
		for _, p := range append(r.Check(nil), texts(r.Doctor(t.Context(), nil))...) {
			if strings.Contains(p, `"`+name+`"`) {
				told++
			}
		}
		if told < 2 {
			t.Errorf("%s is told %d times", name, told)
		}
	}
	if _, err := r.Session(runtime.SessionOptions{}).Place(t.Context()); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(filepath.Join(there, ".hermes"))
	if err != nil || len(entries) != 2 { // and the record
		t.Errorf("there lie %v, %v", entries, err)
	}
}

func texts(all []runtime.Finding) []string {
	var out []string
	for _, f := range all {
		out = append(out, f.Text)
	}
	return out
}
