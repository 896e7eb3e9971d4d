package rules_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hermes-runtime/hermes/internal/approval/analysis"
	"github.com/hermes-runtime/hermes/internal/approval/rules"
)

func check(command string) []string {
	s, _ := analysis.Parse(command)
	r := s.Read(analysis.Input{Dir: "/data/app", Home: "/home/ann"})
	var ids []string
	for _, f := range rules.Check(r) {
		if !slices.Contains(ids, f.Row.ID) {
			ids = append(ids, f.Row.ID)
		}
	}
	return ids
}

// A42: every row's own examples go through the whole pipeline, plain and with each program's name quoted again.
func TestTable_ExamplesMatchAndLookAlikesDoNot(t *testing.T) {
	for _, row := range rules.Table() {
		t.Run(row.ID, func(t *testing.T) {
			if len(row.Examples) < 3 || len(row.LookAlikes) < 3 {
				t.Errorf("%d examples and %d look-alikes, want at least 3 of each", len(row.Examples), len(row.LookAlikes))
			}
			for _, c := range row.Examples {
				for _, v := range []string{c, requote(c)} {
					if ids := check(v); !slices.Contains(ids, row.ID) {
						t.Errorf("%q: found %v, want %s", v, ids, row.ID)
					}
				}
			}
			for _, c := range row.LookAlikes {
				if ids := check(c); slices.Contains(ids, row.ID) {
					t.Errorf("%q: found %v, want no %s", c, ids, row.ID)
				}
			}
		})
	}
}

// requote spells each plain program name differently, which changes nothing that runs.
func requote(command string) string {
	s, _ := analysis.Parse(command)
	r := s.Read(analysis.Input{})
	var spans []analysis.Span
	for _, c := range r.Commands {
		if !c.Payload && len(c.Words) > 0 {
			spans = append(spans, c.Words[0].Span)
		}
	}
	slices.SortFunc(spans, func(a, b analysis.Span) int { return b.Start - a.Start })
	for _, sp := range slices.Compact(spans) {
		name := sp.Slice(command)
		if len(name) < 2 || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789") != "" {
			continue
		}
		command = command[:sp.Start] + name[:1] + "'" + name[1:2] + "'\"" + name[2:] + "\"" + command[sp.End:]
	}
	return command
}

// A42–A47: ids and keys are the contract of stored approvals.
func TestTable_RowsAreComplete(t *testing.T) {
	ids, keys := map[string]bool{}, map[string]bool{}
	for _, r := range rules.Table() {
		if r.ID == "" || r.Key == "" || r.Family == "" || r.Matches == "" {
			t.Errorf("%s: id, key, family and what it matches must be there: %+v", r.ID, r)
		}
		if ids[r.ID] || keys[r.Key] {
			t.Errorf("%s: id or key stands twice", r.ID)
		}
		ids[r.ID], keys[r.Key] = true, true
		if (r.Match == nil) == (r.Note == "") {
			t.Errorf("%s: a row matches commands or stands for a note", r.ID)
		}
	}
}
