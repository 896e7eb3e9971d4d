package analysis

import (
	"slices"
	"strings"
)

// builtin gives how a builtin changes what the shell knows, nil for other programs. It is called after its command was recorded.
func builtin(program string) func(*reader, *state, *Command) {
	switch program {
	case "cd", "pushd":
		return changeDir
	case "popd":
		return loseDir
	case "unset":
		return unsetVars
	case "read", "mapfile", "readarray", "getopts":
		return readVars
	case "set":
		return setOptions
	case "shift":
		return shiftArgs
	case "printf":
		return printfVar
	case "export", "readonly", "local", "declare", "typeset":
		return declareWords
	}
	return nil
}

// alwaysThere are directories into which a cd can't fail in practice, so that only one outcome is kept.
var alwaysThere = []string{"/", "/tmp", "/var/tmp", "/etc", "/usr", "/var", "/bin", "/home", "/opt", "/root"}

func changeDir(r *reader, st *state, c *Command) {
	for _, a := range c.Assigns {
		if a.Name == "CDPATH" {
			old, had := st.vars["CDPATH"]
			st.set("CDPATH", variable{vals: a.Value.Values()})
			defer func() {
				if st.set("CDPATH", old); !had {
					st.unset("CDPATH")
				}
			}()
		}
	}
	operand, found := "", false
	for _, w := range c.Words[1:] {
		if !found && len(w.Text) > 1 && w.Text[0] == '-' {
			continue // -L, -P, -e, --
		}
		if !found && w.Text == "-" {
			st.fail(unionDirs(st.dirs, nil))
			st.dirs = []string{r.oldDir(st)}
			return
		}
		if found {
			break
		}
		found, operand = true, w.Text
		if len(w.Alts) > 0 {
			r.moveTo(st, w.Values())
			return
		}
	}
	if !found {
		if c.Program == "pushd" {
			loseDir(r, st, c)
			return
		}
		r.moveTo(st, r.home(st))
		return
	}
	r.moveTo(st, []string{operand})
}

func (r *reader) oldDir(st *state) string {
	if v, ok := r.lookup(st, "OLDPWD"); ok && len(v.vals) == 1 && Literal(v.vals[0]) {
		return v.vals[0]
	}
	return ""
}

func (r *reader) moveTo(st *state, operands []string) {
	var dirs []string
	sure := true
	for _, p := range r.cdPath(st) {
		for _, op := range operands {
			if op != "" && op[0] != '/' && op[0] != '.' && op[0] != mark {
				dirs = unionDirs(dirs, []string{Join(p, op)})
			}
		}
	}
	for _, op := range operands {
		if op == "" { // cd "" stays
			dirs = unionDirs(dirs, st.dirs)
			continue
		}
		for _, d := range st.dirs {
			next := Join(d, op)
			if !Known(next) && !strings.HasPrefix(next, "/") {
				next = ""
			}
			sure = sure && (slices.Contains(alwaysThere, next) || next == r.in.Home && next != "" || slices.Contains(st.dirs, next))
			dirs = unionDirs(dirs, []string{next})
		}
	}
	old := st.dirs
	if len(old) == 1 {
		st.set("OLDPWD", variable{vals: unknownDirs(old)})
	}
	if !sure {
		st.fail(old)
	}
	st.dirs = dirs
}

// searched are the directories of CDPATH.
func (r *reader) cdPath(st *state) []string {
	v, ok := r.lookup(st, "CDPATH")
	if !ok || len(v.vals) != 1 || !Literal(v.vals[0]) {
		return nil
	}
	return slices.DeleteFunc(strings.Split(v.vals[0], ":"), func(d string) bool { return !strings.HasPrefix(d, "/") })
}

func (st *state) fail(dirs []string) { st.failed = unionDirs(st.failed, dirs) }

func unionDirs(a, b []string) []string {
	out := slices.Clone(a)
	for _, d := range b {
		if !slices.Contains(out, d) && len(out) < MaxValues {
			out = append(out, d)
		}
	}
	return out
}

func loseDir(_ *reader, st *state, _ *Command) { st.dirs = []string{""} }

func unsetVars(r *reader, st *state, c *Command) {
	functions := false
	for _, w := range c.Words[1:] {
		name, ok := w.Exact()
		switch {
		case !ok:
		case strings.HasPrefix(name, "-"):
			functions = functions || strings.Contains(name, "f")
		case functions:
			st.own()
			delete(st.funcs, name)
		default:
			st.unset(name)
		}
	}
}

// readVars sets what read and its kin read: known when the input is.
func readVars(r *reader, st *state, c *Command) {
	if c.Program == "getopts" {
		r.options(st, c)
		return
	}
	short := "adinNptu"
	if c.Program != "read" {
		short = "dnOsuCc"
	}
	args := c.Args(Grammar{Short: short})
	input, known := c.Stdin.Text, c.Stdin.Known
	if c.Stdin.Kind == StdinFile {
		out := r.contents(c, []string{c.Stdin.File.Text})
		input, known = out.text, out.known
	}
	lines := strings.Split(strings.TrimSuffix(input, "\n"), "\n")
	if c.Program == "mapfile" || c.Program == "readarray" {
		mapLines(st, args.Operands, lines, known)
		return
	}
	if r.loops == 0 {
		lines = lines[:1]
	}
	ifs := st.ifs()
	for _, a := range c.Assigns { // IFS= in front is for read alone
		if a.Name == "IFS" && len(a.Value.Alts) == 0 && Literal(a.Value.Text) {
			ifs = a.Value.Text
		}
	}
	known = known && c.Program == "read" && len(lines) <= MaxValues
	names := args.Operands
	if arrays := args.Values["a"]; len(arrays) > 0 {
		v := variable{vals: []string{markUnknown}, from: c.Stdin.From}
		if known && len(lines) == 1 {
			v = variable{arr: true, list: fieldWords(lines[0], ifs)}
		}
		st.set(arrays[0].Text, v)
		return
	}
	if len(names) == 0 {
		names = []Word{{Text: "REPLY"}}
	}
	for i, w := range names {
		name, ok := w.Exact()
		if !ok {
			continue
		}
		v := variable{from: c.Stdin.From}
		for _, l := range lines {
			v.vals = union(v.vals, []string{readField(l, i, i == len(names)-1, ifs)})
		}
		switch {
		case !known && i == 0 && strings.HasPrefix(input, someDevice):
			v.vals = []string{someDevice}
		case !known:
			v.vals = []string{markUnknown}
		}
		st.set(name, v)
	}
}

