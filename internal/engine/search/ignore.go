package search

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
)

// verdict is what ignore rules say of a name.
type verdict uint8

const (
	noRule verdict = iota
	ignored
	admitted // by a negated rule: hidden names too
)

// ruleNames are the files that hold rules, the strongest first. Within one kind the nearest directory decides, and there the last
// line that matches.
var ruleNames = []string{".rgignore", ".ignore", ".gitignore"}

// Kinds of rules, in the order in which they are asked.
const (
	ruleRg = iota
	ruleIgnore
	ruleGit
	ruleExclude // .git/info/exclude
	ruleKinds
)

// maxRuleFile bounds what is read of a file with rules.
const maxRuleFile = 4 << 20

// rules are those of one directory; parent leads to the directory above, up to the root of the file system.
type rules struct {
	parent *rules
	dir    string // absolute, slashes
	git    bool   // a repository begins here: rules for git above don't reach into it
	lists  [ruleKinds][]rule
	none   bool // neither here nor above is a rule
}

// rule is one line.
type rule struct {
	not     bool
	dirOnly bool
	byName  bool
	exact   string // byName: the whole name, if it holds no wildcard
	suffix  string // byName: * and this
	glob    *glob
}

// rootRules reads the rules of dir and all directories above.
func rootRules(dir string) *rules {
	parent := filepath.Dir(dir)
	var up *rules
	if parent != dir {
		up = rootRules(parent)
	}
	has := map[string]bool{".git": true}
	for _, n := range ruleNames {
		has[n] = true
	}
	return up.enter(dir, has)
}

// enter gives the rules for a directory whose names include those in present.
func (r *rules) enter(dir string, present map[string]bool) *rules {
	n := &rules{parent: r, dir: filepath.ToSlash(dir), none: r == nil || r.none}
	for kind, name := range ruleNames {
		if present[name] {
			n.lists[kind] = readRules(filepath.Join(dir, name))
		}
	}
	if present[".git"] {
		if info, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			n.git = true
			if info.IsDir() {
				n.lists[ruleExclude] = readRules(filepath.Join(dir, ".git", "info", "exclude"))
			}
		}
	}
	for _, l := range n.lists {
		n.none = n.none && len(l) == 0
	}
	if r != nil && !n.git && n.empty() {
		return r // nothing of its own
	}
	return n
}

func (r *rules) empty() bool {
	for _, l := range r.lists {
		if len(l) > 0 {
			return false
		}
	}
	return true
}

// judge says what becomes of the entry path, absolute with slashes, called name.
func (r *rules) judge(path, name string, isDir bool) verdict {
	if r == nil || r.none {
		return noRule
	}
	var found [ruleKinds]verdict
	inRepository := true
	for d := r; d != nil; d = d.parent {
		for kind := range d.lists {
			if found[kind] != noRule || kind >= ruleGit && !inRepository {
				continue
			}
			found[kind] = lastMatch(d.lists[kind], strings.TrimPrefix(path[len(d.dir):], "/"), name, isDir)
		}
		inRepository = inRepository && !d.git
	}
	for _, v := range found {
		if v != noRule {
			return v
		}
	}
	return noRule
}

func lastMatch(list []rule, rel, name string, isDir bool) verdict {
	for i := len(list) - 1; i >= 0; i-- {
		l := &list[i]
		if l.dirOnly && !isDir || !l.match(rel, name) {
			continue
		}
		if l.not {
			return admitted
		}
		return ignored
	}
	return noRule
}

func (l *rule) match(rel, name string) bool {
	switch {
	case l.exact != "":
		return l.exact == name
	case l.suffix != "":
		return strings.HasSuffix(name, l.suffix)
	case l.byName:
		return l.glob.match(name, byteWise)
	}
	return l.glob.match(rel, byteWise)
}

// readRules reads a file of rules. One that can't be read has none; a line that makes no sense is left out.
func readRules(file string) []rule {
	f, err := os.Open(file)
	if err != nil {
		return nil
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > maxRuleFile {
		return nil
	}
	var text bytes.Buffer
	if _, err := text.ReadFrom(f); err != nil {
		return nil
	}
	var list []rule
	for line := range strings.SplitSeq(strings.TrimPrefix(text.String(), "\uFEFF"), "\n") {
		if l, ok := parseRule(strings.TrimSuffix(line, "\r")); ok {
			list = append(list, l)
		}
	}
	return list
}

// parseRule reads one line in the syntax of gitignore.
func parseRule(line string) (rule, bool) {
	var l rule
	if strings.HasPrefix(line, "#") {
		return l, false
	}
	if !strings.HasSuffix(line, `\ `) {
		line = strings.TrimRight(line, " \t")
	}
	switch {
	case strings.HasPrefix(line, `\!`), strings.HasPrefix(line, `\#`):
		line = line[1:]
	case strings.HasPrefix(line, "!"):
		l.not = true
		line = line[1:]
	}
	anchored := strings.HasPrefix(line, "/")
	line = strings.TrimPrefix(line, "/")
	if strings.HasSuffix(line, "/") {
		l.dirOnly = true
		line = line[:len(line)-1]
	}
	if line == "" {
		return l, false
	}
	l.byName = !anchored && !strings.Contains(line, "/")
	if l.byName && !strings.ContainsAny(line, `*?[]{}\`) {
		l.exact = line
		return l, true
	}
	if l.byName && line[0] == '*' && len(line) > 1 && !strings.ContainsAny(line[1:], `*?[]{}\`) {
		l.suffix = line[1:]
		return l, true
	}
	g, err := compileGlob(line)
	if err != nil {
		return l, false
	}
	l.glob = g
	return l, true
}
