package rules_test

import "testing"

// A43, A44.
func TestCloud_DestroyingFormsAreFound(t *testing.T) {
	finds(t, "cloud.delete", `
aws ec2 terminate-instances --instance-ids i-1
aws --region us-east-1 --profile p ec2 terminate-instances --instance-ids i-1
aws ec2 --region us-east-1 terminate-instances --instance-ids i-1
aws --profile=p --output json rds delete-db-instance --db-instance-identifier x --skip-final-snapshot
aws --no-cli-pager s3api delete-bucket --bucket b
aws --debug --no-verify-ssl s3api delete-object --bucket b --key k
aws s3api delete-objects --bucket b --delete file://x
aws s3 rb s3://b
aws s3 rb s3://b --force
aws --profile p s3 rm --recursive s3://b
aws s3 rm s3://b/ --recursive --exclude '*.x'
aws s3 rm --quiet --recursive s3://b
aws s3 sync a s3://b --delete
aws dynamodb delete-table --table-name x
aws cloudformation delete-stack --stack-name x
aws iam delete-user --user-name x
aws iam remove-role-from-instance-profile --role-name x
aws lambda delete-function --function-name x
aws eks delete-cluster --name x
aws ecr batch-delete-image --repository-name x --image-ids imageTag=y
aws ecr delete-repository --repository-name x --force
aws kms schedule-key-deletion --key-id x
aws sqs purge-queue --queue-url x
aws route53 delete-hosted-zone --id x
aws ec2 delete-volume --volume-id v
aws ec2 deregister-image --image-id x
aws ec2 release-address --allocation-id x
aws organizations close-account --account-id x
aws emr terminate-clusters --cluster-ids x
aws secretsmanager delete-secret --secret-id x --force-delete-without-recovery
aws logs delete-log-group --log-group-name x
aws ec2 terminate-instances --instance-ids $(aws ec2 describe-instances --query x)
for i in a b; do aws ec2 terminate-instances --instance-ids $i; done
aws ec2 describe-instances --output text | xargs aws ec2 terminate-instances --instance-ids
AWS_PROFILE=prod aws s3 rb s3://b --force
gcloud compute instances delete x --zone=y
gcloud --project p compute instances delete x
gcloud --quiet compute disks delete x
gcloud -q projects delete p
gcloud beta run services delete x
gcloud alpha compute instances delete x
gcloud sql instances delete x
gcloud container clusters delete x
gcloud app versions delete v1
gcloud secrets versions destroy 1 --secret=x
gcloud kms keys versions destroy 1 --key x
gcloud iam service-accounts delete x
gcloud functions delete f
gcloud dns managed-zones delete z
gcloud storage rm --recursive gs://b
gcloud storage rm 'gs://b/**'
gcloud storage buckets delete gs://b
gcloud logging logs delete x
gsutil rm -r gs://b
gsutil -m rm -rf gs://b/x
gsutil rm gs://b/**
gsutil rb -f gs://b
gsutil -m rsync -d -r a gs://b
gsutil rsync -rd a gs://b
bq rm -t p:d.t
bq --project_id p rm -rf d
az group delete --name x --yes --no-wait
az group delete -n x
az vm delete -g x -n y
az --only-show-errors vm delete -g x -n y
az aks delete -n x
az sql db delete -n x
az storage account delete -n x
az storage container delete -n x
az storage blob delete-batch -s x
az keyvault purge -n x
az keyvault secret delete -n x
az network vnet delete -n x
az ad user delete --id x
az rest --method delete --url x
azcopy remove https://x --recursive=true
azcopy rm https://x --recursive
doctl compute droplet delete 1 -f
doctl -t x compute droplet rm 1
doctl kubernetes cluster delete x
doctl apps delete x
doctl databases delete x --force
hcloud server delete x
hcloud --context p volume delete x
linode-cli linodes delete 1
linode-cli domains records-delete 1 2
vultr-cli instance delete x
scw instance server terminate x
scw instance server delete x
ibmcloud ks cluster rm -c x
ibmcloud resource service-instance-delete x
oci compute instance terminate --instance-id x --force
oci os object bulk-delete -bn b
aliyun ecs DeleteInstance --InstanceId x
openstack server delete x
openstack --os-cloud x volume delete y
openstack project purge --project x
yc compute instance delete x
civo kubernetes remove x
heroku apps:destroy -a x --confirm x
heroku destroy x
heroku addons:destroy x
heroku ps:scale web=0 -a x
fly apps destroy x
flyctl destroy x -y
fly volumes destroy v
fly machine destroy m --force
fly -a x scale count 0
vercel rm x
vercel --token t remove x --yes
vercel project rm x
vercel env rm X production
netlify sites:delete x
railway down
supabase projects delete x
firebase firestore:delete -r /x
firebase --project p database:remove /
firebase hosting:disable
wrangler delete
wrangler --config x delete
wrangler r2 bucket delete x
wrangler kv:namespace delete --namespace-id x
wrangler kv namespace delete --namespace-id x
wrangler pages project delete x
gh repo delete x
gh repo delete o/r --yes
gh -R o/r release delete v1
gh release -R o/r delete v1 --cleanup-tag
gh secret delete X
gh issue delete 1
gh run delete 1
gh api --method DELETE repos/o/r
gh api repos/o/r -X DELETE
gh api -XDELETE repos/o/r
gh api -X delete repos/o/r
glab repo delete o/r
glab api -X DELETE projects/1
npm unpublish x@1
npm unpublish --force
pnpm unpublish x
cargo yank --vers 1.0.0 x
cargo yank x@1.0.0
gem yank x -v 1.0
s3cmd rb s3://b
s3cmd -c f del -r s3://b/x
s3cmd del --recursive --force s3://b
s3cmd sync --delete-removed a s3://b
s5cmd rm 's3://b/*'
mc rb --force a/b
mc rm --recursive --force a/b
mc mirror --remove a b
b2 delete-bucket x
hdfs namenode -format
aws route53 change-resource-record-sets --hosted-zone-id x --change-batch '{"Changes":[{"Action":"DELETE"}]}'
aws autoscaling update-auto-scaling-group --auto-scaling-group-name x --min-size 0 --max-size 0
az deployment group create -g x --mode Complete -f y
eksctl delete cluster --name x
neonctl projects delete x
turso db destroy x
pscale database delete x
atlas clusters delete x --force
databricks fs rm -r dbfs:/x
cf delete app -f
crane delete r/x:y
skopeo delete docker://r/x:y
dotnet nuget delete x 1.0.0
sudo aws s3 rb s3://b --force
a"w"s ec2 termi'nate'-instances --instance-ids x
`)
}

