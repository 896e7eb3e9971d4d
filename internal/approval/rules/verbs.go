package rules

import (
	"slices"
	"strings"
	"sync"

	"github.com/hermes-runtime/hermes/internal/approval/analysis"
)

// tool is a program whose first words are verbs, and those of its verbs that destroy something.
//
// A line of acts is one verb: words in their order, and conditions.
//
//	volume rm|remove   words; alternatives; * is any word but a verb that is known to be harmless, ** up to six of them
//	delete-*           * and ? inside a word
//	+-f +--force       one of these options must be given; +--replicas=0 with a value like this
//	&-f &--force       and one of these
//	!-n !--dry-run     none of these may be given
//	+@glob +@bulk      an operand with a wildcard, from a substitution or a list; +@PATTERN one that matches
//	:eo                further option letters of the verb that take a value
//
// An option counts wherever it stands, in a bundle, with its value attached or not, and not when its value says no.
type tool struct {
	names  string // programs
	short  string // option letters that take a value, in front of the verb
	long   string // long options that take a value
	safe   string // options with which no verb does anything
	single bool   // one dash introduces long options, as with Go's flags
	abbrev bool   // long options may be cut short
	fold   bool   // case doesn't matter in verbs
	noHelp bool   // -h isn't the help option
	local  string // first words of what is about the tool itself
	acts   string
}

// verbAct is one compiled line.
type verbAct struct {
	path  []string
	need  []string
	also  []string
	not   []string
	short string
}

// program is a compiled tool.
type program struct {
	tool
	names []string
	long  []string
	safe  []string
	local []string
	acts  []verbAct
}

func (t tool) compile() *program {
	p := &program{tool: t, names: strings.Fields(t.names), long: strings.Fields(t.long), safe: strings.Fields(t.safe),
		local: strings.Fields(t.local)}
	if !t.noHelp && !strings.Contains(t.short, "h") {
		p.safe = append(p.safe, "-h")
	}
	if t.single {
		p.safe = append(p.safe, "--h", "--help")
	}
	for line := range strings.Lines(t.acts) {
		var a verbAct
		for word := range strings.FieldsSeq(line) {
			switch rest := word[1:]; word[0] {
			case '+':
				a.need = append(a.need, rest)
			case '&':
				a.also = append(a.also, rest)
			case '!':
				a.not = append(a.not, rest)
			case ':':
				a.short += rest
			default:
				a.path = append(a.path, word)
			}
		}
		if len(a.path)+len(a.need) > 0 {
			p.acts = append(p.acts, a)
		}
	}
	return p
}

// toolSet finds tools by their programs. They are compiled when the first command of one is judged.
type toolSet struct {
	tools  []tool
	byName func() map[string][]*program
}

func newToolSet(tools []tool) *toolSet {
	return &toolSet{tools: tools, byName: sync.OnceValue(func() map[string][]*program {
		m := map[string][]*program{}
		for _, t := range tools {
			p := t.compile()
			for _, n := range p.names {
				m[n] = append(m[n], p)
			}
		}
		return m
	})}
}

func (s *toolSet) programs() []string {
	var names []string
	for _, t := range s.tools {
		names = append(names, strings.Fields(t.names)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// find tells whether words, the program left out, are a destroying call of the program.
func (s *toolSet) find(a *Act, name string, words []analysis.Word) bool {
	for _, p := range s.byName()[name] {
		heads := p.heads(words)
		if len(heads) > 0 && slices.Contains(p.local, words[heads[0].at].Text) {
			continue
		}
		var done []reading
		for i := range p.acts {
			if end, ok := p.walk(p.acts[i].path, words, heads, 0); ok && p.holds(a, &p.acts[i], p.collected(&p.acts[i], words, end, &done)) {
				return true
			}
		}
	}
	return false
}

// verbRow is a row that matches verbs of tools, and what more finds.
func verbRow(r Row, does string, tools []tool, more func(*Act) []Hit, programs ...string) Row {
	set := newToolSet(tools)
	r.Programs = append(set.programs(), programs...)
	slices.Sort(r.Programs)
	r.Programs = slices.Compact(r.Programs)
	r.Match = func(a *Act) []Hit {
		if len(a.Words) == 0 {
			return nil
		}
		name, words := scriptOf(a)
		hit := set.find(a, name, words)
		if !hit && slices.Contains(projectRunners, a.Program) {
			name, words = projectTool(words)
			hit = set.find(a, name, words)
		}
		if hit {
			return []Hit{{Reason: does + ": " + a.Line(), Targets: a.place()}}
		}
		if more == nil {
			return nil
		}
		return more(a)
	}
	return r
}

// alsoVerbs adds verbs of tools to a row that matches something else.
func alsoVerbs(r Row, does string, set func() *toolSet) Row {
	r.Programs = append(slices.Clone(r.Programs), set().programs()...)
	slices.Sort(r.Programs)
	r.Programs = slices.Compact(r.Programs)
	other := r.Match
	r.Match = func(a *Act) []Hit {
		if len(a.Words) > 1 && set().find(a, a.Program, a.Words[1:]) {
			return []Hit{{Reason: does + ": " + a.Line()}}
		}
		return other(a)
	}
	return r
}

// place is where version control works; other tools' acts aren't in a directory.
func (a *Act) place() []analysis.Target {
	switch a.Program {
	case "git", "hg", "svn":
		return a.each([]analysis.Word{gitDir(a)}, func(analysis.Target) bool { return true })
	}
	return nil
}

// projectRunners run a tool of the project when their first word is its name.
var projectRunners = []string{"pnpm", "yarn", "bun"}

// projectTool gives the tool that such a program is told to run.
func projectTool(words []analysis.Word) (string, []analysis.Word) {
	for i, w := range words {
		if !strings.HasPrefix(w.Text, "-") && !w.Is("run") && !w.Is("exec") {
			return w.Text, words[i+1:]
		}
	}
	return "", nil
}

// scripts are interpreters that are given a tool as a file, with their option letters that take a value.
var scripts = map[string]string{"python": "WX", "pypy": "WX", "php": "dc", "ruby": "IrCE", "node": "r", "perl": "I", "bash": "oO", "sh": "o", "java": ""}

// scriptOf gives the program that really runs: of an interpreter with a script or module, that.
func scriptOf(a *Act) (string, []analysis.Word) {
	words := a.Words[1:]
	valued, ok := scripts[a.Program]
	if !ok {
		return a.Program, words
	}
	for i := 0; i < len(words); i++ {
		text := words[i].Text
		switch {
		case a.Program == "python" && text == "-m" && i+1 < len(words):
			return words[i+1].Text, words[i+2:]
		case a.Program == "java" && text == "-jar" && i+1 < len(words):
			return jarName(words[i+1].Text), words[i+2:]
		case len(text) == 2 && text[0] == '-' && strings.Contains(valued, text[1:]):
			i++
		case strings.HasPrefix(text, "-"):
			if text == "-" || text == "-c" || text == "-e" || text == "-r" { // code, no file
				return a.Program, words
			}
		default:
			return text[strings.LastIndexByte(text, '/')+1:], words[i+1:]
		}
	}
	return a.Program, words
}

// jarName gives the program that an archive of Java holds: its name without directory, version and ending.
func jarName(path string) string {
	name := strings.TrimSuffix(path[strings.LastIndexByte(path, '/')+1:], ".jar")
	if i := strings.IndexAny(name, "0123456789"); i > 1 && name[i-1] == '-' {
		name = name[:i-1]
	}
	return name
}
