package rules

import (
	"slices"
	"strings"
	"sync"

	"github.com/hermes-runtime/hermes/internal/approval/analysis"
	"github.com/hermes-runtime/hermes/internal/approval/payload"
)

// client describes how a database client is given SQL. The lists are words of a text.
type client struct {
	program  string
	verb     string // words that must stand in front, in this order, options aside
	short    string // option letters with a value
	long     string // long options with a value
	code     string // options whose value is SQL
	files    string // options whose value is a file of SQL
	operands int    // operands from here on may be SQL; −1: none is
	joined   bool   // operands are one statement
	dialect  payload.SQLDialect

	longs, codes, filed, verbs []string
}

// sqlClients are from the clients' manuals. A program with several forms has several rows.
var sqlClients = []client{
	{program: "psql ysqlsh vsql nzsql gsql edb-psql", short: "cdfFhLoPpRTUv", long: "command dbname file host port username set variable output pset field-separator record-separator",
		code: "c command", files: "f file", operands: -1},
	{program: "pgcli", short: "hpUudDRcf", long: "host port username user dbname dsn prompt pgclirc init-command", code: "c init-command", operands: -1},
	{program: "mysql mariadb tidb-client mysqlsh", short: "eDhPSu", long: "execute database host port user socket init-command default-character-set protocol delimiter", code: "e execute init-command sql",
		operands: -1, dialect: payload.SQLBackslash},
	{program: "mycli", short: "eDhPSudlR", long: "execute database host port user socket dsn login-path", code: "e execute", operands: -1, dialect: payload.SQLBackslash},
	{program: "sqlite3 sqlite sqlcipher", operands: 0},
	{program: "litecli", short: "eD", long: "execute database", code: "e execute", operands: -1},
	{program: "duckdb", short: "csf", long: "init", code: "c s", files: "f", operands: 0},
	{program: "sqlcmd osql", short: "SUPdQqiovrtshwmlEaDKy", code: "Q q", files: "i", operands: -1, dialect: payload.SQLBatch},
	{program: "clickhouse-client clickhouse-local", short: "qhud", long: "query host user password port database queries-file", code: "q query", files: "queries-file", operands: -1, dialect: payload.SQLBackslash},
	{program: "clickhouse", verb: "client|local", short: "qhud", long: "query host user password port database queries-file", code: "q query", files: "queries-file", operands: -1, dialect: payload.SQLBackslash},
	{program: "cockroach", verb: "sql", short: "edfu", long: "execute url host user database file port certs-dir", code: "e execute", files: "f file", operands: -1},
	{program: "usql", short: "cfovPT", long: "command file out set", code: "c command", files: "f file", operands: -1},
	{program: "sqlplus sqlplus64 sql isql iusql isql-fb isql-v tsql isqlw hdbsql", short: "SUPDHpiudnxo", code: "", files: "i", operands: 1, dialect: payload.SQLBatch},
	{program: "db2", operands: 0, joined: true},
	{program: "snowsql", short: "qfaudswrhpo", long: "query filename accountname username dbname schemaname", code: "q query", files: "f filename", operands: -1},
	{program: "snow", verb: "sql", short: "qfc", long: "query filename connection", code: "q query", files: "f filename", operands: -1},
	{program: "bq", verb: "query", long: "project_id dataset_id location format max_rows destination_table parameter label", operands: 0},
	{program: "trino presto presto-cli trino-cli", short: "f", long: "execute server catalog schema user file", code: "execute", files: "f file", operands: -1},
	{program: "hive beeline", short: "efudnpSi", long: "hiveconf hivevar database", code: "e", files: "f", operands: -1, dialect: payload.SQLBackslash},
	{program: "impala-shell", short: "qfidou", long: "query query_file impalad database", code: "q query", files: "f query_file", operands: -1},
	{program: "spark-sql", short: "efi", long: "master conf database packages", code: "e", files: "f", operands: -1, dialect: payload.SQLBackslash},
	{program: "cqlsh", short: "efkup", long: "execute file keyspace username password", code: "e execute", files: "f file", operands: -1},
	{program: "influx influxql influx_inspect", short: "", long: "host port database", operands: 0},
	{program: "dolt", verb: "sql", short: "qf", long: "query file", code: "q query", files: "f file", operands: -1, dialect: payload.SQLBackslash},
	{program: "heroku", verb: "pg:psql|psql", short: "acfr", long: "app command file remote", code: "c command", files: "f file", operands: 1},
	{program: "wrangler", verb: "d1 execute", short: "ce", long: "command file env config", code: "command", files: "file", operands: -1},
	{program: "supabase", verb: "db execute|query", short: "f", long: "file db-url sql", code: "sql", files: "f file", operands: 0},
	{program: "turso", verb: "db shell", operands: 1},
	{program: "libsql sqld", operands: 0},
	{program: "pscale", verb: "shell", operands: -1, dialect: payload.SQLBackslash},
	{program: "flyctl fly", verb: "postgres|pg|mysql connect", operands: -1},
	{program: "gcloud", verb: "sql connect", operands: -1},
	{program: "gcloud", verb: "spanner databases execute-sql", long: "sql instance project", code: "sql", operands: -1},
	{program: "aws", verb: "rds-data|redshift-data|athena|timestream-query|dynamodb execute-statement|batch-execute-statement|start-query-execution|query",
		long: "sql sqls query-string query statement database resource-arn secret-arn cluster-identifier region profile work-group", code: "sql sqls query-string statement", operands: -1},
	{program: "wp", verb: "db query", long: "path url", operands: 0, dialect: payload.SQLBackslash},
	{program: "drush", verb: "sql:query|sql-query|sqlq|sqlc|sql:cli", long: "db-prefix file root uri", files: "file", operands: 0, dialect: payload.SQLBackslash},
	{program: "python manage.py django-admin", verb: "dbshell", long: "database", operands: -1},
	{program: "rails rake", verb: "dbconsole|db", operands: -1},
	{program: "prisma", verb: "db execute", long: "file schema url", files: "file", operands: -1},
	{program: "mclient", short: "shpudf", long: "statement database host", code: "s statement", operands: -1},
	{program: "exaplus", operands: 0}, {program: "sqlline", short: "efu", code: "e", files: "f", operands: -1},
	{program: "sqlite-utils", verb: "query|execute", operands: 1}, {program: "sqlite-utils", operands: 1},
	{program: "databricks", verb: "sql|query", short: "e", long: "query execute", code: "e query execute", operands: -1}, {program: "dbsqlcli", short: "e", long: "execute", code: "e execute", operands: 0},
	{program: "cbq", short: "seupi", long: "script engine user password", code: "s script", operands: -1}, {program: "octosql rqlite", operands: 0}, {program: "steampipe", verb: "query", operands: 0}, {program: "dbaccess ttisql", short: "e", code: "e", operands: 1},
}

