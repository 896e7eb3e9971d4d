package rules

import (
	"maps"
	"slices"
	"strings"

	"github.com/hermes-runtime/hermes/internal/approval/analysis"
)

// mkfs are the programs that make a file system.
const mkfs = "mkfs mke2fs mkdosfs mkntfs mkexfatfs newfs newfs_hfs newfs_apfs newfs_msdos newfs_exfat mkfs.ext2 mkfs.ext3 mkfs.ext4 mkfs.ext4dev " +
	"mkfs.xfs mkfs.btrfs mkfs.vfat mkfs.fat mkfs.msdos mkfs.exfat mkfs.ntfs mkfs.f2fs mkfs.jfs mkfs.reiserfs mkfs.reiser4 mkfs.bfs mkfs.cramfs " +
	"mkfs.minix mkfs.udf mkfs.nilfs2 mkfs.ocfs2 mkfs.gfs2 mkfs.erofs mkfs.bcachefs mkfs.hfsplus mkfs.hfs mkfs.ubifs mkfs.jffs2 mkfs.zonefs mkreiserfs mkudffs " +
	"jfs_mkfs mkfs.lustre mkfs.apfs mkapfs mkfs.gfs newfs_ext2fs newfs_lfs newfs_udf newfs_hammer newfs_hammer2"

