package rules

import "strings"

const kubeActs = `
delete !--dry-run
drain !--dry-run
scale +--replicas=0 !--dry-run
replace +--force !--dry-run
apply +--prune !--dry-run
adm drain !--dry-run
adm prune +--confirm
evict
taint +@*:NoExecute !--dry-run
argo delete
`

func clusterRows() []Row {
	return []Row{verbRow(Row{
		ID: "cluster.delete", Key: "delete cluster resources", Family: "cluster", Remember: RememberAll, Leaves: true,
		Matches: "deletes, drains, scales to none or uninstalls what runs in a cluster; destroys keys, secrets engines, pools and members of cluster services",
		Examples: []string{"kubectl delete pod web", "kubectl -n prod delete deploy/web", "kubectl delete ns prod", "kubectl delete -f k8s/",
			"kubectl drain node1 --ignore-daemonsets",
			"kubectl scale deploy web --replicas=0", "kubectl scale --replicas 0 deploy/web",
			"kubectl --context prod -n x delete pods --all --force --grace-period=0",
			"kubectl replace --force -f x.yml", "kubectl apply --prune -f . -l app=x", "helm uninstall web", "helm -n x delete web",
			"oc delete project x", "kubectl get pods -o name | xargs kubectl delete",
			"kubeadm reset -f", "flux uninstall", "argocd app delete web", "nomad job stop -purge web", "vault kv destroy -versions=1 secret/x",
			"vault secrets disable kv/",
			"ceph osd pool delete p p --yes-i-really-really-mean-it", "istioctl uninstall --purge", "velero backup delete b1",
			"kubectl patch pvc x -p '{\"metadata\":{\"finalizers\":null}}'", "k3s kubectl delete pod x", "kubectl delete pod x --dry-run=none",
			"/usr/local/bin/k3s-uninstall.sh"},
		LookAlikes: []string{"kubectl get pods", "kubectl delete pod web --dry-run=client", "kubectl delete --help",
			"kubectl describe pod delete", "kubectl apply -f x.yml",
			"kubectl scale deploy web --replicas=3", "kubectl logs -f delete", "kubectl rollout restart deploy/web", "kubectl cordon n1",
			"helm list", "helm upgrade --install web .",
			"helm uninstall --dry-run web", "kubectl help delete", "kubectl get pods --field-selector=x=delete", "vault kv get secret/x",
			"consul kv get x", "argocd app get delete",
			"kubectl drain n1 --dry-run=server", "echo kubectl delete ns prod", "nomad job status", "kubectl auth can-i delete pods",
			"kubectl explain pod", "kubectl label pod x delete=yes"},
	}, "deletes or stops what a cluster runs", []tool{
		{names: "kubectl oc kubecolor k", short: "nsvf",
			long: "namespace context cluster kubeconfig user server token as as-group request-timeout v", safe: "--dry-run=client --dry-run=server",
			acts: kubeActs},
		{names: "k3s microk8s minikube rke2", long: "profile", short: "p", acts: "kubectl|kubectl.exe delete|drain !--dry-run\n" +
			"kubectl scale +--replicas=0\nhelm|helm3 uninstall|delete\netcd-snapshot delete|prune\nreset|uninstall\nremove-node"},
		{names: "helm helm2 helm3", short: "n", long: "namespace kube-context kubeconfig", acts: "uninstall|delete|del|un !--dry-run"},
		{names: "helmfile", short: "fenl", long: "file environment namespace selector", acts: "destroy|delete"},
		{names: "flux", short: "n", long: "namespace context kubeconfig", acts: "uninstall !--dry-run\ndelete"},
		{names: "argocd", long: "server auth-token grpc-web-root-path config",
			acts: "app|appset|proj|cluster|repo|repocreds|account delete|rm|delete-token\napp delete-resource\n" +
				"app sync +--prune +--force !--dry-run"},
		{names: "argo tkn kn", short: "n", long: "namespace", acts: "delete|stop|terminate +@* +--all\n* delete !--dry-run"},
		{names: "istioctl", short: "ni", acts: "uninstall !--dry-run\nx uninstall"},
		{names: "cilium linkerd longhornctl", acts: "uninstall"},
		{names: "velero", short: "n", long: "namespace", acts: "uninstall\n* delete\ndelete *"},
		{names: "kubeadm talosctl k0s", short: "ne", long: "nodes endpoints kubeconfig", acts: "reset !--dry-run"},
		{names: "rke", acts: "remove"},
		{names: "rancher", acts: "** delete|rm"},
		{names: "tilt", short: "f", acts: "down"}, {names: "clusterctl kapp skaffold", short: "an", long: "namespace app kubeconfig filename profile", acts: "delete !--dry-run"},
		{names: "tilt", acts: "down +--delete-namespaces"},
		{names: "werf", acts: "dismiss|cleanup|purge !--dry-run"},
		{names: "devspace garden okteto", acts: "purge|destroy|delete|cleanup"},
		{names: "kubectl-argo-rollouts", acts: "abort"},
		{names: "nomad", single: true, long: "address region namespace token", acts: "job stop +--purge +@bulk\nstop +--purge\n" +
			"namespace|quota|volume|node-pool delete|deregister\nvar purge\nacl * delete\nsystem gc\nnode drain +--enable\nserver force-leave\n" +
			"node purge\noperator raft remove-peer"},
		{names: "consul", single: true, long: "http-addr token datacenter", acts: "force-leave\nleave\nacl * delete\nconfig delete\n" +
			"operator raft remove-peer\npeering delete\nservices deregister"},
		{names: "vault bao", single: true, long: "address namespace", acts: "delete\nkv delete|destroy\nkv metadata delete\nsecrets|auth disable\n" +
			"policy|namespace delete\nlease revoke +--prefix +--force\ntoken revoke\noperator seal|rekey\noperator raft remove-peer\naudit disable\n" +
			"plugin deregister"},
		{names: "ceph", short: "cnk", acts: "osd purge|destroy|rm|lost|crush\nosd pool delete|rm\nfs rm|fail\norch rm|host\nauth del|rm\n" +
			"mon remove|rm"},
		{names: "rbd", short: "p", long: "pool", acts: "remove|rm\nsnap purge|rm|remove\ntrash purge|rm\npool rm"},
		{names: "rados", short: "p", acts: "rmpool|purge|rm"},
		{names: "gluster", acts: "volume delete|stop|remove-brick|reset\npeer detach"},
		{names: "pcs", acts: "cluster destroy|remove\nresource|stonith delete|remove"},
		{names: "crm", acts: "configure erase|delete\ncluster remove|stop"},
	}, clusterMore, "k3s-uninstall.sh", "k3s-agent-uninstall.sh", "k3s-killall.sh", "rke2-uninstall.sh", "rke2-killall.sh")}
}

// clusterMore finds a patch that takes the finalizers off, and scripts that uninstall a cluster.
func clusterMore(a *Act) []Hit {
	hit := strings.HasSuffix(a.Program, "-uninstall.sh") || strings.HasSuffix(a.Program, "-killall.sh")
	if a.Program == "kubectl" || a.Program == "oc" {
		patch := false
		var b strings.Builder
		for _, w := range a.Words[1:] {
			if strings.HasPrefix(w.Text, "--dry-run") && w.Text != "--dry-run=none" {
				return nil
			}
			patch = patch || w.Is("patch")
			b.WriteString(strings.Map(func(r rune) rune {
				if r == ' ' || r == '\n' || r == '"' || r == '\'' {
					return -1
				}
				return r
			}, w.Text))
			b.WriteByte(' ')
		}
		text := b.String()
		hit = patch && (strings.Contains(text, "finalizers:null") || strings.Contains(text, "finalizers:[]") || strings.Contains(text,
			"op:remove,path:/metadata/finalizers"))
	}
	if !hit {
		return nil
	}
	return []Hit{{Reason: "deletes or stops what a cluster runs: " + a.Line()}}
}
