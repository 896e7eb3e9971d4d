package agent

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// LOOP-9: the files of a project are read from the repository's root down to the session's directory, one a directory, each once, and
// of a directory further down when a call first touches it. Outside the repository nothing is read.
func TestProject_EachFileIsToldOnce(t *testing.T) {
	top := t.TempDir()
	for name, text := range map[string]string{
		"AGENTS.md": "outside", "repo/.git/HEAD": "", "repo/AGENTS.md": "top rules", "repo/CLAUDE.md": "not read", "repo/app/.cursorrules": "app rules",
		"repo/app/deep/AGENTS.md": strings.Repeat("ä", 9000), "repo/lib/CLAUDE.md": "lib rules", "repo/odd/AGENTS.md/x": "",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(top, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(top, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p := NewProject(filepath.Join(top, "repo", "app"))
	begin, faults := p.Begin()
	if len(faults) != 0 || !strings.Contains(begin, "top rules") || !strings.Contains(begin, "app rules") || strings.Contains(begin, "not read") || strings.Contains(begin, "outside") ||
		strings.Index(begin, "top") > strings.Index(begin, "app rules") {
		t.Errorf("%s", begin)
	}
	for path, want := range map[string]string{"x.go": "", "../lib/y.go": "lib rules", "../../z": "", "../odd/z": "AGENTS.md isn't read: it is no regular file", filepath.Join(top, "repo/app/deep/file"): "äää"} {
		got := p.Touch(path)
		if (want == "") != (got == "") || !strings.Contains(got, want) || len([]rune(got)) > projectChars+500 {
			t.Errorf("%s: %.80q", path, got)
		}
		if again := p.Touch(path); again != "" {
			t.Errorf("%s is told twice", path)
		}
	}
}

// LOOP-9: what is cut or not read is said, to the model and to the person; a link out of the project is not followed, one within it is.
func TestProject_TellsWhatIsNotTold(t *testing.T) {
	top := t.TempDir()
	for name, text := range map[string]string{
		"secret": "the key", "repo/.git/HEAD": "", "repo/AGENTS.md": strings.Repeat("x", 8001), "repo/whole/CLAUDE.md": strings.Repeat("y", 8000),
		"repo/out/CLAUDE.md": "other rules", "repo/in/z": "",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(top, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(top, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"repo/out/AGENTS.md": "secret", "repo/in/AGENTS.md": "repo/out/CLAUDE.md"} {
		if err := os.Symlink(filepath.Join(top, to), filepath.Join(top, link)); err != nil {
			t.Skip(err)
		}
	}
	const cut = "is longer than 8000 characters: only its beginning is told"
	p := NewProject(filepath.Join(top, "repo"))
	if text, faults := p.Begin(); len(faults) != 1 || faults[0] != filepath.Join(top, "repo", "AGENTS.md")+" "+cut || !strings.HasSuffix(text, cut+"]") {
		t.Errorf("%q: %s", faults, text[max(0, len(text)-200):])
	}
	for path, want := range map[string]string{
		"whole/a": strings.Repeat("y", 8000), "out/a": "AGENTS.md isn't read: it leads out of the project]\n[" + filepath.Join(top, "repo", "out", "CLAUDE.md") + ", text of the project]\nother rules",
		"in/a": "AGENTS.md, text of the project]\nother rules",
	} {
		if got := p.Touch(path); !strings.HasSuffix(got, want) || strings.Contains(got, "the key") {
			t.Errorf("%s: %.300s", path, got)
		}
	}
}

// LOOP-9: a directory is touched itself, and a path may name the project by where links to it lead.
func TestProject_TouchedThroughLinks(t *testing.T) {
	top := t.TempDir()
	for _, name := range []string{"real/a/AGENTS.md", "real/b/AGENTS.md"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(top, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(top, name), []byte("rules of "+name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(top, "real"), filepath.Join(top, "link")); err != nil {
		t.Skip(err)
	}
	p := NewProject(filepath.Join(top, "link"))
	for path, want := range map[string]string{"a": "rules of real/a", filepath.Join(top, "real", "b", "x"): "rules of real/b"} {
		if got := p.Touch(path); !strings.Contains(got, want) {
			t.Errorf("%s: %q", path, got)
		}
	}
}

func TestPrompt_EmptyPartsAreLeftOut(t *testing.T) {
	if got := (Prompt{Identity: "me", Notes: "a note"}).String(); got != "me\n\n# Your notes\na note" {
		t.Errorf("%q", got)
	}
}