// A35, A36.
func TestCloud_HarmlessFormsAreSilent(t *testing.T) {
	silent(t, `
aws s3 ls s3://b
aws s3 cp a s3://b
aws s3 sync a s3://b
aws s3 sync a s3://b --delete --dryrun
aws s3 rm s3://b/key
aws s3 rm s3://b --recursive --dryrun
aws s3 mb s3://delete
aws s3 mv a s3://b
aws s3api list-objects --bucket b
aws s3api get-object --bucket b --key delete-me x
aws ec2 describe-instances --filters Name=tag:x,Values=terminate-instances
aws ec2 terminate-instances --dry-run --instance-ids i
aws ec2 terminate-instances help
aws ec2 help
aws ec2 start-instances --instance-ids i
aws ec2 stop-instances --instance-ids i
aws ec2 wait instance-terminated --instance-ids i
aws ec2 create-tags --resources x --tags Key=delete,Value=y
aws sts get-caller-identity
aws configure list
aws logs tail x --follow
aws cloudformation describe-stacks
aws dynamodb get-item --table-name x --key y
aws lambda invoke --function-name delete-all out
aws iam list-users
aws ssm get-parameter --name delete-x
gcloud compute instances list
gcloud compute instances describe x
gcloud compute instances create delete
gcloud compute instances delete --help
gcloud compute ssh x --command 'ls'
gcloud config set project x
gcloud config configurations delete x
gcloud auth list
gcloud projects list
gcloud run deploy x
gcloud app deploy
gcloud storage ls
gcloud storage cp a gs://b
gcloud storage rm gs://b/o
gcloud builds submit
gcloud container clusters get-credentials x
gcloud logging read delete --limit 5
gcloud help compute instances delete
gsutil ls
gsutil cp a gs://b
gsutil rm gs://b/o
gsutil rsync -r a gs://b
gsutil rsync -n -d -r a gs://b
bq ls
bq query 'select 1'
bq show d.t
az group list
az group show -n delete
az vm list -o table
az vm create -n delete
az vm show -n x --query delete
az vm start -n x
az account list
az account clear
az extension remove -n x
az storage blob list
az storage blob upload -n delete
az login
az deployment group create -g x --mode Incremental -f y
az vm stop -n delete
az group delete --help
doctl compute droplet list
doctl compute droplet get delete
doctl auth list
hcloud server list
hcloud server create --name delete
hcloud server describe x
linode-cli linodes list
vultr-cli instance list
scw instance server list
openstack server list
openstack server show delete
oci compute instance list
heroku apps
heroku logs -t
heroku config
heroku ps:scale web=2
heroku pg:info
heroku run ls
fly deploy
fly status
fly scale count 2
fly apps list
vercel
vercel --prod
vercel ls
vercel env ls
netlify deploy --prod
netlify status
railway up
railway status
supabase start
supabase status
supabase db push
firebase deploy --only hosting
firebase emulators:start
wrangler dev
wrangler deploy
wrangler kv key list --binding x
gh repo list
gh repo view delete
gh repo clone x
gh repo create delete
gh pr merge 1 -d
gh pr close 1
gh pr view 1
gh issue close 1
gh issue list --search 'repo delete'
gh release list
gh release create v1
gh api repos/o/r
gh api -X POST repos/o/r/issues -f title=DELETE
gh api graphql -f query='{ viewer { login } }'
gh run list
gh alias delete x
gh extension remove x
gh auth status
glab mr list
glab api projects
npm publish
npm unpublish --dry-run
npm uninstall x
npm rm x
npm run delete
npm run unpublish
npm ci
npm view x
npm test
pnpm remove x
pnpm install
yarn remove x
yarn install
cargo publish
cargo yank --undo --vers 1.0.0 x
cargo remove x
cargo clean
gem uninstall x
gem install x
gem push x
s3cmd ls
s3cmd del s3://b/o
s3cmd put a s3://b
mc ls a
mc cp a b/c
mc rm a/b/c
hdfs dfs -ls /
eksctl get clusters
databricks clusters list
neonctl projects list
turso db list
cf apps
cf push
crane ls x
docker push x
curl -X DELETE https://api.example.com/v1/items/1
echo 'aws s3 rb s3://b --force'
grep -rn terminate-instances .
git commit -m 'gh repo delete'
terraform plan
`)
}
