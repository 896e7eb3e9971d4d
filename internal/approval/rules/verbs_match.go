package rules

import (
	"slices"
	"strings"

	"github.com/hermes-runtime/hermes/internal/approval/analysis"
)

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
	"logs": true, "status": true, "build": true, "log": true, "info": true, "apply": true, "up": true, "install": true, "search": true,
	"edit": true, "read": true, "tail": true, "write": true, "view": true, "check": true, "validate": true, "start": true, "stop": true,
	"restart": true, "deploy": true, "login": true, "copy": true, "cp": true, "mv": true, "import": true, "export": true, "query": true,
	"call": true, "publish": true, "connect": true, "rename": true, "resize": true}

// groups are words of that list that also name groups of verbs.
var groups = map[string]bool{"logs": true, "search": true, "log": true, "build": true, "deploy": true, "query": true}

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
			if len(heads) == 0 || harmlessWord(words[heads[0].at]) && !isGroup(words, heads[0].at, end) {
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

// isGroup tells whether a word that may be a harmless verb names a group of verbs where it stands: it is the first, or about logs.
func isGroup(words []analysis.Word, at, end int) bool {
	text := words[at].Text
	first := end == 0 || words[end-1].Is("beta") || words[end-1].Is("alpha")
	return groups[text] && (first || text == "logs")
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

// reading is what one program's acts read from the words of a call: those with the same verb read the same.
type reading struct {
	end     int
	letters string // those that mean something else for the act
	given   *given
}

// collected is collect, done once for the acts that differ in nothing that it looks at.
func (p *program) collected(act *verbAct, words []analysis.Word, end int, done *[]reading) *given {
	if len(words) <= few*few {
		return p.collect(act, words, end)
	}
	letters := act.short + "," + p.ownLetters(act)
	for _, r := range *done {
		if r.end == end && r.letters == letters {
			return r.given
		}
	}
	g := p.collect(act, words, end)
	*done = append(*done, reading{end, letters, g})
	return g
}

// ownLetters are those that take a value in front of the verb, and that the act has a condition on.
func (p *program) ownLetters(act *verbAct) (letters string) {
	for i := range p.short {
		if act.names("-"+p.short[i:i+1], nil) {
			letters += p.short[i : i+1]
		}
	}
	return letters
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
					on = on || like(strings.ToLower(value), strings.ToLower(o.value))
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
func (p *program) holds(a *Act, act *verbAct, g *given) bool {
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
