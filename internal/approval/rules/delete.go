package rules

import (
	"slices"
	"strings"

	"github.com/hermes-runtime/hermes/internal/approval/analysis"
)

var deleteRows = []Row{
	{
		ID: "delete.protected", Key: "delete in a protected location", Family: "delete", Remember: RememberAll,
		Matches:  "any delete of a system path or of keys, and a recursive delete in the home directory outside the workspace",
		Programs: []string{"rm", "unlink", "rmdir", "find", "shred"}, Match: deleteProtected,
		Examples: []string{"rm /etc/hosts", "rm -rf ~/projects/old", "rm -rf /usr/lib/x", "rm ~/.ssh/id_ed25519", "find /etc -name '*.conf' -delete",
			"unlink /usr/bin/python3", "rm -r /var/lib/postgresql"},
		LookAlikes: []string{"rm old.txt", "rm -rf build", "rm -rf /tmp/x", "ls /etc", "rm ~/notes.txt", "rm -f /dev/shm/x"},
	},
	{
		ID: "delete.unset", Key: "delete below a variable that may be empty", Family: "delete", Remember: RememberExact,
		Matches:  "a delete whose path is a system or home directory if a variable in it, which isn't known, is empty",
		Programs: []string{"rm"}, Match: deleteUnset,
		Examples:   []string{`rm -rf "$DIR"/*`, `rm -rf $PREFIX/usr`, `rm -rf "${BUILD}/"`, `rm -rf $X*`, `rm -rf /$X`, `rm -rf ~/"$X"`},
		LookAlikes: []string{`rm -rf "${DIR:?}"/*`, `rm -rf "$DIR"`, `D=/tmp/x; rm -rf "$D"/*`, `rm -rf "$DIR/build"`},
	},
	{
		ID: "delete.bulk", Key: "bulk delete", Family: "delete", Remember: RememberAll, Smart: true,
		Matches:  "find -delete, and deleters that find, xargs or parallel run",
		Programs: []string{"find", "rm", "unlink", "shred"}, Match: deleteBulk,
		Examples: []string{"find . -name '*.pyc' -delete", "git ls-files -o | xargs rm", "find . -type f -exec rm {} +",
			"find . -name x -exec sh -c 'rm \"$1\"' _ {} \\;"},
		LookAlikes: []string{"find . -name '*.pyc'", "xargs echo rm", "find . -name '-delete' -print", "git ls-files | xargs cat"},
	},
	{
		ID: "delete.recursive", Key: "recursive delete", Family: "delete", Remember: RememberAll, Smart: true,
		Matches:  "rm with its recursive option, by any spelling",
		Programs: []string{"rm", "rimraf"}, Match: deleteRecursive,
		Examples: []string{"rm -rf node_modules", "rm -r --force old-dist", "rm -fR x", "rm x -r", "rm --recursive x", "sudo rm -rf x",
			`\rm -rf x`, "/bin/rm -rf x", `r""m -rf x`, "rm --rec x"},
		LookAlikes: []string{"rm old-dist.tgz", "echo rm -rf x", "rm -- -rf", "git commit -m 'rm -rf x'", "rm --help", "grep -r 'rm -rf' .",
			"cp -r a b"},
	},
}

var deleteRoot = Row{
	ID: "delete.root", Key: "delete root, system or home directory", Family: "delete", Floor: true,
	Matches:  "a recursive delete of the root, a system directory, a home directory, or of everything in one",
	Programs: []string{"rm", "find"}, Match: matchDeleteRoot,
	Examples: []string{"rm -rf /", "rm -rf /*", "rm -rf ~", `rm -rf "$HOME"`, "cd / && rm -rf *", "rm -rf /etc", "rm -rf ~/.", "sudo rm -rf /usr/",
		"find / -delete", "find ~ -exec rm -rf {} +", "rm -rf //", "rm -rf /home/*", "rm -rf /{bin,etc}", "rm -rf ../../.."},
	LookAlikes: []string{"rm -rf ./build", "rm -rf /tmp/*", "rm -rf ~/x", "echo 'rm -rf /'", "rm /etc", "find / -name core",
		"cd /tmp && rm -rf *", "rm -rf *"},
}

// rm is the part of an rm command that the rows look at.
type removal struct {
	recursive bool
	operands  []analysis.Word
}

func (a *Act) removal() removal {
	args := a.Args(analysis.Grammar{})
	r := removal{operands: args.Operands}
	switch a.Program {
	case "rm":
		r.recursive = args.Has("rR") || args.Long("recursive", 1)
	case "rimraf":
		r.recursive = true
	case "rmdir":
		r.recursive = false
	}
	return r
}

func deleteRecursive(a *Act) []Hit {
	r := a.removal()
	if !r.recursive || a.Call != "" || len(r.operands) == 0 {
		return nil
	}
	targets := a.each(r.operands, func(analysis.Target) bool { return true })
	return one("deletes whole directories", targets)
}

func grave(t analysis.Target) bool {
	return t.Class == analysis.ClassRoot || t.Class == analysis.ClassSystemRoot || t.Class == analysis.ClassHomeRoot
}

