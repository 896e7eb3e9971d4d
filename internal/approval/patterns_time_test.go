package approval_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hermes-runtime/hermes/internal/approval"
	"github.com/hermes-runtime/hermes/internal/approval/payload/timetest"
	"github.com/hermes-runtime/hermes/internal/approval/rules"
)

// A91: a user's rows take part in the bound of a text. Where they are more work than it allows the text is asked about, a denial that was
// reached stays one, and the ordinary rows of an ordinary user never come to that.
func TestPatterns_AreBounded(t *testing.T) {
	hungry := func(u *approval.UserRows) (faults []approval.Fault) {
		for i := range 40 {
			faults = append(faults, u.ReadPatterns(items([]any{"[ab]{0,500}c|(a*)*b", fmt.Sprintf("hungry %d", i)}))...)
		}
		return append(faults, u.ReadDeny(items("shutdown-all*"))...)
	}
	ordinary := func(u *approval.UserRows) (faults []approval.Fault) {
		for i := range 20 {
			faults = append(faults, u.ReadPatterns(items([]any{fmt.Sprintf(`\bdeploy%d\s+(prod|stage)\b`, i), fmt.Sprintf("row %d", i)}))...)
			faults = append(faults, u.ReadDeny(items(fmt.Sprintf("drop%d *", i)))...)
		}
		return append(faults, u.ReadPatterns(items([]any{`(?i)git\s+push.*--force`, "forced"}))...)
	}
	long, script := "echo "+strings.Repeat("ab", 32_000), strings.Repeat("mkdir -p \"$OUT/d\" && cp src/f.c \"$OUT/d/\"\n", 1500)
	for name, c := range map[string]struct {
		fill    func(*approval.UserRows) []approval.Fault
		text    string
		verdict string
		limit   bool
	}{
		"hungry rows":               {hungry, long, approval.TrialAsk, true},
		"hungry rows and a denial":  {hungry, "shutdown-all now; " + long, approval.TrialDeny, true},
		"hungry rows, a short text": {hungry, "ls x", approval.TrialAllow, false},
		"ordinary rows":             {ordinary, script, approval.TrialAllow, false},
		"ordinary rows, one match":  {ordinary, script + "deploy3 prod", approval.TrialAsk, false},
	} {
		g := approval.New(approval.Config{Rows: own(t, c.fill)})
		req := command(c.text)
		var got approval.Trial
		took := timetest.Took(func() { got = g.Try(req) })
		limit := slices.ContainsFunc(got.Findings, func(f rules.Finding) bool { return f.Row.ID == "analysis.limit" })
		if got.Verdict != c.verdict || limit != c.limit {
			t.Errorf("%s: %s, a limit: %v", name, got.Verdict, limit)
		}
		if most := 40 * timetest.Bound; took > most && !raced { // without a bound: more than a minute
			t.Errorf("%s: %v, at most %v wanted", name, took.Round(time.Millisecond), most)
		}
		t.Logf("%s: %v", name, took.Round(10*time.Microsecond))
	}
}