// options sets what getopts finds among the parameters: the letter, and the values of all options that take one.
func (r *reader) options(st *state, c *Command) {
	if len(c.Words) < 3 {
		return
	}
	args, known := st.args, st.argsOK
	if len(c.Words) > 3 {
		args, known = c.Words[3:], true
	}
	letter, value := variable{vals: []string{markUnknown}}, variable{vals: []string{markUnknown}}
	if spec, ok := c.Words[1].Exact(); ok && known {
		var valued string
		for i := 1; i < len(spec); i++ {
			if spec[i] == ':' {
				valued += spec[i-1 : i]
			}
		}
		letter.vals, value.vals = nil, nil
		for i := 0; i < len(args) && len(args[i].Text) > 1 && args[i].Text[0] == '-' && args[i].Text != "--"; i++ {
			flag := parseFlag(args[i].Text, valued, nil)
			for _, ch := range flag.letters {
				letter.vals = union(letter.vals, []string{string(ch)})
			}
			switch {
			case flag.wants && i+1 < len(args):
				i++
				value.vals, value.from = union(value.vals, args[i].Values()), either(value.from, args[i].From)
			case flag.value != "":
				value.vals = union(value.vals, []string{flag.value})
			}
		}
	}
	for name, v := range map[string]variable{c.Words[2].Text: letter, "OPTARG": value} {
		if len(v.vals) == 0 {
			v.vals = []string{""}
		}
		st.set(name, v)
	}
}

// mapLines sets the array that mapfile reads lines into.
func mapLines(st *state, names []Word, lines []string, known bool) {
	for _, w := range names {
		v := variable{vals: []string{markUnknown}}
		if known && len(lines) <= MaxLoopItems {
			v = variable{arr: true}
			for _, l := range lines {
				v.list = append(v.list, Word{Text: l, Span: w.Span})
			}
		}
		st.set(w.Text, v)
	}
}

// readField is what read puts into its n-th variable: a field, or for the last one the rest of the line.
func readField(line string, n int, last bool, ifs string) string {
	line = strings.Trim(line, " \t")
	for range n {
		i := strings.IndexAny(line, ifs)
		if i < 0 {
			return ""
		}
		line = strings.TrimLeft(line[i+1:], " \t")
	}
	if i := strings.IndexAny(line, ifs); i >= 0 && !last && ifs != "" {
		return line[:i]
	}
	return line
}

func fieldWords(text, ifs string) []Word {
	fields, _, _ := splitFields(text, ifs)
	words := make([]Word, len(fields))
	for i, f := range fields {
		words[i] = Word{Text: f}
	}
	return words
}

// ifs are the characters that split fields.
func (st *state) ifs() string {
	if v, ok := st.vars["IFS"]; ok && len(v.vals) == 1 && Literal(v.vals[0]) {
		return v.vals[0]
	}
	return " \t\n"
}

func setOptions(r *reader, st *state, c *Command) {
	for i, w := range c.Words[1:] {
		text := w.Text
		switch {
		case text == "--" || text == "-" || text != "" && text[0] != '-' && text[0] != '+' && (i == 0 || c.Words[i].Text != "-o"):
			if text == "--" {
				i++
			}
			st.args, st.argsOK = c.Words[i+1:], true
			return
		case strings.HasPrefix(text, "-"):
			st.errexit = st.errexit || strings.Contains(text, "e")
			r.exportsAll = r.exportsAll || strings.Contains(text, "a")
		case text == "errexit":
			st.errexit = true
		case text == "allexport":
			r.exportsAll = true
		case text == "vi" && c.Words[i].Text == "-o":
			r.keysUnknown("keys mean something else from here on", w.Span, c)
		case strings.HasPrefix(text, "+") && strings.Contains(text, "e"):
			st.errexit = false
		}
	}
}

func shiftArgs(_ *reader, st *state, c *Command) {
	if !st.argsOK {
		return
	}
	if len(c.Words) > 1 && !c.Words[1].Is("1") {
		st.argsOK = false
		return
	}
	st.args = st.args[min(1, len(st.args)):]
}

func printfVar(r *reader, st *state, c *Command) {
	if len(c.Words) < 4 || !c.Words[1].Is("-v") {
		return
	}
	name, ok := c.Words[2].Exact()
	if !ok {
		return
	}
	inner := *c
	inner.Words = append([]Word{c.Words[0]}, c.Words[3:]...)
	val := markUnknown
	if out := r.prints(st, &inner); out.known {
		val = out.text
	}
	st.set(name, variable{vals: []string{val}})
}

// declareWords handles a declaration that the grammar didn't see as one, because it stood behind a wrapper.
func declareWords(r *reader, st *state, c *Command) {
	r.exports(st, c.Program, texts(c.Words[1:]))
	for _, w := range c.Words[1:] {
		if name, val, ok := strings.Cut(w.Text, "="); ok && len(w.Alts) == 0 {
			st.set(name, variable{vals: []string{val}})
		}
	}
}
