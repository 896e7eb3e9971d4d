package rules

import (
	"slices"
	"strings"

	"github.com/hermes-runtime/hermes/internal/approval/analysis"
)

const (
	dockerLong = "host config context log-level tlscacert tlscert tlskey url connection identity root runroot storage-driver storage-opt " +
		"runtime cgroup-manager tmpdir events-backend namespace address snapshotter data-root file project-name profile env-file project-directory ansi parallel"
	engines = "docker podman nerdctl finch"
)

// engineActs are verbs of container engines. To stop or remove one named container, or to remove one image that nothing needs, is
// everyday work; force, a list made by another command, volumes and pruning aren't.
const engineActs = `
rm +-f +--force +-a +--all +@bulk
rmi +-f +--force +-a +--all +-p +--prune +@bulk
container|containers rm|remove|delete +-f +--force +-a +--all +@bulk
container|image|volume|network|system|builder|buildx|pod|images|volumes|secret|artifact prune !--dry-run
buildx rm +-f +--force +--all-inactive
image|images rm|remove|delete +-f +--force +-a +--all +@bulk
network rm|remove +-f +--force +@bulk
volume|volumes rm|remove|delete
pod rm +-f +--force +-a +--all +@bulk
manifest|context|plugin rm|remove +-f +--force +@bulk
system reset
machine rm|reset
compose down +-v +--volumes +--rmi !--dry-run
compose rm +-f +--force +-s +--stop +-v !--dry-run
compose stack down
kube down +--force
play kube +--down
swarm leave +-f +--force
stack|service|secret|config rm|remove|down
node rm +-f +--force
service scale +@*=0
checkpoint|model rm
desktop reset|uninstall
`

const composeActs = `
down +-v +--volumes +--rmi !--dry-run
rm +-f +--force +-s +--stop +-v !--dry-run
`

func containerRows() []Row {
	return []Row{containerEscape(), containerRemove()}
}

func containerRemove() Row {
	return verbRow(Row{
		ID: "container.remove", Key: "remove containers, volumes or images", Family: "container", Remember: RememberAll,
		Matches: "removal of containers, images, volumes or local clusters and machines by force, in bulk or with their data; pruning; resetting an engine",
		Examples: []string{"docker rm -f web", "docker rm $(docker ps -aq)", "docker ps -aq | xargs docker rm", "docker rmi -f img",
			"docker volume rm data", "docker system prune -af --volumes",
			"docker system prune", "docker --context prod volume prune -f", "docker compose down -v",
			"docker compose -f x.yml -p app down --volumes", "docker-compose down --rmi all",
			"docker compose rm -fsv", "podman system reset --force", "docker swarm leave --force", "docker stack rm app",
			"docker builder prune -a", "kind delete cluster",
			"minikube delete --all", "crictl rmi --prune", "docker container rm --force a", "podman rm -af", "lxc delete -f c1",
			"docker -H tcp://h:2375 image prune -a"},
		LookAlikes: []string{"docker rm web", "docker stop web", "docker kill web", "docker ps -a", "docker run --rm -it alpine ls",
			"docker compose down", "docker compose up -d",
			"docker compose run --rm app rm -f x.txt", "docker rmi old:1", "docker volume ls", "docker system df",
			"docker image ls -f dangling=true", "docker volume inspect data",
			"docker build -f prune .", "docker compose -f rm.yml ps", "docker volume create rm", "docker exec web rm -f /app/x",
			"docker system prune --help", "docker logs -f rm",
			"docker compose down --dry-run -v", "kind get clusters", "minikube status"},
	}, "removes containers, images, volumes or their engine's data", []tool{
		{names: engines, short: "Hclfpn", long: dockerLong, acts: engineActs},
		{names: "docker-compose podman-compose", short: "fpHc", long: dockerLong, acts: composeActs},
		{names: "buildah", acts: "rm +-a +--all +@bulk\nrmi +-a +--all +-f +--force +-p +--prune +@bulk\nprune"},
		{names: "ctr", short: "na", long: "namespace address",
			acts: "containers|container|c|images|image|i|snapshots|snapshot|tasks|task|t|content|namespaces|namespace|ns rm|remove|del|delete\n" +
				"images|image|content prune"},
		{names: "crictl", short: "ri", long: "runtime-endpoint image-endpoint config timeout",
			acts: "rm|rmp|rmi +-f +--force +-a +--all +-q +--prune +@bulk"},
		{names: "minikube", short: "p", long: "profile", acts: "delete"},
		{names: "kind", acts: "delete cluster|clusters"},
		{names: "k3d", acts: "cluster|node|registry delete|del|rm"},
		{names: "colima lima limactl", short: "p", long: "profile tty", acts: "delete|remove|rm\nfactory-reset\nprune\ndisk delete"},
		{names: "lxc incus", long: "project", acts: "delete|rm\nimage|network|profile|project|cluster|snapshot delete|rm|remove\n" +
			"storage delete|rm\nstorage volume delete|rm\nrebuild"},
		{names: "lxc-destroy docker-machine-destroy", acts: "+@*"},
		{names: "docker-machine", acts: "rm"},
		{names: "machinectl", acts: "remove|clean|terminate"},
		{names: "multipass", acts: "delete|purge"},
		{names: "distrobox toolbox", acts: "rm +-f +--force +-a +--all\nreset"},
		{names: "orb orbctl", acts: "delete|reset"},
		{names: "rdctl", acts: "factory-reset|reset"},
		{names: "wsl", acts: "+--unregister"},
		{names: "singularity apptainer", acts: "cache clean !-n !--dry-run"},
		{names: "firecracker-ctl ignite", acts: "rm +-f +--force\nrmi +-f +--force"},
	}, nil)
}

