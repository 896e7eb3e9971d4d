package rules

import (
	"slices"
	"strings"

	"github.com/hermes-runtime/hermes/internal/approval/analysis"
)

func deleteRoot() Row {
	return Row{
		ID: "delete.root", Key: "delete root, system or home directory", Family: "delete", Floor: true,
		Matches:  "a recursive delete of the root, a system directory, a home directory, or of everything in one, also by find and by a sync that deletes",
		Programs: slices.Concat(removing(), []string{"rsync", "robocopy", "cpdup", "rclone", "mv"}), Match: matchDeleteRoot,
		Examples: []string{"rm -rf /", "rm -rf /*", "rm -rf ~", `rm -rf "$HOME"`, "cd / && rm -rf *", "rm -rf /etc", "rm -rf ~/.",
			"sudo rm -rf /usr/",
			"find / -delete", "find ~ -exec rm -rf {} +", "rm -rf //", "rm -rf /home/*", "rm -rf /{bin,etc}", "rm -rf ../../..",
			"rm -rf --no-preserve-root /", "rsync -a --delete /tmp/empty/ /", "rsync -r --delete empty/ ~/", "find / -type f -delete",
			"find / ! -path './x' -delete", "find / -not -name x -delete",
			"find / -print0 | xargs -0 rm -rf", "find / | xargs rm -f", "ls -d /* | xargs rm -rf", "ls -A / | xargs -I{} rm -rf /{}",
			"cd / && ls | xargs rm -rf", "find / | parallel rm -rf", "mv / /dev/null", "mv ~ /dev/null", "rimraf ~",
			"srm -rf /etc", "fd . / -X rm -rf", "cd ~; rm -rf .",
			"busybox rm -rf /", "tar --remove-files -czf /tmp/x.tgz /home", "rm -rf ~ann", "rd /s /q 'C:\\'", "find /* -exec shred -u {} +",
			"rsync -a --delete-after x/ root@host:/"},
		LookAlikes: []string{"rm -rf ./build", "rm -rf /tmp/*", "rm -rf ~/x", "echo 'rm -rf /'", "rm /etc", "find / -name core",
			"cd /tmp && rm -rf *", "rm -rf *", "rsync -an --delete empty/ /", "rsync -a / /mnt/backup", "find / -name '*.o' -delete",
			"rsync -a --delete ~/ /media/disk/backup/", "mv ~/x /dev/null", "ls | xargs rm -rf", "ls / | xargs -I{} rm -rf /tmp/{}",
			"find / -exec echo rm -rf {} ';'", "cp -r / /mnt"},
	}
}

