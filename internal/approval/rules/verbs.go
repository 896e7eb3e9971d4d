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
//	+-f +--force       one of these options must be given; +--replicas=0 with this value
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
		for i := range p.acts {
			if end, ok := p.walk(p.acts[i].path, words, heads, 0); ok && p.holds(a, &p.acts[i], words, end) {
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
		if set.find(a, name, words) {
			return []Hit{{Reason: does + ": " + a.Line(), Targets: a.place()}}
		}
		if more == nil {
			return nil
		}
		return more(a)
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

// scripts are interpreters that are given a tool as a file, with their option letters that take a value.
var scripts = map[string]string{"python": "WX", "pypy": "WX", "php": "dc", "ruby": "IrCE", "node": "r", "perl": "I", "bash": "oO", "sh": "o"}

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
		case len(text) == 2 && text[0] == '-' && strings.Contains(valued, text[1:]):
			i++
		case strings.HasPrefix(text, "-"):
			if strings.Contains("-c -e -r", text) {
				return a.Program, words
			}
		default:
			return text[strings.LastIndexByte(text, '/')+1:], words[i+1:]
		}
	}
	return a.Program, words
}

// maxHeads is how many operands may stand before the end of a verb, values of unknown options among them.
const maxHeads = 24

// head is an operand where a verb may stand.
type head struct {
	at    int  // in the words
	loose bool // may be the value of the option in front of it, or nothing
}

// harmless are verbs that only look or make: what follows one is no verb.
var harmless = map[string]bool{"help": true, "list": true, "ls": true, "describe": true, "show": true, "get": true, "create": true, "add": true,
	"update": true, "set": true, "ssh": true, "scp": true, "exec": true, "wait": true, "inspect": true, "plan": true, "diff": true, "ps": true,
	"logs": true, "status": true, "build": true, "log": true, "info": true, "apply": true, "up": true, "install": true, "search": true, "edit": true}

// groups are words of that list that also name groups of verbs.
var groups = map[string]bool{"logs": true, "search": true, "log": true, "build": true}

func (p *program) heads(words []analysis.Word) []head {
	var heads []head
	loose := false
	for i := 0; i < len(words) && len(heads) < maxHeads; i++ {
		text := words[i].Text
		switch {
		case text == "--":
			loose = false
		case len(text) > 1 && text[0] == '-':
			loose = true
			if p.wants(text) {
				i++
				loose = false
			} else if strings.Contains(text, "=") {
				loose = false
			}
		default:
			unknown := analysis.Head(text) == "" && !analysis.Known(text)
			heads = append(heads, head{i, loose || unknown})
			loose = false
		}
	}
	return heads
}

// wants tells whether an option's value is the next word.
func (p *program) wants(text string) bool {
	if strings.HasPrefix(text, "--") || p.single {
		name := strings.TrimLeft(text, "-")
		return !strings.Contains(name, "=") && slices.Contains(p.long, name)
	}
	for i := 1; i < len(text); i++ {
		if strings.IndexByte(p.short, text[i]) >= 0 {
			return i == len(text)-1
		}
	}
	return false
}

// walk finds the end of a path among the words.
func (p *program) walk(path []string, words []analysis.Word, heads []head, end int) (int, bool) {
	if len(path) == 0 {
		return end, true
	}
	if path[0] == "**" {
		for n := 0; n <= 6; n++ {
			if e, ok := p.walk(path[1:], words, heads, end); ok {
				return e, true
			}
			if len(heads) == 0 || harmlessWord(words[heads[0].at]) && !groups[words[heads[0].at].Text] {
				return 0, false
			}
			end, heads = heads[0].at+1, heads[1:]
		}
		return 0, false
	}
	for len(heads) > 0 {
		w := words[heads[0].at]
		if p.is(w, path[0]) {
			if e, ok := p.walk(path[1:], words, heads[1:], heads[0].at+1); ok {
				return e, true
			}
		}
		if !heads[0].loose || harmlessWord(w) {
			return 0, false
		}
		heads = heads[1:]
	}
	return 0, false
}

func harmlessWord(w analysis.Word) bool { return len(w.Alts) == 0 && harmless[w.Text] }

// is tells whether a word can be one of the alternatives of an element.
func (p *program) is(w analysis.Word, element string) bool {
	if element == "*" {
		return !harmlessWord(w) || groups[w.Text]
	}
	for _, v := range w.Values() {
		if p.fold {
			v = strings.ToLower(v)
		}
		for alt := range strings.SplitSeq(element, "|") {
			if v == alt || strings.ContainsAny(alt, "*?") && like(alt, v) {
				return true
			}
		}
	}
	return false
}

// like matches a text with a pattern of * and ?.
func like(pattern, text string) bool {
	star, back, t, p := -1, 0, 0, 0
	for t < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, back = p, t
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == text[t]):
			p, t = p+1, t+1
		case star >= 0:
			back++
			p, t = star+1, back
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}

