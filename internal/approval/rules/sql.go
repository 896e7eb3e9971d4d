package rules

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/hermes-runtime/hermes/internal/approval/analysis"
	"github.com/hermes-runtime/hermes/internal/approval/payload"
)

func sqlRows() []Row {
	return []Row{
		sqlRow(Row{ID: "sql.drop", Key: "SQL DROP", Matches: "DROP of any object, and ALTER … DROP, given to a database client",
			Examples: []string{`psql -c 'DROP TABLE users'`, `mysql -e "drop database x"`, `sqlite3 a.db 'DROP TABLE t;'`, "echo 'DROP TABLE t' | psql db",
				"psql <<EOF\nSELECT 1;\nDROP TABLE t;\nEOF", `psql -c "ALTER TABLE t DROP COLUMN c"`, "mysql db <<< 'drop table x'", `clickhouse client -q 'DROP DATABASE d'`,
				`cqlsh host -e 'DROP KEYSPACE ks'`, `heroku pg:psql -a app -c 'DROP TABLE t'`, `npx wrangler d1 execute DB --remote --command="DROP TABLE t"`,
				`bq query --use_legacy_sql=false 'DROP TABLE ds.t'`, "echo 'DROP TABLE t' | python manage.py dbshell", "sqlcmd -Q 'SELECT 1\nDROP TABLE t'",
				`python3 -c "import sqlite3; sqlite3.connect('a.db').execute('DROP TABLE t')"`, "echo 'DROP TABLE t;' > x.sql; psql -f x.sql",
				`psql -c "DO \$\$ BEGIN EXECUTE 'DROP TABLE t'; END \$\$"`, `wp db query 'DROP TABLE wp_posts'`, `mysql -e "/*!50000 DROP TABLE t */"`, `mysql -u root -p"$PW" -e 'DROP DATABASE d'`, `mysql -psecretu -e 'DROP DATABASE d'`},
			LookAlikes: []string{`psql -c 'SELECT 1'`, `grep 'DROP TABLE' x.sql`, `echo 'DROP TABLE t'`, `psql -c "SELECT 'DROP TABLE t'"`,
				`psql -c 'select 1 -- DROP TABLE t'`, "cat <<EOF > x.sql\nDROP TABLE t;\nEOF", "psql drop table", `psql -c 'ALTER TABLE t ALTER c DROP NOT NULL'`,
				`python3 -c "print('DROP TABLE t')"`, "psql -f x.sql", `bq ls 'DROP TABLE t'`, `mysql -e "CREATE TRIGGER g AFTER INSERT ON a FOR EACH ROW BEGIN DELETE FROM b; DROP TABLE c; END"`},
		}, payload.SQLDrop),
		sqlRow(Row{ID: "sql.truncate", Key: "SQL TRUNCATE", Matches: "TRUNCATE, given to a database client",
			Examples:   []string{`psql -c 'TRUNCATE users'`, `mysql -e 'truncate table x'`, "echo 'TRUNCATE t' | mysql", `cqlsh -e 'TRUNCATE ks.t'`, `snowsql -q 'truncate table t'`},
			LookAlikes: []string{`psql -c 'SELECT truncate(1.5)'`, `echo TRUNCATE t`, `psql -c "SELECT 'TRUNCATE t'"`, `mysql -e "SELECT 1 # TRUNCATE t"`},
		}, payload.SQLTruncate),
		sqlRow(Row{ID: "sql.delete", Key: "SQL DELETE without WHERE", Matches: "DELETE without a WHERE in which a column takes part",
			Examples: []string{`psql -c 'DELETE FROM users'`, `mysql -e 'delete from t where 1=1'`, `sqlite3 a.db 'DELETE FROM t'`,
				`psql -c "DELETE FROM t WHERE true"`, `mysql shop -e "DELETE FROM cart WHERE 1 OR id=3"`, `psql -c 'WITH d AS (DELETE FROM t RETURNING *) SELECT * FROM d'`,
				`psql -c 'DELETE FROM t WHERE id = id'`},
			LookAlikes: []string{`psql -c 'DELETE FROM users WHERE id = 1'`, `echo 'DELETE FROM users'`, `psql -c "SELECT 'DELETE FROM t'"`, `psql -c 'EXPLAIN DELETE FROM t'`,
				`psql -c 'DELETE FROM t WHERE false OR id=1'`},
		}, payload.SQLDelete),
		sqlRow(Row{ID: "sql.update", Key: "SQL UPDATE without WHERE", Matches: "UPDATE without a WHERE in which a column takes part",
			Examples:   []string{`psql -c 'UPDATE users SET a = 1'`, `mysql -e 'update t set a=2 where 1'`, "echo 'UPDATE t SET a=1' | psql", `sqlite3 a.db "UPDATE t SET a='where x=1'"`},
			LookAlikes: []string{`psql -c 'UPDATE users SET a = 1 WHERE id = 2'`, `echo 'UPDATE t SET a = 1'`, `psql -c 'SELECT 1 FOR UPDATE'`, `mysql -e 'INSERT INTO t VALUES (1) ON DUPLICATE KEY UPDATE a=1'`},
		}, payload.SQLUpdate),
	}
}