// clientIndex finds the rows of a program.
var clientIndex = sync.OnceValue(func() map[string][]*client {
	index := map[string][]*client{}
	for i := range sqlClients {
		c := &sqlClients[i]
		c.longs, c.codes, c.filed, c.verbs = strings.Fields(c.long), strings.Fields(c.code), strings.Fields(c.files), strings.Fields(c.verb)
		for name := range strings.FieldsSeq(c.program) {
			index[name] = append(index[name], c)
		}
	}
	return index
})

func sqlPrograms() []string {
	var names []string
	for i := range sqlClients {
		for name := range strings.FieldsSeq(sqlClients[i].program) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

func clientsOf(a *Act) []*client { return clientIndex()[a.Program] }

// behindVerb gives the operands behind the client's verb; ok is false when it isn't there. What stands in front of it is the program of an
// interpreter or the value of an option that isn't listed.
func (c *client) behindVerb(operands []analysis.Word) (rest []analysis.Word, ok bool) {
	for _, v := range c.verbs {
		forms := strings.Split(v, "|")
		i := slices.IndexFunc(operands, func(w analysis.Word) bool { return slices.Contains(forms, w.Text) })
		if i < 0 || i > 2 {
			return nil, false
		}
		operands = operands[i+1:]
	}
	return operands, true
}

// given is the command without MySQL's password, whose value is part of the option's word if there is one.
func (c *client) given(a *Act) *analysis.Command {
	if c.dialect != payload.SQLBackslash || !slices.ContainsFunc(a.Words, password) {
		return a.Command
	}
	without := *a.Command
	without.Words = slices.DeleteFunc(slices.Clone(a.Words), password)
	return &without
}

func password(w analysis.Word) bool { return len(w.Text) > 2 && strings.HasPrefix(w.Text, "-p") }

// dry tells whether the statement is only checked.
func (c *client) dry(args *analysis.Args) bool {
	return slices.Contains(args.Names, "dry_run") || slices.Contains(args.Names, "dry-run")
}