func containerEscape() Row {
	r := Row{
		ID: "container.escape", Key: "container with host access", Family: "container", Remember: RememberExact, Leaves: true,
		Matches: "a container that gets the host's privileges, namespaces, root, system directories, engine socket or disks; entering the host's namespaces",
		Examples: []string{"docker run --privileged alpine", "docker run -v /:/host alpine chroot /host", "docker run --pid=host alpine",
			"docker run --net host alpine",
			"docker run -v /var/run/docker.sock:/var/run/docker.sock cli", "docker run --mount type=bind,source=/,target=/h alpine",
			"docker run --cap-add SYS_ADMIN x",
			"docker run --cap-add=ALL x", "docker run --security-opt seccomp=unconfined x", "docker run --device /dev/sda x",
			"podman run -itv /:/mnt x", "docker create --privileged x",
			"docker container run --userns=host x", "docker compose run -v /:/h app sh", "nsenter -t 1 -m -u -i -n -p sh",
			"nsenter --target 1 --all", "docker exec --privileged web sh",
			"kubectl debug node/n1 -it --image=busybox", "docker -H unix:///run/docker.sock run -dit --ipc=host x", "chroot /host sh"},
		LookAlikes: []string{"docker run -v /data/app:/app x", "docker run -v \"$PWD\":/w -w /w node npm test", "docker run -p 80:80 nginx",
			"docker run alpine echo --privileged",
			"docker run --privileged=false x", "docker run -v data:/var/lib/postgresql postgres", "docker run --network app x",
			"docker run --cap-drop ALL x", "docker run --device /dev/dri x",
			"docker run -v /etc/localtime:/etc/localtime:ro x", "docker ps --format '{{.Mounts}}'", "docker build --network host .",
			"docker run --pid=container:web x",
			"docker run -e ARGS=--privileged x", "docker inspect --privileged", "nsenter -t 4242 -n ip a",
			"docker run --security-opt no-new-privileges x", "docker run --cap-add NET_BIND_SERVICE x",
			"docker compose run app --privileged"},
		Programs: append(strings.Fields(engines), "docker-compose", "podman-compose", "nsenter", "chroot", "kubectl", "oc", "ctr", "lxc", "incus",
			"systemd-nspawn"),
	}
	r.Match = func(a *Act) []Hit {
		reason, targets := escapes(a)
		if reason == "" {
			return nil
		}
		return []Hit{{Reason: "a container with access to its host (" + reason + "): " + a.Line(), Targets: targets}}
	}
	return r
}

// switches are the options of run and create without a value; all others take one.
var switches = []string{"detach", "interactive", "tty", "rm", "init", "privileged", "publish-all", "read-only", "no-healthcheck",
	"oom-kill-disable", "sig-proxy",
	"disable-content-trust", "quiet", "help", "no-hosts", "replace", "tls-verify", "env-host", "http-proxy", "no-hostname", "use-aliases",
	"build", "no-deps", "remove-orphans",
	"service-ports", "no-tty", "passwd", "rmi", "net-host", "null-io", "with-ns", "no-pivot"}

