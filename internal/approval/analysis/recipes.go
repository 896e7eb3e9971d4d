package analysis

import (
	"slices"
	"strings"
)

// recipe is what a build tool runs for a target.
type recipe struct {
	names  []string
	needs  []string
	params []string // a justfile's recipes have some
	lines  []string
}

// recipeBook is a makefile, justfile or task file as far as it says what is run for which target.
type recipeBook struct {
	recipes []recipe
	vars    map[string]string
	always  []string // commands that run whatever the target is
	open    bool     // other files or generated rules may name more: every recipe counts
}

// Limits of following targets and variables.
const (
	maxTargets    = 200
	maxReferences = 8       // variables inside variables
	maxRecipe     = 8 << 10 // bytes of a line with its variables laid out
)

// wanted lists the recipes that the goals lead to, prerequisites first; without goals those of the first target.
func (b *recipeBook) wanted(goals []string) []recipe {
	if b.open {
		return b.recipes
	}
	if len(goals) == 0 {
		i := slices.IndexFunc(b.recipes, func(r recipe) bool { return len(r.names) > 0 && !strings.HasPrefix(r.names[0], ".") })
		if i < 0 {
			return nil
		}
		goals = b.recipes[i].names[:1]
	}
	var out []recipe
	byName, patterns := map[string][]int{}, []int{}
	for i, r := range b.recipes {
		for _, n := range r.names {
			if strings.ContainsAny(n, "%$") {
				patterns = append(patterns, i)
			} else {
				byName[n] = append(byName[n], i)
			}
		}
	}
	seen := map[string]bool{}
	var visit func(string)
	visit = func(goal string) {
		if seen[goal] || len(seen) >= maxTargets {
			return
		}
		seen[goal] = true
		fitting := slices.Clone(byName[goal])
		for _, i := range patterns[:min(len(patterns), maxTargets)] {
			if slices.ContainsFunc(b.recipes[i].names, func(n string) bool { return patternTarget(n, goal) }) {
				fitting = append(fitting, i)
			}
		}
		for _, i := range fitting {
			for _, n := range b.recipes[i].needs {
				visit(n)
			}
			out = append(out, b.recipes[i])
		}
	}
	for _, g := range goals {
		visit(g)
	}
	return out
}

// patternTarget tells whether a target such as %.o or one with a variable can be the goal.
func patternTarget(name, goal string) bool {
	before, after, ok := strings.Cut(name, "%")
	return ok && strings.HasPrefix(goal, before) && strings.HasSuffix(goal, after) || strings.Contains(name, "$")
}

// readMakefile takes a makefile apart. given are variables of the command line, which come first.
func readMakefile(text string, given map[string]string) *recipeBook {
	b := &recipeBook{vars: map[string]string{"RM": "rm -f", "CC": "cc", "CXX": "c++", "AR": "ar", "LD": "ld", "AS": "as", "CPP": "cc -E", "MAKE": "make"}} // make's own
	for line := range strings.Lines(strings.ReplaceAll(text, "\\\n", " ")) {
		line = strings.TrimRight(line, "\n")
		if body, ok := strings.CutPrefix(line, "\t"); ok {
			if n := len(b.recipes); n > 0 {
				b.recipes[n-1].lines = append(b.recipes[n-1].lines, body)
			}
			continue
		}
		b.always = append(b.always, parenthesised(line, "$(shell ")...)
		word := firstField(line)
		if word == "include" || word == "-include" || word == "define" || strings.HasPrefix(strings.TrimSpace(line), "$(eval") {
			b.open = true
		}
		if name, value, ok := makeVariable(line); ok {
			if b.vars[name] == "" || !strings.Contains(line, "?=") {
				b.vars[name] = value
			}
			continue
		}
		head, rest, ok := strings.Cut(line, ":")
		if !ok || strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		needs, inline, hasInline := strings.Cut(strings.TrimLeft(rest, ":"), ";")
		r := recipe{names: strings.Fields(b.expand(head)), needs: strings.Fields(b.expand(needs))}
		if hasInline {
			r.lines = append(r.lines, inline)
		}
		b.recipes = append(b.recipes, r)
	}
	for name, value := range given {
		b.vars[name] = value
	}
	return b
}

// makeVariable reads NAME = value, with any of make's operators.
func makeVariable(line string) (name, value string, ok bool) {
	name, value, ok = strings.Cut(line, "=")
	if !ok || strings.Contains(strings.TrimRight(name, " :?+!"), ":") || strings.HasPrefix(value, "=") {
		return "", "", false
	}
	name = strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(strings.TrimRight(name, " \t:?+!")), "export "), "override ")
	return name, strings.TrimSpace(value), name != "" && !strings.ContainsAny(name, " \t")
}

