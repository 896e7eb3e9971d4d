package rules

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/hermes-runtime/hermes/internal/approval/analysis"
)

const (
	djangoActs = `
flush|reset_db|reset_schema|drop_test_database|truncate_db
migrate +@zero`
	artisanActs = "migrate:fresh|migrate:refresh|migrate:reset|db:wipe|module:migrate-reset|module:migrate-refresh|tenants:migrate-fresh !--pretend"
	symfonyActs = `
doctrine:database:drop|doctrine:schema:drop|d:d:d|d:s:d +-f +--force +--full-database !--dump-sql
doctrine:fixtures:load|d:f:l !--append
doctrine:mongodb:schema:drop|doctrine:phpcr:workspace:purge
doctrine:migrations:migrate +@first +@prev`
	drushVerbs  = "sql-drop|sql:drop|sql-sync|sql:sync|site-install|site:install|si|entity:delete|edel !--simulate"
	drushActs   = drushVerbs + "\n@* " + drushVerbs // behind the alias of a site
	consoleActs = "console doctrine:database:drop|doctrine:schema:drop|d:d:d|d:s:d +-f +--force +--full-database !--dump-sql"
	railsActs   = "db:drop|db:drop:*|db:reset|db:reset:*|db:purge|db:purge:*|db:schema:load|db:schema:load:*|db:structure:load|db:truncate_all|db:migrate:reset|db:seed:replant|" +
		"db:mongoid:drop|db:mongoid:purge\ndb:migrate +@VERSION=0"
)

// databaseRows are tools that drop or empty databases, stores, queues and topics, where no SQL is given.
func databaseRows() []Row {
	r := verbRow(Row{
		ID: "sql.admin", Key: "database destroyed by its tools", Family: "sql", Remember: RememberAll, Leaves: true,
		Matches: "tools that drop, flush or reset databases, key-value and document stores, indexes, queues and topics; framework commands that rebuild a database from nothing",
		Examples: []string{"dropdb app", "dropdb -h db -U postgres --if-exists app", "mysqladmin -u root -psecret drop app", "redis-cli FLUSHALL",
			"redis-cli -h r -p 6380 -n 2 flushdb async",
			"echo FLUSHALL | redis-cli", "redis-cli <<EOF\nAUTH x\nFLUSHDB\nEOF", "mongosh app --eval 'db.dropDatabase()'",
			`mongo --quiet --eval "db.users.deleteMany({})"`, "echo 'db.users.drop()' | mongosh app",
			"rails db:drop", "bin/rails db:reset", "rake db:drop", "python manage.py flush --noinput", "./manage.py reset_db",
			"php artisan migrate:fresh --seed", "node_modules/.bin/prisma migrate reset --force",
			"prisma db push --force-reset", "alembic downgrade base", "flyway clean", "mix ecto.drop", "dotnet ef database drop -f",
			"wp db reset --yes", "drush sql-drop -y", "kafka-topics --delete --topic x --bootstrap-server b:9092",
			"kafka-topics.sh --bootstrap-server b:9092 --topic x --delete", "rabbitmqctl reset", "rabbitmqadmin purge queue name=q",
			"celery -A app purge -f", "curl -XDELETE localhost:9200/logs", "curl -X DELETE http://es:9200/_all",
			"echo flush_all | nc localhost 11211", "etcdctl del --prefix /app", "redis-cli --scan --pattern 'x*' | xargs redis-cli del",
			"redis-cli keys 'a*' | xargs -n 50 redis-cli -n 1 DEL", "influx bucket delete -n b",
			"nats stream purge S -f", "heroku pg:reset DATABASE", "supabase db reset", "consul kv delete -recurse app/",
			"rails runner 'User.delete_all'", "mongorestore --drop dump/", "php bin/console doctrine:database:drop --force",
			"redis-cli --raw -a pw FlushAll"},
		LookAlikes: []string{"createdb app", "dropdb --help", "mysqladmin status", "redis-cli GET flushall", "redis-cli -h flushall ping",
			"redis-cli help flushall", "redis-cli DEL session:1", "echo FLUSHALL",
			"echo FLUSHALL | redis-cli -x SET note", "mongosh --eval 'db.users.find()'", `mongosh --eval 'print("db.dropDatabase()")'`,
			"mongosh --eval 'db.users.deleteMany({a: 1})'", "rails db:migrate", "rails db:test:prepare",
			"RAILS_ENV=test bin/rails db:schema:load", "python manage.py migrate", "python manage.py sqlflush",
			"python manage.py migrate app 0002", "php artisan migrate", "php artisan db:seed", "prisma migrate deploy",
			"prisma generate", "alembic upgrade head", "alembic downgrade -1", "flyway info", "mix ecto.migrate", "dotnet ef database update",
			"wp db export", "kafka-topics --list", "rabbitmqctl list_queues",
			"celery -A app worker", "curl -X DELETE http://localhost:3000/users/1", "curl localhost:9200/_cat/indices",
			"curl -XPUT localhost:9200/x", "etcdctl get x", "grep -r dropDatabase .", "git commit -m 'redis-cli FLUSHALL'",
			"pg_dump --clean app", "mongodump --db app", "influx query 'x'", "rake test", "npx knex migrate:latest"},
	}, "destroys a database's content", databaseTools(), databaseMore, slices.Concat(redisPrograms, mongoPrograms, requestPrograms, socketPrograms, projectRunners,
		[]string{"hbase", "nsupdate", "grpcurl", "cypher-shell", "neo4j-shell", "python", "php", "ruby", "node", "bash", "sh"})...)
	r.Writes = true // a flush may go to a port by redirect
	match := r.Match
	r.Match = func(a *Act) []Hit {
		if slices.ContainsFunc(a.Assigns, isTestEnv) {
			return nil
		}
		return match(a)
	}
	return []Row{r}
}

