package rules_test

import "testing"

// A43, A44.
func TestCluster_DestroyingFormsAreFound(t *testing.T) {
	finds(t, "cluster.delete", `
kubectl delete pod a
kubectl delete pods --all
kubectl delete all --all -n x
kubectl delete namespace prod
kubectl delete -f x.yml
kubectl delete -k overlays/prod
kubectl -n prod delete deploy web
kubectl --namespace=prod delete deploy web
kubectl --namespace prod delete deploy web
kubectl --context prod --kubeconfig /x -n y delete svc z
kubectl -v 6 delete pod a
kubectl --insecure-skip-tls-verify delete pod a
kubectl --some-new-flag value delete pod a
kubectl --some-new-flag delete pod a
kubectl $FLAGS delete pod a
kubectl delete pvc a --wait=false
kubectl delete crd x.y.z
kubectl delete node n1
kubectl delete pod a --force --grace-period 0
kubectl delete pod a --dry-run=none
kubectl drain n1
kubectl -n x drain n1 --force --delete-emptydir-data
kubectl scale --replicas=0 deploy/web
kubectl scale deploy/web --replicas 0
kubectl -n x scale sts db --replicas=0
kubectl replace --force -f x.yml
kubectl apply -f x --prune --all
kubectl apply --prune=true -f x
kubectl patch pv x -p '{"metadata":{"finalizers":[]}}' --type=merge
kubectl patch ns x --type json -p '[{"op":"remove","path":"/metadata/finalizers"}]'
kustomize build . | kubectl delete -f -
kubectl get po -o name | xargs -n1 kubectl delete
for p in a b; do kubectl delete pod $p; done
oc delete all -l app=x
oc adm drain n1
oc adm prune images --confirm
helm uninstall x
helm -n y uninstall x
helm del x
helm un x
helm --kube-context prod delete x --purge
helm ls -q | xargs helm uninstall
helmfile destroy
flux uninstall -s
flux delete kustomization x
argocd app delete x --cascade
argocd cluster rm x
istioctl uninstall --purge -y
velero backup delete x
velero delete backup x
kubeadm reset
sudo kubeadm reset --force
talosctl -n 10.0.0.1 reset
k3s kubectl delete ns x
microk8s kubectl delete ns x
minikube kubectl -- delete pod x
/usr/local/bin/k3s-uninstall.sh
skaffold delete
kapp delete -a x -y
nomad job stop -purge x
nomad stop -purge x
nomad -address=http://x job stop -purge y
nomad namespace delete x
nomad volume delete x
kubectl taint nodes n1 a=b:NoExecute
vault delete secret/x
vault kv delete secret/x
vault kv destroy -versions=1 secret/x
vault kv metadata delete secret/x
vault secrets disable secret/
vault auth disable userpass/
vault lease revoke -prefix aws/
vault -address=http://x kv metadata delete y
ceph osd pool delete a a --yes-i-really-really-mean-it
ceph osd purge 1 --force
rbd rm pool/img
rbd -p pool snap purge img
gluster volume delete x
pcs cluster destroy --all
sudo KUBECONFIG=/x kubectl delete ns y
ssh h kubectl get po; kubectl delete po x
kubec"tl" 'delete' pod x
`)
}

// A35, A36.
func TestCluster_HarmlessFormsAreSilent(t *testing.T) {
	silent(t, `
kubectl get pods
kubectl get all -A
kubectl get pod delete
kubectl describe pod drain
kubectl logs -f web --since=1h
kubectl apply -f x.yml
kubectl apply -k .
kubectl apply -f x --dry-run=server
kubectl apply --prune -f x --dry-run=client -l a=b
kubectl create ns delete
kubectl delete pod x --dry-run=client
kubectl delete pod x --dry-run=server -o name
kubectl --dry-run=client delete pod x
kubectl delete -h
kubectl delete --help
kubectl help delete
kubectl drain n1 --dry-run=client
kubectl drain --help
kubectl cordon n1
kubectl taint nodes n1 a=b:NoSchedule
kubectl taint nodes n1 a=b:NoExecute-
kubectl uncordon n1
kubectl scale deploy web --replicas=10
kubectl scale deploy web --replicas 3
kubectl rollout restart deploy web
kubectl rollout status deploy web
kubectl rollout undo deploy web
kubectl set image deploy web a=b
kubectl label ns x delete=true
kubectl annotate pod x drain=yes
kubectl auth can-i delete pods
kubectl explain deploy
kubectl port-forward svc/x 8080:80
kubectl config use-context delete
kubectl top pods
kubectl diff -f x.yml
kubectl replace -f x.yml
kubectl patch deploy x -p '{"spec":{"replicas":2}}'
kubectl edit deploy x
kubectl wait --for=delete pod/x
kubectl api-resources --verbs=delete
kubectl version
kubectl completion bash
oc get projects
oc status
oc adm prune images
helm list
helm status x
helm install x .
helm upgrade --install x . --set a=delete
helm template .
helm get values x
helm uninstall x --dry-run
helm repo remove old
helm plugin uninstall x
helm history x
helm lint
flux get all
flux reconcile source git x
argocd app list
argocd app sync x
argocd app diff x
istioctl analyze
velero backup get
velero backup create delete
kubeadm init
kubeadm token list
nomad job run x.hcl
nomad job stop x
nomad status
consul kv get a
consul kv put a delete
consul members
vault kv list secret/
vault kv put secret/x a=destroy
vault secrets list
vault status
ceph -s
ceph osd pool ls
ceph osd tree
rbd ls
gluster volume info
pcs status
echo 'kubectl delete ns prod'
grep -rn 'helm uninstall' .
alias kd='kubectl describe'
`)
}
