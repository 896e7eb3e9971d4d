package rules_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/internal/approval/analysis"
	"github.com/hermes-runtime/hermes/internal/approval/rules"
)

// finds checks lines, one a command, against the row that must be found.
func finds(t *testing.T, id, lines string) {
	t.Helper()
	for line := range strings.Lines(lines) {
		c := strings.ReplaceAll(strings.TrimSpace(line), `\n`, "\n")
		if c == "" {
			continue
		}
		if ids := check(c); !slices.Contains(ids, id) {
			t.Errorf("%s: found %v, want %s", c, ids, id)
		}
	}
}

// toolRows are the rows about tools.
var toolRows = []string{"git.discard", "git.clean", "git.force", "git.history", "container.remove", "container.escape", "cluster.delete", "infra.destroy",
	"cloud.delete", "package.remove", "sql.admin"}

// silent checks lines that none of them may find.
func silent(t *testing.T, lines string) {
	t.Helper()
	for line := range strings.Lines(lines) {
		c := strings.ReplaceAll(strings.TrimSpace(line), `\n`, "\n")
		if c == "" {
			continue
		}
		for _, id := range check(c) {
			if slices.Contains(toolRows, id) {
				t.Errorf("%s: found %s, want nothing", c, id)
			}
		}
	}
}

// A36, A43: odd spellings of acts, and what resembles them, over all tools; one command a line.
func TestTools_OddSpellings(t *testing.T) {
	for c := range strings.Lines(read(t, "testdata/tools_found.txt")) {
		if c = strings.TrimSpace(c); !slices.ContainsFunc(check(c), func(id string) bool { return slices.Contains(toolRows, id) }) {
			t.Errorf("%s: found nothing", c)
		}
	}
	silent(t, read(t, "testdata/tools_silent.txt"))
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A91: time grows with the length, whatever stands in front of a verb.
func BenchmarkTools_LongCommands(b *testing.B) {
	for _, c := range []string{"git status", "az " + strings.Repeat("a ", 16<<10), "gh " + strings.Repeat("-a --b c ", 4<<10),
		"docker run " + strings.Repeat("--x y ", 8<<10)} {
		s, _ := analysis.Parse(c)
		r := s.Read(analysis.Input{Dir: "/data/app", Home: "/home/ann"})
		b.Run(c[:min(len(c), 12)], func(b *testing.B) {
			for b.Loop() {
				rules.Check(r)
			}
		})
	}
}

// A91: no input makes the engine of verbs panic, and its answer is the same each time.
func FuzzTools_Verbs(f *testing.F) {
	for _, c := range []string{"git -C x reset --hard", "docker run -v /:/x --", "az ** delete", "kubectl --a=b -- delete", "gcloud $X delete -", "rpm -e -- -", "aws - -- --="} {
		f.Add(c)
	}
	f.Fuzz(func(t *testing.T, c string) {
		if a, b := check(c), check(c); !slices.Equal(a, b) {
			t.Errorf("%q: %v, then %v", c, a, b)
		}
	})
}