func deleteRows() []Row {
	return []Row{
		{
			ID: "delete.protected", Key: "delete in a protected location", Family: "delete", Remember: RememberAll,
			Matches:  "any delete of a system path, of keys, start-up files or the like, also by moving them away, and a recursive delete in the home directory outside the workspace",
			Programs: append(removing(), "mv"), Match: deleteProtected,
			Examples: []string{"rm /etc/hosts", "rm -rf ~/projects/old", "rm -rf /usr/lib/x", "rm ~/.ssh/id_ed25519",
				"find /etc -name '*.conf' -delete",
				"unlink /usr/bin/python3", "rm -r /var/lib/postgresql", "mv /etc/passwd /tmp/", "mv ~/.ssh ~/old-ssh", "rm /var/log/syslog",
				"rm ~/.bashrc",
				"mv /usr/bin /usr/bin.bak", "find /usr/lib -type f -exec rm {} +", "rm -f /boot/vmlinuz*", "shred -u ~/.aws/credentials"},
			LookAlikes: []string{"rm old.txt", "rm -rf build", "rm -rf /tmp/x", "ls /etc", "rm ~/notes.txt", "rm -f /dev/shm/x", "mv a /tmp/b",
				"rm -f /run/app.pid", "rm -f /tmp/etc/hosts", "mv ~/a.txt ~/b.txt", "find /etc -name '*.conf' -exec grep -l rm {} +",
				"cp /etc/hosts ."},
		},
		{
			ID: "delete.unset", Key: "delete below a variable that may be empty", Family: "delete", Remember: RememberExact,
			Matches:  "a delete or a recursive change whose path is a system or home directory if a variable in it, which isn't known, is empty",
			Programs: append(removing(), "chmod", "chown", "chgrp", "rsync"), Match: deleteUnset,
			Examples: []string{`rm -rf "$DIR"/*`, `rm -rf $PREFIX/usr`, `rm -rf "${BUILD}/"`, `rm -rf $X*`, `rm -rf /$X`, `rm -rf ~/"$X"`,
				`rm -r "$A/$B"`,
				`find "$DIR"/ -delete`, `chown -R ann "$DIR/"`, `chmod -R 755 $ROOT/*`, `rsync -a --delete empty/ "$DEST/"`},
			LookAlikes: []string{`rm -rf "${DIR:?}"/*`, `rm -rf "$DIR"`, `D=/tmp/x; rm -rf "$D"/*`, `rm -rf "$DIR/build"`, `ls "$DIR"/*`,
				`chmod 644 "$DIR"/x`,
				`chown -R ann "${DIR:?}/"`, `find "$DIR"/ -name x`, `rm -rf /tmp/"$X"`},
		},
		{
			ID: "delete.bulk", Key: "bulk delete", Family: "delete", Remember: RememberAll, Smart: true,
			Matches:  "find -delete, deleters that find, fd, xargs, parallel or a loop over a list run, and programs that delete what they find",
			Programs: append(removing(), bulkPrograms...), Match: deleteBulk,
			Examples: []string{"find . -name '*.pyc' -delete", "git ls-files -o | xargs rm", "find . -type f -exec rm {} +",
				"find . -name x -exec sh -c 'rm \"$1\"' _ {} \\;", "fd -e log -X rm", "fd -e log -x rm", "ls | parallel rm",
				`ls | while read f; do rm "$f"; done`,
				"find . -name '*.o' -print0 | xargs -0 rm -f", "fdupes -rdN .", "tmpwatch 24 /data/x", "find . -ok rm {} ';'", "rm $(find . -name x)",
				`for f in $(ls); do rm "$f"; done`},
			LookAlikes: []string{"find . -name '*.pyc'", "xargs echo rm", "find . -name '-delete' -print", "git ls-files | xargs cat",
				"find . -exec echo rm {} ';'",
				"fd -e log", "fdupes -r .", "rm a b c", "yes | rm a", "ls | while read f; do echo rm $f; done"},
		},
		{
			ID: "delete.recursive", Key: "recursive delete", Family: "delete", Remember: RememberAll, Smart: true,
			Matches:  "rm with its recursive option, by any spelling, and recursive removers of other tools",
			Programs: removing(), Match: deleteRecursive,
			Examples: []string{"rm -rf node_modules", "rm -r --force old-dist", "rm -fR x", "rm x -r", "rm --recursive x", "sudo rm -rf x",
				`\rm -rf x`, "/bin/rm -rf x", `r""m -rf x`, "rm --rec x", "rimraf dist", "cmake -E rm -rf x", "hdfs dfs -rm -r /data/x",
				"Remove-Item -Recurse x",
				"srm -r x", "cmd.exe /c 'rd /s /q x'; rd /s x", "borg delete repo", "restic forget --keep-last 1 --prune", "grm -rf x"},
			LookAlikes: []string{"rm old-dist.tgz", "echo rm -rf x", "rm -- -rf", "git commit -m 'rm -rf x'", "rm --help", "grep -r 'rm -rf' .",
				"cp -r a b", "rmdir x", "cmake -E copy a b", "rimraf --help", "hdfs dfs -ls -R /data", "trash x", "borg list repo",
				"restic forget --dry-run --prune"},
		},
		{
			ID: "delete.sync", Key: "sync that deletes at the destination", Family: "delete", Remember: RememberAll,
			Matches:  "rsync, rclone and their kin, with deletion at either end",
			Programs: syncPrograms(), Match: deleteSync,
			Examples: []string{"rsync -a --delete src/ dst/", "rsync -a --del a b", "rsync -av --delete-excluded a/ host:b/",
				"rsync -a --remove-source-files a/ b/",
				"rclone sync a remote:b", "rclone purge remote:b", "rclone delete remote:b", "rclone move a remote:b", "robocopy a b /MIR",
				"lftp -e 'mirror --delete /a /b; quit' host", "rsync --delete-before -a a/ b/", "rsync -a --dele a/ b/"},
			LookAlikes: []string{"rsync -a src/ dst/", "rsync -an --delete a/ b/", "rsync -a --delete --dry-run a/ b/", "rclone copy a remote:b",
				"rclone ls remote:b",
				"rclone sync --dry-run a remote:b", "robocopy a b /E", "rsync -a --exclude '--delete' a b", "rclone sync -n a b",
				"robocopy a b /mir /l"},
		},
		{
			ID: "delete.content", Key: "destroy file content", Family: "delete", Remember: RememberAll,
			Matches: "shredding and wiping, cutting a file to nothing, and putting the null device in the place of one or one in its place",
			Programs: []string{"shred", "gshred", "wipe", "srm", "scrub", "bcwipe", "nwipe", "sfill", "truncate", "gtruncate", "cp", "gcp", "mv",
				"gmv", "ln",
				"install", "rsync", "tee", "sponge", "fallocate", "cipher", "cat", "true", "echo", "printf", ":", "sdelete"}, Writes: true,
			Match: deleteContent,
			Examples: []string{"shred data.db", "shred -u secret.txt", "wipe -f x", "srm x", "truncate -s 0 app.db", "truncate -s0 app.db",
				"truncate --size=0 x", "truncate --size 0 app.log",
				"cp /dev/null app.db", "mv app.db /dev/null", "cat /dev/null > /var/log/syslog", ": > /var/log/auth.log", "> ~/notes.txt",
				"tee x < /dev/null",
				"ln -sf /dev/null ~/.bash_history", "fallocate -p -o 0 -l 1M x"},
			LookAlikes: []string{"truncate -s 1G new.img", "cp app.db /dev/null", "cat x > /dev/null", "shred --help", "> out.txt", ": > build.log",
				"echo hi > /var/log/app.log",
				"fallocate -l 1G x", "truncate -s +1M x", "make > /tmp/log 2>/dev/null", "cat < /dev/null", ": >> ~/notes.txt"},
		},
	}
}

