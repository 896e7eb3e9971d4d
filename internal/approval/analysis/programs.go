package analysis

import (
	"maps"
	"slices"
	"sync"
)

// listed are the programs that a partly known command word is compared with: every one that carries others, and every one that a
// rule is about. A word that can be none of them hides nothing.
var listed = sync.OnceValue(func() []string { return slices.Sorted(maps.Keys(listedSet())) })

// ruled are programs with rules of their own; the table of rules is held to this list by a test.
var ruled = []string{
	"rm", "find", "unlink", "rmdir", "shred", "mkfs", "mke2fs", "mkswap", "newfs", "newfs_hfs", "dd", "tee", "cp", "mv",
	"install", "ln", "sed", "psql", "mysql", "mariadb", "sqlite3", "sqlcmd", "systemctl", "service", "rc-service", "initctl", "launchctl",
	"supervisorctl", "sv", "s6-svc", "monit", "update-rc.d", "chkconfig", "rc-update", "invoke-rc.d", "kill", "killall", "killall5", "pkill",
	"skill", "shutdown", "reboot", "halt", "poweroff", "init", "telinit", "curl", "wget", "truncate",
	"ed", "ex", "patch", "sort", "tar", "unzip",
	"rimraf", "rsync", "mkdosfs", "mkntfs", "newfs_apfs", "newfs_msdos", "wipefs", "cryptsetup", "sqlite", "duckdb", "clickhouse-client",
	"cockroach", "net", "pm2", "sc", "svcadm", "mkfs.msdos", "mkfs.exfat", "mkfs.jfs", "mkfs.reiserfs", "mkfs.bfs", "mkfs.cramfs",
	"mkfs.minix", "mkfs.udf", "mkfs.nilfs2", "mkfs.ocfs2", "mkfs.gfs2", "mkfs.erofs", "mkfs.bcachefs",
	"mkfs.ext2", "mkfs.ext3", "mkfs.ext4", "mkfs.xfs", "mkfs.btrfs", "mkfs.vfat", "mkfs.fat", "mkfs.ntfs", "mkfs.f2fs",
}

func listedSet() map[string]bool {
	set := map[string]bool{"eval": true, "source": true, ".": true, "su": true, "runuser": true, "trap": true, "alias": true, "fd": true, "fdfind": true, "script": true}
	for name := range wrappers() {
		set[name] = true
	}
	for name := range interpreters() {
		set[name] = true
	}
	for _, name := range ruled {
		set[name] = true
	}
	return set
}
