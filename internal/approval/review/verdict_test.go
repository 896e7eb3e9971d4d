package review

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/hermes-runtime/hermes/internal/approval"
)

// FuzzParseVerdict: whatever is accepted is an object with just these members, and says the verdict itself.
func FuzzParseVerdict(f *testing.F) {
	for _, s := range []string{`{"verdict":"approve","reason":"x"}`, `{"verdict":"deny"}`, `{"verdict":"approve","verdict":"deny"}`, `{}`, `{"verdict":"approve"}x`,
		"```\n{}\n```", `{"verdict":"\u0061pprove","reason":"\u202e"}`, `{"verdict":"approve",}`, `{"verdict":{"a":1}}`, `{"verdict"`, "\ufeff{}", "{\"verdict\":\"approve\"\x00}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v, reason, err := parseVerdict([]byte(s))
		if err != nil {
			if v != approval.Escalate || reason != "" {
				t.Errorf("%q: %s, %q with %v", s, v, reason, err)
			}
			return
		}
		var again map[string]string
		if json.Unmarshal([]byte(s), &again) != nil || again["verdict"] != string(v) || len(again) > 2 {
			t.Errorf("%q was read as %s", s, v)
		}
		if !utf8.ValidString(reason) || strings.ContainsAny(reason, "\n\x1b\u202e") {
			t.Errorf("reason %q", reason)
		}
	})
}