func grave(t analysis.Target) bool {
	return t.Class == analysis.ClassRoot || t.Class == analysis.ClassSystemRoot || t.Class == analysis.ClassHomeRoot
}

// core tells which grave places are more than a point where something is mounted or served from: syncs to those are everyday work.
func (a *Act) core(t analysis.Target) bool {
	if !grave(t) || t.Class != analysis.ClassSystemRoot {
		return grave(t)
	}
	switch a.Reading.Target("", t.Path+"/x").Class {
	case analysis.ClassSystem, analysis.ClassKernel, analysis.ClassDevice:
		return true
	}
	return slices.Contains([]string{"/home", "/Users", "/var", "/var/lib"}, t.Path)
}

func matchDeleteRoot(a *Act) []Hit {
	var targets []analysis.Target
	switch r := a.removal(); {
	case len(r.operands) > 0 && !r.recursive && slices.Contains(deleters, a.Program):
		targets = a.listed(r.operands) // the list goes through whole directories
	case r.recursive && !r.narrow:
		targets = append(a.each(r.operands, grave), a.listed(r.operands)...)
		targets = append(targets, drives(r.operands)...)
	case a.Program == "mv":
		if args := a.Args(analysis.Grammar{Short: "St"}); len(args.Operands) > 1 && args.Operands[len(args.Operands)-1].Is("/dev/null") {
			targets = a.each(args.Operands[:len(args.Operands)-1], func(t analysis.Target) bool { return grave(t) && !t.Link })
		}
	default:
		if to, ok := a.syncsTo(); ok {
			targets = a.each(to, a.core)
		}
	}
	return floor(one("deletes a root, system or home directory", targets))
}

