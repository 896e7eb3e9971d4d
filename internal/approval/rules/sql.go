package rules

import (
	"slices"

	"github.com/hermes-runtime/hermes/internal/approval/analysis"
	"github.com/hermes-runtime/hermes/internal/approval/payload"
)

// client describes how a database client is given SQL.
type client struct {
	program  string
	short    string // option letters with a value
	long     []string
	code     []string // options whose value is SQL
	operands int      // operands from here on may be SQL; −1: none is
	dialect  payload.SQLDialect
}

var clients = []client{
	{program: "psql", short: "cdfFhLoPpRTUv", long: []string{"command", "dbname", "file", "host", "port", "username", "set", "variable", "output"},
		code: []string{"c", "command"}, operands: -1},
	{program: "mysql", short: mysqlShort, long: mysqlLong, code: mysqlCode, operands: -1, dialect: payload.SQLBackslash},
	{program: "mariadb", short: mysqlShort, long: mysqlLong, code: mysqlCode, operands: -1, dialect: payload.SQLBackslash},
	{program: "sqlite3"},
	{program: "sqlite"},
	{program: "duckdb", short: "c", code: []string{"c"}, operands: 1},
	{program: "sqlcmd", short: "SUPdQqiov", code: []string{"Q", "q"}, operands: -1},
	{program: "clickhouse-client", short: "qhud", long: []string{"query", "host", "user", "password"}, code: []string{"q", "query"}, operands: -1,
		dialect: payload.SQLBackslash},
	{program: "cockroach", short: "e", long: []string{"execute", "url", "host"}, code: []string{"e", "execute"}, operands: -1},
}

const mysqlShort = "eDhPSu"

var (
	mysqlLong = []string{"execute", "database", "host", "port", "user", "socket", "init-command"}
	mysqlCode = []string{"e", "execute", "init-command"}
)

// clientOf gives the client that a program is; the zero client for others.
func clientOf(program string) client {
	i := slices.IndexFunc(clients, func(c client) bool { return c.program == program })
	if i < 0 {
		return client{}
	}
	return clients[i]
}

var sqlPrograms = []string{"psql", "mysql", "mariadb", "sqlite3", "sqlite", "duckdb", "sqlcmd", "clickhouse-client", "cockroach"}

func sqlRows() []Row {
	return []Row{
		sqlRow(Row{ID: "sql.drop", Key: "SQL DROP", Matches: "DROP of any object, and ALTER … DROP, given to a database client",
			Examples: []string{`psql -c 'DROP TABLE users'`, `mysql -e "drop database x"`, `sqlite3 a.db 'DROP TABLE t;'`, "echo 'DROP TABLE t' | psql db",
				"psql <<EOF\nSELECT 1;\nDROP TABLE t;\nEOF", `psql -c "ALTER TABLE t DROP COLUMN c"`, "mysql db <<< 'drop table x'"},
			LookAlikes: []string{`psql -c 'SELECT 1'`, `grep 'DROP TABLE' x.sql`, `echo 'DROP TABLE t'`, `psql -c "SELECT 'DROP TABLE t'"`,
				`psql -c 'select 1 -- DROP TABLE t'`, "cat <<EOF > x.sql\nDROP TABLE t;\nEOF", "psql drop table"},
		}, payload.SQLDrop),
		sqlRow(Row{ID: "sql.truncate", Key: "SQL TRUNCATE", Matches: "TRUNCATE, given to a database client",
			Examples:   []string{`psql -c 'TRUNCATE users'`, `mysql -e 'truncate table x'`, "echo 'TRUNCATE t' | mysql"},
			LookAlikes: []string{`psql -c 'SELECT truncate(1.5)'`, `echo TRUNCATE t`, `psql -c "SELECT 'TRUNCATE t'"`},
		}, payload.SQLTruncate),
		sqlRow(Row{ID: "sql.delete", Key: "SQL DELETE without WHERE", Matches: "DELETE without a WHERE in which a column takes part",
			Examples: []string{`psql -c 'DELETE FROM users'`, `mysql -e 'delete from t where 1=1'`, `sqlite3 a.db 'DELETE FROM t'`,
				`psql -c "DELETE FROM t WHERE true"`},
			LookAlikes: []string{`psql -c 'DELETE FROM users WHERE id = 1'`, `echo 'DELETE FROM users'`, `psql -c "SELECT 'DELETE FROM t'"`},
		}, payload.SQLDelete),
		sqlRow(Row{ID: "sql.update", Key: "SQL UPDATE without WHERE", Matches: "UPDATE without a WHERE in which a column takes part",
			Examples:   []string{`psql -c 'UPDATE users SET a = 1'`, `mysql -e 'update t set a=2 where 1'`, "echo 'UPDATE t SET a=1' | psql"},
			LookAlikes: []string{`psql -c 'UPDATE users SET a = 1 WHERE id = 2'`, `echo 'UPDATE t SET a = 1'`, `psql -c 'SELECT 1 FOR UPDATE'`},
		}, payload.SQLUpdate),
	}
}

func sqlRow(r Row, act payload.SQLAct) Row {
	r.Family, r.Remember, r.Leaves, r.Programs = "sql", RememberAll, true, sqlPrograms
	r.Match = func(a *Act) []Hit {
		for _, text := range sqlTexts(a) {
			for _, f := range payload.SQL(text, clientOf(a.Program).dialect) {
				if f.Act == act {
					return []Hit{{Reason: "destroys data in a database: " + f.Text}}
				}
			}
		}
		return nil
	}
	return r
}

// sqlTexts lists the SQL that a client is given.
func sqlTexts(a *Act) []string {
	c := clientOf(a.Program)
	args := a.Args(analysis.Grammar{Short: c.short, Long: c.long})
	var texts []string
	for _, name := range c.code {
		for _, w := range args.Values[name] {
			texts = append(texts, plain(w)...)
		}
	}
	if c.operands >= 0 && len(args.Operands) > c.operands {
		for _, w := range args.Operands[c.operands:] {
			texts = append(texts, plain(w)...)
		}
	}
	if a.Stdin.Text != "" {
		texts = append(texts, analysis.Show(a.Stdin.Text))
	}
	return texts
}

func plain(w analysis.Word) []string {
	var out []string
	for _, v := range w.Values() {
		out = append(out, analysis.Show(v))
	}
	return out
}
