package payload_test

import (
	"testing"

	"github.com/hermes-runtime/hermes/internal/approval/payload"
)

// A38: what counts as destructive, statement by statement.
func TestSQL_FindsStatementsNotText(t *testing.T) {
	for text, want := range map[string]string{
		"DROP TABLE t":                             "drop",
		"drop\n\ttable t":                          "drop",
		"SELECT 1; DROP VIEW v":                    "drop",
		"/* x */ DROP TABLE t":                     "drop",
		"/*!50000 DROP TABLE t */":                 "drop",
		"# x\nDROP TABLE t":                        "drop",
		"ALTER TABLE t DROP COLUMN c":              "drop",
		"ALTER TABLE t ALTER c DROP NOT NULL":      "",
		"DROP TEMP TABLE t":                        "",
		"SELECT 'DROP TABLE t'":                    "",
		"SELECT \"DROP\" FROM t":                   "",
		"-- DROP TABLE t":                          "",
		"/* DROP TABLE t */":                       "",
		"SELECT $x$ DROP TABLE t $x$":              "",
		"DO $x$ BEGIN DROP TABLE t; END $x$":       "drop",
		"TRUNCATE t":                               "truncate",
		"SELECT truncate(1)":                       "",
		"DELETE FROM t":                            "delete",
		"DELETE FROM t WHERE id = 1":               "",
		"DELETE FROM t WHERE 1=1":                  "delete",
		"DELETE FROM t WHERE true OR 'a' = 'a'":    "delete",
		"DELETE FROM t WHERE \"id\" = 1":           "",
		"DELETE FROM t USING (SELECT 1 WHERE x)":   "delete",
		"DELETE FROM t -- WHERE id = 1":            "delete",
		"DELETE FROM t; SELECT 1 WHERE x = 1":      "delete",
		"WITH x AS (SELECT 1) DELETE FROM t":       "delete",
		"EXPLAIN DELETE FROM t":                    "",
		"EXPLAIN ANALYZE DELETE FROM t":            "delete",
		"UPDATE t SET a = 1":                       "update",
		"UPDATE t SET a = 1 WHERE id = 2":          "",
		"UPDATE t SET a = 1 WHERE 1":               "update",
		"SELECT 1 FOR UPDATE":                      "",
		"CREATE TABLE t (a int ON DELETE CASCADE)": "",
		"GRANT DELETE ON t TO u":                   "",
		".tables\nDROP TABLE t":                    "drop",
		"USE x\nDROP TABLE t":                      "drop",
		"SELECT 'a\\'; DROP TABLE t; --'":          "drop",
		"":                                         "",
	} {
		got := ""
		if found := payload.SQL(text, payload.SQLStandard); len(found) > 0 {
			got = string(found[0].Act)
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if found := payload.SQL(`SELECT 'it\'s; DROP TABLE t'`, payload.SQLBackslash); len(found) != 0 {
		t.Errorf("an escaped quote: %v", found)
	}
}
