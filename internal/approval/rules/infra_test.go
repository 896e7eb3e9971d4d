package rules_test

import "testing"

// A43, A44.
func TestInfra_DestroyingFormsAreFound(t *testing.T) {
	finds(t, "infra.destroy", `
terraform destroy
terraform destroy -auto-approve
terraform destroy -target=aws_x.y
terraform -chdir=prod destroy
terraform -chdir=prod apply -destroy -auto-approve
terraform apply -destroy
terraform apply --destroy
terraform apply -var a=b -destroy
terraform apply -destroy=true
terraform state rm 'module.x'
terraform workspace delete -force x
TF_VAR_a=b terraform destroy
cd infra && terraform destroy
tofu destroy
tofu -chdir=x apply -destroy
terragrunt destroy
terragrunt run-all destroy
terragrunt run-all apply -destroy
terragrunt run --all -- destroy
terragrunt --terragrunt-working-dir x destroy
pulumi destroy
pulumi destroy -y -s prod
pulumi down
pulumi -C x destroy
pulumi --cwd x destroy
pulumi stack rm prod --force
pulumi state delete urn:x
cdk destroy
cdk destroy --force '*'
cdk --app x destroy
sam delete --no-prompts
serverless remove
serverless remove --stage prod
sls remove -s dev
sst remove --stage prod
amplify delete
copilot app delete
copilot svc delete --name x
eb terminate x --force
cdktf destroy
azd down --purge
chalice delete
zappa undeploy prod
vagrant destroy
vagrant destroy -f web
vagrant snapshot delete x
kitchen destroy
molecule destroy
virsh destroy vm
virsh undefine vm
virsh -c qemu:///system undefine vm --remove-all-storage
virsh vol-delete x --pool y
VBoxManage unregistervm x --delete
qm destroy 100
pct destroy 100 --purge
knife node delete x -y
knife client delete x
salt-key -d x
salt-key -yD
salt-key --delete-all
puppet node purge x
govc vm.destroy x
juju destroy-controller x
bosh -d x delete-deployment
bosh delete-env x.yml
nixops destroy
kops delete cluster x --yes
ansible all -b -m file -a 'path=/srv/x state=absent'
ansible web -m apt -a "name=nginx state=absent" --become
sudo terraform destroy
timeout 600 terraform destroy -auto-approve
terra"form" des\troy
echo yes | terraform destroy
`)
}

// A35, A36.
func TestInfra_HarmlessFormsAreSilent(t *testing.T) {
	silent(t, `
terraform init
terraform plan
terraform plan -destroy
terraform plan -destroy -out=destroy
terraform -chdir=destroy plan
terraform apply
terraform apply tfplan
terraform apply -auto-approve
terraform apply -destroy=false
terraform fmt -recursive
terraform validate
terraform output
terraform show destroy
terraform state list
terraform state show aws_x.destroy
terraform state mv a b
terraform workspace new destroy
terraform workspace select x
terraform import a b
terraform destroy -help
terraform destroy -h
terraform destroy --help
terraform -help destroy
tofu plan
terragrunt plan
terragrunt run-all plan
pulumi up
pulumi preview
pulumi preview --diff
pulumi destroy --preview-only
pulumi stack
pulumi stack select destroy
pulumi config set destroy true
cdk ls
cdk deploy --all
cdk synth
cdk diff destroy
sam build
sam deploy
serverless deploy
serverless info
sst dev
amplify push
amplify status
copilot app ls
eb status
eb deploy
vagrant up
vagrant halt
vagrant ssh
vagrant status
vagrant snapshot list
virsh list --all
virsh start vm
virsh dominfo vm
VBoxManage list vms
qm list
knife node list
knife node show delete
salt-key -L
salt-key -a x
puppet agent -t
govc ls
juju status
bosh deployments
kops get clusters
ansible all -m ping
ansible all -m apt -a "name=x state=present"
kops validate cluster
grep -n destroy main.tf
cat destroy.tf
git commit -m 'terraform destroy prod'
vim terraform/destroy.tf
make plan
`)
}