// formats lists programs that destroy what a disk, a volume or a pool holds, with their destroying verbs.
var formats = []deed{
	{names: "mkswap", short: "cpLvU", plain: true},
	{names: "wipefs", short: "oOt", flags: "ao", opts: "--all --offset", safe: "n", spare: "--no-act"},
	{names: "fdisk cfdisk gfdisk", short: "bBcCHLStuwW", safe: "lxsV", spare: "--list --getsz --bytes", plain: true},
	{names: "sfdisk", short: "NOuwWXYoL", safe: "lsdJFrnvVT",
		spare: "--list --show-size --dump --json --list-free --verify --no-act --show-geometry -g --list-types --show-pt-geometry", plain: true},
	{names: "gdisk cgdisk fixparts", safe: "l", plain: true},
	{names: "sgdisk", short: "aAbBcCdDeEFfgGiIjklLnNoOprRStTuUvVxXyY", flags: "zZodntgGuUhRmsNAelr",
		opts: "--zap --zap-all --clear --delete --new --typecode --mbrtogpt --replicate " +
			"--load-backup --randomize-guids --transpose --sort", safe: "P", spare: "--pretend"},
	{names: "parted gparted", words: true, short: "a", long: "align", opts: "-mklabel",
		verbs: "... mklabel|... mktable|... mkpart|... mkpartfs|... rm|... resizepart|... resize|... mkfs|... name|... set|... toggle|... disk_set|... rescue"},
	{names: "cryptsetup", short: "chsdSitTlopbM", long: "cipher key-size hash key-file type iter-time label uuid",
		spare: "--test-passphrase --test-args",
		verbs: "luksFormat|luksErase|erase|luksKillSlot|luksRemoveKey|reencrypt|luksHeaderRestore|format|luksConvertKey|convert"},
	{names: "lvremove vgremove pvremove lvreduce vgreduce pvcreate vgcreate", short: "AtSL", safe: "t", spare: "--test", plain: true},
	{names: "lvm", spare: "--test", verbs: "lvremove|vgremove|pvremove|lvreduce|vgreduce|pvcreate|lvconvert"},
	{names: "lvconvert", safe: "t", spare: "--test", opts: "--merge --mergesnapshot --mergemirrors --uncache --repair --type"},
	{names: "ceph-volume", verbs: "... zap|lvm create|lvm prepare|lvm batch"},
	{names: "tune2fs", short: "cCeEgiImMoOrTuUzLQ", safe: "l", flags: "U", opts: "-O -r"},
	{names: "xfs_repair", flags: "L", safe: "n"},
	{names: "reiserfsck", opts: "--rebuild-sb --rebuild-tree"},
	{names: "ntfsfix", flags: "d"},
	{names: "resize2fs resize4fs", short: "dSz", flags: "M", verbs: "* *"},                            // to a size: what lies beyond is lost
	{names: "fsck e2fsck fsck.ext2 fsck.ext3 fsck.ext4", short: "bBCEjlLtzr", safe: "nN", flags: "y"}, // yes to every loss
	{names: "ntfsresize", short: "s", safe: "ni", spare: "--no-action --info", flags: "sx", opts: "--size --expand"},
	{names: "xfs_admin", flags: "Uf"},
	{names: "btrfstune", flags: "muUSr"},
	{names: "swaplabel", flags: "U"},
	{names: "grub-install grub2-install install-mbr lilo ms-sys extlinux syslinux", spare: "--version --help", always: true},
	{names: "dmsetup", brief: true, verbs: "remove|remove_all|wipe_table|clear"},
	{names: "mdadm", flags: "SCrf", opts: "--zero-superblock --stop --create --remove --fail --set-faulty --kill-subarray -zero-superblock",
		spare: "--examine --detail --query --scan"},
	{names: "zpool", short: "oOmRdt", safe: "n", verbs: "destroy|labelclear|create|remove|detach|split|initialize"},
	{names: "zfs", short: "ot", safe: "n", verbs: "destroy|rollback|unload-key"},
	{names: "btrfs", brief: true, verbs: "subvolume delete|device delete|device remove"},
	{names: "btrfs", verbs: "property set ... ro|rescue zero-log|check --repair", opts: "--init-csum-tree --init-extent-tree"},
	{names: "bcachefs", verbs: "format|device remove|device evacuate"},
	{names: "badblocks", flags: "w"},
	{names: "make-bcache", always: true},
	{names: "diskutil", fold: true,
		verbs: "eraseDisk|eraseVolume|partitionDisk|zeroDisk|randomDisk|secureErase|reformat|eraseOptical|mergePartitions|splitPartition|" +
			"resizeVolume|apfs deleteContainer|apfs deleteVolume|apfs eraseVolume|ap deleteContainer|ap deleteVolume|apfs deleteSnapshot|appleRAID delete|ar delete|" +
			"coreStorage delete|cs delete|cs deleteVolume|addPartition|apfs deleteVolumeGroup"},
	{names: "asr", opts: "--erase -erase", spare: "--dumpimageinfo"},
	{names: "hdiutil", verbs: "erasekeys"},
	{names: "tmutil", verbs: "delete|deletelocalsnapshots|disable"},
	{names: "hdparm",
		opts: "--security-erase --security-erase-enhanced --trim-sector-ranges --trim-sector-ranges-stdin --make-bad-sector " +
			"--security-set-pass --sanitize-block-erase --sanitize-crypto-scramble --sanitize-overwrite --fwdownload"},
	{names: "nvme", short: "nlsfa", verbs: "format|sanitize|write-uncor|delete-ns|dsm|fw-commit"},
	{names: "blkdiscard", short: "olp", plain: true},
	{names: "sg_format sg_sanitize sg_unmap", plain: true},
	{names: "format format.com FORMAT", verbs: "*:", fold: true},
	{names: "diskpart", always: true, spare: "/?"},
	{names: "Format-Volume Clear-Disk Initialize-Disk Remove-Partition", always: true, spare: "-whatif", fold: true},
	{names: "debugfs", flags: "w"},
	{names: "vssadmin wbadmin", fold: true, verbs: "delete|resize"},
	{names: "wmic", fold: true, verbs: "shadowcopy ... delete"},
	{names: "gpart", verbs: "destroy|delete|create|recover|bootcode"},
	{names: "geli", verbs: "init|kill|clear|delkey"},
	{names: "gmirror gstripe graid graid3 gconcat", verbs: "destroy|clear|stop|remove|delete"},
	{names: "glabel", verbs: "clear|destroy"},
	{names: "camcontrol", opts: "-e -s", verbs: "format|sanitize"},
	{names: "storcli storcli64 perccli megacli MegaCli MegaCli64", fold: true, opts: "-cfglddel -cfgclr -cfgforeign",
		verbs: "... del|... delete|... start initialization|... start erase"},
	{names: "flashrom", flags: "wE", opts: "--write --erase"},
	{names: "flash_erase flash_eraseall flash_unlock nandtest", plain: true},
	{names: "mtd", verbs: "write|erase"},
	{names: "fastboot", short: "s", flags: "w", verbs: "erase|flash|format|flashall|update|oem unlock|oem lock|flashing unlock|flashing lock|wipe-super|delete-logical-partition"},
	{names: "heimdall", verbs: "flash|erase"},
	{names: "esptool esptool.py", short: "pbc", long: "port baud chip before after", verbs: "erase_flash|erase_region|write_flash|erase-flash|erase-region|write-flash|burn_efuse"},
	{names: "espefuse espefuse.py", short: "pc", verbs: "burn_efuse|burn_key|write_protect_efuse"},
	{names: "avrdude", short: "cpPbBUEFx", flags: "e"},
	{names: "st-flash", verbs: "erase|write"},
	{names: "dfu-util", short: "dDtsUa", flags: "D"},
	{names: "openocd", short: "fs", words: true, verbs: "... erase_sector|... erase_address|... write_image|... mass_erase|... program"},
	{names: "fwupdmgr fwupdtool", verbs: "install|update|upgrade|downgrade|reinstall|install-blob"},
	{names: "tpm2_clear tpm2_nvundefine", always: true},
	{names: "cipher", fold: true, opts: "/w"},
	{names: "fsutil", fold: true, verbs: "usn deletejournal|file setzerodata|file setvaliddata|reparsepoint delete|volume dismount|objectid delete"},
	{names: "lvresize", short: "LlnAt", safe: "t", spare: "--test", flags: "f", opts: "--force"},
	{names: "zfs", short: "oxt", need: "-F -vF -Fv", verbs: "receive|recv"},
	{names: "sedutil-cli", opts: "--revertTPer --revertNoErase --yesIreallywanttoERASEALLmydatausingthePSID --PSIDrevert --reverttper"},
	{names: "vmkfstools", flags: "UCwK"},
	{names: "qemu-img", verbs: "create|resize|commit|snapshot"},
}

