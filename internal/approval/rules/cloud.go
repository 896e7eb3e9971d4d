package rules

import (
	"regexp"
	"slices"
	"sync"
)

// dropVerbs end the noun paths of most providers' tools.
const dropVerbs = "delete|destroy|purge|terminate|delete-*|bulk-delete|batch-delete|remove-all"

func cloudRows() []Row {
	return []Row{verbRow(Row{
		ID: "cloud.delete", Key: "delete cloud resources", Family: "cloud", Remember: RememberAll, Leaves: true,
		Matches: "delete, terminate and purge verbs of providers' and platforms' tools, recursive deletion of objects, removal of repositories, apps and published packages",
		Examples: []string{"aws ec2 terminate-instances --instance-ids i-1", "aws --profile x --region y ec2 terminate-instances",
			"aws s3 rb s3://b --force", "aws s3 rm s3://b --recursive",
			"aws s3 sync . s3://b --delete", "aws rds delete-db-instance --db-instance-identifier x",
			"aws cloudformation delete-stack --stack-name x", "aws sqs purge-queue --queue-url u",
			"gcloud compute instances delete x", "gcloud compute instances delete --quiet x", "gcloud projects delete p",
			"gsutil -m rm -r gs://b", "gsutil rb gs://b", "bq rm -r -f d",
			"az group delete -n x --yes", "az vm delete -n x", "az storage blob delete-batch -s c", "doctl compute droplet delete 1",
			"hcloud server delete x", "heroku apps:destroy x",
			"fly apps destroy x", "vercel remove x --yes", "netlify sites:delete", "firebase firestore:delete --all-collections",
			"wrangler d1 delete x", "gh repo delete o/r --yes",
			"gh release delete v1", "gh api -X DELETE repos/o/r", "npm unpublish x --force", "cargo yank --version 1.0.0", "gem yank x -v 1",
			"s3cmd del --recursive s3://b", "mc rm -r --force a/b",
			"eksctl delete cluster x", "openstack server delete x", "oci compute instance terminate --instance-id x",
			"gcloud storage rm -r gs://b", "gh api --method=DELETE repos/o/r"},
		LookAlikes: []string{"aws s3 ls", "aws ec2 describe-instances", "aws ec2 terminate-instances --dry-run --instance-ids i-1",
			"aws ec2 terminate-instances help", "aws s3 cp a s3://b/delete-me",
			"aws s3 sync . s3://b", "aws s3 rm s3://b --recursive --dryrun", "aws s3 rm s3://b/a.txt", "gcloud compute instances list",
			"gcloud compute instances describe delete", "gcloud config set project delete",
			"gsutil ls gs://b", "gsutil rsync -r a gs://b", "az vm list", "az vm create -n delete", "doctl compute droplet list",
			"heroku logs --tail", "heroku config:get DELETE", "fly deploy", "vercel deploy",
			"netlify deploy", "firebase deploy", "wrangler deploy", "gh pr merge 1 --delete-branch", "gh pr list", "gh api repos/o/r",
			"gh issue create -t 'gh repo delete'", "npm publish", "npm uninstall x",
			"npm run delete", "cargo yank --version 1.0.0 --undo", "s3cmd ls", "mc ls a/b", "curl -X DELETE http://localhost:3000/x",
			"gh repo clone o/delete", "npm unpublish x --dry-run", "bq query 'select 1'",
			"aws help delete-bucket", "az group show -n delete", "gh pr close 3", "kubectl get x"},
	}, "deletes what lives at a provider", append(providers(), platforms()...), providerRequest, slices.Concat(projectRunners, requestPrograms)...)}
}

