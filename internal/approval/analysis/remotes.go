package analysis

// remotes run a command on another machine.
func remotes() map[string]wrapper {
	const sshShort = "BbcDEeFIiJLlmoOpPQRSWw"
	ssh := wrapper{short: sshShort, operands: 1, mixed: true, data: "GNQV", joined: true, where: onRemote}
	withMonitor, dropbear := ssh, ssh
	withMonitor.short += "M"
	dropbear.short = "pliLRWJIbcm"
	many := wrapper{short: "hHlptoexOAwgGmcRufX", long: "hosts host user par timeout outdir errdir extra-arg option", joined: true, where: onRemote}
	return map[string]wrapper{
		"ssh": ssh, "slogin": ssh, "autossh": withMonitor, "dbclient": dropbear,
		"mosh": {short: "p", long: "client server ssh port predict family", operands: 1, where: onRemote},
		"et":   {short: "cpux", operands: 1, text: "c command", mixed: true, only: true, where: onRemote},
		"rsh":  {short: "l", operands: 1, joined: true, where: onRemote}, "plink": {short: "PlpiLRDm", long: "pw", operands: 1, joined: true, where: onRemote},
		"sshpass": {short: "fdpP", joint: true},
		"pssh":    many, "parallel-ssh": many, "pdsh": many, "clush": many, "dsh": many,
		"mussh": {short: "hHlmtioc", text: "c", only: true, where: onRemote},
		"fab":   {short: "Hu", dash: true, joined: true, where: onRemote},
		"lima":  {where: onRemote}, "orb": {short: "muwps", long: "machine user workdir path shell", where: onRemote},
		"wsl":     {short: "due", long: "distribution user exec cd shell-type", argv: "e exec", dir: "cd", data: "l list", where: onRemote},
		"ansible": {short: "aimuMfeltcT", long: "args inventory module-name user become-user become-method private-key extra-vars limit", mixed: true, operands: 1, text: "a args", only: true, where: onRemote},
	}
}

// clouds do so with verbs.
func clouds() map[string][]wrapper {
	gcloud := wrapper{verb: "compute ssh", long: "command zone project container ssh-key-file ssh-flag region worker", text: "command", only: true,
		mixed: true, dash: true, joined: true, where: onRemote}
	fly := []wrapper{{verb: "ssh console", short: "Casr", long: "command app", text: "C command", only: true, where: onRemote}}
	return map[string][]wrapper{
		"vagrant": {{verb: "ssh", short: "c", long: "command", text: "c command", mixed: true, dash: true, joined: true, only: true, where: onRemote},
			{verb: "winrm", short: "c", long: "command", text: "c command", mixed: true, only: true, where: onRemote}},
		"gcloud": {gcloud, renamed(gcloud, "alpha compute ssh"), renamed(gcloud, "beta compute ssh"), renamed(gcloud, "compute tpus tpu-vm ssh"),
			renamed(gcloud, "workstations ssh")},
		"aws": {{verb: "ecs execute-command", long: "command cluster task container region profile", text: "command", only: true, where: inContainer}},
		"az": {{verb: "vm run-command invoke", short: "gn", long: "scripts command-id resource-group name", text: "scripts", only: true, where: onRemote},
			{verb: "container exec", short: "gn", long: "exec-command resource-group name container-name", text: "exec-command", only: true, where: inContainer},
			{verb: "ssh vm", dash: true, joined: true, where: onRemote},
			{verb: "aks command invoke", short: "gnc", long: "command resource-group name", text: "c command", only: true, where: onRemote}},
		"doctl": {{verb: "compute ssh", long: "ssh-command ssh-user ssh-key-path ssh-port", text: "ssh-command", only: true, mixed: true, operands: 1, where: onRemote}},
		"fly":   fly, "flyctl": fly,
		"heroku":    {{verb: "run", short: "aers", long: "app env remote size", joined: true, where: onRemote}},
		"adb":       {{verb: "shell", short: "sHPt", joined: true, where: onRemote}},
		"limactl":   {{verb: "shell", long: "workdir shell", operands: 1, where: onRemote}},
		"multipass": {{verb: "exec", short: "d", long: "working-directory", operands: 1, mixed: true, where: onRemote}},
		"colima":    {{verb: "ssh", short: "p", long: "profile", dash: true, where: onRemote}},
		"minikube":  {{verb: "ssh", short: "np", long: "node profile", joined: true, where: onRemote}},
		"tsh":       {{verb: "ssh", short: "lLpi", long: "login cluster proxy user", operands: 1, joined: true, where: onRemote}},
		"knife":     {{verb: "ssh", short: "xPiaCAp", long: "ssh-user ssh-password identity-file attribute concurrency", operands: 1, mixed: true, joined: true, where: onRemote}},
		"mco":       {{verb: "shell run", short: "IFWT", joined: true, where: onRemote}},
		"gh":        {{verb: "codespace ssh", short: "cR", long: "codespace repo profile server-port", joined: true, where: onRemote}, {verb: "cs ssh", short: "cR", long: "codespace repo", joined: true, where: onRemote}},
		"nomad":     {{verb: "alloc exec", long: "task", operands: 1, where: inContainer}, {verb: "exec", long: "task", operands: 1, where: inContainer}},
		"railway":   {{verb: "ssh", short: "sep", long: "service environment project", joined: true, where: onRemote}},
		"render":    {{verb: "ssh", operands: 1, mixed: true, joined: true, where: onRemote}},
		"dokku":     {{verb: "run", long: "env", operands: 1, where: inContainer}, {verb: "enter", operands: 2, where: inContainer}},
		"cf":        {{verb: "ssh", short: "ciL", text: "c command", mixed: true, only: true, where: inContainer}},
		"eb":        {{verb: "ssh", short: "cnie", long: "command number instance", text: "c command", mixed: true, only: true, where: onRemote}},
		"copilot":   {{verb: "svc exec", short: "cnae", long: "command name app env container", text: "c command", only: true, where: inContainer}, {verb: "task exec", short: "c", long: "command", text: "c command", only: true, where: inContainer}},
		"boundary":  {{verb: "connect ssh", short: "", long: "target-id target-name username host-id", dash: true, joined: true, where: onRemote}},
		"bolt":      {{verb: "command run", short: "tu", long: "targets user", joined: true, mixed: true, where: onRemote}},
	}
}

