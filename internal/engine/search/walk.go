package search

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
)

// walk goes through the files of a job in the order of paths.
type walk struct {
	j          *job
	visit      func(dir string, files []string) bool // names of files in one directory, relative path; false = enough
	kept       func(rel string, isDir bool)          // told what ignore rules keep out; may be nil
	unreadable atomic.Int64                          // directories that couldn't be read
	all        bool                                  // below something ignored: no rules apply
}

// run visits everything below the root.
func (w *walk) run(ctx context.Context) error {
	if w.j.file != "" {
		w.visit("", []string{w.j.file})
		return nil
	}
	_, err := w.dir(ctx, "", rootRules(filepath.Dir(w.j.root)))
	return err
}

// dir visits one directory, relative to the root. It reports whether to go on.
func (w *walk) dir(ctx context.Context, rel string, up *rules) (bool, error) {
	if err := ctx.Err(); err != nil {
		return false, err
	}
	path := filepath.Join(w.j.root, rel)
	entries, err := os.ReadDir(path)
	if err != nil {
		w.unreadable.Add(1)
		if len(entries) == 0 {
			return true, nil
		}
	}
	here := up
	if !w.all {
		here = up.enter(path, special(entries))
	}
	slashed := filepath.ToSlash(path)
	var files []string
	flush := func() bool {
		enough := len(files) > 0 && !w.visit(rel, files)
		files = nil
		return !enough
	}
	for _, e := range entries {
		name, isDir := e.Name(), e.IsDir()
		if !isDir && !e.Type().IsRegular() {
			continue
		}
		below := joinRel(rel, name)
		if !w.wanted(here, slashed, e, below) {
			continue
		}
		if !isDir {
			if w.j.glob.admits(below) {
				files = append(files, name)
			}
			continue
		}
		if !flush() { // what stands before the directory comes before what is in it
			return false, nil
		}
		if more, err := w.dir(ctx, below, here); err != nil || !more {
			return more, err
		}
	}
	return flush(), nil
}

// wanted applies the rules and hides what is hidden.
func (w *walk) wanted(here *rules, dir string, e fs.DirEntry, rel string) bool {
	name := e.Name()
	if w.all {
		return name[0] != '.' || w.j.glob.hidden
	}
	v := noRule
	if !here.none {
		v = here.judge(strings.TrimSuffix(dir, "/")+"/"+name, name, e.IsDir())
	}
	switch {
	case v == ignored:
		if w.kept != nil {
			w.kept(rel, e.IsDir())
		}
		return false
	case v == noRule && name[0] == '.' && !w.j.glob.hidden:
		return false
	case e.IsDir() && w.j.glob.not && w.j.glob.excludes(filepath.ToSlash(rel)+"/"):
		return false
	}
	return true
}

// special are the names in a directory that bear on rules.
func special(entries []fs.DirEntry) map[string]bool {
	var found map[string]bool
	// Entries are sorted, and all of these begin with a dot.
	i, _ := slices.BinarySearchFunc(entries, ".", func(e fs.DirEntry, s string) int { return strings.Compare(e.Name(), s) })
	for ; i < len(entries) && entries[i].Name()[0] == '.'; i++ {
		if n := entries[i].Name(); n == ".git" || slices.Contains(ruleNames, n) {
			if found == nil {
				found = map[string]bool{}
			}
			found[n] = true
		}
	}
	return found
}

func joinRel(dir, name string) string {
	if dir == "" {
		return name
	}
	return dir + string(os.PathSeparator) + name
}

// countIgnored counts the files that ignore rules keep out of the job, up to ignoredCap.
func (j *job) countIgnored(ctx context.Context) int {
	if j.file != "" {
		return 0
	}
	n := 0
	count := func(dir string, names []string) bool {
		for _, name := range names {
			if n < ignoredCap && !j.skipped(joinRel(dir, name)) {
				n++
			}
		}
		return n < ignoredCap
	}
	w := &walk{j: j, visit: func(string, []string) bool { return n < ignoredCap }}
	w.kept = func(rel string, isDir bool) {
		switch {
		case n >= ignoredCap:
		case !isDir:
			if j.glob.admits(rel) {
				count(filepath.Dir(rel), []string{filepath.Base(rel)})
			}
		default:
			below := &walk{j: j, visit: count, all: true}
			_, _ = below.dir(ctx, rel, nil) // cut short it is a smaller count
		}
	}
	_ = w.run(ctx)
	return n
}