// expand puts in the variables of a makefile. One that isn't known stays as the shell's variable of that name.
func (b *recipeBook) expand(text string) string { return b.laidOut(text, 0) }

func (b *recipeBook) laidOut(text string, depth int) string {
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '$' || i+1 >= len(text) || out.Len() > maxRecipe || depth > maxReferences {
			out.WriteByte(text[i])
			continue
		}
		i++
		name := text[i : i+1]
		switch open := text[i]; open {
		case '$':
			out.WriteByte('$')
			continue
		case '(', '{':
			end := strings.IndexByte(text[i:], map[byte]byte{'(': ')', '{': '}'}[open])
			if end < 0 {
				out.WriteString("$" + name)
				continue
			}
			name = text[i+1 : i+end]
			if cmd, ok := strings.CutPrefix(name, "shell "); ok {
				name = cmd
			}
			if strings.ContainsAny(name, " \t$") { // a function, or a command for the shell
				out.WriteString("$(" + name + ")")
				i += end
				continue
			}
			i += end
		}
		plain, _, _ := strings.Cut(name, ":") // of $(SRC:.c=.o)
		if value, ok := b.vars[plain]; ok {
			out.WriteString(b.laidOut(value, depth+1))
			continue
		}
		out.WriteString("${" + strings.Map(nameOnly, plain) + "}")
	}
	return out.String()
}

// readJustfile takes a justfile apart.
func readJustfile(text string, given map[string]string) *recipeBook {
	b := &recipeBook{vars: map[string]string{}}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		body := strings.TrimLeft(line, " \t")
		switch n := len(b.recipes); {
		case body == "" || body[0] == '#' && len(body) == len(line):
		case len(body) < len(line):
			if n > 0 {
				b.recipes[n-1].lines = append(b.recipes[n-1].lines, body)
			}
		case strings.HasPrefix(body, "import ") || strings.HasPrefix(body, "mod "):
			b.open = true
		case strings.Contains(body, ":="):
			name, value, _ := strings.Cut(body, ":=")
			b.vars[strings.TrimPrefix(strings.TrimSpace(name), "export ")] = unquoted(value)
		default:
			if head, needs, ok := strings.Cut(body, ":"); ok && strings.TrimSpace(head) != "" {
				words := strings.Fields(strings.TrimPrefix(head, "@"))
				b.recipes = append(b.recipes, recipe{names: words[:1], params: words[1:], needs: strings.Fields(strings.NewReplacer("(", " ", ")", " ", "&&", " ").Replace(needs))})
			}
		}
	}
	for name, value := range given {
		b.vars[name] = value
	}
	return b
}

// braced puts in what stands between double braces: a justfile's variables and parameters, a task file's .NAME.
func (b *recipeBook) braced(line string) string {
	var out strings.Builder
	for out.Len() < maxRecipe {
		before, rest, ok := strings.Cut(line, "{{")
		out.WriteString(before)
		if !ok {
			break
		}
		name, after, _ := strings.Cut(rest, "}}")
		name = strings.TrimPrefix(strings.TrimSpace(name), ".")
		if value, ok := b.vars[name]; ok {
			out.WriteString(value)
		} else {
			out.WriteString("${" + strings.Map(nameOnly, name) + "}")
		}
		line = after
	}
	return out.String()
}

func nameOnly(c rune) rune {
	if c < 128 && isNameByte(byte(c)) {
		return c
	}
	return '_'
}

