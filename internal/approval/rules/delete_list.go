package rules

import (
	"slices"
	"strings"
	"sync"

	"github.com/hermes-runtime/hermes/internal/approval/analysis"
)

// list is what the commands print that a deleter takes its names from.
type list struct {
	below []analysis.Target // grave places, of which everything is named
	in    []analysis.Target // grave directories whose entries are named, without the directory
}

// listed gives the grave places that a list in front of a deleter is made from: everything in them is handed to it.
func (a *Act) listed(words []analysis.Word) []analysis.Target {
	var out []analysis.Target
	lists := map[analysis.Flow]list{}
	for _, w := range words {
		if analysis.Literal(w.Text) {
			continue
		}
		flow := w.From
		if flow.Empty() && a.Under("parallel") {
			flow = a.fedBy("parallel")
		}
		if flow.Empty() {
			continue
		}
		l, ok := lists[flow]
		if !ok {
			l = a.list(flow)
			lists[flow] = l
		}
		out = append(out, l.below...)
		for _, t := range l.in {
			if slices.ContainsFunc(w.Values(), func(v string) bool { return a.entryOf(t, v) }) {
				out = append(out, t)
			}
		}
	}
	return out
}

// entryOf tells whether a value is a name that isn't known, right in a place.
func (a *Act) entryOf(t analysis.Target, value string) bool {
	head := analysis.Head(value)
	if rest, _ := analysis.Emptied(value[len(head):]); rest != "" && analysis.Literal(rest) || analysis.Known(value) {
		return false
	}
	if head == "" {
		head = "."
	}
	return slices.ContainsFunc(a.Dirs, func(dir string) bool { return a.Reading.TargetOf(a.Command, dir, head).Path == t.Path })
}

// fedBy gives the commands whose output the nearest carrier of that name reads.
func (a *Act) fedBy(program string) analysis.Flow {
	for i := a.Index - 1; i >= 0; i-- {
		if c := &a.Reading.Commands[i]; c.Program == program {
			return c.Stdin.From
		}
	}
	return analysis.Flow{}
}

// list reads the commands of a flow, the last ones if they are many. A filter may leave something out, so that not everything is named.
func (a *Act) list(f analysis.Flow) (l list) {
	end := min(f.End, len(a.Reading.Commands))
	cmds := a.Reading.Commands[max(f.Start, end-spied):end]
	if slices.ContainsFunc(cmds, func(c analysis.Command) bool { return slices.Contains(filters, c.Program) }) {
		return l
	}
	for i := range cmds {
		names := &Act{Command: &cmds[i], Reading: a.Reading, Index: f.Start + i}
		switch cmds[i].Program {
		case "ls":
			args := names.Args(analysis.Grammar{Short: "ITw"})
			if args.Has("d") {
				l.below = append(l.below, names.each(args.Operands, grave)...)
			} else {
				in := names.each(orHere(args.Operands), grave)
				if len(in) == 1 && prefixed(cmds[i+1:], strings.TrimSuffix(in[0].Path, "/")+"/") {
					l.below = append(l.below, in...)
				}
				l.in = append(l.in, in...)
			}
		case "find", "gfind", "bfs":
			if r := names.listing(); !r.narrow {
				l.below = append(l.below, names.each(r.operands, grave)...)
			}
		}
	}
	return l
}

// prefixed tells whether a filter puts a directory in front of every line.
func prefixed(cmds []analysis.Command, dir string) bool {
	return slices.ContainsFunc(cmds, func(c analysis.Command) bool {
		return c.Program == "sed" && slices.ContainsFunc(c.Words, func(w analysis.Word) bool {
			text := analysis.Plain(w.Text)
			return len(text) > 3 && text[0] == 's' && strings.HasPrefix(text[2:], "^"+text[1:2]+strings.ReplaceAll(dir, "/", slash(text[1]))+text[1:2])
		})
	})
}

// slash is a slash in an expression of sed that another character, or a slash itself, separates.
func slash(separator byte) string {
	if separator == '/' {
		return `\/`
	}
	return "/"
}