func matchDeleteRoot(a *Act) []Hit {
	var targets []analysis.Target
	if a.Program == "find" {
		if f := findOf(a); f.deletes && !f.narrow {
			targets = a.each(f.starts, grave)
		}
	} else if r := a.removal(); r.recursive {
		targets = a.each(r.operands, grave)
	}
	hits := one("deletes a root, system or home directory", targets)
	for i := range hits {
		hits[i].Floor = true
	}
	return hits
}

func deleteProtected(a *Act) []Hit {
	var operands []analysis.Word
	recursive := false
	if a.Program == "find" {
		f := findOf(a)
		if !f.deletes {
			return nil
		}
		operands, recursive = f.starts, true
	} else {
		r := a.removal()
		operands, recursive = r.operands, r.recursive
	}
	narrow := a.Program == "find" && findOf(a).narrow
	return one("deletes in a protected place", a.each(operands, func(t analysis.Target) bool {
		switch t.Class {
		case analysis.ClassSystem, analysis.ClassKernel, analysis.ClassSensitive:
			return true
		case analysis.ClassState, analysis.ClassHome:
			return recursive
		case analysis.ClassRoot, analysis.ClassSystemRoot, analysis.ClassHomeRoot:
			return a.Program == "find" && narrow || !recursive && t.All && t.Class != analysis.ClassHomeRoot
		}
		return false
	}))
}

func deleteUnset(a *Act) []Hit {
	var targets []analysis.Target
	for _, w := range a.removal().operands {
		for _, v := range w.Values() {
			rest, ok := analysis.Emptied(v)
			if !ok || rest == "" {
				continue
			}
			dir := ""
			if len(a.Dirs) > 0 {
				dir = a.Dirs[0]
			}
			t := a.Reading.Target(dir, rest)
			atHead := analysis.Head(v) == "" // the variable may be all that keeps the path from the root
			if grave(t) || atHead && (t.Class == analysis.ClassSystem || rest[0] == 0 && t.All) {
				targets = append(targets, t)
			}
		}
	}
	return one("deletes, if the variable is empty", targets)
}

func deleteBulk(a *Act) []Hit {
	if a.Program == "find" {
		if f := findOf(a); f.deletes && !f.runs {
			return one("deletes what find meets, below", a.each(f.starts, func(analysis.Target) bool { return true }))
		}
		return nil
	}
	if !a.Under("find", "xargs", "parallel", "fd", "fdfind") {
		return nil
	}
	return []Hit{{Reason: "deletes whatever the list in front of it names", Targets: a.each(a.removal().operands, func(analysis.Target) bool { return true })}}
}

type finding struct {
	starts  []analysis.Word
	deletes bool
	runs    bool // by a program, which has rows of its own
	narrow  bool // by a test, so that not everything goes
}

// wide are the words of a find expression that leave out little or nothing.
var wide = []string{"-depth", "-d", "-xdev", "-mount", "-print", "-print0", "-true", "-follow", "-noleaf", "-delete", "-ls", "-o", "-or", "-a", "-and"}

// wideValued are those with a value.
var wideValued = []string{"-type", "-mindepth", "-maxdepth", "-printf"}

// deleters are programs that make a find -exec a deleting one.
var deleters = []string{"rm", "unlink", "shred", "rimraf"}

func findOf(a *Act) finding {
	var f finding
	words := a.Words[1:]
	for len(words) > 0 && !isTest(words[0].Text) {
		if !strings.HasPrefix(words[0].Text, "-") {
			f.starts = append(f.starts, words[0])
		}
		words = words[1:]
	}
	if len(f.starts) == 0 {
		f.starts = []analysis.Word{{Text: "."}}
	}
	for i := 0; i < len(words); i++ {
		text := words[i].Text
		switch {
		case text == "-delete":
			f.deletes = true
		case text == "-exec" || text == "-execdir" || text == "-ok" || text == "-okdir":
			if i+1 < len(words) && execDeletes(words[i+1:]) {
				f.deletes, f.runs = true, true
			}
			for i < len(words) && words[i].Text != ";" && words[i].Text != "+" {
				i++
			}
		case slices.Contains(wideValued, text):
			i++
		case takesValue(text):
			i++
			f.narrow = f.narrow || i >= len(words) || strings.Trim(analysis.Plain(words[i].Text), "*") != ""
		case !slices.Contains(wide, text):
			f.narrow = true
		}
	}
	return f
}

func execDeletes(words []analysis.Word) bool {
	for _, w := range words {
		if w.Text == ";" || w.Text == "+" {
			return false
		}
		base := w.Text[strings.LastIndexByte(w.Text, '/')+1:]
		if slices.Contains(deleters, base) {
			return true
		}
	}
	return false
}

func isTest(text string) bool {
	return text == "(" || text == "!" || strings.HasPrefix(text, "-") && text != "-H" && text != "-L" && text != "-P" && !strings.HasPrefix(text, "-O")
}

// takesValue tells whether a find test is followed by a value, so that a value such as -delete isn't read as an action.
func takesValue(text string) bool {
	return slices.Contains([]string{"-name", "-iname", "-path", "-ipath", "-wholename", "-regex", "-iregex", "-lname", "-ilname", "-size", "-mtime",
		"-mmin", "-atime", "-amin", "-ctime", "-cmin", "-newer", "-anewer", "-cnewer", "-user", "-group", "-uid", "-gid", "-perm", "-links",
		"-inum", "-samefile", "-fstype", "-used", "-fprint", "-fprint0", "-fls", "-regextype", "-newermt"}, text)
}
