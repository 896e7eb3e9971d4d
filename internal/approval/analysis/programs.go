package analysis

import (
	"maps"
	"slices"
	"strings"
	"sync"
)

// carriers are the programs that run what they are given, in order. A command word that is only partly known is compared with them
// and with Input.Programs: a word that can be none of them hides nothing.
var carriers = sync.OnceValue(func() []string {
	set := map[string]bool{"eval": true, "source": true, ".": true, "su": true, "runuser": true, "trap": true, "alias": true, "fd": true,
		"fdfind": true, "find": true, "script": true}
	for name := range strings.FieldsSeq(specials) {
		set[name] = true
	}
	for name := range wrappers() {
		set[name] = true
	}
	for name := range interpreters() {
		set[name] = true
	}
	return slices.Sorted(maps.Keys(set))
})

// carrierSet is the same list to look a name up in.
var carrierSet = sync.OnceValue(func() map[string]bool {
	set := map[string]bool{}
	for _, name := range carriers() {
		set[name] = true
	}
	return set
})

// programs lists the programs that a command word can be. A word that isn't known is one without a name, and a note.
func (r *reader) programs(word string, c simple, st *state) []string {
	base := word
	if i := strings.LastIndexByte(word, '/'); i >= 0 {
		base = word[i+1:]
	}
	if Literal(base) {
		if len(r.renamed) > 0 {
			if name, ok := r.renamed[Join(st.dirs[0], word)]; ok && base != word {
				return []string{name}
			}
			if name, ok := r.renamed[word]; ok {
				return []string{name}
			}
		}
		if name := r.standsFor(st, c, word); name != "" {
			return []string{name}
		}
		return []string{programName(base)}
	}
	if len(base) > maxName {
		base = markUnknown
	}
	for strings.Contains(base, markStar+markStar) {
		base = strings.ReplaceAll(base, markStar+markStar, markStar)
	}
	if !Known(base) {
		return r.unknownProgram(word, base, c)
	}
	if names := r.matching(base); len(names) > 0 {
		return names
	}
	return []string{""}
}

// matching lists the carriers and the programs with a row that a pattern stands for. Patterns are often met again.
func (r *reader) matching(base string) []string {
	names, ok := r.patterns[base]
	if ok {
		return names
	}
	r.spend((len(carriers()) + len(r.in.Programs)) * (1 + len(base)/bytesMatched) / namesMatched)
	for _, name := range carriers() {
		if MatchesName(base, name) {
			names = append(names, name)
		}
	}
	for _, name := range r.in.Programs {
		if !carrierSet()[name] && MatchesName(base, name) {
			names = append(names, name)
		}
	}
	if r.patterns == nil {
		r.patterns = map[string][]string{}
	}
	r.patterns[base] = names
	return names
}

// How many names are compared with a pattern in one step, and from how many bytes on it takes more.
const (
	namesMatched = 2
	bytesMatched = 16
)

// unknownProgram notes a command word that is only known in part, unless it can be no program that matters.
func (r *reader) unknownProgram(word, base string, c simple) []string {
	if base != markUnknown && (scriptName(base) || len(r.matching(base)) == 0) {
		return []string{""}
	}
	if n := len(r.out.Notes); n == 0 || r.out.Notes[n-1].Kind != NoteDynamic || r.out.Notes[n-1].Span != c.span {
		r.out.Notes = append(r.out.Notes, Note{NoteDynamic, c.span, "the program " + Show(word) + " is only known when the command runs",
			len(r.out.Commands)})
	}
	if name, _ := Emptied(base); Literal(name) && r.known(programName(name)) { // the most likely reading of r${x}m
		return []string{programName(name)}
	}
	return []string{""}
}

// maxName is the longest a pattern of a program's name is compared; no system has longer names of files.
const maxName = 512

// scriptName tells whether a name that is only known in part ends as scripts do, and programs with a row don't.
func scriptName(base string) bool {
	for _, end := range [...]string{".sh", ".bash", ".py", ".pl", ".rb", ".js", ".ts", ".mjs", ".php"} {
		if strings.HasSuffix(base, end) {
			return true
		}
	}
	return false
}

// versioned are programs whose names often carry a version: python3.12, bash-5.2.
var versioned = []string{"python", "ipython", "pypy", "ruby", "perl", "php", "node", "bash", "lua"}

// programName takes version and extension off a program's name.
func programName(base string) string {
	if n := len(base); n > 4 && (base[n-4:] == ".exe" || base[n-4:] == ".EXE") {
		base = base[:n-4]
	}
	if i := strings.IndexByte(base, '@'); i > 0 { // a package's version: rimraf@5
		base = base[:i]
	}
	switch base { // GNU's programs where others have the name
	case "gxargs", "gfind":
		return base[1:]
	}
	if n := len(base); n == 0 || base[n-1] < '0' || base[n-1] > '9' || base == "perl6" { // another language
		return base
	}
	for _, v := range versioned {
		if rest, ok := strings.CutPrefix(base, v); ok && strings.Trim(rest, "0123456789.-") == "" {
			return v
		}
	}
	return base
}
