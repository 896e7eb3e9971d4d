package analysis

import (
	"strings"
	"sync"
)

// roots are the first-level directories of the systems that commands run on, and those second-level ones without which none of them works.
var roots = sync.OnceValue(func() map[string]bool {
	set := map[string]bool{}
	for d := range strings.FieldsSeq("/bin /boot /dev /etc /home /lib /lib32 /lib64 /libx32 /media /mnt /opt /proc /run /sbin /snap /srv " +
		"/sys /usr /var /nix /System /Library /Applications /Users /Volumes /private /private/etc /private/var /usr/bin /usr/lib /usr/sbin " +
		"/usr/local /usr/share /usr/lib64 /usr/include /usr/libexec /var/lib /boot/efi /efi /cores /Network /gnu /etc/systemd " +
		"/System/Library /opt/homebrew /nix/store") {
		set[d] = true
	}
	return set
})

// places maps directories to the class of what is below them; the longest match counts.
var places = sync.OnceValue(func() map[string]Class {
	byDir := map[string]Class{}
	for class, dirs := range map[Class]string{
		ClassSystem: "/bin /boot /efi /etc /lib /lib32 /lib64 /libx32 /sbin /usr /System /Library /private/etc /var/spool/cron /var/spool/at " +
			"/var/lib/dpkg /var/lib/rpm /var/lib/systemd /var/lib/apt /var/lib/pacman /var/db/dslocal /opt/homebrew/bin /opt/homebrew/lib " +
			"/mnt/c/Windows /gnu/store /nix/store",
		ClassState:  "/var /opt /srv /run /snap /nix /private/var /Applications /gnu",
		ClassOther:  "/home /Users /mnt /media /Volumes /private /usr/src /usr/local/src",
		ClassKernel: "/proc /sys",
		ClassDevice: "/dev",
		ClassTemp:   "/tmp /var/tmp /dev/shm /private/tmp /private/var/tmp /private/var/folders /var/folders /run/user /dev/mqueue",
	} {
		for d := range strings.FieldsSeq(dirs) {
			byDir[d] = class
		}
	}
	return byDir
})

// harmlessDevices may be written by anyone: they hold nothing.
var harmlessDevices = map[string]bool{"/dev/null": true, "/dev/zero": true, "/dev/full": true, "/dev/random": true, "/dev/urandom": true,
	"/dev/tty": true, "/dev/stdin": true, "/dev/stdout": true, "/dev/stderr": true, "/dev/ptmx": true, "/dev/console": true}

// homeKinds maps paths below a home directory to what they and all below them hold.
var homeKinds = sync.OnceValue(func() map[string]Kind {
	return kinds(map[Kind]string{
		KindKeys: ".ssh .gnupg .password-store .local/share/keyrings .local/share/kwalletd Library/Keychains .pki .config/sops .config/age " +
			".ethereum/keystore .bitcoin .electrum/wallets .config/solana/id.json .minisign .step/secrets .local/share/mkcert .putty",
		KindCredentials: ".aws .azure .config/gcloud .config/doctl .oci .aliyun .bluemix .config/linode-cli .config/hcloud .config/scw .scw " +
			".kube .docker/config.json .config/containers/auth.json .config/helm/registry .netrc _netrc .authinfo .authinfo.gpg .npmrc .yarnrc " +
			".yarnrc.yml .pypirc .cargo/credentials .cargo/credentials.toml .gem/credentials .m2/settings.xml .m2/settings-security.xml " +
			".gradle/gradle.properties .nuget/NuGet/NuGet.Config .composer/auth.json .config/composer/auth.json .config/gh/hosts.yml " +
			".config/hub .config/glab-cli .git-credentials .config/git/credentials .pgpass .my.cnf .mylogin.cnf .config/rclone .rclone.conf " +
			".s3cfg .boto .terraform.d/credentials.tfrc.json .terraformrc .vault-token .pulumi/credentials.json .config/op .config/netlify " +
			".local/share/com.vercel.cli .fly/config.yml .config/configstore .databrickscfg .snowflake .snowsql .cache/huggingface/token " +
			".huggingface/token .kaggle/kaggle.json .claude/.credentials.json .codex/auth.json .sentryclirc .ngrok2 .config/ngrok .msmtprc " +
			".fetchmailrc .smbcredentials .Xauthority .config/filezilla .mozilla .thunderbird .config/google-chrome .config/chromium " +
			".config/BraveSoftware .config/microsoft-edge .config/Signal .config/Bitwarden Library/Cookies Library/Safari .wrangler/config " +
			"Library/Application%20Support/Google/Chrome Library/Application%20Support/Firefox .config/Slack .circleci/cli.yml",
		KindStartup: ".inputrc .bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile .zlogin .zlogout .kshrc " +
			".mkshrc .cshrc .tcshrc .login .logout .config/fish .config/autostart .config/autostart-scripts .config/systemd/user " +
			".local/share/systemd/user .config/plasma-workspace .config/environment.d .pam_environment .ssh/rc .ssh/environment .xinitrc " +
			".xserverrc .xprofile .xsession .xsessionrc Library/LaunchAgents .gitconfig .config/git/config .config/git/hooks .forward " +
			".config/upstart .config/openbox/autostart .config/powershell .config/zsh .config/bash",
		KindPublic: ".ssh/authorized_keys .ssh/authorized_keys2 .ssh/config .ssh/config.d .ssh/known_hosts .ssh/known_hosts.old .kube/cache " +
			".aws/cli/cache .mozilla/firefox/profiles.ini",
	})
})

