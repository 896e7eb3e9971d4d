package rules

import (
	"slices"
	"strings"

	"github.com/hermes-runtime/hermes/internal/approval/analysis"
)

var diskRaw = Row{
	ID: "disk.raw", Key: "raw write to a device", Family: "disk", Floor: true,
	Matches:  "dd, a redirect or a copy onto a storage device",
	Programs: []string{"dd", "tee", "cp", "shred", "install", "mv"}, Writes: true, Match: matchDiskRaw,
	Examples: []string{"dd if=/dev/zero of=/dev/sda", "echo x > /dev/nvme0n1", "cat img | sudo tee /dev/sdb", "cp disk.img /dev/vda",
		"shred /dev/sdc", "dd of=/dev/disk2 if=x"},
	LookAlikes: []string{"echo x > /dev/null", "dd if=/dev/sda of=backup.img", "echo hi > /dev/tty", "cat /dev/sda1 > part.img",
		"echo 'dd of=/dev/sda'", "ls > /dev/stderr"},
}

func diskRows() []Row {
	return []Row{
		{
			ID: "disk.format", Key: "format filesystem", Family: "disk", Floor: true, Remember: RememberAll,
			Matches:  "programs that make a file system, swap or encrypted volume, or wipe one; never approvable when mkfs is aimed at a device",
			Programs: slices.Concat(mkfs, []string{"wipefs", "cryptsetup", "mkswap"}), Match: diskFormat,
			Examples: []string{"mkfs.ext4 disk.img", "mkfs -t ext4 x.img", "wipefs -a disk.img", "mke2fs fs.img", "cryptsetup luksFormat vol.img",
				"sudo mkfs.xfs /dev/sdb1"},
			LookAlikes: []string{"mkfs.ext4 --help", "man mkfs.ext4", "mke2fs -n disk.img", "echo mkfs.ext4 /dev/sda", "which mkfs", "wipefs disk.img"},
		},
		{
			ID: "disk.copy", Key: "disk copy", Family: "disk", Remember: RememberAll, Smart: true,
			Matches:  "dd with an output file, and reading a whole device with it",
			Programs: []string{"dd"}, Match: diskCopy,
			Examples:   []string{"dd if=/dev/zero of=test.img bs=1M count=10", "dd if=/dev/sda of=backup.img", "sudo dd of=x.iso", "dd if=/dev/sda | gzip"},
			LookAlikes: []string{"dd if=/dev/zero of=/dev/null count=1", "dd --help", "echo dd of=x", "add of=x"},
		},
	}
}

var mkfs = []string{"mkfs", "mke2fs", "mkdosfs", "mkntfs", "newfs", "newfs_hfs", "newfs_apfs", "newfs_msdos", "mkfs.ext2", "mkfs.ext3",
	"mkfs.ext4", "mkfs.xfs", "mkfs.btrfs", "mkfs.vfat", "mkfs.fat", "mkfs.msdos", "mkfs.exfat", "mkfs.ntfs", "mkfs.f2fs", "mkfs.jfs",
	"mkfs.reiserfs", "mkfs.bfs", "mkfs.cramfs", "mkfs.minix", "mkfs.udf", "mkfs.nilfs2", "mkfs.ocfs2", "mkfs.gfs2", "mkfs.erofs", "mkfs.bcachefs"}

// storage are the names of devices that hold data, below /dev.
var storage = []string{"sd", "hd", "vd", "xvd", "nvme", "mmcblk", "disk", "rdisk", "mapper/", "md", "dm-", "loop", "nbd", "zd", "sr", "ada", "da",
	"block/", "mem", "kmem", "port", "pmem", "mtd", "ram", "bcache", "rbd", "drbd", "ubi"}

func isStorage(t analysis.Target) bool {
	rest, ok := strings.CutPrefix(t.Path, "/dev/")
	if !ok || t.Class != analysis.ClassDevice {
		return false
	}
	return !analysis.Literal(rest[:min(1, len(rest))]) || slices.ContainsFunc(storage, func(s string) bool {
		return strings.HasPrefix(rest, s)
	})
}

func floor(hits []Hit) []Hit {
	for i := range hits {
		hits[i].Floor = true
	}
	return hits
}

func matchDiskRaw(a *Act) []Hit {
	words := a.writes()
	if a.Program == "shred" {
		words = append(words, a.Args(analysis.Grammar{Short: "ns"}).Operands...)
	}
	return floor(one("writes raw bytes to a device", a.each(words, isStorage)))
}

// diskVerbs are programs that destroy with one verb or option only.
var diskVerbs = map[string]func(*analysis.Args) bool{
	"wipefs": func(a *analysis.Args) bool { return (a.Has("ao") || a.Long("all", 2)) && !a.Has("n") },
	"cryptsetup": func(a *analysis.Args) bool {
		return len(a.Operands) > 0 && (a.Operands[0].Is("luksFormat") || a.Operands[0].Is("erase") || a.Operands[0].Is("luksErase"))
	},
}

func diskFormat(a *Act) []Hit {
	args := a.Args(analysis.Grammar{Short: "tLbEgGIJmNOrTU"})
	onDevice := a.each(args.Operands, isStorage)
	if verb, ok := diskVerbs[a.Program]; ok {
		if !verb(args) {
			return nil
		}
		return []Hit{{Reason: "destroys what a volume holds: " + a.Line()}}
	}
	if len(args.Operands) == 0 || args.Has("V") && len(args.Letters) == 1 || a.Program == "mke2fs" && args.Has("n") ||
		strings.HasPrefix(a.Program, "mkfs.ext") && args.Has("n") {
		return nil
	}
	h := Hit{Reason: "makes a new file system over what is there: " + a.Line(), Targets: onDevice}
	h.Floor = len(onDevice) > 0 && a.Program != "mkswap"
	return []Hit{h}
}

func (a *Act) ddOperand(name string) (analysis.Word, bool) {
	for _, w := range a.Words[1:] {
		if v, ok := strings.CutPrefix(w.Text, name+"="); ok {
			return analysis.Word{Text: v, Span: w.Span}, true
		}
	}
	return analysis.Word{}, false
}

func diskCopy(a *Act) []Hit {
	out, ok := a.ddOperand("of")
	if ok {
		return one("overwrites a file", a.each([]analysis.Word{out}, func(t analysis.Target) bool {
			return !isStorage(t) && !strings.HasPrefix(t.Path, "/dev/")
		}))
	}
	if in, ok := a.ddOperand("if"); ok {
		return one("reads a whole device", a.each([]analysis.Word{in}, isStorage))
	}
	return nil
}