// listing is search for a find that deletes nothing itself.
func (a *Act) listing() removal {
	as := *a.Command
	as.Words = append(slices.Clone(as.Words), analysis.Word{Text: "-delete"})
	return (&Act{Command: &as, Reading: a.Reading}).search()
}

// filters leave out a part of a list.
var filters = []string{"grep", "egrep", "fgrep", "rg", "head", "tail", "awk", "fzf"}

// bulks are programs that delete what they find.
var bulks = sync.OnceValue(func() map[string][]*compiled {
	return compile([]deed{
		{names: "fdupes jdupes", flags: "dI", opts: "--delete"},
		{names: "rdfind", opts: "-deleteduplicates", spare: "-dryrun"},
		{names: "tmpwatch tmpreaper stmpclean", safe: "t", spare: "--test", plain: true},
		{names: "systemd-tmpfiles", opts: "--remove --clean --purge", spare: "--dry-run"},
		{names: "journalctl", opts: "--vacuum-size --vacuum-time --vacuum-files"},
		{names: "trash-empty", always: true},
		{names: "gio", verbs: "remove", opts: "--empty"},
		{names: "conda mamba micromamba", short: "np", long: "name prefix", verbs: "env remove", spare: "--dry-run -d"},
		{names: "conda mamba micromamba", short: "np", long: "name prefix", need: "--all", verbs: "remove|uninstall", spare: "--dry-run -d"},
		{names: "duplicati-cli", verbs: "delete"},
		{names: "bup", verbs: "prune-older|rm|gc", need: "--unsafe"},
		{names: "bleachbit", flags: "c", opts: "--clean --shred"},
	})
})

var bulkPrograms = []string{"fdupes", "jdupes", "rdfind", "tmpwatch", "tmpreaper", "stmpclean", "systemd-tmpfiles", "bleachbit", "journalctl",
	"trash-empty", "gio", "conda", "mamba", "micromamba", "duplicati-cli", "bup"}

// fanners hand what a list names to the command that they run.
var fanners = []string{"find", "gfind", "xargs", "parallel", "fd", "fdfind"}

func deleteBulk(a *Act) []Hit {
	if slices.Contains(bulkPrograms, a.Program) {
		if !a.does(bulks()) {
			return nil
		}
		return []Hit{{Reason: "deletes what it finds: " + a.Line()}}
	}
	r := a.removal()
	switch {
	case r.search && slices.ContainsFunc(a.Words, func(w analysis.Word) bool { return w.Text == "-delete" }):
		return one("deletes what a search meets, below", a.each(r.operands, func(analysis.Target) bool { return true }))
	case r.search || len(r.operands) == 0 && !slices.Contains(deleters, a.Program):
		return nil
	case a.Under(fanners...), a.inLoop(r.operands), slices.ContainsFunc(r.operands, func(w analysis.Word) bool {
		return !analysis.Literal(w.Text) && from(a, w.From, listers)
	}):
		return []Hit{{Reason: "deletes whatever the list in front of it names", Targets: a.each(r.operands, func(analysis.Target) bool { return true })}}
	}
	return nil
}

// listers print names of files.
var listers = []string{"find", "gfind", "fd", "fdfind", "ls", "locate", "git", "grep", "egrep", "rg", "ag", "comm"}

// inLoop tells whether a deleter gets names that a loop reads from a list.
func (a *Act) inLoop(words []analysis.Word) bool {
	if a.Stdin.Kind != analysis.StdinPipe || a.Stdin.From.Empty() {
		return false
	}
	cmds := a.Reading.Commands[a.Stdin.From.Start:min(a.Stdin.From.End, len(a.Reading.Commands))]
	if !slices.ContainsFunc(cmds, func(c analysis.Command) bool {
		return c.Program != "yes" && c.Program != "echo" && c.Program != "printf"
	}) {
		return false
	}
	return slices.ContainsFunc(words, func(w analysis.Word) bool { return !analysis.Known(w.Text) })
}