const (
	engineOptions = "host context config log-level connection url root runroot detach-keys env env-file user workdir"
	runOptions    = engineOptions + " add-host annotation attach blkio-weight cap-add cap-drop cgroup-parent cgroupns cidfile cpu-period " +
		"cpu-quota cpu-shares cpus cpuset-cpus cpuset-mems device dns dns-option dns-search domainname entrypoint expose gpus group-add " +
		"health-cmd health-interval health-retries health-timeout hostname ip ip6 ipc isolation label label-file link log-driver log-opt " +
		"mac-address memory memory-reservation memory-swap mount name network net network-alias oom-score-adj pid pids-limit platform publish " +
		"pull restart runtime security-opt shm-size stop-signal stop-timeout storage-opt sysctl tmpfs ulimit userns uts volume volume-driver " +
		"volumes-from pod os variant authfile creds secret"
	composeOptions = engineOptions + " index file project-name profile project-directory"
	kubeOptions    = "namespace container pod-running-timeout context cluster user kubeconfig server token as as-group certificate-authority " +
		"client-certificate client-key request-timeout filename cache-dir image restart env labels overrides image-pull-policy target copy-to profile"
)

// containers run a command in a container, a pod or a jail.
func containers() map[string][]wrapper {
	composeExec := wrapper{verb: "exec", short: "eufpwH", long: composeOptions, operands: 1, dir: "w workdir", where: inContainer}
	composeRun := wrapper{verb: "run", short: "eufpwvHl", long: composeOptions + " entrypoint label name publish volume cap-add cap-drop", operands: 1, where: inMounted}
	exec := wrapper{verb: "exec", short: "euwlHc", long: engineOptions, operands: 1, dir: "w workdir", where: inContainer}
	run := wrapper{verb: "run", short: "aceghlmpuvwH", long: runOptions, operands: 1, where: inMounted}
	engine := []wrapper{exec, renamed(exec, "container exec"), run, renamed(run, "container run"), renamed(run, "create"),
		renamed(composeExec, "compose exec"), renamed(composeRun, "compose run"), {verb: "machine ssh", long: "username", joined: true, where: onRemote}}
	kube := []wrapper{
		{verb: "exec", short: "ncfs", long: kubeOptions, operands: 1, mixed: true, where: inContainer},
		{verb: "run", short: "nlf", long: kubeOptions, operands: 1, mixed: true, dash: true, where: inContainer},
		{verb: "debug", short: "ncf", long: kubeOptions, operands: 1, mixed: true, dash: true, where: inDebugged},
		{verb: "rsh", short: "ncf", long: kubeOptions + " shell timeout", operands: 1, where: inContainer},
	}
	lxc := []wrapper{{verb: "exec", long: "cwd env user group mode", operands: 1, mixed: true, dir: "cwd", where: inContainer}}
	apptainer := []wrapper{{verb: "exec", short: "BHWSo", long: "bind home workdir pwd cwd env env-file overlay scratch net network hostname security dns",
		operands: 1, dir: "pwd cwd", where: besideHome}}
	apptainer = append(apptainer, renamed(apptainer[0], "run"))
	compose := []wrapper{composeExec, composeRun}
	return map[string][]wrapper{
		"docker": engine, "podman": engine, "nerdctl": engine, "finch": engine, "docker-compose": compose, "podman-compose": compose,
		"kubectl": kube, "oc": kube, "k3s": prefixed("kubectl", kube), "minikube": prefixed("kubectl --", kube), "microk8s": prefixed("kubectl", kube),
		"lxc": lxc, "incus": lxc, "lxc-attach": {{short: "nasuvLfP", long: "name", where: inContainer}},
		"crictl": {{verb: "exec", short: "r", long: "runtime-endpoint timeout", operands: 1, where: inContainer}},
		"ctr": {{verb: "task exec", short: "nat", long: "exec-id user cwd", operands: 1, where: inContainer},
			{verb: "tasks exec", short: "nat", long: "exec-id user cwd", operands: 1, where: inContainer}},
		"singularity": apptainer, "apptainer": apptainer,
		"udocker":        {{verb: "run", short: "vwueh", long: "volume workdir user env entrypoint", operands: 1, where: inMounted}},
		"pct":            {{verb: "exec", operands: 1, where: inContainer}},
		"jexec":          {{short: "uU", operands: 1, where: inContainer}},
		"runc":           {{verb: "exec", short: "eup", long: "cwd env user", operands: 1, where: inContainer}},
		"machinectl":     {{verb: "shell", short: "HME", long: "uid setenv machine host", operands: 1, where: inMachine}},
		"virt-customize": {{short: "adc", long: "run-command firstboot-command", text: "run-command firstboot-command", only: true, where: inContainer}},
		"flatpak":        {{verb: "run", short: "d", long: "branch arch", words: "command", operands: 1, only: true}},
	}
}