// isTestEnv tells whether an assignment makes a framework use its test database, which is made anew at every run.
func isTestEnv(s analysis.Assign) bool {
	value, ok := s.Value.Exact()
	return ok && value == "test" && slices.Contains([]string{"RAILS_ENV", "RACK_ENV", "MIX_ENV", "NODE_ENV", "APP_ENV"}, s.Name)
}

func databaseTools() []tool {
	return []tool{
		{names: "dropdb dropuser", short: "hpUO", long: "host port username maintenance-db", safe: "-? -V --version",
			acts: "+@* +-i +-f +-e +--force"},
		{names: "pg_dropcluster", acts: "+@*"}, {names: "pg_resetwal", safe: "-n --dry-run", short: "lxocemu", acts: "+@* +-f +-D"},
		{names: "pg_restore", short: "hpUdfjFILnNPStT", long: "dbname host port username file jobs format schema table",
			acts: "+-c +--clean !-l !--list !--file=- !-f !--file"},
		{names: "mysqladmin mariadb-admin", short: "uhPSi", long: "user host port socket defaults-file password", acts: "drop"},
		{names: "mongorestore", short: "hdcup", long: "host port db username", acts: "+--drop !--dryRun"},
		{names: "mongoimport", short: "hdcup", long: "host port db username", acts: "+--drop"},
		{names: "memcflush memflush memcrm", acts: "+@* +--servers"},
		{names: "rails rake bin/rails sail padrino thor", short: "fegjIRr", long: "rakefile", safe: "-T -D -n -P --dry-run --tasks -N --describe",
			acts: railsActs + "\nartisan " + artisanActs},
		{names: "manage.py django django-admin django-admin.py", long: "settings pythonpath verbosity database", short: "v", acts: djangoActs},
		{names: "artisan", acts: artisanActs},
		{names: "console", acts: symfonyActs},
		{names: "doctrine", acts: "orm:schema-tool:drop +-f +--force"},
		{names: "spark", acts: "migrate:refresh|migrate:rollback +--all +-all"},
		{names: "prisma", long: "schema", acts: "migrate reset\ndb push +--force-reset +--accept-data-loss"},
		{names: "sequelize sequelize-cli", long: "config env url", acts: "db:drop|db:migrate:undo:all"},
		{names: "knex", long: "knexfile env cwd", acts: "migrate:rollback +--all +@all"},
		{names: "typeorm typeorm-ts-node-commonjs typeorm-ts-node-esm", short: "d", acts: "schema:drop"},
		{names: "mikro-orm mikro-orm-esm", acts: "schema:drop|schema:fresh|migration:fresh|database:drop"},
		{names: "drizzle-kit", acts: "push +--force\ndrop"},
		{names: "sqitch", acts: "revert|rework"}, {names: "dolt", acts: "reset +--hard\nbranch +-D +-d\ntable rm\nclean|gc"}, {names: "sqlite-utils", acts: "drop-table|drop-view"},
		{names: "tiup", acts: "cluster|dm destroy|clean|prune\nclean|uninstall\ncluster scale-in"}, {names: "airflow", acts: "db reset|clean\ndags|pools|connections|variables|users delete\ntasks clear"},
		{names: "dagster", acts: "run|asset wipe|delete"}, {names: "prefect", acts: "** delete"}, {names: "mlflow", acts: "gc\nexperiments|runs delete"}, {names: "feast", acts: "teardown"},
		{names: "dvc", acts: "destroy|remove\ngc +-f +--force"}, {names: "wandb", acts: "artifact cache cleanup\n* delete"}, {names: "dbt", acts: "+--full-refresh\nrun-operation +@*drop* +@*truncate* +@*clean*"},
		{names: "rq", acts: "empty"}, {names: "magento", acts: "setup:uninstall|setup:rollback"}, {names: "cockroach", acts: "node decommission\ndebug reset-quorum"},
		{names: "memcached-tool", acts: "* flush_all|flush"}, {names: "kopia", acts: "snapshot delete\nrepository throttle\npolicy delete|remove"}, {names: "snapper", short: "c", acts: "delete|rm|undochange|rollback"},
		{names: "timeshift", acts: "+--delete +--delete-all +--restore"}, {names: "pdnsutil", acts: "delete-*|clear-zone|remove-*"}, {names: "rndc", acts: "delzone"},
		{names: "fossil", acts: "purge"}, {names: "hbase", acts: "hbck +-repair"}, {names: "accelerate trash", acts: "purge"}, {names: "ldapdelete", acts: "+@*"},
		{names: "ace", acts: "migration:fresh|migration:reset|migration:refresh|db:wipe|db:truncate"},
		{names: "strapi meteor", acts: "reset"}, {names: "medusa", acts: "db:drop"},
		{names: "alembic", short: "cnx", long: "config name", acts: "downgrade +@base !--sql"},
		{names: "flask", short: "Ae", long: "app env-file", acts: "db downgrade +@base !--sql\ndrop-db|drop_db|reset-db"},
		{names: "aerich", acts: "downgrade +-d +--delete"},
		{names: "piccolo", acts: "migrations backwards +@all +@1"},
		{names: "flyway", acts: "clean"},
		{names: "liquibase", acts: "drop-all|dropAll"},
		{names: "gradle gradlew mvn mvnw", short: "DPplf", long: "project-dir build-file", safe: "-m --dry-run",
			acts: "flywayClean|flyway:clean|liquibase:dropAll|dropAll|hibernate:drop"},
		{names: "mix", acts: "ecto.drop|ecto.reset\necto.rollback +--all\ndo +@ecto.drop*"},
		{names: "dotnet", acts: "ef|dotnet-ef database drop !--dry-run\nef database update +@0"}, {names: "dotnet-ef",
			acts: "database drop !--dry-run\ndatabase update +@0"},
		{names: "hasura", acts: "metadata clear\nmigrate apply +--down=all +--all-databases=down"},
		{names: "drush", short: "rl", long: "root uri", acts: drushActs},
		{names: "wp wp-cli wp-cli.phar", long: "path url user ssh", acts: "db reset|drop|clean\nsite empty|delete"},
		{names: "goose", short: "d", long: "dir", single: true, acts: "** reset|down-to"},
		{names: "migrate golang-migrate", single: true, long: "path database source", acts: "drop\ndown +--all"},
		{names: "dbmate", short: "udems", long: "url env migrations-dir", acts: "drop"},
		{names: "sqlx", acts: "database|db drop|reset"}, {names: "diesel", acts: "database|db reset|drop"},
		{names: "sea-orm-cli", acts: "migrate fresh|reset|refresh"}, {names: "phinx", acts: "rollback +-t=0 +--target=0 :te"},
		{names: "yii", acts: "migrate/fresh\nmigrate/down +@all"}, {names: "lucky", acts: "db.drop|db.reset"}, {names: "hanami", acts: "db drop"},
		{names: "bench", short: "s", long: "site", acts: "drop-site|reinstall"},
		{names: "odoo-db click-odoo-dropdb", acts: "+@*"},
		{names: "atlas", short: "u", long: "url env", acts: "schema clean"},
		{names: "pgbackrest", acts: "stanza-delete|expire"}, {names: "barman", acts: "delete"}, {names: "wal-g wal-e", acts: "delete"},
		{names: "influx", long: "host org token", acts: "delete\nbucket|org|user|v1 delete\nv1 dbrp|auth delete"},
		{names: "consul", single: true, long: "http-addr token datacenter", acts: "kv delete"},
		{names: "heroku", short: "ar", long: "app remote", acts: "pg:reset|redis:reset|pg:restore|pg:backups:restore\npg reset"},
		{names: "supabase", long: "workdir profile", acts: "db reset"},
		{names: "symfony", acts: consoleActs},
		{names: "etcdctl", long: "endpoints cacert cert key user", acts: "del|rm|rmdir\nmember remove\nuser|role delete"},
		{names: "zkCli.sh zkcli zookeepercli zookeeper-shell zookeeper-shell.sh", short: "s", long: "server servers", acts: "** deleteall|rmr|delete|rm"},
		{names: "nodetool", short: "hpu", long: "host port", acts: "decommission|removenode|assassinate|clearsnapshot"},
		{names: "couchbase-cli", acts: "bucket-delete|bucket-flush|server-eject"},
		{names: "kafka-topics kafka-topics.sh kafka-consumer-groups kafka-consumer-groups.sh kafka-delete-records kafka-delete-records.sh",
			acts: "+--delete +--offset-json-file +--delete-offsets"},
		{names: "rpk kcat kaf kafkactl", acts: "topic|group delete\ntopic trim-prefix\ndelete *"},
		{names: "rabbitmqctl", short: "npt", long: "node vhost timeout", acts: "reset|force_reset|delete_*|purge_queue|clear_*|forget_cluster_node"},
		{names: "rabbitmqadmin", short: "HPuVcN", long: "host port username password vhost", acts: "purge|delete"},
		{names: "celery", short: "Ab", long: "app broker", acts: "purge\namqp queue.purge|queue.delete\ncontrol shutdown"},
		{names: "nats", short: "s", long: "server creds context", acts: "stream|str rm|purge|delete|del\nkv|object rm|del|purge|delete\n" +
			"consumer|con rm|delete"},
		{names: "pulsar-admin", long: "admin-url", acts: "** delete|terminate|delete-*|clear-backlog"},
		{names: "solr", acts: "delete"}, {names: "curator_cli", long: "host port", acts: "delete-indices|delete_indices !--dry-run"},
		{names: "neo4j-admin", acts: "** drop|delete"}, {names: "asadm asinfo", acts: "** truncate"},
	}
}

