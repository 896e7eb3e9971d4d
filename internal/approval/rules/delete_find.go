package rules

import (
	"slices"
	"strings"
	"sync"

	"github.com/hermes-runtime/hermes/internal/approval/analysis"
)

// removal is what a command deletes.
type removal struct {
	operands  []analysis.Word
	recursive bool // whole directories
	narrow    bool // by a test, so that not everything in them goes
	search    bool // by looking for it
	whole     bool // something that isn't named by a path
}

// removers are programs that delete their operands. The zero value deletes files.
var removers = map[string]struct {
	grammar   analysis.Grammar
	letters   string // make it recursive
	names     string // long options that do, by their first letters
	recursive bool   // always is
	slashed   bool   // has options that begin with a slash
	dry       string // options with which nothing happens
	only      string // options without which nothing is deleted
}{
	"rm": {letters: "rR", names: "recursive"}, "grm": {letters: "rR", names: "recursive"}, "safe-rm": {letters: "rR", names: "recursive"},
	"srm":    {letters: "rR", names: "recursive"},
	"unlink": {}, "gunlink": {}, "rmdir": {slashed: true}, "rd": {slashed: true}, "del": {slashed: true}, "erase": {slashed: true},
	"deltree": {slashed: true, recursive: true},
	"shred": {grammar: analysis.Grammar{Short: "ns", Long: []string{"iterations", "size", "random-source"}},
		only: "-u --remove -uz -zu -fu -uf -vu -uv -fuz -vzu -uvz -uzv -zvu -vfzu -fzu"},
	"wipe":   {grammar: analysis.Grammar{Short: "qQSPlokX"}, letters: "r"},
	"rimraf": {recursive: true, dry: "--dry-run"}, "rm-rf": {recursive: true}, "del-cli": {recursive: true, dry: "--dry-run"},
	"Remove-Item": {names: "recurse"}, "remove-item": {names: "recurse"}, "ri": {names: "recurse"},
}

