package analysis

import (
	"maps"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// variable is what is known of a shell variable: its possible values, or the elements of an array.
type variable struct {
	vals []string
	list []Word // an array's elements, when array
	arr  bool
	keys map[string]Word // an associative array's, by key
	ref  string          // the variable that a name reference stands for
	from Flow            // commands whose output it holds
}

// state is what a shell knows at one point of the text. A subshell and a branch work on a clone.
type state struct {
	vars     map[string]variable
	dirs     []string // possible directories, the likely one first
	failed   []string // directories if the last cd failed and nothing has looked at its status yet
	funcs    map[string]*function
	fds      map[string]Stdin // what stands behind descriptors
	args     []Word           // positional parameters, when argsKnown
	argsOK   bool
	name     string // $0
	errexit  bool
	owned    bool // vars and funcs belong to this state alone
	assigned []string
	budget   *Budget // what copies of this are taken from
}

type function struct {
	body   *syntax.Stmt
	at     place
	called bool
	bomb   bool // said already
}

func (st *state) clone() *state {
	c := *st
	c.owned = false
	st.owned = false
	c.assigned = nil
	return &c
}

func (st *state) own() {
	if st.owned {
		return
	}
	st.budget.Spend(len(st.vars) + len(st.funcs))
	st.vars, st.funcs = maps.Clone(st.vars), maps.Clone(st.funcs)
	if st.vars == nil {
		st.vars = map[string]variable{}
	}
	if st.funcs == nil {
		st.funcs = map[string]*function{}
	}
	st.owned = true
}

func (st *state) set(name string, v variable) {
	st.own()
	st.vars[name] = v
	st.assigned = append(st.assigned, name)
}

func (st *state) unset(name string) {
	st.set(name, variable{vals: []string{""}})
}

// merge makes st what it is after a branch that may or may not have run.
func (st *state) merge(branch *state, in *reader) {
	in.spend(len(branch.assigned) + len(branch.funcs))
	for _, name := range branch.assigned {
		now, ok := in.lookup(st, name)
		if !ok {
			now = variable{vals: []string{markUnknown}}
		}
		after := branch.vars[name]
		if now.arr || after.arr {
			st.set(name, variable{vals: []string{markUnknown}})
			continue
		}
		st.set(name, variable{vals: union(now.vals, after.vals), from: either(now.from, after.from)})
	}
	for name, f := range branch.funcs {
		if st.funcs[name] != f {
			st.own()
			st.funcs[name] = f
		}
	}
	st.dirs = union(st.dirs, branch.dirs)
	st.failed = union(st.failed, branch.failed)
}

// either makes st what it is after one of two branches.
func (st *state) either(a, b *state, in *reader) {
	in.spend(len(a.assigned) + len(b.assigned) + len(a.funcs) + len(b.funcs))
	st.dirs, st.failed = union(a.dirs, b.dirs), union(a.failed, b.failed)
	vals := func(s *state, name string) []string {
		v, ok := in.lookup(s, name)
		if !ok || v.arr {
			return []string{markUnknown}
		}
		return v.vals
	}
	for _, name := range append(a.assigned, b.assigned...) {
		st.set(name, variable{vals: union(vals(a, name), vals(b, name)), from: either(a.vars[name].from, b.vars[name].from)})
	}
	for _, s := range []*state{a, b} {
		for name, f := range s.funcs {
			if st.funcs[name] != f {
				st.own()
				st.funcs[name] = f
			}
		}
	}
}

// either returns the first flow that isn't empty.
func either(a, b Flow) Flow {
	if a.Empty() {
		return b
	}
	return a
}

// settle is called where nothing has looked at the status of a cd: both outcomes stay possible.
func (st *state) settle() {
	if len(st.failed) > 0 && !st.errexit {
		st.dirs = union(st.dirs, st.failed)
	}
	st.failed = nil
}

// lookup returns what a variable holds. ok is false when nothing is known of it.
func (r *reader) lookup(st *state, name string) (variable, bool) {
	if v, ok := st.vars[name]; ok {
		if v.ref != "" && v.ref != name {
			name = v.ref
			if v, ok = st.vars[name]; ok {
				return v, true
			}
		} else {
			return v, true
		}
	}
	if text, ok := r.in.Vars[name]; ok && name != "PWD" && name != "IFS" { // which a shell sets anew
		return variable{vals: []string{strings.ReplaceAll(text, string(mark), "")}}, true
	}
	text, ok := "", true
	switch name {
	case "HOME":
		if text = r.in.Home; text == "" {
			text = HomeUnknown
		}
	case "HERMES_HOME":
		text, ok = r.in.Hermes, r.in.Hermes != ""
	case "PWD":
		return variable{vals: unknownDirs(st.dirs)}, true
	case "USER", "LOGNAME":
		if text = r.in.User; text == "" {
			text = markSome
		}
	case "IFS":
		text = " \t\n"
	default:
		text, ok = usual[name]
	}
	if !ok {
		return variable{}, false
	}
	return variable{vals: []string{text}}, true
}

// usual are variables that every shell has, as far as their values are alike everywhere.
var usual = map[string]string{"SHELL": "/bin/sh", "BASH": "/bin/bash", "PATH": "/" + markSome}

func unknownDirs(dirs []string) []string {
	out := slices.Clone(dirs)
	for i, d := range out {
		if d == "" {
			out[i] = markSome
		}
	}
	return out
}

// home is the home directory as a value: a path of which only the place is known when it isn't.
func (r *reader) home(st *state) []string {
	if v, _ := r.lookup(st, "HOME"); !v.arr && len(v.vals) > 0 {
		return v.vals
	}
	return []string{HomeUnknown}
}

// HomeUnknown stands for a home directory whose name isn't known.
const HomeUnknown = "/home/" + markSome

// splitFields splits a value as the shell splits an unquoted expansion. keepLeft and keepRight tell whether the value begins or
// ends inside a field.
func splitFields(text, ifs string) (fields []string, openLeft, openRight bool) {
	if text == "" {
		return nil, true, true
	}
	fields = strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(ifs, r) })
	return fields, !strings.ContainsRune(ifs, rune(text[0])), !strings.ContainsRune(ifs, rune(text[len(text)-1]))
}
