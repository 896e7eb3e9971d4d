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
	begin := p.Begin()
	if !strings.Contains(begin, "top rules") || !strings.Contains(begin, "app rules") || strings.Contains(begin, "not read") || strings.Contains(begin, "outside") ||
		strings.Index(begin, "top") > strings.Index(begin, "app rules") {
		t.Errorf("%s", begin)
	}
	for path, want := range map[string]string{"x.go": "", "../lib/y.go": "lib rules", "../../z": "", "../odd/z": "", filepath.Join(top, "repo/app/deep/file"): "äää"} {
		got := p.Touch(path)
		if (want == "") != (got == "") || !strings.Contains(got, want) || len([]rune(got)) > projectChars+500 {
			t.Errorf("%s: %.80q", path, got)
		}
		if again := p.Touch(path); again != "" {
			t.Errorf("%s is told twice", path)
		}
	}
}

func TestPrompt_EmptyPartsAreLeftOut(t *testing.T) {
	if got := (Prompt{Identity: "me", Notes: "a note"}).String(); got != "me\n\n# Your notes\na note" {
		t.Errorf("%q", got)
	}
}