var (
	redisPrograms   = []string{"redis-cli", "valkey-cli", "keydb-cli", "rdcli", "iredis"}
	mongoPrograms   = []string{"mongosh", "mongo", "arangosh"}
	requestPrograms = []string{"curl", "http", "https", "xh", "wget", "curlie", "xhs", "httpie"}
	socketPrograms  = []string{"nc", "ncat", "netcat", "telnet", "socat"}
)

func databaseMore(a *Act) []Hit {
	hit := false
	switch {
	case slices.Contains(redisPrograms, a.Program):
		hit = redisFlushes(a)
	case slices.Contains(mongoPrograms, a.Program):
		hit = mongoDrops(a)
	case slices.Contains(requestPrograms, a.Program):
		hit = storeRequest(a)
	case slices.Contains(socketPrograms, a.Program):
		hit = socketFlushes(a)
	case slices.ContainsFunc(a.Redirects, toStorePort):
		hit = slices.ContainsFunc(a.Words, func(w analysis.Word) bool { return flushLine().MatchString(w.Text) })
	case a.Program == "hbase" || a.Program == "nsupdate":
		hit = consoleLine().MatchString(a.Stdin.Text)
	case a.Program == "grpcurl":
		hit = slices.ContainsFunc(a.Words, func(w analysis.Word) bool { return grpcDeletes().MatchString(w.Text) })
	case a.Program == "cypher-shell" || a.Program == "neo4j-shell":
		hit = slices.ContainsFunc(append(texts(a.Words[1:]), a.Stdin.Text), cypherDeletes().MatchString)
	}
	if !hit && !consoleDestroys(a) {
		return nil
	}
	return []Hit{{Reason: "destroys a database's content: " + a.Line()}}
}

