package analysis

import (
	"maps"
	"slices"
	"strings"
)

// What a session carries from one command to the next can change what a later one runs: variables with which programs are made to run
// others, and the path in which programs are looked for.

// carriedUses reads the files that carried variables have programs run or load. The values were judged when they were set; what stands
// in the files may have come later.
func (r *reader) carriedUses() {
	if r.in.Files == nil && len(r.files) == 0 || len(r.out.Commands) == 0 {
		return
	}
	uses := variableUses()
	for _, name := range slices.Sorted(maps.Keys(r.in.Vars)) {
		switch uses[name] {
		case useText, useArgv, useSource, useKeys, useCode, useFlags:
			st := &state{dirs: []string{r.in.Dir}, budget: &r.out.budget}
			span := Span{0, len(r.script.text)}
			c := &Command{Program: name, Span: span, Dirs: st.dirs}
			if path, reads := r.in.Vars[name], uses[name] != useCode && uses[name] != useFlags; reads || r.brings(path) {
				r.variableSet(st, name, Word{Text: path, Span: span}, c, place{payload: &span})
			}
		}
	}
}

// brings tells whether a value names a file that came from the network.
func (r *reader) brings(value string) bool {
	return slices.ContainsFunc(strings.FieldsFunc(value, func(c rune) bool { return strings.ContainsRune(" :=", c) }), func(path string) bool {
		f, ok := r.fileAt(Join(r.in.Dir, path))
		return ok && f.origin == FileDownloaded
	})
}

// maxPath bounds the directories of one PATH that are looked at.
const maxPath = 32

// searchPath is a value of PATH, seen from a directory.
type searchPath struct {
	value, from string
	dirs        []searchDir
}

type searchDir struct {
	path string
	temp bool // for temporary files
}

// inPath finds the file that a program's name stands for, when the session brought it: it is the first of that name in PATH. One in
// a directory for temporary files, which anyone may fill, counts too if it is a script.
func (r *reader) inPath(st *state, assigns []Assign, name string) (path string, ok bool) {
	if len(r.files) == 0 && r.in.Files == nil || shellsOwn(name) || !Literal(name) {
		return "", false
	}
	value := r.pathValue(st, assigns)
	if len(r.files) == 0 && !r.broughtAny() && !mayBeTemporary(value, r.in.Vars["TMPDIR"]) {
		return "", false
	}
	for _, dir := range r.searched(value, st.dirs[0]) {
		p := dir.path + "/" + name
		if _, ok := r.files[p]; ok {
			return p, true
		}
		if r.in.Files == nil {
			continue
		}
		if r.in.Files.Origin(p) != "" {
			return p, true
		}
		if dir.temp && r.spend(stepsFile) {
			if text, ok := r.in.Files.Text(p); ok && strings.HasPrefix(text, "#!") {
				r.remember(st, &Command{}, Word{Text: p}, file{origin: FileWritten, text: text, known: true})
				return p, true
			}
		}
	}
	return "", false
}

// broughtAny tells whether the session brought any file.
func (r *reader) broughtAny() bool { return r.in.Files != nil && r.in.Files.Any() }

// standsFor is the program of the system that a name of the session's making leads to, "" for none.
func (r *reader) standsFor(st *state, c simple, word string) string {
	if len(r.files) == 0 && r.in.Files == nil {
		return ""
	}
	if strings.IndexByte(word, '/') >= 0 {
		word = Join(st.dirs[0], word)
	} else if p, ok := r.inPath(st, c.assigns, word); ok {
		word = p
	} else {
		return ""
	}
	f, _ := r.fileAt(word)
	return f.program
}

// pathValue is the PATH by which a command's program is looked for, "" where it isn't known.
func (r *reader) pathValue(st *state, assigns []Assign) string {
	for _, a := range slices.Backward(assigns) {
		if a.Name == "PATH" {
			return a.Value.Text
		}
	}
	if v, _ := r.lookup(st, "PATH"); len(v.vals) == 1 {
		return v.vals[0]
	}
	return ""
}

// mayBeTemporary tells, at a glance, whether a PATH may name a directory for temporary files.
func mayBeTemporary(value, tmp string) bool {
	return strings.Contains(value, "tmp") || strings.Contains(value, "/dev/") || strings.Contains(value, "/run/") || strings.Contains(value, "/folders") ||
		tmp != "" && strings.Contains(value, tmp)
}

// searched are the directories of a PATH, seen from a directory.
func (r *reader) searched(value, from string) []searchDir {
	if r.path.value == value && r.path.from == from {
		return r.path.dirs
	}
	r.path = searchPath{value: value, from: from}
	for dir := range strings.SplitSeq(value, ":") {
		if dir = Join(from, dir); Literal(dir) && strings.HasPrefix(dir, "/") && len(r.path.dirs) < maxPath {
			r.path.dirs = append(r.path.dirs, searchDir{dir, r.out.below(dir, r.in.Home) == ClassTemp})
		}
	}
	r.spend(maxPath)
	return r.path.dirs
}

// shellsOwn tells whether the shell does something itself, whatever stands in PATH.
func shellsOwn(program string) bool {
	switch program {
	case "", ":", ".", "[", "alias", "bg", "bind", "break", "builtin", "cd", "command", "continue", "declare", "dirs", "disown", "echo", "enable", "eval", "exec", "exit",
		"export", "false", "fc", "fg", "getopts", "hash", "help", "history", "jobs", "kill", "let", "local", "logout", "mapfile", "popd", "printf", "pushd", "pwd", "read",
		"readarray", "readonly", "return", "set", "shift", "shopt", "source", "suspend", "test", "times", "trap", "true", "type", "typeset", "ulimit", "umask", "unalias",
		"unset", "wait":
		return true
	}
	return false
}