// removing lists the programs that delete.
func removing() []string {
	names := []string{"find", "gfind", "bfs", "fd", "fdfind", "cmake", "hdfs", "hadoop", "tar", "gtar", "bsdtar", "zip", "7z", "7za", "7zr", "7zz", "borg", "restic",
		"duplicity", "tarsnap",
		"rdiff-backup"}
	for name := range removers {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (a *Act) removal() removal { return a.gone.get(a.removes) }

func (a *Act) removes() removal {
	switch a.Program {
	case "find", "gfind", "bfs", "fd", "fdfind":
		return a.search()
	case "":
		return removal{}
	}
	p, ok := removers[a.Program]
	if !ok {
		return a.otherRemoval()
	}
	args := a.Args(p.grammar)
	r := removal{operands: args.Operands, recursive: p.recursive || p.letters != "" && args.Has(p.letters) || p.names != "" && args.Long(p.names, 1)}
	if p.dry != "" && a.option(strings.Fields(p.dry), false) || p.only != "" && !a.option(strings.Fields(p.only), false) {
		return removal{}
	}
	if p.names == "recurse" { // a cmdlet: options are whole words
		r.recursive = a.option([]string{"-recurse", "-recur", "-r", "-rec"}, true)
		if a.option([]string{"-whatif"}, true) {
			return removal{}
		}
	}
	if p.slashed {
		r.operands = slices.DeleteFunc(slices.Clone(r.operands), func(w analysis.Word) bool {
			if strings.EqualFold(w.Text, "/s") {
				r.recursive = true
			}
			return len(w.Text) == 2 && w.Text[0] == '/' && a.Program != "rmdir" || strings.EqualFold(w.Text, "/s") || strings.EqualFold(w.Text, "/q")
		})
	}
	return r
}

// otherRemoval reads programs that delete with one verb or option.
func (a *Act) otherRemoval() removal {
	switch a.Program {
	case "tar", "gtar", "bsdtar":
		if a.option([]string{"--remove-files"}, false) {
			return removal{operands: tarArgs(a).Operands, recursive: true}
		}
	case "7z", "7za", "7zr", "7zz":
		if args := a.Args(analysis.Grammar{}); len(args.Operands) > 2 && args.Operands[0].Is("a") && a.option([]string{"-sdel"}, false) {
			return removal{operands: args.Operands[2:], recursive: true}
		}
	case "zip":
		if args := a.Args(analysis.Grammar{Short: "bnPtisxZ"}); len(args.Operands) > 1 && (args.Has("m") || args.Long("move", 3)) {
			return removal{operands: args.Operands[1:], recursive: args.Has("r") || args.Long("recurse-paths", 7)}
		}
	case "cmake":
		if len(a.Words) > 3 && a.Words[1].Is("-E") {
			args := a.Args(analysis.Grammar{Short: "E"})
			return removal{operands: args.Operands, recursive: a.Words[2].Is("remove_directory") || a.Words[2].Is("rm") && args.Has("rR")}.when(
				a.Words[2].Is("remove_directory") || a.Words[2].Is("rm") || a.Words[2].Is("remove"))
		}
	case "hdfs", "hadoop":
		if a.option([]string{"-rmr", "-expunge"}, false) || a.option([]string{"-rm"}, false) && a.option([]string{"-r", "-R"}, false) {
			return removal{recursive: true, whole: true}
		}
	case "borg", "restic", "duplicity", "tarsnap", "rdiff-backup":
		return removal{recursive: true, whole: true}.when(a.does(backups()))
	}
	return removal{}
}

func (r removal) when(ok bool) removal {
	if ok {
		return r
	}
	return removal{}
}

// backups lists the verbs of backup programs that delete what they keep.
var backups = sync.OnceValue(func() map[string][]*compiled {
	return compile([]deed{
		{names: "borg", safe: "n", spare: "--dry-run", verbs: "delete|prune|repo-delete"},
		{names: "restic", short: "rpo", long: "repo password-file keep-last keep-daily", safe: "n", spare: "--dry-run",
			verbs: "forget|prune|key remove|rewrite"},
		{names: "duplicity", verbs: "remove-older-than|remove-all-but-n-full|remove-all-inc-of-but-n-full|cleanup"},
		{names: "tarsnap", flags: "d", opts: "--nuke"},
		{names: "rdiff-backup", opts: "--remove-older-than"},
	})
})

// wide are the words of a find expression that leave out little or nothing.
var wide = []string{"-depth", "-d", "-xdev", "-mount", "-print", "-print0", "-true", "-follow", "-noleaf", "-delete", "-ls", "-o", "-or", "-a",
	"-and", "-prune",
	"-ignore_readdir_race", "-warn", "-nowarn", "(", ")", "-x", "-readable", "-writable"}

// wideValued are those with a value.
var wideValued = []string{"-type", "-mindepth", "-maxdepth", "-printf", "-xtype", "-regextype", "-fprint", "-fprint0", "-fls"}

// deleters are programs that make a find -exec a deleting one.
var deleters = []string{"rm", "unlink", "shred", "rimraf", "grm", "srm", "wipe", "rmdir"}

// search reads what find or fd deletes.
func (a *Act) search() removal {
	if a.Program == "fd" || a.Program == "fdfind" {
		return a.fdSearch()
	}
	r := removal{search: true, recursive: true}
	words := a.Words[1:]
	for len(words) > 0 && !isTest(words[0].Text) {
		if !strings.HasPrefix(words[0].Text, "-") {
			r.operands = append(r.operands, words[0])
		}
		words = words[1:]
	}
	e := expression{words: words}
	r.narrow, _ = e.either()
	return a.searched(r, e.deletes)
}

// expression reads the tests and actions of find for what they leave out.
type expression struct {
	words   []analysis.Word
	deletes bool
	depth   int
}

// bracketed is how many brackets inside each other are read.
const bracketed = 64

// either reads alternatives up to a closing bracket or the end. narrow tells that something is left out: by each alternative that acts,
// or, of tests alone, by each. acts tells that one deletes or runs a program.
func (e *expression) either() (narrow, acts bool) {
	tests, actions := true, true
	for {
		n, does := e.every()
		if does {
			acts, actions = true, actions && n
		}
		tests = tests && n
		if len(e.words) == 0 || e.words[0].Text == ")" {
			break
		}
		e.words = e.words[1:]
	}
	if acts {
		return actions, true
	}
	return tests, false
}

// every reads what stands between two -o.
func (e *expression) every() (narrow, acts bool) {
	for len(e.words) > 0 {
		switch text := e.words[0].Text; text {
		case ")", "-o", "-or", ",":
			return narrow, acts
		default:
			n, does := e.primary()
			narrow, acts = narrow || n, acts || does
		}
	}
	return narrow, acts
}

// primary reads one test or action, with its value.
func (e *expression) primary() (narrow, acts bool) {
	text := e.words[0].Text
	e.words = e.words[1:]
	switch {
	case text == "-delete":
		e.deletes = true
		return false, true
	case text == "-exec" || text == "-execdir" || text == "-ok" || text == "-okdir":
		for len(e.words) > 0 && e.words[0].Text != ";" && e.words[0].Text != "+" {
			e.words = e.words[1:]
		}
		e.words = e.words[min(1, len(e.words)):]
		return false, true
	case text == "!" || text == "-not": // all but a few is nearly all
		if len(e.words) > 0 {
			_, acts = e.primary()
		}
		return false, acts
	case text == "(":
		if e.depth++; e.depth > bracketed {
			e.words = nil
			return true, false
		}
		narrow, acts = e.either()
		e.depth--
		e.words = e.words[min(1, len(e.words)):]
		return narrow, acts
	case slices.Contains(wideValued, text):
		e.words = e.words[min(1, len(e.words)):]
		return false, false
	case takesValue(text):
		narrow = len(e.words) == 0 || strings.Trim(analysis.Plain(e.words[0].Text), "*") != ""
		e.words = e.words[min(1, len(e.words)):]
		return narrow, false
	}
	return !slices.Contains(wide, text), false
}

// searched completes a search: it deletes by itself, or by a program that it runs.
func (a *Act) searched(r removal, deletes bool) removal {
	if !deletes && !a.carries(deleters) {
		return removal{}
	}
	if len(r.operands) == 0 {
		r.operands = []analysis.Word{{Text: "."}}
	}
	return r
}

// fdSearch reads what fd -x deletes: a pattern, then where to look.
func (a *Act) fdSearch() removal {
	look := *a.Command
	if i := slices.IndexFunc(look.Words, func(w analysis.Word) bool {
		return slices.Contains([]string{"-x", "--exec", "-X", "--exec-batch"}, w.Text)
	}); i >= 0 {
		look.Words = look.Words[:i]
	}
	args, rest := (&Act{Command: &look}).front("dEtecjS", "max-depth", "min-depth", "exclude", "type", "extension", "color", "threads", "size",
		"changed-within", "changed-before", "owner", "base-directory", "search-path")
	r := removal{search: true, recursive: true, narrow: strings.ContainsAny(args.Letters, "etS") || len(args.Names) > 0}
	if len(rest) > 0 {
		pattern := analysis.Plain(rest[0].Text)
		r.narrow = r.narrow || strings.Trim(pattern, ".*^$") != ""
		r.operands = rest[1:]
	}
	return a.searched(r, false)
}

// carries tells whether a command runs one of the programs.
func (a *Act) carries(programs []string) bool {
	cmds := a.Reading.Commands
	for i := a.Index + 1; i < len(cmds); i++ {
		if !carriedBy(cmds[i].Origin, a) {
			break
		}
		if slices.Contains(programs, cmds[i].Program) {
			return true
		}
	}
	return false
}

func carriedBy(o *analysis.Origin, a *Act) bool {
	for ; o != nil; o = o.Parent {
		if o.Name == a.Program && o.Span == a.Span {
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
	return slices.Contains([]string{"-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename", "-regex", "-iregex", "-lname", "-ilname", "-size", "-mtime",
		"-mmin", "-atime", "-amin", "-ctime", "-cmin", "-newer", "-anewer", "-cnewer", "-user", "-group", "-uid", "-gid", "-perm", "-links",
		"-inum", "-samefile", "-fstype", "-used", "-fprint", "-fprint0", "-fls", "-newermt", "-files0-from", "-context"}, text)
}