// consoles are the verbs with which frameworks run code that stands in the command or comes from standard input.
var consoles = map[string][]string{"rails": {"runner", "r", "console", "c"}, "manage.py": {"shell", "shell_plus"}, "django": {"shell"},
	"django-admin": {"shell"},
	"artisan":      {"tinker"}, "flask": {"shell"}}

// emptiesTables is code of such a framework that deletes every record of a model, or a table.
var emptiesTables = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\.(delete_all|destroy_all|drop_all|drop_table|truncate_tables|_raw_delete)\b|` +
		`\.objects\.(all\(\)\.)?delete\(|(::|->)(truncate|drop|dropIfExists|dropAllTables)\(`)
})

func consoleDestroys(a *Act) bool {
	name, words := scriptOf(a)
	verbs := consoles[name]
	if len(words) == 0 || !slices.ContainsFunc(verbs, words[0].Is) {
		return false
	}
	return slices.ContainsFunc(append(texts(words[1:]), a.Stdin.Text), emptiesTables().MatchString)
}

// grpcDeletes is a method's name that says what it does.
var grpcDeletes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`[./](Drop|Truncate|Purge|Wipe|Destroy|Delete)(All|Database|Keyspace|Table|Tenant|Cluster|Project)\w*$`)
})

// consoleLine is a line of HBase's shell, of nsupdate and of ldapmodify that destroys.
var consoleLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?im)(^|;)\s*(disable|drop|drop_all|truncate|deleteall|update\s+delete|changetype:\s*delete)\b`)
})