// providerAPI are the addresses at which providers, code hosts and clusters are told what their tools tell them.
var providerAPI = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(https?://)?([^/@]*@)?(api\.(github|cloudflare|digitalocean|heroku|linode|vultr|vercel|netlify|fastly|stripe|datadoghq|pagerduty|sendgrid|scaleway|` +
		`fly|render|supabase|npmjs|mailgun|twilio|auth0|bitbucket)\.(com|io|org|net)|api\.(hetzner|linode)\.cloud|api\.machines\.dev|management\.azure\.com|[\w.-]*\.(amazonaws|googleapis)\.com)(:\d+)?/|` +
		`/api/v4/(projects|groups|users)/|/api/v1/namespaces/|/apis/[\w.]+/v\w+/|/v2/[\w/.-]+/manifests/`)
})

// providerRequest finds such a request that deletes.
func providerRequest(a *Act) []Hit {
	if !slices.Contains(requestPrograms, a.Program) {
		return nil
	}
	deletes, texts := requestOf(a)
	return when(deletes && slices.ContainsFunc(texts, providerAPI().MatchString), a, "deletes what lives at a provider by a request")
}

// providers are the tools of clouds and their object stores.
func providers() []tool {
	return []tool{
		{names: "aws", long: "profile region output endpoint-url query color ca-bundle cli-read-timeout cli-connect-timeout", safe: "--dry-run --dryrun --generate-cli-skeleton", acts: `
* delete-*|*-delete-*|terminate-*|deregister-*|purge-*|remove-*|destroy-*|empty-*
cloudtrail|config|guardduty stop-logging|stop-configuration-recorder|disable-*
organizations leave-organization
s3api put-bucket-lifecycle|put-bucket-lifecycle-configuration
* schedule-key-deletion|disable-key|release-address|release-hosts|close-account|close-*-account|cancel-spot-fleet-requests|delete-objects|reset-*-data
s3 rb
s3 rm +--recursive
s3 sync +--delete
autoscaling set-desired-capacity +--desired-capacity=0
ecs update-service +--desired-count=0
deploy|cloudformation uninstall|deregister
autoscaling update-auto-scaling-group +--max-size=0
route53 change-resource-record-sets +--change-batch=*"delete"*
opsworks * delete`},
		{names: "gcloud", local: "config auth components info topic feedback emulators", long: "project account configuration verbosity format filter zone region impersonate-service-account billing-project flags-file", acts: `
** ` + dropVerbs + `
alpha|beta storage rm +-r +-R +--recursive +--all-versions +@glob
spanner databases ddl update +--ddl=*drop*
storage rm +-r +-R +--recursive +--all-versions +@glob
storage rsync +--delete-unmatched-destination-objects !--dry-run
storage buckets delete
services disable +--force
compute instance-groups managed resize +--size=0
container clusters resize +--num-nodes=0`},
		{names: "gsutil", short: "ohiu", acts: "rm +-r +-R +-a +@glob\nlifecycle set\nrb\nrsync +-d !-n"},
		{names: "bq", long: "project_id location dataset_id format apilog", acts: "rm|remove"},
		{names: "cbt",
			acts: "deletetable|deleteinstance|deletecluster|deleteallrows|dropallrows|deletefamily|deleterow|deletecolumn|deletesnapshot|deleteappprofile"},
		{names: "az", local: "account extension config cache login logout", long: "subscription output query resource-group name", short: "ongq", acts: `
** ` + dropVerbs + `
group|resource|vm|vmss|aks|acr|webapp|functionapp|keyvault|cosmosdb|redis delete|purge
storage remove
rest +--method=delete +-m=delete :m
vmss scale +--new-capacity=0
** create +--mode=complete`},
		{names: "azcopy", acts: "remove|rm +--recursive +--include-pattern +@glob\nsync +--delete-destination=true +--delete-destination=prompt"},
		{names: "doctl", short: "tcuo", long: "access-token context api-url output",
			acts: "compute|apps|app|databases|database|kubernetes|registry|projects|serverless|sls|monitoring|vpcs|1-click|balance|spaces|volumes|k8s|k|c|d|db|genai|byoip ** delete|del|d|rm|destroy|delete-*|undeploy"},
		{names: "hcloud", long: "config context",
			acts: "server|volume|image|network|firewall|floating-ip|primary-ip|load-balancer|certificate|ssh-key|placement-group|zone|storage-box delete|remove\nserver rebuild\nall delete"},
		{names: "linode-cli linode", acts: "* delete|rm|*-delete|delete-*|rebuild|rmb|rb\nobj rb|rm|del"},
		{names: "vultr-cli vultr", local: "version", acts: "** delete|destroy|d"},
		{names: "scw", local: "config login logout", short: "cpo", long: "config profile output", acts: "** delete|terminate|purge|delete-*"},
		{names: "ibmcloud", local: "plugin config login logout target", acts: "** delete|rm|destroy|remove|*-delete|*-rm|cancel"},
		{names: "oci", local: "setup session", long: "profile config-file region auth output query",
			acts: "** delete|terminate|bulk-delete|purge|schedule-deletion|schedule-*-deletion|bulk-delete-*|delete-*"},
		{names: "aliyun", long: "profile region", acts: "* Delete*|Release*|Terminate*|Purge*\noss rm +-r +--recursive\noss rb"},
		{names: "tccli", acts: "* Delete*|Terminate*|Destroy*|Purge*|Isolate*"},
		{names: "hwcloud koocli hcloud-cli", acts: "* Delete*"},
		{names: "openstack", long: "os-cloud os-region-name os-project-name os-auth-url", acts: "** delete|purge|unset-all"},
		{names: "nova neutron cinder glance heat trove magnum", acts: "delete|force-delete|*-delete|stack-delete|snapshot-delete"},
		{names: "swift", short: "AUK", acts: "delete"},
		{names: "yc", local: "config", long: "profile folder-id cloud-id token", acts: "** delete|delete-*"},
		{names: "exo upctl civo ovhcloud brightbox katapult gridscale", acts: "** delete|destroy|remove|rm|del"},
		{names: "metal packet", acts: "** delete"},
		{names: "runpodctl vastai lambda brev", acts: "remove|delete|destroy|terminate\n* remove|delete|destroy|terminate\n" +
			"destroy instance|instances"},
		{names: "eksctl", long: "profile region", acts: "delete !--dry-run\ndrain"},
		{names: "s3cmd", short: "c", long: "config access_key secret_key region host", safe: "-n --dry-run",
			acts: "del|rm +-r +--recursive +@glob\nrb|expire\nsync +--delete-removed"},
		{names: "s5cmd", long: "endpoint-url profile", safe: "--dry-run", acts: "rm +@glob\nrb\nsync +--delete"},
		{names: "s4cmd", acts: "del +-r +--recursive\nsync +--delete-removed"},
		{names: "mc mcli", short: "C", long: "config-dir", safe: "--fake --dry-run", acts: "rm +-r +--recursive +--versions +--dangerous\nrb\n" +
			"mirror +--remove\nadmin user|policy|group remove|rm\nilm rule rm|remove"},
		{names: "b2", acts: "rm +-r +--recursive +--versions !--dry-run\ndelete-bucket|delete-file-version|delete-key\nbucket|file|key delete\n" +
			"sync +--delete !--dry-run"},
		{names: "ossutil ossutil64 obsutil coscmd coscli qshell", short: "ceik", acts: "rm|delete +-r +--recursive +-a +--all-type\n" +
			"rb|deletebucket|batchdelete\nsync +--delete"},
		{names: "hdfs hadoop", single: true, acts: "namenode +--format"},
		{names: "databricks", local: "auth configure", long: "profile", short: "p", acts: "** permanent-delete|delete|destroy\n" +
			"fs rm +-r +--recursive\nbundle destroy"},
		{names: "snow", acts: "object drop\nstage remove"},
		{names: "cli53", acts: "delete|rrdelete|rrpurge|instances-purge"}, {names: "flarectl", acts: "* delete|d"},
		{names: "cloudflared", acts: "tunnel delete|cleanup"},
		{names: "cf", acts: "delete|d|delete-*|purge-*"},
	}
}
