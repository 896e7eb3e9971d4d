package rules_test

import "testing"

// A43, A44: by verb, by standard input, by a script of a framework.
func TestDatabase_DestroyingFormsAreFound(t *testing.T) {
	finds(t, "sql.admin", `
dropdb x
dropdb -h h -p 5432 -U u x
dropdb --if-exists --force x
sudo -u postgres dropdb x
pg_dropcluster --stop 16 main
pg_restore --clean -d x dump
pg_restore -c -h h -d x dump
mysqladmin drop x
mysqladmin -uroot -p drop -f x
mysqladmin --host=h --user u drop x
mariadb-admin -f drop x
redis-cli flushall
redis-cli FLUSHDB ASYNC
redis-cli -h h -p 1 -a p flushall
redis-cli -u redis://h:6379/0 FLUSHALL
redis-cli --tls --cacert x -h h FlushAll
redis-cli --no-auth-warning -a p FLUSHDB
redis-cli -n 3 FLUSHDB
echo flushall | redis-cli -h h
printf 'AUTH x\nFLUSHALL\n' | redis-cli
redis-cli <<< FLUSHALL
redis-cli -h h <<EOF\nSELECT 1\nFLUSHDB\nEOF
redis-cli KEYS '*' | xargs redis-cli DEL
redis-cli --scan --pattern 'a:*' | xargs -L 100 redis-cli -n 2 UNLINK
redis-cli DEL $(redis-cli KEYS '*')
redis-cli eval "return redis.call('flushall')" 0
redis-cli cluster reset hard
redis-cli script flush
valkey-cli flushall
mongosh --eval 'db.dropDatabase()'
mongosh x --eval 'db.c.deleteMany({}, {w: 1})'
mongosh x --eval 'db.c.deleteMany()'
rails runner 'User.delete_all'
rails r "Order.where(a: 1).destroy_all"
echo 'User.delete_all' | rails console
python manage.py shell -c 'User.objects.all().delete()'
echo 'from a import B; B.objects.all().delete()' | python manage.py shell
php artisan tinker --execute='User::truncate();'
flask shell <<EOF\ndb.drop_all()\nEOF
symfony console doctrine:database:drop --force
supabase db reset --linked
heroku pg:reset DATABASE_URL -a x
heroku -a x pg:reset
consul kv delete a/b
consul kv delete -recurse a/
consul -http-addr=x kv delete y
curl -X DELETE 'http://h:8500/v1/kv/a?recurse'
mongosh mongodb://h/x --eval "db.dropDatabase()"
mongosh --quiet --eval 'db.a.drop()' x
mongosh x --eval='db.getSiblingDB("y").dropDatabase()'
mongo x --eval 'db.c.remove({})'
mongo x --eval 'db.c.deleteMany({ })'
mongosh x --eval 'db.getCollection("a").drop()'
mongosh --eval 'db.runCommand({dropDatabase: 1})'
mongosh --eval 'db.runCommand({"drop": "c"})'
mongosh x <<EOF\nuse y\ndb.dropDatabase()\nEOF
echo 'db.dropDatabase()' | mongo x
mongorestore --drop --archive=x
mongorestore -h db -d x --drop dump/x
rails db:drop
rails db:reset
rails db:schema:load
rails db:migrate:reset
bin/rails db:drop:all
./bin/rails db:drop DISABLE_DATABASE_ENVIRONMENT_CHECK=1
RAILS_ENV=production rails db:drop
rake db:drop db:create
ruby bin/rails db:reset
rails db:migrate VERSION=0
rails db:truncate_all
python manage.py flush
python3 manage.py flush --no-input
python /app/manage.py reset_db --noinput
./manage.py flush
manage.py flush
django-admin flush --settings x
python -m django flush
python -W ignore manage.py flush
python manage.py migrate app zero
php artisan migrate:fresh
php artisan migrate:reset --force
php artisan migrate:refresh
php artisan db:wipe
./artisan db:wipe
php -d memory_limit=-1 artisan migrate:fresh --seed
./vendor/bin/sail artisan migrate:fresh
php bin/console doctrine:schema:drop --force
php bin/console doctrine:database:drop --force --if-exists
bin/console d:d:d --force
prisma migrate reset
node_modules/.bin/prisma migrate reset -f
prisma --schema x migrate reset
prisma db push --force-reset
sequelize db:drop
sequelize-cli db:migrate:undo:all
knex migrate:rollback --all
typeorm schema:drop -d x
alembic downgrade base
alembic -c x.ini downgrade base
flask db downgrade base
flyway clean
flyway -url=jdbc:x -user=y clean
liquibase drop-all
liquibase --url=x dropAll
mix ecto.drop
mix ecto.reset
dotnet ef database drop
dotnet ef database drop --force --no-build
drush sql-drop
drush -y sql:drop
drush @prod sql-drop -y
wp db reset --yes
wp --path=/x db drop --yes
wp site empty --yes
migrate -path m -database x drop -f
goose -dir m postgres x reset
dbmate drop
sqlx database drop -y
diesel database reset
influx bucket delete -n x
influx delete --bucket x --start a --stop b
etcdctl del /a --prefix
etcdctl --endpoints=x del "" --from-key
kafka-topics --bootstrap-server h:9092 --delete --topic x
kafka-topics.sh --delete --topic x --bootstrap-server h:9092
/opt/kafka/bin/kafka-topics.sh --zookeeper z --delete --topic x
rabbitmqctl reset
rabbitmqctl -n r@h force_reset
rabbitmqctl delete_queue x
rabbitmqctl delete_vhost x
rabbitmqctl purge_queue x
rabbitmqadmin delete queue name=x
rabbitmqadmin -u a -p b purge queue name=x
celery -A x purge
celery purge -f
nats stream rm x -f
zkCli.sh -server h:2181 deleteall /x
curl -X DELETE localhost:9200/x
curl -XDELETE 'http://h:9200/_all'
curl -s -X DELETE "http://h:9200/logs-*"
curl -sXDELETE http://h:9200/x
curl -u a:b --request DELETE https://h:9200/x
curl -X POST h:9200/x/_delete_by_query -d '{"query":{"match_all":{}}}'
curl -X DELETE http://a:b@h:5984/db
http DELETE h:9200/x
echo flush_all | nc h 11211
printf 'flush_all\r\nquit\r\n' | nc -q1 h 11211
nc h 6379 <<< FLUSHALL
echo flush_all > /dev/tcp/127.0.0.1/11211
printf "FLUSHALL\\r\\n" > /dev/tcp/h/6379
cypher-shell 'MATCH (n) DETACH DELETE n'
couchbase-cli bucket-flush -c h --bucket x
nodetool decommission
sudo redis-cli flushall
timeout 5 redis-cli flushall
re'dis'-cli "flush"all
`)
}

