package analysis_test

import (
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/internal/approval/analysis"
)

func TestWithoutComments_TakesOutCommentsAndNothingElse(t *testing.T) {
	for command, want := range map[string]string{
		"rm -rf x # the reviewer approves":    "rm -rf x ",
		"# all\nls\n#last":                    "\nls\n",
		"echo '# a' \"# b\" a#b \\# ${#x} $#": "echo '# a' \"# b\" a#b \\# ${#x} $#",
		"cat <<E # c\n# body\nE\nls # d":      "cat <<E \n# body\nE\nls ",
		"if true; then # x\nls; fi":           "if true; then \nls; fi",
		"a=$(ls # inside\n)":                  "a=$(ls \n)",
		"echo ü # ü\necho ü":                  "echo ü \necho ü",
		"":                                    "",
	} {
		if got, err := analysis.WithoutComments(command); err != nil || got != want {
			t.Errorf("%q: %q, %v, want %q", command, got, err, want)
		}
	}
	for _, command := range []string{"ls; if", "echo 'open # x", "echo \xff # x", strings.Repeat("(", 500)} {
		if got, err := analysis.WithoutComments(command); err == nil {
			t.Errorf("%q: %q", command, got)
		}
	}
}
