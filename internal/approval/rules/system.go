package rules

import (
	"maps"
	"slices"
	"strings"

	"github.com/hermes-runtime/hermes/internal/approval/analysis"
)

func systemRows() []Row { return []Row{sysconfWrite(), serviceStop()} }

// configurers are programs that change the system's configuration without being told a path.
var configurers = []deed{
	{names: "update-alternatives alternatives", short: "", long: "altdir admindir log",
		spare: "--display --list --query --get-selections --get --show -l",
		opts:  "--set --install --remove --remove-all --config --auto --all --set-selections --slave"},
	{names: "update-grub grub-install grub2-install update-grub2 lilo extlinux", always: true},
	{names: "update-initramfs", flags: "ucd"},
	{names: "dracut mkinitcpio", flags: "fPpg", opts: "--force --regenerate-all --all-presets", safe: "n"},
	{names: "bootctl", verbs: "install|remove|update|set-default|set-oneshot"},
	{names: "efibootmgr", flags: "BbOoDnNcCAa"},
	{names: "systemctl", short: "HMtpsno", long: "host machine type property root",
		verbs: "set-default|edit|link|revert|set-property|set-environment|import-environment"},
	{names: "hostnamectl", brief: false, verbs: "set-hostname|hostname *|set-chassis|set-deployment"},
	{names: "timedatectl", verbs: "set-time|set-timezone|set-ntp|set-local-rtc"},
	{names: "localectl", verbs: "set-locale|set-keymap|set-x11-keymap"},
	{names: "scutil", opts: "--set --prefs"},
	{names: "systemsetup",
		opts: "-settimezone -setremotelogin -setcomputername -setusingnetworktime -setremoteappleevents -setstartupdisk -setwakeonnetworkaccess"},
	{names: "nvram", flags: "cd", verbs: "*=*"},
	{names: "bless", opts: "--setBoot --folder --mount"},
	{names: "reg REG reg.exe", fold: true, verbs: "add|delete|import|restore|load|unload|copy"},
	{names: "bcdedit", fold: true, opts: "/set /delete /deletevalue /import /create /default /bootsequence"},
	{names: "setx", fold: true, opts: "/m"},
	{names: "augtool", words: true, flags: "s", opts: "--autosave", verbs: "set|rm|mv|insert|clear"},
	{names: "dpkg-divert dpkg-statoverride", opts: "--add --remove --rename"},
	{names: "pam-auth-update authselect authconfig", opts: "--force --update --remove --enable --disable --updateall",
		verbs: "select|disable-feature|enable-feature"},
	{names: "a2dismod a2dissite", plain: true},
	{names: "visudo", spare: "-c --check -V", always: true},
	{names: "ldconfig", flags: "f"},
	{names: "defaults", need: "-g -globalDomain", verbs: "delete"},
	{names: "defaults", verbs: "write /Library/* ...|write -globalDomain ...|write NSGlobalDomain ...|delete *"},
	{names: "tccutil spctl csrutil", verbs: "reset|disable|clear", opts: "--master-disable --global-disable --add --remove"},
	{names: "softwareupdate", flags: "iaR", opts: "--install --reset-ignored --restart"},
	{names: "dism DISM", fold: true, opts: "/disable-feature /remove-package /remove-driver /remove-capability /apply-image /cleanup-image /set-edition"},
	{names: "msiexec", fold: true, opts: "/x /uninstall /fa /f"},
	{names: "wevtutil", fold: true, verbs: "cl|clear-log|um|uninstall-manifest|sl"},
	{names: "regsvr32", fold: true, opts: "/u /i"},
	{names: "wmic", fold: true, verbs: "product ... uninstall|useraccount ... delete|service ... delete"},
	{names: "git", short: "Cc", need: "--system", verbs: "config * *|config set ...|config unset ...", spare: "--get --get-all --get-regexp --list -l"},
	{names: "mokutil", opts: "--reset --disable-validation --import --delete"},
}

