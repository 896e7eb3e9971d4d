package rules

// platforms are the tools of application platforms, code hosts and package registries.
func platforms() []tool {
	return []tool{
		{names: "heroku", short: "ar", long: "app remote team", acts: `
destroy|*:destroy|apps:delete|pg:backups:delete|domains:remove|domains:clear|certs:remove|repo:reset|keys:clear
apps|addons|pipelines|spaces destroy
ps:scale|scale +@*=0`},
		{names: "fly flyctl", short: "actr", long: "app config access-token", acts: `
destroy
app|apps|machine|machines|m|volume|volumes|vol|postgres|pg|redis|storage|orgs|ips|certs|wireguard|tokens|extensions|mpg|ext destroy|delete|remove|rm|release|revoke
volumes snapshots destroy|delete
scale count +@0 +@*=0`},
		{names: "vercel vc now", short: "tSA", long: "token scope cwd local-config global-config", acts: `
rm|remove
project|projects|domains|domain|dns|env|alias|aliases|certs|cert|secrets|secret|blob|teams|team|integration|integration-resource|target rm|remove|del|delete|rb
blob store remove|delete`},
		{names: "netlify ntl", acts: "sites:delete|env:unset|blobs:delete|addons:delete|functions:delete\nsites|blobs|addons delete"},
		{names: "railway", acts: "delete|down\nvolume|environment|service|project|domain delete|remove|down"},
		{names: "render", acts: "** delete"},
		{names: "supabase", long: "workdir profile",
			acts: "projects|branches|functions|storage|orgs|sso|domains|vanity-subdomains|snippets delete|remove|rm\nstop +--no-backup\n" +
				"secrets unset\nmigration down|squash"},
		{names: "firebase", short: "P", long: "project account token config",
			acts: "*:delete|*:destroy|hosting:disable|database:remove|functions:secrets:prune|ext:uninstall|firestore:bulkdelete"},
		{names: "wrangler", short: "ce", long: "config env cwd", safe: "--dry-run", acts: `
delete
d1|r2|kv|queues|pages|secret|vectorize|hyperdrive|workflows|dispatch-namespace|versions|ai|pipelines|containers|tunnel|mtls-certificate ** delete|purge|delete-*
kv:namespace|kv:key|kv:bulk delete`},
		{names: "neonctl neon", acts: "projects|branches|databases|roles delete\nbranches reset"},
		{names: "turso", acts: "db|group|org|plan destroy"},
		{names: "pscale", acts: "database|branch|password|backup|keyspace delete"},
		{names: "upstash", acts: "* delete"},
		{names: "atlas mongocli", local: "config auth plugin local schema migrate", acts: "** delete|terminate"},
		{names: "confluent ccloud", local: "context login local plugin", acts: "** delete"},
		{names: "surge", acts: "teardown"}, {names: "dokku", acts: "apps:destroy|*:destroy"}, {names: "gigalixir", acts: "apps:destroy|*:destroy"},
		{names: "scalingo clever", acts: "destroy|delete"}, {names: "modal", acts: "app stop\nvolume|secret|dict|queue|environment|nfs rm|delete\n" +
			"volume|nfs rm +-r +--recursive"},
		{names: "eas", acts: "build:delete|branch:delete|channel:delete|update:delete|env:delete|project:delete|metadata:delete"},
		{names: "sentry-cli", acts: "releases delete\nreleases files * delete"},
		{names: "shopify", acts: "theme delete"},
		{names: "deck", acts: "reset\ngateway reset"}, {names: "ldcli", long: "access-token project environment flag", acts: "* delete"}, {names: "stripe", acts: "* delete\ndelete"}, {names: "doppler", short: "pct", acts: "projects|secrets|configs|environments delete"}, {names: "drone", acts: "repo|secret|orgsecret|build rm|purge|disable"},
		{names: "jira", acts: "issue|epic|sprint delete"}, {names: "cscli", acts: "* delete|flush|prune"}, {names: "sendgrid", acts: "* delete"}, {names: "newrelic", acts: "** delete"},
		{names: "buildkite-agent", acts: "stop"}, {names: "circleci", acts: "context delete|remove-secret"}, {names: "okta", acts: "* delete"}, {names: "cf", acts: "delete|delete-*|purge-*|d|ds|unbind-*"},
		{names: "auth0", acts: "* delete"}, {names: "twilio", acts: "*:remove|*:delete"}, {names: "algolia", acts: "* delete|clear"},
		{names: "gh", short: "R", long: "repo hostname", acts: `
repo|release|secret|variable|issue|run|label|gist|project|ssh-key|gpg-key|codespace|cs|cache|environment delete|remove
release delete-asset
repo archive
repo edit +--visibility=public
repo deploy-key|autolink delete
project item-delete|field-delete
discussion delete
api +-X=DELETE +--method=DELETE :XfFHqtp`},
		{names: "glab", short: "R", long: "repo group",
			acts: "repo|project|release|issue|mr|variable|label|ci|snippet|ssh-key|deploy-key|schedule|milestone|token|securefile|cluster|runner|iteration delete|revoke|remove\napi +-X=DELETE +--method=DELETE :XfFH"},
		{names: "tea", acts: "repos|repo|releases|release|issues|labels|branches|milestones delete|rm"},
		{names: "hub", acts: "delete\nrelease delete\napi +-X=DELETE +--method=DELETE :XfFH"},
		{names: "npm", long: "prefix registry workspace loglevel cache userconfig otp tag", short: "Cw",
			acts: "unp* !--dry-run\nowner|team|org|access|token|dist-tag|dist-tags|hook rm|remove|destroy|revoke"},
		{names: "pnpm yarn bun", short: "CF", long: "dir filter cwd", acts: "unpublish !--dry-run\nnpm unpublish"},
		{names: "jsr", acts: "unpublish|yank"},
		{names: "cargo", acts: "yank !--undo\nowner +--remove +-r"},
		{names: "gem", acts: "yank\nowner +-r +--remove"},
		{names: "mix", acts: "hex.retire !--unretire\nhex.publish +--revert\nhex.owner remove"},
		{names: "dotnet", acts: "nuget delete"}, {names: "nuget", acts: "delete"},
		{names: "vsce", acts: "unpublish"}, {names: "anaconda", acts: "remove"}, {names: "pod", acts: "trunk delete|deprecate|remove-owner"},
		{names: "jf jfrog", acts: "rt del|delete|delete-* !--dry-run\nrt build-discard|bdi"},
		{names: "hf huggingface-cli", acts: "repo|repos|repo-files delete\nrepo branch|tag delete"},
		{names: "kaggle", acts: "datasets|kernels|models delete"},
		{names: "skopeo crane gcrane", acts: "delete"}, {names: "regctl", acts: "tag|image|repo|blob|manifest delete|rm"}, {names: "oras",
			acts: "manifest|blob delete"},
		{names: "hub-tool", acts: "repo|tag rm"},
	}
}