// option is one option that was given.
type option struct {
	key   string // -f or --force
	value string // attached, or the next word where it is one
	bound bool   // the value is attached
	sure  bool   // given for certain
}

// given are the options and operands of a call.
type given struct {
	options  []option
	operands []analysis.Word
}

// collect reads options over all words, and operands behind the verb.
func (p *program) collect(act *verbAct, words []analysis.Word, end int) *given {
	g := &given{}
	for i := 0; i < len(words); i++ {
		w := words[i]
		if w.Text == "--" && i >= end {
			g.operands = append(g.operands, words[i+1:]...)
			break
		}
		next := analysis.Word{}
		if i+1 < len(words) {
			next = words[i+1]
		}
		operand, skip := false, false
		for _, v := range w.Values() {
			if len(v) < 2 || v[0] != '-' {
				operand = true
				continue
			}
			skip = p.read(g, act, v, next.Text, i < end, len(w.Alts) == 0) || skip
		}
		if operand && i >= end {
			g.operands = append(g.operands, w)
		}
		if skip && len(w.Alts) == 0 {
			i++
		}
	}
	return g
}

// read records the options of one word. It tells whether the next word is a value.
func (p *program) read(g *given, act *verbAct, text, next string, before, sure bool) (skip bool) {
	if strings.HasPrefix(text, "--") || p.single {
		name, value, bound := strings.Cut(strings.TrimLeft(text, "-"), "=")
		if !bound {
			value = next
		}
		g.options = append(g.options, option{"--" + name, value, bound, sure})
		return p.wants(text)
	}
	for i := 1; i < len(text); i++ {
		key, rest := "-"+text[i:i+1], text[i+1:]
		valued := strings.IndexByte(p.short, text[i]) >= 0
		if before && valued {
			return rest == ""
		}
		if valued && act.names(key, p.safe) {
			valued = false // behind the verb the letter means something else than in front of it
		}
		if valued || strings.IndexByte(act.short, text[i]) >= 0 && !before {
			value := strings.TrimPrefix(rest, "=")
			if rest == "" {
				value = next
			}
			g.options = append(g.options, option{key, value, true, sure})
			return rest == ""
		}
		value, bound := strings.CutPrefix(rest, "=")
		g.options = append(g.options, option{key, value, bound, sure})
		if bound {
			return false
		}
	}
	return false
}

// names tells whether the act, or what makes all acts safe, has a condition on the option.
func (act *verbAct) names(key string, safe []string) bool {
	return slices.Contains(act.need, key) || slices.Contains(act.also, key) || slices.Contains(act.not, key) || slices.Contains(safe, key)
}

var refusals = []string{"false", "no", "none", "off", "0"}

// has tells whether an option of the list was given, for certain if sure.
func (p *program) has(g *given, list []string, sure bool) bool {
	for _, want := range list {
		key, value, valued := strings.Cut(want, "=")
		on := false
		for _, o := range g.options {
			switch {
			case sure && !o.sure:
			case o.key == key, p.abbrev && len(o.key) > 3 && strings.HasPrefix(key, o.key) && strings.HasPrefix(key, "--"):
				if valued {
					on = on || strings.EqualFold(o.value, value)
				} else {
					on = !o.bound || !slices.Contains(refusals, strings.ToLower(o.value))
				}
			case strings.HasPrefix(key, "--") && o.key == "--no-"+key[2:]:
				on = false
			}
		}
		if on {
			return true
		}
	}
	return false
}

// holds tells whether the conditions of an act are met.
func (p *program) holds(a *Act, act *verbAct, words []analysis.Word, end int) bool {
	g := p.collect(act, words, end)
	if p.has(g, p.safe, true) || p.has(g, act.not, true) || p.operand(a, g, act.not) {
		return false
	}
	if len(g.operands) > 0 && g.operands[0].Is("help") && len(act.path) > 0 {
		return false
	}
	return p.met(a, g, act.need) && p.met(a, g, act.also)
}

func (p *program) met(a *Act, g *given, list []string) bool {
	return len(list) == 0 || p.has(g, list, false) || p.operand(a, g, list)
}

// operand tells whether an operand fulfils one of the conditions that begin with @.
func (p *program) operand(a *Act, g *given, list []string) bool {
	for _, want := range list {
		if want[0] != '@' {
			continue
		}
		if slices.ContainsFunc(g.operands, func(w analysis.Word) bool { return fulfils(a, w, want[1:]) }) {
			return true
		}
	}
	return false
}

func fulfils(a *Act, w analysis.Word, want string) bool {
	switch want {
	case "glob":
		return strings.Contains(analysis.Plain(w.Text), "*")
	case "bulk":
		return !analysis.Known(w.Text) && (!w.From.Empty() || a.Under("xargs", "parallel"))
	}
	return slices.ContainsFunc(w.Values(), func(v string) bool { return like(want, v) })
}
