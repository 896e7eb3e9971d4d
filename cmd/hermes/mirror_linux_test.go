package main_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// handed is the one of the host's credential files that its user hands over.
const handed = "credentials/google.json"

// skilled gives a host a skill with a program, one with a file that it asks for, and one that asks for what no skill gets.
func skilled(t *testing.T, h *host) {
	t.Helper()
	for name, text := range map[string]string{
		"skills/demo/SKILL.md": "---\ndescription: shows\n---\nrun ${HERMES_SKILL_DIR}/show", "skills/demo/show": "#!/bin/sh\necho shown by the skill\n",
		"skills/greedy/SKILL.md": "---\ndescription: wants\nrequired_credential_files: [.env, ../x, auth/mcp-tokens.json, missing.json]\n---\ntext",
		"cache/images/1.png":     "picture",
	} {
		file := filepath.Join(h.home, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

// viewed is what a model reads of a skill.
type viewed struct {
	Content string
	Dir     string                          `json:"skill_dir"`
	Setup   bool                            `json:"setup_needed"`
	Missing []string                        `json:"missing_credential_files"`
	Refused []struct{ Name, Reason string } `json:"refused_credential_files"`
}

func (h *host) view(name string) (v viewed) {
	h.t.Helper()
	out := h.done("skill_view", map[string]any{"name": name})
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		h.t.Fatalf("%v: %s", err, out)
	}
	return v
}

// output runs a command.
func (h *host) output(command string) string {
	h.t.Helper()
	out := h.done("terminal", map[string]any{"command": command})
	var r struct{ Output string }
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		h.t.Fatalf("%v: %s", err, out)
	}
	return r.Output
}

func TestMirror_SkillsCachesAndCredentialsAreWhereCommandsRun(t *testing.T) { // SYN-1, SYN-3, SYN-4, RES-5
	text := strings.ReplaceAll(files[handed], "NAME-", fmt.Sprintf("%s-", newHost(t).word))
	for name, row := range map[string]struct {
		open   func(t *testing.T, h *host) place
		home   func(p place) string // of commands
		shared bool                 // what is there can't be changed
	}{
		"docker": {container, func(place) string { return "/root" }, true},
		"ssh":    {far, func(p place) string { return p.there }, false},
	} {
		for _, mode := range []string{"auto", "off"} {
			t.Run(name+", resident "+mode, func(t *testing.T) {
				t.Parallel()
				h := newHost(t)
				skilled(t, h)
				h.place = row.open(t, h)
				there := row.home(h.place) + "/.hermes"
				plain := append(slices.Clip(h.place.vars), "TERMINAL_RESIDENT="+mode)
				h.place.vars = append(slices.Clip(plain), `TERMINAL_CREDENTIAL_FILES=["`+handed+`"]`)
				v := h.view("demo")
				if v.Dir != there+"/skills/demo" || v.Content != "run "+v.Dir+"/show" {
					t.Errorf("the model is told %+v, and the skill is in %s", v, there)
				}
				if got := h.output(v.Dir + "/show; cat ~/.hermes/cache/images/1.png; wc -c <~/.hermes/" + handed); got != fmt.Sprintf("shown by the skill\npicture%d", len(text)) {
					t.Errorf("commands there read %q", got)
				}
				found := h.traces(0)
				for where, names := range found {
					if !strings.HasSuffix(where, there+"/"+handed) || !slices.Equal(names, []string{"google"}) {
						t.Errorf("found %q in %s", names, where)
					}
				}
				if len(found) != 1 {
					t.Errorf("what is handed over is found in %d places", len(found))
				}
				h.changes(v.Dir, row.shared)

				h.place.vars = plain // the user hands nothing over any more
				if got := h.output("cat ~/.hermes/" + handed + " 2>/dev/null | wc -c; " + v.Dir + "/show"); got != "0\nshown by the skill" {
					t.Errorf("afterwards commands read %q", got)
				}
				if found := h.traces(0); len(found) > 0 {
					t.Errorf("afterwards: found %q", found)
				}
				h.greedy()
			})
		}
	}
}

// changes has a command change the skill.
func (h *host) changes(dir string, shared bool) {
	h.t.Helper()
	h.output("echo new >" + dir + "/new; echo echo changed >" + dir + "/show")
	added, _ := os.ReadFile(filepath.Join(h.home, "skills/demo/new"))
	show, err := os.ReadFile(filepath.Join(h.home, "skills/demo/show"))
	if err != nil {
		h.t.Fatal(err)
	}
	if shared != (len(added) == 0) || shared != strings.Contains(string(show), "by the skill") {
		h.t.Errorf("here the skill holds %q and %q", added, show)
	}
	if err := os.WriteFile(filepath.Join(h.home, "skills/demo/show"), []byte("#!/bin/sh\necho shown by the skill\n"), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

// greedy loads the skill that wants too much.
func (h *host) greedy() {
	h.t.Helper()
	v := h.view("greedy")
	var refused []string
	for _, r := range v.Refused {
		refused = append(refused, r.Name)
	}
	if !v.Setup || !slices.Equal(v.Missing, []string{"missing.json"}) || !slices.Equal(refused, []string{".env", "../x"}) {
		h.t.Errorf("%+v", v)
	}
	if found := h.traces(0); len(found) > 0 {
		h.t.Errorf("of a greedy skill: found %q", found)
	}
}

func TestMirror_ThisMachineIsLeftAlone(t *testing.T) { // SYN-1
	h := newHost(t)
	skilled(t, h)
	h.place = here(t, h)
	h.place.vars = append(h.place.vars, `TERMINAL_CREDENTIAL_FILES=["`+handed+`"]`)
	if v := h.view("demo"); v.Dir != filepath.Join(h.home, "skills/demo") {
		t.Errorf("the model is told %+v", v)
	}
	h.output("true")
	for _, name := range []string{".hermes", "cache/documents", "run/mirror"} {
		if _, err := os.Stat(filepath.Join(h.home, name)); !os.IsNotExist(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