var cypherDeletes = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\bdetach\s+delete\b|\bdrop\s+(database|constraint|index)\b`)
})

func texts(words []analysis.Word) []string {
	var out []string
	for _, w := range words {
		for _, v := range w.Values() {
			out = append(out, analysis.Plain(v))
		}
	}
	return out
}

// redisGrammar has the options of redis-cli that take a value.
var redisGrammar = analysis.Grammar{Short: "hpsaunrdDXi", Long: []string{"user", "pass", "askpass", "sni", "cacert", "cert", "key", "pattern",
	"count", "quoted-pattern", "cluster", "eval",
	"ldb-host", "show-pushes", "tls-ciphers", "rdb", "functions-rdb", "pipe-timeout", "memkeys-samples", "top", "intrinsic-latency", "host",
	"port", "uri"}}

func redisFlushes(a *Act) bool {
	args := a.Args(redisGrammar)
	if len(args.Values["eval"]) > 0 {
		return false // a script in a file
	}
	if cluster := args.Values["cluster"]; len(cluster) > 0 {
		if cluster[0].Is("call") && len(args.Operands) > 1 {
			return redisCommand(a, args.Operands[1:])
		}
		return cluster[0].Is("del-node")
	}
	if len(args.Operands) > 0 {
		return redisCommand(a, args.Operands)
	}
	return slices.ContainsFunc(strings.Split(a.Stdin.Text, "\n"), func(line string) bool {
		var words []analysis.Word
		for f := range strings.FieldsSeq(line) {
			words = append(words, analysis.Word{Text: strings.Trim(f, `"'`)})
		}
		return redisCommand(a, words)
	})
}

// redisCommand tells whether one command of a key-value store destroys more than a key that is named.
func redisCommand(a *Act, words []analysis.Word) bool {
	if len(words) == 0 {
		return false
	}
	second := ""
	if len(words) > 1 {
		second = strings.ToLower(words[1].Text)
	}
	for _, v := range words[0].Values() {
		switch strings.ToLower(v) {
		case "flushall", "flushdb":
			return true
		case "del", "unlink":
			return slices.ContainsFunc(words[1:], func(w analysis.Word) bool { return fulfils(a, w, "bulk") })
		case "function", "script":
			return second == "flush"
		case "cluster":
			return second == "reset" || second == "forget" || second == "flushslots"
		case "shutdown":
			return second == "nosave" || second == ""
		case "config": // where it saves, and whom it lets in
			return second == "set" && len(words) > 2 && (words[2].Is("dir") || words[2].Is("dbfilename") || words[2].Is("requirepass") || words[2].Is("protected-mode"))
		case "slaveof", "replicaof": // another's data in place of its own
			return second != "no"
		case "module":
			return second == "load"
		case "eval":
			return strings.Contains(second, "flushall") || strings.Contains(second, "flushdb") ||
				strings.Contains(second, "keys") && (strings.Contains(second, "'del'") || strings.Contains(second, `"del"`))
		}
	}
	return false
}