// drives are the roots of Windows volumes among operands, and the system's directory on one.
func drives(words []analysis.Word) []analysis.Target {
	var out []analysis.Target
	for _, w := range words {
		p := strings.ToLower(strings.TrimRight(analysis.Plain(w.Text), `\/*.`))
		if len(p) >= 2 && p[1] == ':' && p[0] >= 'a' && p[0] <= 'z' && (len(p) == 2 || p[2:] == `\windows` || p[2:] == `\users` || p[2:] == "/windows" || p[2:] == "/users") {
			out = append(out, analysis.Target{Path: w.Text, Class: analysis.ClassRoot})
		}
	}
	return out
}

func protected(t analysis.Target) bool {
	return t.Class == analysis.ClassSystem || t.Class == analysis.ClassKernel || t.Class == analysis.ClassSensitive
}

// passing tells which places of the system hold what comes and goes: locks and process ids.
func passing(t analysis.Target) bool {
	return strings.HasPrefix(t.Path, "/run/") || strings.HasPrefix(t.Path, "/var/run/") || strings.HasPrefix(t.Path, "/var/lock/") ||
		strings.HasPrefix(t.Path, "/var/www/") || strings.HasPrefix(t.Path, "/srv/")
}

func deleteProtected(a *Act) []Hit {
	if a.Program == "mv" || a.Program == "gmv" {
		args := a.Args(analysis.Grammar{Short: "St", Long: []string{"suffix", "target-directory"}, Brief: true})
		from := args.Operands
		if len(args.Values["t"])+len(args.Values["target-directory"]) == 0 {
			from = from[:max(len(from)-1, 0)]
		}
		return one("moves away from a protected place", a.each(from, func(t analysis.Target) bool { return !t.Link && (protected(t) || grave(t)) }))
	}
	r := a.removal()
	if len(r.operands) == 0 && strings.HasSuffix(a.Program, "shred") { // what it leaves is no more use
		r.operands = a.Args(removers["shred"].grammar).Operands
	}
	if len(r.operands) == 0 {
		return nil
	}
	return one("deletes in a protected place", a.each(r.operands, func(t analysis.Target) bool {
		switch {
		case t.Link && !r.recursive:
			return false // the link goes, not what it leads to
		case protected(t):
			return true
		case t.Class == analysis.ClassState:
			return r.recursive || !passing(t)
		case t.Class == analysis.ClassHome:
			return r.recursive
		case grave(t):
			return r.narrow || !r.recursive && t.All && t.Class != analysis.ClassHomeRoot
		}
		return false
	}))
}

func deleteRecursive(a *Act) []Hit {
	r := a.removal()
	if !r.recursive || a.Call != "" || r.search {
		return nil
	}
	if len(r.operands) == 0 && !r.whole {
		return nil
	}
	targets := a.each(r.operands, func(analysis.Target) bool { return true })
	if len(targets) == 0 {
		return []Hit{{Reason: "deletes whole directories: " + a.Line()}}
	}
	return one("deletes whole directories", targets)
}

func deleteUnset(a *Act) []Hit {
	r := a.removal()
	words := r.operands
	switch a.Program {
	case "chmod", "chown", "chgrp":
		c := a.change()
		if !c.recursive {
			return nil
		}
		words = c.paths
	case "rsync":
		to, ok := a.syncsTo()
		if !ok {
			return nil
		}
		words = to
	}
	var targets []analysis.Target
	for _, w := range words {
		for _, v := range w.Values() {
			rest, ok := analysis.Emptied(v)
			if !ok || rest == "" {
				continue
			}
			dir := ""
			if len(a.Dirs) > 0 {
				dir = a.Dirs[0]
			}
			t := a.Reading.TargetOf(a.Command, dir, rest)
			atHead := analysis.Head(v) == "" // the variable may be all that keeps the path from the root
			if grave(t) || atHead && (t.Class == analysis.ClassSystem || rest[0] == 0 && t.All) {
				targets = append(targets, t)
			}
		}
	}
	return one("changes or deletes, if the variable is empty", targets)
}
