package rules

import (
	"github.com/hermes-runtime/hermes/internal/approval/analysis"
)

// kernelDeeds lists what changes the running kernel, its protection and what is mounted.
var kernelDeeds = []deed{
	{names: "insmod rmmod", spare: "-V", plain: true},
	{names: "modprobe", short: "dCS", long: "dirname config set-version", safe: "nDcRV",
		spare: "--dry-run --show --show-depends --show-config --showconfig --resolve-alias --dump-modversions --show-modversions --show-exports",
		plain: true},
	{names: "kmod", verbs: "load|unload|insert|remove"},
	{names: "dkms", verbs: "remove|uninstall|unbuild"},
	{names: "sysctl", short: "rBf", long: "pattern", flags: "wpf", opts: "--write --load --system", verbs: "... *=*"},
	{names: "setenforce", verbs: "0|Permissive|permissive"},
	{names: "setsebool semodule", flags: "PrdRBi"},
	{names: "semanage", verbs: "permissive|... -d|login|boolean"},
	{names: "aa-teardown aa-disable aa-complain", always: true},
	{names: "apparmor_parser", flags: "R", opts: "--remove"},
	{names: "auditctl", flags: "eDd"},
	{names: "swapoff swapon", safe: "s", spare: "--show --summary", plain: true},
	{names: "swapoff swapon", flags: "a", opts: "--all"},
	{names: "losetup", short: "jO", flags: "dD", opts: "--detach --detach-all"},
	{names: "umount unmount", safe: "V", spare: "--fake", plain: true},
	{names: "umount mount", flags: "a", opts: "--all"},
	{names: "pivot_root switch_root", plain: true},
	{names: "kexec", flags: "lpu", opts: "--load --unload --load-panic"},
	{names: "dmesg", flags: "CcD", opts: "--clear --read-clear --console-off"},
	{names: "date", short: "dfrIv", flags: "s", opts: "--set"},
	{names: "hwclock", flags: "wsa", opts: "--set --systohc --hctosys --adjust"},
	{names: "ntpdate", spare: "-q", plain: true},
	{names: "csrutil", verbs: "disable|authenticated-root disable|clear"},
	{names: "spctl", opts: "--master-disable --global-disable --disable"},
	{names: "kextload kextunload kldload kldunload", plain: true},
	{names: "kmutil", verbs: "load|unload"},
	{names: "bpftool", verbs: "prog load|prog attach|net attach"},
	{names: "livepatch kpatch", verbs: "load|unload|install"},
	{names: "fsfreeze", flags: "f", opts: "--freeze"},
	{names: "udisksctl", verbs: "unmount|power-off|mount"},
	{names: "chmem", flags: "de"},
	{names: "mokutil", opts: "--disable-validation --reset --import --delete"},
	{names: "Set-MpPreference Set-ExecutionPolicy Disable-WindowsOptionalFeature", always: true},
}

func kernelRows() []Row {
	row := deedRow(Row{
		ID: "kernel.change", Key: "change the running kernel", Family: "kernel", Remember: RememberAll,
		Matches: "kernel modules and settings, security modules off, swap, mounts, the kernel's log and the clock",
		Examples: []string{"insmod x.ko", "rmmod x", "modprobe x", "modprobe -r x", "sysctl -w vm.swappiness=1", "sysctl vm.swappiness=1",
			"sysctl -p", "setenforce 0", "swapoff -a", "mount /dev/sdb1 /mnt",
			"umount /mnt", "mount -o remount,rw /", "sudo mount --bind a b", "dmesg -C", "kexec -l /boot/vmlinuz", "aa-teardown", "mount -a",
			"umount -l /x", "sysctl --system", "swapon /swapfile", "date -s 12:00"},
		LookAlikes: []string{"mount", "mount | grep x", "mount -l", "mount -t ext4", "lsmod", "modinfo x", "modprobe -n x", "sysctl -a",
			"sysctl vm.swappiness", "sysctl -n kernel.hostname", "getenforce", "swapon --show",
			"dmesg | tail", "findmnt /", "df -h", "setenforce 1", "dmesg -T", "umount --help", "modprobe --show-depends x", "date", "date +%s",
			"date -d yesterday", "date -Iseconds", "date --iso-8601=seconds", "hwclock", "swapon -s", "dmesg -w"},
	}, "changes the running kernel", kernelDeeds)
	byDeed := row.Match
	row.Programs = append(row.Programs, "mount_nfs", "mount.cifs", "mount.nfs")
	row.Match = func(a *Act) []Hit {
		hit := false
		switch a.Program {
		case "mount":
			hit = a.mounts()
		case "mount_nfs", "mount.cifs", "mount.nfs":
			hit = len(a.Words) > 2
		}
		if hit {
			return []Hit{{Reason: "changes the running kernel: " + a.Line()}}
		}
		return byDeed(a)
	}
	return []Row{row}
}

// mounts tells whether mount mounts something, and doesn't list.
func (a *Act) mounts() bool {
	args := a.Args(analysis.Grammar{Short: "otLUOTN", Long: []string{"options", "types", "label", "uuid", "source", "target", "namespace"}})
	if args.Has("fVhl") || args.Long("fake", 3) {
		return false
	}
	return len(args.Operands) > 0 || len(args.Values["source"])+len(args.Values["L"])+len(args.Values["U"]) > 0 || args.Long("make-private", 6)
}