func escapes(a *Act) (reason string, targets []analysis.Target) {
	switch a.Program {
	case "nsenter":
		return entersHost(a), nil
	case "chroot":
		ops := a.Args(analysis.Grammar{Long: []string{"userspec", "groups"}}).Operands
		if len(ops) > 0 && slices.Contains([]string{"/host", "/hostfs", "/rootfs", "/host-root", "/mnt/host", "/mnt/root", "/proc/1/root",
			"/hostroot"}, strings.TrimRight(ops[0].Text, "/")) {
			return "the host's root " + ops[0].Text, nil
		}
		return "", nil
	case "kubectl", "oc":
		return podEscapes(a), nil
	case "lxc", "incus":
		return anyWord(a, "security.privileged=true", "source=/", "raw.lxc=*"), nil
	case "systemd-nspawn":
		return anyWord(a, "--bind=/", "--bind=/:*", "--directory=/", "--capability=all"), nil
	}
	words := engineRun(a)
	if words == nil {
		return "", nil
	}
	return runEscapes(a, words)
}

func anyWord(a *Act, patterns ...string) string {
	for _, w := range a.Words[1:] {
		for _, p := range patterns {
			if like(p, w.Text) {
				return w.Text
			}
		}
	}
	return ""
}

// engineRun gives the words behind the verb of an engine's command that makes or enters a container.
func engineRun(a *Act) []analysis.Word {
	p := runTool()
	words := a.Words[1:]
	heads := p.heads(words)
	for i := range p.acts {
		if end, ok := p.walk(p.acts[i].path, words, heads, 0); ok && end > 0 {
			return words[end:]
		}
	}
	return nil
}

// runTool finds the verbs; exec, create and update are looked for by name, so that they don't count as harmless.
var runTool = func() func() *program {
	p := tool{short: "Hclfpna", long: dockerLong, acts: "container|compose|c|containers|pod run|create|exec\nservice create|update\n" +
		"run|create|exec"}.compile()
	return func() *program { return p }
}()

func runEscapes(a *Act, words []analysis.Word) (string, []analysis.Target) {
	for i := 0; i < len(words); i++ {
		text := words[i].Text
		if text == "--" || len(text) < 2 || text[0] != '-' {
			if analysis.Head(text) == "" && !analysis.Known(text) {
				continue // may be options, or nothing
			}
			return "", nil // the image: what follows runs inside
		}
		name, value, bound := strings.Cut(text, "=")
		switch {
		case strings.HasPrefix(name, "--"):
			name = name[2:]
			if slices.Contains(switches, name) {
				if (name == "privileged" || name == "net-host") && !slices.Contains(refusals, strings.ToLower(value)) {
					return text, nil
				}
				continue
			}
		default:
			at := strings.IndexAny(text, "vheupwlmacL")
			if at < 0 {
				continue // a bundle of switches
			}
			name, value, bound = text[at:at+1], strings.TrimPrefix(text[at+1:], "="), at+1 < len(text)
		}
		w := analysis.Word{Text: value, From: words[i].From}
		if !bound && i+1 < len(words) {
			i++
			w = words[i]
		}
		if reason, targets := optionEscapes(a, name, w); reason != "" {
			return reason, targets
		}
	}
	return "", nil
}

// hostCaps are capabilities that reach through a container's walls.
var hostCaps = []string{"all", "sys_admin", "sys_module", "sys_rawio", "dac_read_search", "sys_boot"}

func optionEscapes(a *Act, name string, w analysis.Word) (string, []analysis.Target) {
	text := w.Text
	lower := strings.ToLower(text)
	hit := false
	switch name {
	case "pid", "ipc", "uts", "userns", "cgroupns", "network", "net":
		hit = lower == "host" || strings.HasPrefix(lower, "host:")
	case "cap-add":
		for c := range strings.SplitSeq(lower, ",") {
			hit = hit || slices.Contains(hostCaps, strings.TrimPrefix(c, "cap_"))
		}
	case "security-opt":
		hit = strings.HasSuffix(lower, "unconfined") || lower == "label=disable" || lower == "label:disable"
	case "device":
		source, _, _ := strings.Cut(text, ":")
		hit = rawDevice(source)
	case "device-cgroup-rule":
		hit = strings.HasPrefix(text, "a") || strings.HasPrefix(text, "b *")
	case "v", "volume":
		source, rest, _ := strings.Cut(text, ":")
		return mountEscapes(a, source, text, strings.HasSuffix(rest, ":ro") || strings.Contains(rest, ":ro,"))
	case "mount":
		source, only := "", false
		for part := range strings.SplitSeq(strings.ReplaceAll(text, `"`, ""), ",") {
			key, value, _ := strings.Cut(part, "=")
			switch key {
			case "source", "src":
				source = value
			case "volume-opt":
				if dir, ok := strings.CutPrefix(value, "device="); ok {
					source = dir
				}
			case "readonly", "ro":
				only = !slices.Contains(refusals, value)
			}
		}
		return mountEscapes(a, source, text, only)
	}
	if !hit {
		return "", nil
	}
	return "--" + name + " " + analysis.Show(text), nil
}

