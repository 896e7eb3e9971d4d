package script

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
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
		path, ok := strings.CutPrefix(strings.TrimSpace(line), `File "`+f.x.session+string(filepath.Separator))
		if name, rest, found := strings.Cut(path, `.py", line `); ok && found && strings.Contains(rest, "in <module>") {
			names = append(names, name)
		}
	}
	for _, name := range names {
		if path := f.x.shadows(name); path != "" {
			return fmt.Sprintf("%s hides the standard library's module %s from the script, as it would from any Python program started there. "+
				"Rename it, cd elsewhere in terminal first, or run the script with %s.mode strict.", path, name, Section)
		}
	}
	return ""
}

// shadows gives the file of the session's directory that hides a standard module, "" if none does.
func (x *run) shadows(name string) string {
	real, err := filepath.EvalSymlinks(x.python.Path)
	parts := strings.SplitN(x.python.Version, ".", 3)
	if err != nil || len(parts) < 2 {
		return ""
	}
	standard := filepath.Join(filepath.Dir(filepath.Dir(real)), "lib", "python"+parts[0]+"."+parts[1])
	for _, form := range []string{name + ".py", filepath.Join(name, "__init__.py")} {
		if _, err := os.Stat(filepath.Join(standard, form)); err != nil {
			continue
		}
		for _, own := range []string{name, name + ".py"} {
			path := filepath.Join(x.session, own)
			if _, err := os.Stat(path); err == nil {
				return path
			}
		}
	}
	return ""
}