// sqlRow completes a row about one act. The text is read once for all four.
func sqlRow(r Row, act payload.SQLAct) Row {
	r.Family, r.Remember, r.Leaves, r.Programs = "sql", RememberAll, true, sqlPrograms()
	r.Match = func(a *Act) []Hit {
		for _, f := range a.sql.get(a.statements) {
			if f.Act == act {
				return []Hit{{Reason: "destroys data in a database: " + f.Text}}
			}
		}
		return nil
	}
	return r
}

// statements are the destroying ones in all that a database client is given.
func (a *Act) statements() []payload.SQLFinding {
	var found []payload.SQLFinding
	for _, c := range clientsOf(a) {
		for _, text := range sqlTexts(a, c) {
			if a.known != nil && !a.known.work.Spend(len(text)/bytesOfSQL) {
				return found // which is asked about
			}
			found = append(found, payload.SQL(text, c.dialect)...)
		}
	}
	return found
}

// sqlTexts lists the SQL that a client is given: by options, operands, standard input, and files that the session wrote.
func sqlTexts(a *Act, c *client) []string {
	args := c.given(a).Args(analysis.Grammar{Short: c.short, Long: c.longs})
	operands, ok := c.behindVerb(args.Operands)
	if !ok || c.dry(args) {
		return nil
	}
	var texts []string
	option := false
	for _, name := range c.codes {
		for _, w := range args.Values[name] {
			texts, option = append(texts, plain(w)...), true
		}
	}
	if c.operands >= 0 && len(operands) > c.operands {
		rest := operands[c.operands:]
		if c.joined {
			texts = append(texts, joined(rest))
		} else {
			for _, w := range rest {
				if file, ok := strings.CutPrefix(w.Text, ".read "); ok {
					texts = append(texts, a.fileText(analysis.Word{Text: file, Span: w.Span})...)
				}
				texts = append(texts, plain(w)...)
			}
		}
	}
	for _, name := range c.filed {
		for _, w := range args.Values[name] {
			texts = append(texts, a.fileText(w)...)
		}
	}
	switch {
	case option && c.program != "sqlite3": // then standard input isn't read
	case a.Stdin.Text != "":
		texts = append(texts, analysis.Show(a.Stdin.Text))
	case a.Stdin.Kind == analysis.StdinFile:
		texts = append(texts, a.fileText(a.Stdin.File)...)
	}
	if !a.Stdin.Known {
		texts = append(texts, a.statementsMade()...)
	}
	for _, t := range texts {
		if strings.Contains(t, `\gexec`) { // psql runs what the query gives
			texts = append(texts, literals(t)...)
		}
	}
	return texts
}

// statementLiteral is a text of a query that begins as a statement which destroys: a query that makes statements.
var statementLiteral = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)'\s*((drop|truncate|delete\s+from|alter)\s[^']*)'`)
})

func literals(query string) []string {
	var out []string
	for _, m := range statementLiteral().FindAllStringSubmatch(query, -1) {
		out = append(out, m[1]+" made")
	}
	return out
}

// statementsMade lists the statements that clients in front of this one make of their queries, and those that frameworks print.
func (a *Act) statementsMade() []string {
	var out []string
	end := min(a.Stdin.From.End, len(a.Reading.Commands))
	for i := max(a.Stdin.From.Start, end-spied); i < end; i++ {
		from := &Act{Command: &a.Reading.Commands[i], Reading: a.Reading, Index: i}
		for _, c := range clientsOf(from) {
			for _, t := range sqlTexts(from, c) {
				out = append(out, literals(t)...)
			}
		}
		if slices.ContainsFunc(from.Words, func(w analysis.Word) bool { return w.Is("sqlflush") }) {
			out = append(out, "TRUNCATE every")
		}
	}
	return out
}

// fileText gives the text of a file that the session wrote.
func (a *Act) fileText(w analysis.Word) []string {
	if text, ok := a.Reading.Printed(w); ok {
		return []string{text}
	}
	var out []string
	for _, t := range a.Reading.Targets(a.Command, w) {
		if text, ok := a.Reading.Written(t.Path); ok {
			out = append(out, text)
		}
	}
	return out
}

func joined(words []analysis.Word) string {
	var text strings.Builder // of ten thousand words
	for _, w := range words {
		text.WriteString(analysis.Show(w.Text))
		text.WriteByte(' ')
	}
	return text.String()
}

func plain(w analysis.Word) []string {
	var out []string
	for _, v := range w.Values() {
		out = append(out, analysis.Show(analysis.Plain(v)))
	}
	return out
}