var (
	mongoDestroys = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\.\s*_?(drop|truncate|dropDatabase|dropCollection|dropAllUsers|dropAllRoles|dropUser|dropIndexes)\s*\(|` +
			`\.\s*(deleteMany|remove)\s*\(\s*(\{\s*\}\s*[,)]|\))|\bdropDatabase\s*:|\b(runCommand|adminCommand)\s*\(\s*\{\s*drop\s*:|\bshutdownServer\s*\(`)
	})
	mongoQuotedKey = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(["'])(dropDatabase|drop)(["'])\s*:`)
	})
	mongoStrings = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`"(\\.|[^"\\])*"|'(\\.|[^'\\])*'|//[^\n]*`)
	})
)

func mongoDrops(a *Act) bool {
	args := a.Args(analysis.Grammar{Short: "up", Long: []string{"eval", "javascript.execute-string", "host", "port", "username", "password", "authenticationDatabase", "file"}})
	code := append(texts(append(args.Values["eval"], args.Values["javascript.execute-string"]...)), a.Stdin.Text)
	return slices.ContainsFunc(code, func(text string) bool {
		text = mongoQuotedKey().ReplaceAllString(text, "$2:")
		return mongoDestroys().MatchString(mongoStrings().ReplaceAllString(text, "''"))
	})
}

// storePort are the ports of stores that are spoken to by requests: search engines, document, vector and time-series stores.
var storePort = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`:(9200|9201|9300|5984|6333|7700|8086|8108|2379|8500|15672|8529|8001|6443)(/|$|\?)`)
})

// storeRequest finds a request that deletes an index or a database of a store.
func storeRequest(a *Act) bool {
	deletes, texts := requestOf(a)
	return slices.ContainsFunc(texts, func(t string) bool {
		return storeWholly().MatchString(t) || storePort().MatchString(t) && !strings.HasPrefix(t, "{") && (deletes || strings.Contains(t, "/_delete_by_query")) ||
			deletes && storeEvery().MatchString(t)
	})
}

// requestOf tells whether a client of the web is told to use the method that deletes, and gives its words.
func requestOf(a *Act) (deletes bool, texts []string) {
	for i, w := range a.Words[1:] {
		next := ""
		if i+2 < len(a.Words) {
			next = a.Words[i+2].Text
		}
		for _, v := range w.Values() {
			text := analysis.Plain(v)
			texts = append(texts, text)
			switch {
			case text == "-XDELETE", text == "delete" && i == 0 && strings.HasPrefix(a.Program, "xh"), text == "--request=DELETE", text == "--method=DELETE",
				text == "DELETE" && a.Program != "curl" && a.Program != "wget",
				(text == "-X" || text == "--request" || text == "--method") && strings.EqualFold(next, "delete"),
				len(text) > 2 && text[0] == '-' && text[1] != '-' && (strings.HasSuffix(text, "XDELETE") || strings.HasSuffix(text, "X") && next == "DELETE"):
				deletes = true
			}
		}
	}
	return deletes, texts
}

// storeEvery are paths that name all indices of a search engine.
var storeEvery = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(/_all|[-/]\*)(\?.*)?$`)
})

// storeWholly are requests that empty a store by what they say.
var storeWholly = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)<delete>\s*<query>\s*\*:\*|/admin/tsdb/delete_series|"drop_all"\s*:\s*true|"drop_op"\s*:|/_flush_all\b|/api/v1/admin/purge`)
})

// socketFlushes finds flush commands that are sent to a store's port by hand.
func socketFlushes(a *Act) bool {
	return flushLine().MatchString(a.Stdin.Text)
}

// flushLine is a line that empties a store which is spoken to in lines.
var flushLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?im)^\s*(flush_all|flushall|flushdb)\b`)
})

// toStorePort tells whether a redirect goes to the port of such a store.
func toStorePort(r analysis.Redirect) bool {
	return r.Write && strings.HasPrefix(r.Target.Text, "/dev/tcp/") && (strings.HasSuffix(r.Target.Text, "/11211") ||
		strings.HasSuffix(r.Target.Text, "/6379"))
}
