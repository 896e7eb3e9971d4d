package rules

import (
	"slices"
	"strings"

	"github.com/hermes-runtime/hermes/internal/approval/analysis"
)

// copied gives the destination of programs that copy, move or link: the value of -t, or the last operand, with the names that the
// sources get in it.
func copied(a *Act, args *analysis.Args) []analysis.Word {
	sources, to := args.Operands, slices.Concat(args.Values["t"], args.Values["target-directory"])
	if len(to) == 0 {
		n := len(sources)
		if n == 1 && strings.HasSuffix(a.Program, "ln") { // beside what it points to, in the working directory
			return []analysis.Word{{Text: baseOf(sources[0].Text)}}
		}
		if n < 2 {
			return nil
		}
		sources, to = sources[:n-1], sources[n-1:]
	}
	return a.into(sources, to)
}

// into adds the names that sources get where a destination is known to be a directory whose class doesn't tell what it holds.
func (a *Act) into(sources, to []analysis.Word) []analysis.Word {
	out := slices.Clone(to)
	for _, d := range to {
		if !strings.HasSuffix(d.Text, "/") && len(a.each([]analysis.Word{d}, grave)) == 0 {
			continue
		}
		dir := strings.TrimSuffix(d.Text, "/")
		for _, s := range sources[:min(len(sources), analysis.MaxValues)] {
			if base := baseOf(s.Text); base != "" && analysis.Literal(base) {
				out = append(out, analysis.Word{Text: dir + "/" + base, Span: d.Span})
			}
		}
	}
	return out
}

func baseOf(path string) string {
	path = strings.TrimRight(path, "/")
	return path[strings.LastIndexByte(path, '/')+1:]
}

// sent gives the destination of a copy between machines. On another machine it is a path there, and places that things are deployed
// to are for that.
func sent(a *Act, args *analysis.Args) []analysis.Word {
	n := len(args.Operands)
	if n < 2 {
		return nil
	}
	to := args.Operands[n-1]
	if host, path, ok := strings.Cut(to.Text, ":"); ok && !strings.Contains(host, "/") && strings.HasPrefix(path, "/") &&
		a.Reading.Target("", path).Class != analysis.ClassState {
		to.Text, to.Alts = path, nil
	}
	return []analysis.Word{to}
}

func installed(a *Act, args *analysis.Args) []analysis.Word {
	if args.Has("d") || args.Long("directory", 1) {
		return args.Operands
	}
	return copied(a, args)
}

func sedInPlace(_ *Act, args *analysis.Args) []analysis.Word {
	if !args.Has("i") && !args.Long("in-place", 2) {
		return nil
	}
	if len(args.Values["e"])+len(args.Values["f"])+len(args.Values["expression"])+len(args.Values["file"]) > 0 {
		return args.Operands
	}
	return args.Operands[min(1, len(args.Operands)):]
}

// codeInPlace lists the files that perl -i and ruby -i edit.
func codeInPlace(_ *Act, args *analysis.Args) []analysis.Word {
	if !strings.Contains(args.Letters, "i") {
		return nil
	}
	if len(args.Values["e"])+len(args.Values["E"]) > 0 {
		return args.Operands
	}
	return args.Operands[min(1, len(args.Operands)):]
}

// awkInPlace lists the files that awk -i inplace edits.
func awkInPlace(_ *Act, args *analysis.Args) []analysis.Word {
	if !slices.ContainsFunc(slices.Concat(args.Values["i"], args.Values["include"]), func(w analysis.Word) bool { return w.Is("inplace") }) {
		return nil
	}
	if len(args.Values["f"])+len(args.Values["file"]) > 0 {
		return args.Operands
	}
	return args.Operands[min(1, len(args.Operands)):]
}

// patched lists what patch writes to: the file it is given, or what the patch names below the directory.
func patched(_ *Act, args *analysis.Args) []analysis.Word {
	out := slices.Concat(args.Values["o"], args.Values["output"], args.Operands[:min(1, len(args.Operands))])
	if len(out) == 0 {
		return orHere(slices.Concat(args.Values["d"], args.Values["directory"]))
	}
	return out
}

// tarGrammar are the options of tar that take a value.
var tarGrammar = analysis.Grammar{Short: "fCbTXVgKI", Long: []string{"file", "directory", "exclude", "files-from", "exclude-from",
	"use-compress-program",
	"transform", "strip-components", "owner", "group", "mode"}}

// bundled is the most letters that tar's first word is taken apart for: it has fewer options.
const bundled = 64

// tarArgs parses tar's options. Its first word may be options without a dash, whose values follow in their order.
func tarArgs(a *Act) *analysis.Args {
	words := a.Words
	if len(words) < 2 || words[1].Text == "" || len(words[1].Text) > bundled || words[1].Text[0] == '-' || words[1].Text[0] == 0 {
		return a.Args(tarGrammar)
	}
	c := *a.Command
	c.Words = []analysis.Word{words[0]}
	rest := words[2:]
	for _, letter := range words[1].Text {
		w := words[1]
		w.Text, w.Alts = "-"+string(letter), nil
		c.Words = append(c.Words, w)
		if strings.ContainsRune(tarGrammar.Short, letter) && len(rest) > 0 {
			c.Words, rest = append(c.Words, rest[0]), rest[1:]
		}
	}
	c.Words = append(c.Words, rest...)
	return c.Args(tarGrammar)
}