// readTasks takes a task file apart: its commands are the items of the lists below a task's name.
func readTasks(text string, given map[string]string) *recipeBook {
	b := &recipeBook{vars: map[string]string{}}
	section, indent := "", -1
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \n")
		body := strings.TrimLeft(line, " ")
		at := len(line) - len(body)
		key, value, keyed := strings.Cut(body, ":")
		n := len(b.recipes)
		switch {
		case body == "" || body[0] == '#':
		case at == 0:
			section, indent = key, -1
			b.open = b.open || key == "includes"
		case section == "vars" && keyed:
			b.vars[key] = unquoted(value)
		case section != "tasks":
		case indent < 0 || at == indent:
			indent = at
			b.recipes = append(b.recipes, recipe{names: []string{unquoted(key)}})
			if cmd := unquoted(value); cmd != "" {
				b.recipes[n].lines = append(b.recipes[n].lines, cmd)
			}
		case key == "deps":
			b.recipes[n-1].needs = append(b.recipes[n-1].needs, strings.FieldsFunc(value, func(c rune) bool { return strings.ContainsRune("[], '\"", c) })...)
		case keyed && at > indent && value != "" && !strings.HasPrefix(body, "- ") && key != "cmd" && key != "cmds" && isVariable(key):
			b.vars[key] = unquoted(value)
		default:
			item, listed := strings.CutPrefix(body, "- ")
			if task, ok := strings.CutPrefix(item, "task:"); ok {
				b.recipes[n-1].needs = append(b.recipes[n-1].needs, unquoted(task))
				continue
			}
			if cmd, ok := strings.CutPrefix(item, "cmd:"); ok {
				item, listed = cmd, true
			}
			if listed {
				b.recipes[n-1].lines = append(b.recipes[n-1].lines, unquoted(item))
				b.recipes[n-1].needs = append(b.recipes[n-1].needs, item) // below deps: the name of a task
			}
		}
	}
	for name, value := range given {
		b.vars[name] = value
	}
	return b
}

func isVariable(key string) bool { return key != "" && strings.ToUpper(key) == key }

// asked are the targets and variables that a build tool is given on its command line.
func asked(operands []Word) (goals []string, given map[string]string) {
	given = map[string]string{}
	for _, w := range operands {
		if name, value, ok := strings.Cut(w.Text, "="); ok {
			given[name] = value
		} else if w.Text != "" {
			goals = append(goals, w.Text)
		}
	}
	return goals, given
}

// makefile reads what make runs for the targets that it is given.
func (r *reader) makefile(st *state, w Word, c *Command, at place) {
	goals, given := asked(c.Args(Grammar{Short: "CfIjloWE", Long: []string{"directory", "file", "makefile", "eval", "include-dir", "jobs", "old-file", "what-if"}}).Operands)
	b := readMakefile(w.Text, given)
	lines := b.always
	for _, rec := range b.wanted(goals) {
		if len(rec.names) > 0 {
			b.vars["@"], b.vars["^"], b.vars["<"] = rec.names[0], strings.Join(rec.needs, " "), ""
			if len(rec.needs) > 0 {
				b.vars["<"] = rec.needs[0]
			}
		}
		for _, line := range rec.lines {
			lines = append(lines, b.expand(strings.TrimLeft(line, "@-+ \t")))
		}
	}
	r.lines(st, lines, w, c, at)
}

// lines reads the lines of recipes as one text.
func (r *reader) lines(st *state, lines []string, w Word, c *Command, at place) {
	if len(lines) > 0 {
		r.text(st.clone(), Word{Text: strings.Join(lines, "\n"), Span: w.Span}, c, at)
	}
}

// justfile reads what just runs for the recipes that it is given; words behind a recipe's name are its parameters.
func justfile(r *reader, st *state, w Word, c *Command, at place) {
	goals, given := asked(c.Args(Grammar{Short: "fd", Long: []string{"justfile", "working-directory", "set", "shell", "dotenv-path"}}).Operands)
	b := readJustfile(w.Text, given)
	for i, goal := range goals {
		for _, rec := range b.recipes {
			if rec.names[0] != goal || len(rec.params) == 0 {
				continue
			}
			for k, p := range rec.params {
				name, value, _ := strings.Cut(strings.TrimLeft(p, "*+$"), "=")
				if i+1+k < len(goals) {
					value = goals[i+1+k]
				}
				if value != "" {
					b.vars[name] = unquoted(value)
				}
			}
		}
	}
	var lines []string
	for _, rec := range b.wanted(goals) {
		for _, line := range rec.lines {
			lines = append(lines, b.braced(strings.TrimLeft(line, "@-")))
		}
	}
	r.lines(st, lines, w, c, at)
}

// taskfile reads what task runs for the tasks that it is given.
func taskfile(r *reader, st *state, w Word, c *Command, at place) {
	goals, given := asked(c.Args(Grammar{Short: "tdo", Long: []string{"taskfile", "dir", "output"}}).Operands)
	if len(goals) == 0 {
		goals = []string{"default"}
	}
	b := readTasks(w.Text, given)
	for _, rec := range b.wanted(goals) {
		for _, line := range rec.lines {
			r.text(st.clone(), Word{Text: b.braced(line), Span: w.Span}, c, at)
		}
	}
}
