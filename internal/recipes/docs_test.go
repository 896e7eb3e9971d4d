package recipes

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// pages are the documents whose commands are typed.
func pages(t *testing.T) []string {
	t.Helper()
	docs, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(docs) == 0 {
		t.Fatalf("no pages in docs: %v", err)
	}
	return append(docs, "../../README.md")
}

func TestDocs_CommandsPrintWhatThePageSays(t *testing.T) {
	x := copyTree(t)
	for _, file := range pages(t) {
		var steps []step
		for _, s := range readPage(t, file) {
			steps = append(steps, s.steps...)
		}
		if len(steps) == 0 {
			continue
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			x.moveIn(t)
			x.carryOut(t, steps)
		})
	}
}

var (
	link   = regexp.MustCompile(`\]\(([^)#]+)(?:#[^)]*)?\)`)
	fenced = regexp.MustCompile("(?ms)^```.*?^```$")
)

func TestDocs_LinksLeadSomewhere(t *testing.T) {
	for _, file := range append(pages(t), "../../CONTRIBUTING.md", "../../CHANGELOG.md") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(fenced.ReplaceAllString(string(text), ""), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(file), filepath.FromSlash(m[1]))); err != nil {
				t.Errorf("%s links to %s: %v", filepath.Base(file), m[1], err)
			}
		}
	}
}