func sysconfWrite() Row {
	byProgram := compile(configurers)
	return Row{
		ID: "sysconf.write", Key: "overwrite system config", Family: "system", Remember: RememberAll,
		Matches: "a write to /etc or another system path, by redirect, tee, copy, move, link, install, in-place or line edit, patch, extraction or download, " +
			"and programs that change the system's configuration",
		Programs: slices.Concat(writing(), []string{"sudo"}, slices.Sorted(maps.Keys(byProgram))), Writes: true,
		Match: func(a *Act) []Hit {
			hits := one("writes to a system path", a.wroteTo(systemPlace))
			if a.Program == "sudo" {
				hits = a.editsAsRoot()
			}
			if a.does(byProgram) {
				hits = append(hits, Hit{Reason: "changes the system's configuration: " + a.Line()})
			}
			return hits
		},
		Examples: []string{"echo x > /etc/hosts", "echo x >> /etc/fstab", "cat a | sudo tee -a /etc/hosts", "cp x /etc/nginx/",
			"sed -i s/a/b/ /etc/ssh/sshd_config",
			"install -m 644 x /usr/local/bin/x", "ln -sf /a /etc/localtime", "cp -t /etc x", "echo x >| /etc/passwd", "curl -o /etc/x http://h/x",
			"> /etc/motd", "{ echo a; echo b; } > /etc/x", "cd /etc && echo x > hosts", "echo x &> /etc/x", "mv x /etc/sudoers",
			"perl -pi -e s/a/b/ /etc/hosts", "ed -s /etc/hosts < x", "patch /etc/hosts < p",
			"sort -o /etc/x x", "tar -C /etc -xf a.tar", "tar xzf a.tgz -C /usr/local", "cd /etc && tar xf a.tar", "unzip -o a.zip -d /etc",
			"tar xzfC a.tgz /etc", "7z x a.7z -o/usr/lib", "wget -P /etc/x http://h/x", "cd /usr/bin && curl -O http://h/x", "rsync -a x/ /etc/x/",
			"scp h:x /etc/x", "dd if=x of=/etc/x",
			"echo 1 > /proc/sys/kernel/sysrq", "echo 0 | tee /sys/power/x", "cp --target-directory=/etc x", "truncate -s 0 /etc/hosts",
			"sponge /etc/hosts < x", "vim /etc/hosts", "sudo -e /etc/hosts",
			"git clone http://h/x /usr/local/lib/x", "update-alternatives --set editor /bin/ed", "crudini --set /etc/x a b c",
			"echo x > /boot/grub/grub.cfg", "cp x.service /lib/systemd/system/",
			"echo x > /etc/cron.d/x", "awk -i inplace 1 /etc/hosts", "gcc -o /usr/bin/x x.c", "openssl req -x509 -out /etc/x.pem",
			"touch /etc/nologin", "cp --target /etc x",
			"sudo sh -c 'echo x >> /etc/hosts'", "find . -fprint /etc/x", "cpio -id -D /etc < a", "cp x /var/lib/dpkg/status",
			"systemctl set-default rescue.target", "rsync -a build/ /var/www/html/", "make > /var/log/build.log", "install -d /etc/x"},
		LookAlikes: []string{"cat /etc/hosts", "cp /etc/hosts .", "echo '> /etc/hosts'", "sed s/a/b/ /etc/hosts", "echo x > etc/hosts",
			"grep x /etc/passwd > out",
			"cat < /etc/hosts", "ls /etc 2>/dev/null", "ln -s /etc/hosts h", "tee out < /etc/hosts", "perl -ne 'print if /x/' /etc/hosts",
			"perl -e 'print 1' -i", "sort /etc/hosts", "tar czf x.tgz /etc", "tar xf a.tar", "tar -C /etc -cf x.tar .",
			"tar xf a.tar etc/hosts", "unzip a.zip", "unzip -l a.zip -d /etc", "patch -p1 < /etc/p", "tar -C /etc -tf /data/a.tar",
			"patch --dry-run /etc/hosts < p",
			"diff /etc/hosts x", "rsync -an x/ /etc/", "rsync -a /etc/ backup/", "scp /etc/hosts h:/tmp/", "7z l /etc/a.7z",
			"sed -n 1p /etc/fstab > x", "awk 1 /etc/passwd",
			"update-alternatives --list editor", "openssl x509 -in /etc/ssl/certs/x.pem -noout", "curl -O http://h/x", "wget http://h/x",
			"vim -R /etc/hosts", "view /etc/hosts",
			"gzip -c /etc/hosts > h.gz", "dd if=/etc/hosts bs=1", "xxd /etc/hosts", "install -d build/etc", "mkdir -p /etc/x", "timedatectl status",
			"hostnamectl", "cp a b etc/", "gcc -I/usr/include x.c -o x", "git clone http://h/x", "cp x /tmp/etc/hosts", "visudo -c"},
	}
}

// systemPlace tells which places a write of the system's configuration goes to: into a first-level directory counts as below it.
func systemPlace(t analysis.Target) bool {
	if t.Kind == analysis.KindPolicy {
		return false
	}
	switch t.Class {
	case analysis.ClassSystem, analysis.ClassKernel, analysis.ClassRoot:
		return true
	case analysis.ClassSystemRoot:
		return !slices.Contains(passages, t.Path)
	case analysis.ClassState:
		return !strings.HasPrefix(t.Path, "/run/") && !strings.HasPrefix(t.Path, "/var/run/") && !strings.HasPrefix(t.Path, "/var/lock/")
	}
	return false
}

// editsAsRoot judges sudo -e, whose operands are files.
func (a *Act) editsAsRoot() []Hit {
	args, rest := a.front("ugCDhpRrtTUa", sudoLong...)
	if !args.Has("e") && !args.Long("edit", 2) {
		return nil
	}
	return one("writes to a system path", a.each(rest, systemPlace))
}

// passages are first-level directories where people put things of their own.
var passages = []string{"/home", "/media", "/mnt", "/opt", "/run", "/snap", "/srv", "/tmp", "/var", "/nix", "/Applications", "/Users", "/Volumes",
	"/dev", "/cores", "/Network"}
