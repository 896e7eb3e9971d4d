package script

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// wrongModule finds the module that hasn't what was wanted of it.
var wrongModule = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:AttributeError: (?:partially initialized )?module '(\w+)'|ImportError: cannot import name '\w+' from (?:partially initialized module )?'(\w+)')`)
})

// hintShadow tells that a file of the project stands before a module of the standard library: a script's imports follow Python's
// own rule, by which the session's directory comes first.
func hintShadow(f failure) string {
	if f.x.mode != ModeProject {
		return ""
	}
	var names []string
	if m := wrongModule().FindStringSubmatch(f.exception); m != nil {
		names = append(names, m[1]+m[2])
	}
	for line := range strings.Lines(f.stderr) { // what failed while it was imported
		file, ok := strings.CutPrefix(strings.TrimSpace(line), `File "`+f.x.session+"/")
		if name, rest, found := strings.Cut(file, `.py", line `); ok && found && strings.Contains(rest, "in <module>") && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, name := range names {
		if file := f.shadows(name); file != "" {
			return fmt.Sprintf("%s hides the standard library's module %s from the script, as it would from any Python program started there. "+
				"Rename it, cd elsewhere in terminal first, or run the script with %s.mode strict.", file, name, Section)
		}
	}
	return ""
}

// shadows gives the file of the session's directory that hides a standard module, "" if none does.
func (f failure) shadows(name string) string {
	x := f.x
	real := x.follow(f.ctx, x.python.Path)
	parts := strings.SplitN(x.python.Version, ".", 3)
	if real == "" || len(parts) < 2 {
		return ""
	}
	standard := path.Join(path.Dir(path.Dir(real)), "lib", "python"+parts[0]+"."+parts[1])
	for _, form := range []string{name + ".py", path.Join(name, "__init__.py")} {
		if !x.exists(f.ctx, path.Join(standard, form)) {
			continue
		}
		for _, own := range []string{name, name + ".py"} {
			if file := path.Join(x.session, own); x.exists(f.ctx, file) {
				return file
			}
		}
	}
	return ""
}
