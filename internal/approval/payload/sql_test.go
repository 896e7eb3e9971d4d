package payload_test

import (
	"testing"

	"github.com/hermes-runtime/hermes/internal/approval/payload"
)

// A38: what counts as destructive, statement by statement.
func TestSQL_FindsStatementsNotText(t *testing.T) {
	for text, want := range map[string]string{
		"DROP TABLE t":                                               "drop",
		"drop\n\ttable t":                                            "drop",
		"SELECT 1; DROP VIEW v":                                      "drop",
		"/* x */ DROP TABLE t":                                       "drop",
		"/*!50000 DROP TABLE t */":                                   "drop",
		"# x\nDROP TABLE t":                                          "drop",
		"ALTER TABLE t DROP COLUMN c":                                "drop",
		"ALTER TABLE t ALTER c DROP NOT NULL":                        "",
		"DROP TEMP TABLE t":                                          "",
		"SELECT 'DROP TABLE t'":                                      "",
		"SELECT \"DROP\" FROM t":                                     "",
		"-- DROP TABLE t":                                            "",
		"/* DROP TABLE t */":                                         "",
		"SELECT $x$ DROP TABLE t $x$":                                "",
		"DO $x$ BEGIN DROP TABLE t; END $x$":                         "drop",
		"TRUNCATE t":                                                 "truncate",
		"SELECT truncate(1)":                                         "",
		"DELETE FROM t":                                              "delete",
		"DELETE FROM t WHERE id = 1":                                 "",
		"DELETE FROM t WHERE 1=1":                                    "delete",
		"DELETE FROM t WHERE true OR 'a' = 'a'":                      "delete",
		"DELETE FROM t WHERE \"id\" = 1":                             "",
		"DELETE FROM t USING (SELECT 1 WHERE x)":                     "delete",
		"DELETE FROM t -- WHERE id = 1":                              "delete",
		"DELETE FROM t; SELECT 1 WHERE x = 1":                        "delete",
		"WITH x AS (SELECT 1) DELETE FROM t":                         "delete",
		"EXPLAIN DELETE FROM t":                                      "",
		"EXPLAIN ANALYZE DELETE FROM t":                              "delete",
		"UPDATE t SET a = 1":                                         "update",
		"UPDATE t SET a = 1 WHERE id = 2":                            "",
		"UPDATE t SET a = 1 WHERE 1":                                 "update",
		"SELECT 1 FOR UPDATE":                                        "",
		"CREATE TABLE t (a int ON DELETE CASCADE)":                   "",
		"GRANT DELETE ON t TO u":                                     "",
		".tables\nDROP TABLE t":                                      "drop",
		"USE x\nDROP TABLE t":                                        "drop",
		"SELECT 'a\\'; DROP TABLE t; --'":                            "drop",
		"":                                                           "",
		"DROP DATABASE x":                                            "drop",
		"drop schema s cascade":                                      "drop",
		"DROP INDEX i":                                               "drop",
		"DROP USER u":                                                "drop",
		"DROP/**/TABLE/**/t":                                         "drop",
		"SELECT 1;;; DROP TABLE t":                                   "drop",
		"(SELECT 1); DROP TABLE t":                                   "drop",
		"SELECT ';DROP TABLE t'":                                     "",
		"SELECT 'it''s'; DROP TABLE t":                               "drop",
		`SELECT E'a\\'; DROP TABLE t; --'`:                           "drop",
		`SELECT E'a\'; DROP TABLE t; --'`:                            "",
		"INSERT INTO t VALUES ('DROP TABLE t')":                      "",
		"CREATE TABLE t (a int); DROP TABLE b":                       "drop",
		"BEGIN; DROP TABLE t; ROLLBACK":                              "drop",
		"START TRANSACTION; TRUNCATE t; COMMIT":                      "truncate",
		"TRUNCATE TABLE ONLY t RESTART IDENTITY":                     "truncate",
		"ALTER TABLE t DROP CONSTRAINT c":                            "drop",
		"ALTER TABLE t DROP PARTITION p":                             "drop",
		"ALTER TABLE t ADD COLUMN drop_me int":                       "",
		"ALTER TABLE t ALTER c DROP DEFAULT, DROP COLUMN d":          "drop",
		"ALTER TABLE t DELETE WHERE 1":                               "delete",
		"ALTER TABLE t DELETE WHERE a = 1":                           "",
		"ALTER TABLE t UPDATE a = 1 WHERE 1":                         "update",
		"DELETE FROM t WHERE id = id":                                "delete",
		"DELETE FROM t WHERE 1":                                      "delete",
		"DELETE FROM t WHERE 'a' = 'a'":                              "delete",
		"DELETE FROM t WHERE (1 = 1)":                                "delete",
		"DELETE FROM t WHERE ((true))":                               "delete",
		"DELETE FROM t WHERE NOT FALSE":                              "delete",
		"DELETE FROM t WHERE 1 = 1 AND id = 3":                       "",
		"DELETE FROM t WHERE 1 = 1 OR id = 3":                        "delete",
		"DELETE FROM t WHERE id = 3 OR true":                         "delete",
		"DELETE FROM t WHERE id = 3 OR a = 4":                        "",
		"DELETE FROM t WHERE false OR id = 3":                        "",
		"DELETE FROM t WHERE length('a') = 1":                        "delete",
		"DELETE FROM t WHERE lower(a) = 'b'":                         "",
		"DELETE FROM t WHERE id IN (SELECT id FROM u)":               "",
		"DELETE FROM t WHERE EXISTS (SELECT 1)":                      "delete",
		"DELETE FROM t ORDER BY id LIMIT 1":                          "delete",
		"DELETE FROM t WHERE true ORDER BY id":                       "delete",
		"DELETE FROM t WHERE true RETURNING id":                      "delete",
		"delete t from t join u on t.a = u.a":                        "delete",
		"DELETE FROM t WHERE a LIKE '%x%'":                           "",
		"UPDATE t SET a = (SELECT 1 WHERE b)":                        "update",
		"UPDATE t SET a = 'x' WHERE b = 2":                           "",
		"UPDATE t SET a = 'WHERE b = 2'":                             "update",
		"UPDATE t SET a = 1 FROM u WHERE t.b = u.b":                  "",
		"UPDATE t SET a = 1 WHERE 'b' = 'b'":                         "update",
		"INSERT INTO t VALUES (1) ON CONFLICT DO UPDATE SET a = 1":   "",
		"INSERT INTO t VALUES (1) ON DUPLICATE KEY UPDATE a = 1":     "",
		"WITH d AS (DELETE FROM t RETURNING *) SELECT * FROM d":      "delete",
		"WITH d AS (DELETE FROM t WHERE a = 1 RETURNING *) SELECT 1": "",
		"WITH x AS (SELECT 1) UPDATE t SET a = 1":                    "update",
		"WITH x AS (SELECT 'DELETE FROM t') SELECT 1":                "",
		"EXPLAIN DROP TABLE t":                                       "",
		"EXPLAIN (ANALYZE, VERBOSE) DELETE FROM t":                   "delete",
		"EXPLAIN (FORMAT JSON) DELETE FROM t":                        "",
		"DO $$ BEGIN EXECUTE 'DROP TABLE t'; END $$":                 "drop",
		"DO $$ BEGIN PERFORM 1; END $$":                              "",
		"DO 'BEGIN DELETE FROM t; END'":                              "delete",
		"PREPARE s FROM 'DROP TABLE t'":                              "drop",
		"BEGIN EXECUTE IMMEDIATE 'DROP TABLE t'; END;":               "drop",
		"DO $$ BEGIN EXECUTE 'DR' || 'OP TABLE t'; END $$":           "drop",
		"EXEC('DROP TABLE t')":                                       "drop",
		"EXEC sp_executesql N'DROP TABLE t'":                         "drop",
		"IF EXISTS (SELECT 1) DROP TABLE t":                          "drop",
		"CREATE FUNCTION f() RETURNS void AS $$ BEGIN DELETE FROM t; END $$ LANGUAGE plpgsql":  "",
		"CREATE TRIGGER g AFTER INSERT ON a BEGIN DELETE FROM b; DELETE FROM c; END; SELECT 1": "",
		"CREATE TRIGGER g AFTER INSERT ON a BEGIN DELETE FROM b; END; DROP TABLE t":            "drop",
		"DELIMITER //\nCREATE PROCEDURE p() BEGIN DELETE FROM t; END//\nDELIMITER ;\nSELECT 1": "",
		"DELIMITER //\nSELECT 1//\nDROP TABLE t//":                                             "drop",
		"SELECT 1\nGO\nDROP TABLE t\nGO":                                                       "drop",
		"MERGE INTO t USING s ON true WHEN MATCHED THEN DELETE":                                "delete",
		"MERGE INTO t USING s ON t.a = s.a WHEN MATCHED THEN DELETE":                           "",
		"COMMENT ON TABLE t IS 'DROP TABLE t'":                                                 "",
		"GRANT DROP ON t TO u":                                                                 "",
		"SELECT * FROM t -- DROP\n WHERE a = 1":                                                "",
		"SELECT \"a;DROP TABLE t\"":                                                            "",
		"SELECT `a;DROP TABLE t`":                                                              "",
		"VACUUM; REINDEX; ANALYZE t":                                                           "",
		"SHOW TABLES; DESCRIBE t":                                                              "",
		"COPY t TO '/tmp/x'":                                                                   "",
		"SELECT * FROM t FOR UPDATE; SELECT 1":                                                 "",
		"CREATE TEMP TABLE t AS SELECT 1":                                                      "",
		"CREATE OR REPLACE VIEW v AS SELECT 1":                                                 "",
	} {
		got := ""
		if found := payload.SQL(text, payload.SQLStandard); len(found) > 0 {
			got = string(found[0].Act)
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	for text, want := range map[string]bool{
		"SELECT 1--1; DROP TABLE t": true, "SELECT 1 # ; DROP TABLE t": false, `SELECT "x;DROP TABLE t"`: false, `DELETE FROM t WHERE "a" = "a"`: true,
		"SELECT 1 -- ; DROP TABLE t": false, "/*!DROP TABLE t*/": true,
	} {
		if found := payload.SQL(text, payload.SQLBackslash); len(found) > 0 != want {
			t.Errorf("MySQL: %q: %v", text, found)
		}
	}
	for text, want := range map[string]bool{
		"SELECT 1\nDROP TABLE t": true, "SELECT [DROP TABLE t]\nFROM x": false, "DELETE FROM [t]": true, "DELETE FROM t\nWHERE [a] = 1": false, "UPDATE t\nSET a = 1\nWHERE b = 1": false,
	} {
		if found := payload.SQL(text, payload.SQLBatch); len(found) > 0 != want {
			t.Errorf("SQL Server: %q: %v", text, found)
		}
	}
	if found := payload.SQL(`SELECT 'it\'s; DROP TABLE t'`, payload.SQLBackslash); len(found) != 0 {
		t.Errorf("an escaped quote: %v", found)
	}
}