// extracted lists where tar -x puts what it extracts, and the archive that it makes.
func extracted(a *Act, _ *analysis.Args) []analysis.Word {
	args := tarArgs(a)
	switch {
	case args.Has("x") || args.Long("extract", 2) || args.Long("get", 2):
		if args.Has("O") || args.Long("to-stdout", 4) {
			return nil
		}
		return orHere(slices.Concat(args.Values["C"], args.Values["directory"]))
	case args.Has("cruA") || args.Long("create", 2) || args.Long("append", 2) || args.Long("update", 2):
		return slices.DeleteFunc(slices.Concat(args.Values["f"], args.Values["file"]), func(w analysis.Word) bool { return w.Is("-") })
	}
	return nil
}

// sevenZip gives where 7z x and e extract to: the value of -o, which is always attached.
func sevenZip(a *Act, args *analysis.Args) []analysis.Word {
	if len(args.Operands) == 0 || !args.Operands[0].Is("x") && !args.Operands[0].Is("e") {
		return nil
	}
	for _, w := range a.Words[1:] {
		if dir, ok := strings.CutPrefix(w.Text, "-o"); ok {
			w.Text, w.Alts = dir, nil
			return []analysis.Word{w}
		}
	}
	return orHere(nil)
}

func ddOutput(a *Act, _ *analysis.Args) []analysis.Word {
	var out []analysis.Word
	for _, name := range [...]string{"of", "ofs", "hof", "hofs", "wipe", "hwipe"} {
		if w, ok := a.ddOperand(name); ok {
			out = append(out, w)
		}
	}
	return out
}

// lz4Output is where lz4 puts what it packs or unpacks: its second operand.
func lz4Output(a *Act, args *analysis.Args) []analysis.Word {
	if strings.HasSuffix(a.Program, "lz4") {
		return secondOnly(a, args)
	}
	return nil
}

// restoredTo are the targets of programs that restore images: --target DEVICE, dest=DEVICE.
func restoredTo(a *Act, args *analysis.Args) []analysis.Word {
	out := a.after("--target", "-target", "-t")
	for _, w := range args.Operands {
		for f := range strings.SplitSeq(w.Text, ",") {
			if to, ok := strings.CutPrefix(f, "dest="); ok {
				out = append(out, analysis.Word{Text: to, Span: w.Span})
			}
		}
	}
	return out
}

func afterDevice(a *Act, _ *analysis.Args) []analysis.Word { return a.after("--device", "-d") }

// ddDevice is what a burner's dev= names.
func ddDevice(a *Act, _ *analysis.Args) []analysis.Word {
	if w, ok := a.ddOperand("dev"); ok {
		return []analysis.Word{w}
	}
	return nil
}

// secondOnly is the second operand: what follows it is a log.
func secondOnly(_ *Act, args *analysis.Args) []analysis.Word {
	if len(args.Operands) < 2 {
		return nil
	}
	return args.Operands[1:2]
}

func soleOperand(_ *Act, args *analysis.Args) []analysis.Word {
	if len(args.Operands) == 1 {
		return args.Operands
	}
	return nil
}

func nowhere(*Act, *analysis.Args) []analysis.Word { return nil }

// savedHere is the working directory of a downloader that names its output itself, or that is told to use the remote name.
func savedHere(a *Act, args *analysis.Args) []analysis.Word {
	switch a.Program {
	case "curl":
		if args.Has("O") || args.Long("remote-name", 8) || args.Long("remote-name-all", 12) {
			return orHere(args.Values["output-dir"])
		}
	default:
		if len(args.Operands) > 0 && len(args.Values["O"])+len(args.Values["output-document"])+len(args.Values["P"])+len(args.Values["directory-prefix"]) == 0 {
			return orHere(nil)
		}
	}
	return nil
}

// cloned is the directory that git clone, init or worktree add makes, and the file that config -f edits.
func cloned(_ *Act, args *analysis.Args) []analysis.Word {
	if len(args.Operands) > 2 && args.Operands[0].Is("clone") {
		return args.Operands[len(args.Operands)-1:]
	}
	return nil
}

// opensslOutput is what openssl -out names.
func opensslOutput(a *Act, _ *analysis.Args) []analysis.Word {
	return a.after("-out", "-keyout", "-writerand")
}

// after lists the words that follow one of the options.
func (a *Act) after(options ...string) []analysis.Word {
	var out []analysis.Word
	for i := 1; i+1 < len(a.Words); i++ {
		if slices.Contains(options, a.Words[i].Text) {
			out = append(out, a.Words[i+1])
		}
	}
	return out
}

// printed lists the files that find prints to.
func printed(a *Act, _ *analysis.Args) []analysis.Word {
	return a.after("-fprint", "-fprint0", "-fprintf", "-fls")
}

// socatFiles are the files and devices among the addresses of socat.
func socatFiles(_ *Act, args *analysis.Args) []analysis.Word {
	var out []analysis.Word
	for _, w := range args.Operands {
		kind, rest, ok := strings.Cut(w.Text, ":")
		switch strings.ToUpper(kind) {
		case "CREATE", "FILE", "OPEN", "GOPEN":
			if ok {
				w.Text, _, _ = strings.Cut(rest, ",")
				out = append(out, w)
			}
		default:
			if strings.HasPrefix(w.Text, "/") {
				out = append(out, w)
			}
		}
	}
	return out
}

// orHere is the working directory where no other was named.
func orHere(words []analysis.Word) []analysis.Word {
	if len(words) > 0 {
		return words
	}
	return []analysis.Word{{Text: "."}}
}