// rawDevice tells whether a device is a disk, memory or all of them.
func rawDevice(path string) bool {
	name, ok := strings.CutPrefix(analysis.Plain(path), "/dev")
	if !ok {
		return false
	}
	for _, p := range []string{"", "/", "/sd?*", "/hd?*", "/vd?*", "/xvd*", "/nvme*", "/mmcblk*", "/dm-*", "/mapper/*", "/md?*", "/disk/*",
		"/disk*", "/rdisk*", "/loop*", "/mem", "/kmem", "/port"} {
		if like(p, name) {
			return true
		}
	}
	return false
}

// hostPlaces are directories that give the host away when a container may write there.
var hostPlaces = []string{"/etc", "/root", "/boot", "/dev", "/proc", "/sys", "/usr", "/bin", "/sbin", "/lib", "/lib64", "/var", "/var/run",
	"/run", "/var/lib", "/var/lib/docker",
	"/var/lib/kubelet", "/var/lib/containerd", "/home", "/Users", "/private", "/usr/bin", "/usr/local/bin", "/etc/cron.d", "/etc/systemd",
	"/etc/systemd/system", "/etc/kubernetes",
	"/root/.ssh", "/var/spool/cron", "/proc/sys", "/sys/fs/cgroup"}

func mountEscapes(a *Act, source, text string, readOnly bool) (string, []analysis.Target) {
	if source == "" || !strings.ContainsAny(source, "/.~\x00") {
		return "", nil // a volume's name
	}
	for _, t := range a.Reading.Targets(a.Command, analysis.Word{Text: source}) {
		socket := strings.HasSuffix(t.Path, ".sock") && slices.ContainsFunc([]string{"docker", "containerd", "podman", "crio", "dockershim",
			"cri-dockerd"}, func(s string) bool { return strings.Contains(t.Path, s) })
		root := t.Class == analysis.ClassRoot || t.Path == "/proc/1/root"
		host := !readOnly && (slices.Contains(hostPlaces, t.Path) || t.Class == analysis.ClassHomeRoot) || rawDevice(t.Path)
		if socket || root || host {
			return "mounts " + analysis.Show(text), []analysis.Target{t}
		}
	}
	return "", nil
}

// entersHost tells whether nsenter goes into the namespaces of the first process.
func entersHost(a *Act) string {
	for i, w := range a.Words[1:] {
		text := w.Text
		if text == "-t1" || text == "--target=1" || (text == "-t" || text == "--target") && i+2 < len(a.Words) && a.Words[i+2].Is("1") ||
			strings.Contains(text, "/proc/1/ns") {
			return "the namespaces of process 1"
		}
		if len(text) > 1 && text[0] == '-' && text[1] != '-' && strings.HasSuffix(text, "t") && i+2 < len(a.Words) && a.Words[i+2].Is("1") {
			return "the namespaces of process 1"
		}
	}
	return ""
}

// podEscapes tells whether kubectl starts a pod with the rights of its node.
func podEscapes(a *Act) string {
	verb := a.Args(analysis.Grammar{Short: "n", Long: []string{"namespace", "context", "kubeconfig", "cluster", "user"}}).Operands
	if len(verb) == 0 || !verb[0].Is("debug") && !verb[0].Is("run") && !verb[0].Is("create") {
		return ""
	}
	debug := verb[0].Is("debug")
	for _, w := range a.Words[1:] {
		text := strings.NewReplacer(" ", "", "\n", "", "\t", "").Replace(w.Text)
		switch {
		case w.Text == "--":
			return ""
		case debug && (strings.HasPrefix(text, "node/") || text == "--profile=sysadmin"), text == "--privileged", text == "--privileged=true":
			return text
		case strings.Contains(text, `"hostPID":true`), strings.Contains(text, `"privileged":true`), strings.Contains(text, `"hostNetwork":true`),
			strings.Contains(text, `"hostPath":{"path":"/"`), strings.Contains(text, `"hostIPC":true`):
			return "a pod with the node's rights"
		}
	}
	return ""
}
