package skills_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "github.com/hermes-runtime/hermes/backend/local"
	"github.com/hermes-runtime/hermes/channel"
	"github.com/hermes-runtime/hermes/internal/runtime"
	lib "github.com/hermes-runtime/hermes/internal/skill"
	"github.com/hermes-runtime/hermes/tool"
	_ "github.com/hermes-runtime/hermes/toolset/skills"
)

// lab is a home, a project and a user's home.
type lab struct {
	home, project, user string
	config              string
	environ             []string
	asker               channel.Asker
}

func newLab(t *testing.T) *lab {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{home: filepath.Join(dir, "home"), project: filepath.Join(dir, "project"), user: filepath.Join(dir, "user")}
	write(t, filepath.Join(l.project, ".git", "HEAD"), "")
	return l
}

func (l *lab) open(t *testing.T) *runtime.Runtime {
	t.Helper()
	write(t, filepath.Join(l.home, "config.yaml"), l.config)
	r, err := runtime.Open(t.Context(), runtime.Options{Home: l.home, Dir: l.project, Environ: append([]string{"HOME=" + l.user}, l.environ...), Asker: l.asker})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close(context.Background()) })
	return r
}

func (l *lab) session(t *testing.T) *runtime.Session {
	t.Helper()
	return l.open(t).Session(runtime.SessionOptions{ID: "s1"})
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// skill makes one.
func skill(t *testing.T, dir, front, body string) {
	t.Helper()
	write(t, filepath.Join(dir, "SKILL.md"), "---\n"+front+"\n---\n"+body)
}

type answer struct {
	Success    bool
	Error      string
	Skills     []struct{ Name, Description, Category string }
	Categories []string
	Count      int
	Hint       string
	Available  []string `json:"available_skills"`
	Matches    []string
	Content    string
	Dir        string `json:"skill_dir"`
	Notes      []string
	Files      []string
	Setup      bool                            `json:"setup_needed"`
	Missing    []string                        `json:"missing_required_environment_variables"`
	Refused    []struct{ Name, Reason string } `json:"refused_environment_variables"`

	MissingFiles []string                        `json:"missing_credential_files"`
	RefusedFiles []struct{ Name, Reason string } `json:"refused_credential_files"`
}

func (a *answer) names() string {
	var out []string
	for _, s := range a.Skills {
		out = append(out, s.Name+":"+s.Description+":"+s.Category)
	}
	return strings.Join(out, " ")
}

func call(t *testing.T, s *runtime.Session, name, arguments string) answer {
	t.Helper()
	r := s.Call(t.Context(), tool.Request{Name: name, Arguments: json.RawMessage(arguments)})
	var out answer
	if err := json.Unmarshal([]byte(r.JSON), &out); err != nil {
		t.Fatalf("%v: %s", err, r.JSON)
	}
	if out.Success != (r.Status == tool.StatusOK) {
		t.Errorf("%s %s", r.Status, r.JSON)
	}
	return out
}

// roots makes a skill in each root, and one name in all of them.
func (l *lab) roots(t *testing.T) {
	t.Helper()
	for root, dir := range map[string]string{
		"home": filepath.Join(l.home, "skills"), "extra": filepath.Join(l.home, "extra"), "user": filepath.Join(l.user, ".config", "agents", "skills"),
		"plugin": filepath.Join(l.home, "plugins", "plug", "skills"), "agents": filepath.Join(l.project, ".agents", "skills"), "claude": filepath.Join(l.project, ".claude", "skills"),
	} {
		skill(t, filepath.Join(dir, "own"), "name: of-"+root+"\ndescription: x", "")
		skill(t, filepath.Join(dir, "common"), "name: common\ndescription: "+root, "text of "+root)
	}
}

func TestSkills_Roots_SKL1(t *testing.T) {
	l := newLab(t)
	l.roots(t)
	l.config = "skills: {external_dirs: [extra], project: on}"
	s := l.session(t)
	got := call(t, s, "skills_list", `{}`)
	want := "common:home: of-agents:x: of-claude:x: of-extra:x: of-home:x: of-user:x: plug:common:plugin: plug:of-plugin:x:"
	if got.names() != want || got.Count != 8 || got.Hint == "" {
		t.Errorf("%q, want %q", got.names(), want)
	}
	for name, text := range map[string]string{"common": "text of home", "plug:common": "text of plugin"} {
		if v := call(t, s, "skill_view", `{"name":"`+name+`"}`); v.Content != text {
			t.Errorf("%s: %q, want %q", name, v.Content, text)
		}
	}
	if v := call(t, s, "skill_view", `{"name":"of-plugin"}`); !v.Success { // the plain name, where nothing else has it
		t.Errorf("%+v", v)
	}
}

func TestSkills_ListAndView_SKL2(t *testing.T) {
	l := newLab(t)
	root := filepath.Join(l.home, "skills")
	skill(t, filepath.Join(root, "dev", "lint"), "description: lints\nallowed-tools: [terminal]", "in ${HERMES_SKILL_DIR} of ${HERMES_SESSION_ID} and $HOME")
	skill(t, filepath.Join(root, "ops", "deploy"), "name: deploy\ndescription: deploys", "")
	skill(t, filepath.Join(root, "web", "deploy"), "name: deploy\ndescription: deploys too\ncategory: site", "of the web")
	lint := filepath.Join(root, "dev", "lint")
	write(t, filepath.Join(lint, "references", "api.md"), "see ${HERMES_SKILL_DIR}")
	write(t, filepath.Join(lint, "logo.bin"), "a\x00b")
	write(t, filepath.Join(lint, ".hidden"), "x")
	write(t, filepath.Join(l.home, "secret.txt"), "secret")
	for name, to := range map[string]string{"out": "../../../secret.txt", "up": "../..", "inside": "references/api.md"} {
		if err := os.Symlink(to, filepath.Join(lint, name)); err != nil {
			t.Skip(err)
		}
	}
	s := l.session(t)
	got := call(t, s, "skills_list", `{}`)
	if want := "lint:lints:dev deploy:deploys:ops deploy:deploys too:site"; got.names() != want || !slices.Equal(got.Categories, []string{"dev", "ops", "site"}) {
		t.Errorf("%q %q", got.names(), got.Categories)
	}
	if got := call(t, s, "skills_list", `{"category":"ops"}`); got.Count != 1 || len(got.Categories) != 3 {
		t.Errorf("%+v", got)
	}
	if got := call(t, s, "skills_list", `{"category":"none"}`); got.Count != 0 || got.Skills == nil || !strings.Contains(got.Hint, "category") {
		t.Errorf("%+v", got)
	}
	v := call(t, s, "skill_view", `{"name":"lint"}`)
	if want := "in " + lint + " of s1 and $HOME"; v.Content != want || !slices.Equal(v.Files, []string{"inside", "logo.bin", "out", "references/api.md", "up"}) {
		t.Errorf("%q %q", v.Content, v.Files)
	}
	for _, file := range []string{"references/api.md", "./references/../references/api.md", "inside"} {
		if v := call(t, s, "skill_view", `{"name":"lint","file_path":"`+file+`"}`); v.Content != "see "+lint {
			t.Errorf("%s: %+v", file, v)
		}
	}
	for _, file := range []string{"../../../secret.txt", "/etc/passwd", "out", "up/../secret.txt", "up", "references", "none", "logo.bin", "..", "references/../../lint/SKILL.md"} {
		if v := call(t, s, "skill_view", `{"name":"lint","file_path":"`+file+`"}`); v.Success || v.Content != "" || !strings.Contains(v.Error, "file_path") {
			t.Errorf("%s: %+v", file, v)
		}
	}
	if v := call(t, s, "skill_view", `{"name":"deplo"}`); v.Success || !slices.Equal(v.Available, []string{"lint", "deploy", "deploy"}) {
		t.Errorf("unknown: %+v", v)
	}
	v = call(t, s, "skill_view", `{"name":"deploy"}`)
	if v.Success || !slices.Equal(v.Matches, []string{"ops/deploy", "site/deploy"}) {
		t.Fatalf("ambiguous: %+v", v)
	}
	if v := call(t, s, "skill_view", `{"name":"`+v.Matches[1]+`"}`); v.Content != "of the web" {
		t.Errorf("%+v", v)
	}
}

// SKL-3: a broken skill is told of with its line, and hides no other.
func TestSkills_BrokenOnesAreTold_SKL3(t *testing.T) {
	l := newLab(t)
	root := filepath.Join(l.home, "skills")
	skill(t, filepath.Join(root, "good"), "description: x", "")
	skill(t, filepath.Join(root, "bad"), "name: bad\ndescription: [", "")
	write(t, filepath.Join(root, "worse", "SKILL.md"), "no front matter")
	write(t, filepath.Join(root, "zz", "real.md"), "---\ndescription: x\n---\n")
	if err := os.Symlink(filepath.Join(l.home, "config.yaml"), filepath.Join(root, "zz", "SKILL.md")); err != nil { // leads out of its skill
		t.Skip(err)
	}
	r := l.open(t)
	if got := call(t, r.Session(runtime.SessionOptions{}), "skills_list", `{}`); got.names() != "good:x:" || !strings.HasSuffix(got.Hint, "; 3 can't be used: `hermes doctor` says why") {
		t.Errorf("%q, %q", got.names(), got.Hint)
	}
	usable, broken := lib.New(lib.Options{Home: l.home}).Session("s", func() string { return "" }, nil).Find(t.Context(), nil)
	if len(usable) != 1 || len(broken) != 3 || !strings.Contains(broken[0].Error(), filepath.Join("bad", "SKILL.md")+":3:") ||
		!strings.Contains(broken[1].Error(), filepath.Join("worse", "SKILL.md")+":1:") || !strings.Contains(broken[2].Error(), filepath.Join("zz", "SKILL.md")) {
		t.Errorf("%d usable, broken: %q", len(usable), broken)
	}
}

// SKL-3: doctor tells of the project's, too, where those are used.
func TestSkills_DoctorLooksIntoTheProject_SKL3(t *testing.T) {
	l := newLab(t)
	l.config = "skills: {project: on}"
	skill(t, filepath.Join(l.project, ".claude", "skills", "good"), "description: x", "")
	skill(t, filepath.Join(l.project, ".claude", "skills", "bad"), "description: [", "")
	var told []string
	for _, f := range l.open(t).Doctor(t.Context(), nil) {
		if f.About == "skills" {
			told = append(told, f.Text)
		}
	}
	if len(told) != 2 || told[0] != "1 can be used" || !strings.Contains(told[1], filepath.Join("bad", "SKILL.md")+":2:") {
		t.Errorf("%q", told)
	}
}

func TestSkills_OfAProjectNeedAYes_SKL1(t *testing.T) {
	l := newLab(t)
	skill(t, filepath.Join(l.project, ".agents", "skills", "a"), "name: a\ndescription: x", "")
	asked, says := 0, "no"
	l.asker = channel.AskerFunc(func(_ context.Context, q channel.Question) (channel.Answer, error) {
		asked++
		if q.Kind != channel.KindClarify || !strings.Contains(q.Text, l.project) || !strings.Contains(q.Text, ": a.") {
			t.Errorf("%+v", q)
		}
		return channel.Answer{Text: says}, nil
	})
	r := l.open(t)
	see := func(s *runtime.Session, count, questions int) {
		t.Helper()
		if got := call(t, s, "skills_list", `{}`); got.Count != count || asked != questions {
			t.Errorf("%d skills after %d questions, want %d after %d", got.Count, asked, count, questions)
		}
	}
	one := r.Session(runtime.SessionOptions{})
	see(one, 0, 1)
	see(one, 0, 1) // a no holds for the session
	says = "Yes "
	see(r.Session(runtime.SessionOptions{}), 1, 2)
	see(r.Session(runtime.SessionOptions{}), 1, 2) // a yes for good
	l.asker = nil
	see(l.session(t), 1, 2)
	for mode, want := range map[string]int{"off": 0, "on": 1} {
		l.config = "skills: {project: " + mode + "}"
		see(l.session(t), want, 2)
	}
	if err := os.RemoveAll(filepath.Join(l.home, "state")); err != nil {
		t.Fatal(err)
	}
	l.config = ""
	see(l.session(t), 0, 2) // nobody there is no yes
}

func TestSkills_MissingValues_SKL6_SKL7(t *testing.T) {
	l := newLab(t)
	skill(t, filepath.Join(l.home, "skills", "a"), "description: x\nrequired_environment_variables: [HAVE_KEY, {name: WANT_KEY, prompt: the want, help: at want.example}, {name: MAY_KEY, optional: true}, LD_PRELOAD, OPENAI_API_KEY]", "text")
	l.environ = []string{"HAVE_KEY=have", "OPENAI_API_KEY=sk-none-of-its-business"}
	v := call(t, l.session(t), "skill_view", `{"name":"a"}`)
	if !v.Setup || !slices.Equal(v.Missing, []string{"WANT_KEY"}) || v.Content != "text" || len(v.Refused) != 2 || v.Refused[0].Name != "LD_PRELOAD" {
		t.Errorf("nobody there: %+v", v)
	}
	var asked []channel.Question
	l.asker = channel.AskerFunc(func(_ context.Context, q channel.Question) (channel.Answer, error) {
		asked = append(asked, q)
		return channel.Answer{}, errors.New("no terminal")
	})
	if v := call(t, l.session(t), "skill_view", `{"name":"a"}`); !v.Setup || len(asked) != 1 {
		t.Errorf("nobody to be reached: %+v after %d questions", v, len(asked))
	}
	write(t, filepath.Join(l.home, ".env"), "# mine\nOTHER=1\nWANT_KEY=\nLAST=2")
	if err := os.Chmod(filepath.Join(l.home, ".env"), 0o644); err != nil {
		t.Fatal(err)
	}
	const typed = `pa"ss word\1`
	l.asker = channel.AskerFunc(func(_ context.Context, q channel.Question) (channel.Answer, error) {
		asked = append(asked, q)
		return channel.Answer{Secret: typed}, nil
	})
	r := l.open(t)
	s := r.Session(runtime.SessionOptions{})
	v = call(t, s, "skill_view", `{"name":"a"}`)
	if v.Setup || len(v.Missing) != 0 || len(asked) != 2 {
		t.Errorf("typed: %+v after %d questions", v, len(asked))
	}
	if q := asked[1]; q.Kind != channel.KindSecret || !strings.Contains(q.Title, "WANT_KEY") || !slices.Equal(q.Notes, []string{"the want", "at want.example"}) {
		t.Errorf("%+v", q)
	}
	file := filepath.Join(l.home, ".env")
	text, _ := os.ReadFile(file)
	info, err := os.Stat(file)
	if want := "# mine\nOTHER=1\nWANT_KEY=\"pa\\\"ss word\\\\1\"\nLAST=2"; err != nil || string(text) != want || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, the file holds %q", info.Mode(), text)
	}
	if got := r.Getenv("WANT_KEY"); got != typed {
		t.Errorf("the value is %q now", got)
	}
	if got := l.open(t).Getenv("WANT_KEY"); got != typed {
		t.Errorf("the value is %q in a later process", got)
	}
	skill(t, filepath.Join(l.home, "skills", "leak"), "description: "+strings.ReplaceAll(typed, `"`, "")+"\n", typed)
	if v := call(t, s, "skill_view", `{"name":"leak"}`); strings.Contains(v.Content, typed) {
		t.Errorf("the model reads what was typed: %q", v.Content)
	}
}
