package rules

import (
	"maps"
	"slices"
	"strings"

	"github.com/hermes-runtime/hermes/internal/approval/analysis"
)

// deed is how programs of one option grammar are told to do harm: by a verb, by an option, or by being called at all. Lists are
// separated by spaces, phrases by bars.
type deed struct {
	names string // programs
	short string // option letters that take a value
	long  string // long options that take a value
	safe  string // option letters with which nothing happens: dry runs, listings
	spare string // options, with their dashes, with which nothing happens
	need  string // options, with their dashes, without one of which nothing happens

	// Any of these does harm.
	verbs  string // phrases: the operands from the first on; "..." skips any number, * is any, *=* an assignment, *: a drive
	flags  string // option letters
	opts   string // options, with their dashes
	plain  bool   // any operand
	always bool   // any call

	words bool // an operand may be several words of a phrase
	fold  bool // the case of letters doesn't count
	brief bool // verbs may be abbreviated
}

type compiled struct {
	deed
	grammar analysis.Grammar
	phrases [][]string
	bad     []string
	good    []string
	musts   []string
}

// deedRow completes a row that matches what a table of deeds lists.
func deedRow(row Row, reason string, deeds []deed) Row {
	byProgram := compile(deeds)
	row.Programs = slices.Sorted(maps.Keys(byProgram))
	row.Match = func(a *Act) []Hit {
		if !a.does(byProgram) {
			return nil
		}
		return []Hit{{Reason: reason + ": " + a.Line(), Floor: row.Floor}}
	}
	return row
}

func compile(deeds []deed) map[string][]*compiled {
	byProgram := map[string][]*compiled{}
	for _, d := range deeds {
		c := &compiled{deed: d, grammar: analysis.Grammar{Short: d.short, Long: strings.Fields(d.long)},
			bad: strings.Fields(d.opts), good: strings.Fields(d.spare), musts: strings.Fields(d.need)}
		for _, p := range strings.Split(d.verbs, "|") {
			if f := strings.Fields(p); len(f) > 0 {
				c.phrases = append(c.phrases, f)
			}
		}
		for name := range strings.FieldsSeq(d.names) {
			byProgram[name] = append(byProgram[name], c)
		}
	}
	return byProgram
}

// does tells whether a command is one of the deeds.
func (a *Act) does(byProgram map[string][]*compiled) bool {
	return slices.ContainsFunc(byProgram[a.Program], func(d *compiled) bool { return d.done(a) })
}

func (d *compiled) done(a *Act) bool {
	args := a.Args(d.grammar)
	if d.safe != "" && args.Has(d.safe) || a.given(args, d.good, d.fold) {
		return false
	}
	if len(d.musts) > 0 && !a.given(args, d.musts, d.fold) {
		return false
	}
	if d.always || d.plain && len(args.Operands) > 0 || d.flags != "" && args.Has(d.flags) || a.given(args, d.bad, d.fold) {
		return true
	}
	operands := args.Operands
	if d.words {
		operands = apart(operands)
	}
	return slices.ContainsFunc(d.phrases, func(p []string) bool { return d.said(operands, p) })
}

// apart splits operands at white space.
func apart(operands []analysis.Word) []analysis.Word {
	if !slices.ContainsFunc(operands, func(w analysis.Word) bool { return strings.ContainsAny(w.Text, " \t") }) {
		return operands
	}
	var out []analysis.Word
	for _, w := range operands {
		for f := range strings.FieldsSeq(w.Text) {
			out = append(out, analysis.Word{Text: f, Span: w.Span})
		}
	}
	return out
}

// said tells whether operands begin with a phrase.
func (d *compiled) said(operands []analysis.Word, phrase []string) bool {
	for i, want := range phrase {
		if want == "..." {
			for k := i; k <= len(operands); k++ {
				if d.said(operands[k:], phrase[i+1:]) {
					return true
				}
			}
			return false
		}
		if i >= len(operands) || !slices.ContainsFunc(operands[i].Values(), func(v string) bool { return d.means(v, want) }) {
			return false
		}
	}
	return true
}

func (d *compiled) means(v, want string) bool {
	switch {
	case d.fold && strings.EqualFold(v, want), v == want, want == "*" && v != "":
		return true
	case len(want) > 2 && strings.HasSuffix(want, "*") && want != "*=*":
		return strings.HasPrefix(v, want[:len(want)-1])
	case want == "*=*":
		return strings.Contains(v, "=")
	case want == "*:":
		return len(v) == 2 && v[1] == ':'
	}
	return d.brief && v != "" && strings.HasPrefix(want, v)
}

// given is option for parsed arguments, so that a value isn't taken for an option.
func (a *Act) given(args *analysis.Args, names []string, fold bool) bool {
	var others []string
	for _, n := range names {
		name, long := strings.CutPrefix(n, "--")
		if !long || fold {
			others = append(others, n)
		} else if args.Long(name, min(shortest-2, len(name))) {
			return true
		}
	}
	return a.option(others, fold)
}

// shortest is the least of a long option that counts as its abbreviation, with its dashes.
const shortest = 5

// option tells whether one of the options was given, whole, with an attached value, or abbreviated where it begins with two dashes.
func (a *Act) option(names []string, fold bool) bool {
	if len(names) == 0 || len(a.Words) < 2 {
		return false
	}
	for _, w := range a.Words[1:] {
		if w.Text == "--" {
			return false
		}
		for _, v := range w.Values() {
			v = analysis.Plain(v) // a question mark is an option of Windows
			if fold {
				v = windowsOption(strings.ToLower(v))
			}
			v, _, _ = strings.Cut(v, "=")
			if slices.ContainsFunc(names, func(n string) bool {
				return v == n || len(v) >= shortest && v[:2] == "--" && strings.HasPrefix(n, v)
			}) {
				return true
			}
		}
	}
	return false
}

// windowsOption takes the value off an option such as /w:C, and the second slash that keeps a shell from taking it for a path.
func windowsOption(v string) string {
	if strings.HasPrefix(v, "/") {
		v, _, _ = strings.Cut("/"+strings.TrimLeft(v, "/"), ":")
	}
	return v
}

// front parses the options in front of the first operand, and gives what follows them: the grammar of programs that run others.
func (a *Act) front(short string, long ...string) (args analysis.Args, rest []analysis.Word) {
	words := a.Words[1:]
	var letters strings.Builder // of thousands of options
	defer func() { args.Letters = letters.String() }()
	for len(words) > 0 {
		text := words[0].Text
		if text == "--" {
			return args, words[1:]
		}
		if len(text) < 2 || text[0] != '-' {
			break
		}
		words = words[1:]
		wants := false
		if name, ok := strings.CutPrefix(text, "--"); ok {
			name, _, attached := strings.Cut(name, "=")
			args.Names = append(args.Names, name)
			wants = !attached && slices.Contains(long, name)
		} else {
			for i := 1; i < len(text) && !wants; i++ {
				letters.WriteByte(text[i])
				if strings.IndexByte(short, text[i]) >= 0 {
					wants = i+1 == len(text)
					break
				}
			}
		}
		if wants && len(words) > 0 {
			words = words[1:]
		}
	}
	return args, words
}