// systemKinds does so for absolute paths.
var systemKinds = sync.OnceValue(func() map[string]Kind {
	return kinds(map[Kind]string{
		KindKeys: "/etc/ssl/private /etc/letsencrypt/live /etc/letsencrypt/archive /etc/letsencrypt/keys /etc/pki/tls/private /etc/pki/private " +
			"/etc/kubernetes/pki /etc/krb5.keytab /etc/wireguard /etc/openvpn/server /etc/ipsec.d/private /var/lib/tor " +
			"/Library/Keychains /System/Library/Keychains",
		KindCredentials: "/etc/shadow /etc/shadow- /etc/gshadow /etc/gshadow- /etc/master.passwd /etc/security/opasswd /etc/ipsec.secrets " +
			"/etc/ppp/chap-secrets /etc/ppp/pap-secrets /etc/NetworkManager/system-connections /etc/wpa_supplicant /etc/kubernetes/admin.conf " +
			"/etc/rancher/k3s/k3s.yaml /run/secrets /var/run/secrets /var/db/dslocal /etc/mysql/debian.cnf /proc/kcore /dev/mem /dev/kmem",
		KindStartup: "/etc/profile /etc/profile.d /etc/bash.bashrc /etc/bashrc /etc/zsh /etc/zshrc /etc/zshenv /etc/zprofile /etc/rc.local " +
			"/etc/rc.d /etc/init.d /etc/init /etc/inittab /etc/ld.so.preload /etc/environment /etc/systemd /etc/xdg/autostart /etc/pam.d " +
			"/lib/systemd /usr/lib/systemd /Library/LaunchDaemons /Library/LaunchAgents /etc/fish /etc/skel /etc/csh.cshrc /etc/gitconfig " +
			"/etc/modules-load.d /etc/X11/Xsession.d /run/systemd/system",
		KindCron: "/etc/crontab /etc/cron.d /etc/cron.daily /etc/cron.hourly /etc/cron.weekly /etc/cron.monthly /etc/anacrontab " +
			"/var/spool/cron /var/spool/at /var/at /usr/lib/cron",
		KindSocket: "/var/run/docker.sock /run/docker.sock /run/containerd/containerd.sock /var/run/containerd/containerd.sock /run/podman " +
			"/run/podman/podman.sock /run/crio/crio.sock /var/run/crio/crio.sock /var/run/libvirt/libvirt-sock",
	})
})

// agentPolicy is what decides what the agent may do, below its own directory.
var agentPolicy = map[string]bool{"": true, "config.yaml": true, "config.yml": true, ".env": true, "hooks": true, "audit": true, "approvals": true,
	"plugins": true, "policy": true, "allowlist": true}

func kinds(byKind map[Kind]string) map[string]Kind {
	byPath := map[string]Kind{}
	for kind, paths := range byKind {
		for p := range strings.FieldsSeq(paths) {
			byPath[strings.ReplaceAll(p, "%20", " ")] = kind
		}
	}
	return byPath
}

// kindAt finds what the longest known beginning of a path holds. A glob in the path stands for every entry that it can match.
func kindAt(p string, table map[string]Kind) Kind {
	for head := known(p); head != ""; {
		if k, ok := table[head]; ok {
			return k
		}
		i := strings.LastIndexByte(head, '/')
		if i < 0 {
			break
		}
		head = head[:i]
	}
	if Literal(p) || strings.Trim(Head(p), "/") == "" {
		return ""
	}
	best, kind := "", Kind("")
	literal := Head(p)
	var heads [maxElements + 1]string // of a long path they are found once
	for entry, k := range table {
		n := strings.Count(entry, "/")
		if n > maxElements {
			continue
		}
		if heads[n] == "" {
			heads[n] = firstSegments(p, n+1)
		}
		if head := heads[n]; (len(entry) > len(best) || len(entry) == len(best) && entry < best) && strings.HasPrefix(entry, literal[:min(len(literal), len(entry))]) &&
			MatchesName(head, entry) && strings.Count(head, "/") == n {
			best, kind = entry, k
		}
	}
	return kind
}

// maxElements is more elements than a path has that a table knows.
const maxElements = 12

// maxKnown is longer than any path that a table knows.
const maxKnown = 128

// known is as much of a path as a table may know: the elements that end within that length.
func known(p string) string {
	if len(p) <= maxKnown {
		return p
	}
	return p[:strings.LastIndexByte(p[:maxKnown+1], '/')+1]
}

// firstSegments returns the beginning of a path, of n elements.
func firstSegments(p string, n int) string {
	for i := 0; i < len(p); i++ {
		if p[i] == '/' {
			if n--; n == 0 {
				return p[:i]
			}
		}
	}
	return p
}

// policyKinds is agentPolicy for paths with globs.
var policyKinds = sync.OnceValue(func() map[string]Kind {
	byPath := map[string]Kind{}
	for name := range agentPolicy {
		if name != "" {
			byPath[name] = KindPolicy
		}
	}
	return byPath
})