func diskFormat() Row {
	byProgram := compile(formats)
	return Row{
		ID: "disk.format", Key: "format filesystem", Family: "disk", Floor: true, Remember: RememberAll,
		Matches:  "programs that make a file system, swap, partition table, pool or encrypted volume, or wipe one, by their destroying verbs; never approvable when a file system is made on a device",
		Programs: slices.Concat(strings.Fields(mkfs), slices.Sorted(maps.Keys(byProgram))),
		Match: func(a *Act) []Hit {
			if _, ok := byProgram[a.Program]; ok {
				if !a.does(byProgram) {
					return nil
				}
				if a.Program == "bcachefs" {
					return a.makesFileSystem() // its verb format is a mkfs
				}
				if a.Program == "qemu-img" && a.each(a.Args(analysis.Grammar{}).Operands, isDevice) == nil {
					return nil // a new image is a file
				}
				return []Hit{{Reason: "destroys what a volume holds: " + a.Line()}}
			}
			return a.makesFileSystem()
		},
		Examples: []string{"mkfs.ext4 disk.img", "mkfs -t ext4 x.img", "wipefs -a disk.img", "mke2fs fs.img", "cryptsetup luksFormat vol.img",
			"sudo mkfs.xfs /dev/sdb1", "mkswap /dev/sdb2", "fdisk /dev/sda", "sfdisk /dev/sda < table", "parted -s /dev/sda mklabel gpt",
			"parted -s /dev/sda 'mklabel gpt'",
			"sgdisk --zap-all /dev/sda",
			"sgdisk -Z /dev/sda", "lvremove -f vg/lv", "vgremove vg", "mdadm --zero-superblock /dev/sdb", "mdadm -S /dev/md0", "zpool destroy tank",
			"zfs destroy -r tank/a",
			"zfs rollback -r t@s", "btrfs subvolume delete x", "btrfs sub del x", "diskutil eraseDisk JHFS+ X disk2",
			"hdparm --security-erase p /dev/sda", "nvme format /dev/nvme0n1",
			"blkdiscard /dev/sda", "format.com C:", "cryptsetup erase /dev/sda2", "pvremove /dev/sdb", "mkfs /dev/vg0/lv"},
		LookAlikes: []string{"mkfs.ext4 --help", "man mkfs.ext4", "mke2fs -n disk.img", "echo mkfs.ext4 /dev/sda", "which mkfs", "wipefs disk.img",
			"fdisk -l", "fdisk -l /dev/sda",
			"sfdisk -d /dev/sda", "parted /dev/sda print", "parted -l", "sgdisk -p /dev/sda", "zpool status", "zfs list", "zfs destroy -nv tank/a",
			"btrfs subvolume list /",
			"diskutil list", "nvme list", "mdadm --detail /dev/md0", "cryptsetup luksDump /dev/sda2", "wipefs -an /dev/sda", "hdparm -I /dev/sda",
			"lvs", "mkfs.ext4 -V"},
	}
}

// makesFileSystem judges the programs that make file systems; on a device, no answer opens it.
func (a *Act) makesFileSystem() []Hit {
	args := a.Args(analysis.Grammar{})
	switch {
	case len(args.Operands) == 0, args.Has("V") && len(args.Letters) == 1:
		return nil
	case args.Has("n") && (a.Program == "mke2fs" || strings.HasPrefix(a.Program, "mkfs.ext")),
		args.Has("N") && (a.Program == "mkfs.xfs" || strings.HasPrefix(a.Program, "newfs")):
		return nil // only shows what it would do
	}
	onDevice := a.each(args.Operands, isDevice) // an option's value is no device
	return []Hit{{Reason: "makes a new file system over what is there: " + a.Line(), Targets: onDevice, Floor: len(onDevice) > 0}}
}
