package rules

import (
	"slices"
	"strings"
	"sync"

	"github.com/hermes-runtime/hermes/internal/approval/analysis"
)

// syncs lists programs that make a destination equal to a source, and what makes them delete.
var syncs = sync.OnceValue(func() map[string][]*compiled {
	return compile([]deed{
		{names: "rsync", short: "efBTM",
			long: "rsh filter exclude include files-from exclude-from include-from rsync-path out-format port suffix backup-dir temp-dir " +
				"partial-dir link-dest compare-dest copy-dest log-file chmod chown max-delete", safe: "n", spare: "--dry-run --list-only",
			opts: "--delete --del --delete-before --delete-during --delete-delay --delete-after --delete-excluded --delete-missing-args --remove-source-files --remove-sent-files"},
		{names: "rclone", long: "config exclude include filter transfers bwlimit max-age min-age", safe: "n", spare: "--dry-run",
			verbs: "sync|delete|purge|deletefile|move|moveto|rmdir|rmdirs|cleanup|bisync|dedupe"},
		{names: "robocopy ROBOCOPY Robocopy", opts: "/mir /purge /mov /move", spare: "/l", fold: true},
		{names: "cpdup", short: "isfxXo", safe: "o", plain: true},
		{names: "mirrordir", plain: true},
		{names: "unison", opts: "-force -prefer --force"},
		{names: "lsyncd", plain: true},
		{names: "aws", long: "profile region endpoint-url", verbs: "s3 sync", need: "--delete", spare: "--dryrun"},
		{names: "gsutil", verbs: "rsync|... rsync", flags: "", need: "-d -rd -dr", safe: "n"},
		{names: "gcloud", verbs: "storage rsync", need: "--delete-unmatched-destination-objects", spare: "--dry-run"},
		{names: "azcopy", verbs: "sync", need: "--delete-destination", spare: "--dry-run"},
		{names: "mc", verbs: "mirror", need: "--remove", spare: "--fake --dry-run"},
		{names: "s3cmd", verbs: "sync", need: "--delete-removed", spare: "--dry-run -n"},
		{names: "s5cmd", verbs: "sync", need: "--delete", spare: "--dry-run"},
	})
})

// transfers are programs that delete at the other end by commands of their own.
var transfers = []string{"lftp", "sftp", "ftp", "ncftp"}

func syncPrograms() []string {
	names := slices.Clone(transfers)
	for name := range syncs() {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func deleteSync(a *Act) []Hit {
	if slices.Contains(transfers, a.Program) {
		if !slices.ContainsFunc(a.Words, func(w analysis.Word) bool { return mirrorDeletes(w.Text) }) && !mirrorDeletes(a.Stdin.Text) {
			return nil
		}
	} else if !a.does(syncs()) {
		return nil
	}
	h := Hit{Reason: "deletes at one end what the other doesn't have: " + a.Line()}
	if to, ok := a.syncsTo(); ok {
		h.Targets = a.each(to, func(analysis.Target) bool { return true })
	}
	return []Hit{h}
}

// mirrorDeletes tells whether a script of such a program deletes more than a file at the destination.
func mirrorDeletes(text string) bool {
	for cmd := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ';' || r == '\n' }) {
		words := strings.Fields(cmd)
		if len(words) == 0 {
			continue
		}
		switch words[0] {
		case "mrm", "glob", "mdelete", "mdel":
			return true
		case "rm", "rmdir", "delete":
			return slices.ContainsFunc(words[1:], func(w string) bool { return w == "*" || strings.HasSuffix(w, "/*") }) || slices.Contains(words, "-r") || slices.Contains(words, "-rf") || slices.Contains(words, "-f")
		case "mirror":
			return slices.ContainsFunc(words[1:], func(w string) bool {
				return strings.HasPrefix(w, "--delete") || strings.HasPrefix(w, "--Remove-source") || len(w) > 1 && w[0] == '-' && w[1] != '-' && strings.Contains(w, "e")
			})
		}
	}
	return false
}

// syncsTo gives the destination of a sync that deletes there.
func (a *Act) syncsTo() ([]analysis.Word, bool) {
	if slices.Contains(transfers, a.Program) || !a.does(syncs()) {
		return nil, false
	}
	switch a.Program {
	case "rsync":
		args := a.Args(writers()["rsync"].grammar)
		if !slices.ContainsFunc(args.Names, func(n string) bool { return strings.HasPrefix(n, "del") }) {
			return nil, false // it deletes at the source only
		}
		to := sent(a, args)
		return to, len(to) > 0
	case "rclone":
		args := a.Args(analysis.Grammar{Long: []string{"config", "exclude", "include", "filter", "transfers", "bwlimit", "max-age", "min-age"}})
		if n := len(args.Operands); n > 1 {
			if args.Operands[0].Is("move") || args.Operands[0].Is("moveto") {
				return args.Operands[1:2], true
			}
			return args.Operands[n-1:], true
		}
	case "robocopy", "ROBOCOPY", "Robocopy":
		if len(a.Words) > 2 {
			return a.Words[2:3], true
		}
	case "cpdup":
		if args := a.Args(analysis.Grammar{Short: "isfxX"}); len(args.Operands) > 1 {
			return args.Operands[len(args.Operands)-1:], true
		}
	}
	return nil, false
}