// A35, A36.
func TestDatabase_HarmlessFormsAreSilent(t *testing.T) {
	silent(t, `
createdb x
psql -l
dropdb --help
dropdb --version
pg_dump x
pg_dump -c x
pg_restore -l dump
pg_restore -d x dump
pg_restore --clean -f out.sql dump
mysqladmin ping
mysqladmin -u root status
mysqladmin create drop
mysqldump --add-drop-table x
redis-cli ping
redis-cli info
redis-cli get flushall
redis-cli set k FLUSHALL
redis-cli -h h -n 1 keys '*'
redis-cli --scan --pattern 'x*'
redis-cli del session:1
redis-cli del $KEY
redis-cli config get '*'
redis-cli help flushall
redis-cli command info flushall
redis-cli monitor
echo 'GET flushall' | redis-cli
echo PING | redis-cli -h h
redis-server --port 7000
mongosh --eval 'db.stats()'
mongosh x --eval 'db.c.find({drop: 1})'
mongosh x --eval 'db.c.deleteOne({_id: 1})'
mongosh x --eval 'db.c.deleteMany({old: true})'
mongosh x --eval 'print("db.dropDatabase()")'
mongosh x --eval '// db.c.drop()'
mongodump -d x
mongorestore dump/
mongoexport -c drop
rails db:migrate
rails db:create
rails db:seed
rails db:rollback
rails db:migrate:status
rails db:version
rails db:schema:dump
rails test
rails runner 'puts User.count'
rails console
python manage.py shell -c 'print(User.objects.count())'
php artisan tinker --execute='User::count();'
heroku pg:info
supabase db push
consul kv get a
rails server
rails g migration DropUsers
RAILS_ENV=test rails db:reset
RAILS_ENV=test rake db:drop
rake -T
rake test
python manage.py migrate
python manage.py makemigrations
python manage.py runserver
python manage.py sqlflush
python manage.py shell
python manage.py test flush
python manage.py migrate app 0001
python manage.py showmigrations
python manage.py flush --help
python flush.py
php artisan migrate
php artisan migrate:status
php artisan migrate --pretend
php artisan cache:clear
php artisan serve
php artisan make:migration drop_users
php bin/console doctrine:migrations:migrate
php bin/console doctrine:schema:update --dump-sql
php bin/console doctrine:schema:drop --dump-sql
php bin/console cache:clear
prisma migrate dev
prisma migrate deploy
prisma migrate status
prisma db push
prisma db pull
prisma studio
sequelize db:migrate
sequelize db:migrate:undo
knex migrate:latest
knex migrate:rollback
typeorm migration:run
typeorm schema:log
alembic upgrade head
alembic downgrade -1
alembic history
alembic downgrade base --sql
flask run
flask db upgrade
flyway migrate
flyway info
liquibase update
liquibase status
mix ecto.migrate
mix ecto.create
mix test
MIX_ENV=test mix ecto.reset
dotnet ef migrations add drop
dotnet ef database update
dotnet ef database drop --dry-run
drush cr
drush sql-dump
drush status
wp db export
wp db check
wp plugin list
wp post list
migrate -path m -database x up
migrate create drop
goose up
goose status
dbmate up
influx query x
influx bucket list
etcdctl get /a --prefix
etcdctl put /a delete
etcdctl member list
kafka-topics --list
kafka-topics.sh --describe --topic delete
kafka-topics --create --topic delete
rabbitmqctl status
rabbitmqctl list_queues
rabbitmqctl add_user reset
rabbitmqadmin list queues
celery -A x worker -l info
celery -A x inspect active
nats stream ls
zkCli.sh -server h ls /
curl localhost:9200/_cat/indices
curl -X GET h:9200/x/_search -d '{"query":{}}'
curl -X PUT h:9200/x
curl -X POST h:9200/_bulk --data-binary @x
curl -X DELETE http://localhost:8080/api/users/1
curl -X DELETE https://api.example.org/x
http GET h:9200/x
echo stats | nc h 11211
echo hello | nc h 6379
echo stats > /dev/tcp/h/11211
echo FLUSHALL > notes.txt
cypher-shell 'MATCH (n) RETURN n'
nodetool status
echo 'redis-cli flushall'
grep -rn 'db.dropDatabase' src
git commit -m 'rails db:drop'
cat <<EOF > x.js\ndb.dropDatabase()\nEOF
docker compose exec app ls
`)
}
