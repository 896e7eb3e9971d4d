package rules_test

import (
	"slices"
	"strings"
	"testing"
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

// silent checks lines that no row may find.
func silent(t *testing.T, lines string) {
	t.Helper()
	for line := range strings.Lines(lines) {
		c := strings.ReplaceAll(strings.TrimSpace(line), `\n`, "\n")
		if c == "" {
			continue
		}
		if ids := check(c); len(ids) > 0 {
			t.Errorf("%s: found %v, want nothing", c, ids)
		}
	}
}