// fillers print nothing, or what is as good as nothing.
func (a *Act) printsNothing() bool {
	switch a.Program {
	case "", "true", ":":
		return true
	case "cat", "tee", "sponge":
		args := a.Args(analysis.Grammar{})
		if a.Program == "cat" && len(args.Operands) > 0 {
			return !slices.ContainsFunc(args.Operands, func(w analysis.Word) bool { return !w.Is("/dev/null") })
		}
		return a.Stdin.Kind == analysis.StdinFile && a.Stdin.File.Is("/dev/null") || a.Stdin.Kind == analysis.StdinText && a.Stdin.Known && strings.TrimSpace(a.Stdin.Text) == ""
	case "echo", "printf":
		return !slices.ContainsFunc(a.Words[1:], func(w analysis.Word) bool { return w.Text != "" && w.Text != "-n" && w.Text != "-en" && w.Text != "-e" })
	}
	return false
}

func deleteContent(a *Act) []Hit {
	anything := func(t analysis.Target) bool { return t.Class != analysis.ClassDevice && t.Path != "/dev/null" }
	switch a.Program {
	case "shred", "gshred", "wipe", "srm", "scrub", "bcwipe", "nwipe", "sfill", "cipher", "sdelete":
		args := a.Args(analysis.Grammar{Short: "nsplk", Long: []string{"iterations", "size", "random-source", "pattern"}})
		if a.Program == "cipher" && !a.option([]string{"/w", "/w:c:\\"}, true) {
			return nil
		}
		return one("destroys what is in", a.each(args.Operands, anything))
	case "truncate", "gtruncate":
		return a.truncates()
	case "fallocate":
		if a.Args(analysis.Grammar{Short: "lo"}).Has("pczi") || a.option([]string{"--punch-hole", "--collapse-range", "--zero-range", "--insert-range"}, false) {
			return one("destroys what is in", a.each(a.Args(analysis.Grammar{Short: "lo", Long: []string{"length", "offset"}}).Operands, anything))
		}
		return nil
	case "cp", "gcp", "install", "ln", "rsync", "mv", "gmv":
		return a.nulls(anything)
	}
	if !a.printsNothing() {
		return nil
	}
	var words []analysis.Word
	for _, r := range a.Redirects {
		if a.Call == "" && r.Write && (r.Op == ">" || r.Op == ">|" || r.Op == "&>") {
			words = append(words, r.Target)
		}
	}
	hits := one("empties", a.each(words, func(t analysis.Target) bool {
		switch t.Class {
		case analysis.ClassState, analysis.ClassHome, analysis.ClassSystem, analysis.ClassSensitive:
			return !passing(t)
		}
		return false
	}))
	if a.Program == "tee" && !a.Args(analysis.Grammar{}).Has("a") || a.Program == "sponge" {
		hits = append(hits, one("empties", a.each(a.written(), anything))...)
	}
	return hits
}

// truncates tells which files truncate cuts to nothing.
func (a *Act) truncates() []Hit {
	args := a.Args(analysis.Grammar{Short: "sr", Long: []string{"size", "reference"}, Brief: true})
	for _, w := range slices.Concat(args.Values["s"], args.Values["size"]) {
		size := strings.TrimLeft(w.Text, "=<%/ ")
		if strings.HasPrefix(size, "-") || size != "" && strings.Trim(strings.TrimRight(size, "KMGTPEB"), "0") == "" {
			return one("cuts to nothing", a.each(args.Operands, func(t analysis.Target) bool { return t.Class != analysis.ClassDevice }))
		}
	}
	return nil
}

// nulls tells which files get the null device over them or go to it.
func (a *Act) nulls(want func(analysis.Target) bool) []Hit {
	args := a.Args(analysis.Grammar{Short: "Stgmo", Long: []string{"suffix", "target-directory", "group", "mode", "owner"}, Brief: true})
	n := len(args.Operands)
	if n < 2 {
		return nil
	}
	switch {
	case args.Operands[n-1].Is("/dev/null") && strings.HasSuffix(a.Program, "mv"):
		return one("moves to nowhere", a.each(args.Operands[:n-1], want))
	case args.Operands[0].Is("/dev/null"):
		return one("puts the null device in the place of", a.each(args.Operands[n-1:], want))
	}
	return nil
}
