package guard

import (
	"io/fs"
	"path"
	"strings"

	"github.com/hermes-runtime/hermes/environment"
)

// Bounds of the look at guarded files when a file with several names is judged.
const (
	maxLooked = 2000
	maxDepth  = 4
)

// identity is a file, whatever its name.
type identity struct{ device, inode uint64 }

// byIdentity looks for a guarded file that i is another name of.
func (g *Guard) byIdentity(i environment.FileInfo, op environment.Operation) string {
	g.once.Do(func() {
		l := &look{guard: g, found: map[identity][]*row{}}
		for _, a := range g.list {
			if (a.at == home || a.at == hermes) && !a.byName {
				l.row(a.row, a.dir)
			}
		}
		g.linked = l.found
	})
	id := identity{i.Device, i.Inode}
	if why := whyOf(g.linked[id], op); why != "" {
		return why
	}
	// Names that may be anywhere are looked for beside the file and in the workspace.
	l := &look{guard: g, found: map[identity][]*row{}}
	dirs := []string{path.Dir(string(i.Path))}
	if w := clean(g.Workspace); w != "" && w != dirs[0] {
		dirs = append(dirs, w)
	}
	for _, a := range g.list {
		if a.at == anywhere && a.refuses(op) {
			for _, d := range dirs {
				l.row(a.row, d)
			}
		}
	}
	return whyOf(l.found[id], op)
}

func whyOf(rows []*row, op environment.Operation) string {
	for _, r := range rows {
		if r.refuses(op) {
			return r.why
		}
	}
	return ""
}

// look gathers the files of rows that have more than one name.
type look struct {
	guard *Guard
	found map[identity][]*row
	seen  int
}

func (l *look) row(r *row, dir string) {
	for _, p := range r.patterns {
		l.pattern(r, dir, strings.TrimSuffix(p, "/"))
	}
}

// pattern follows one pattern from a directory.
func (l *look) pattern(r *row, dir, pattern string) {
	name, rest, more := strings.Cut(pattern, "/")
	next := func(name string) {
		if more {
			l.pattern(r, dir+"/"+name, rest)
		} else {
			l.below(r, dir+"/"+name, maxDepth)
		}
	}
	if !strings.ContainsAny(name, "*?[") {
		next(name)
		return
	}
	entries, err := l.guard.FS.ReadDir(l.guard.ctx, environment.Path(dir))
	if err != nil {
		return
	}
	for _, e := range entries {
		if matches(name, e.Name) && (more || r.at != anywhere || r.covers(e.Name)) {
			next(e.Name)
		}
	}
}

// below takes a file, or everything in a directory.
func (l *look) below(r *row, p string, depth int) {
	if l.seen++; l.seen > maxLooked {
		return
	}
	info, err := l.guard.FS.Stat(l.guard.ctx, environment.Path(p))
	switch {
	case err != nil:
	case info.Mode.IsRegular() && info.Links > 1:
		id := identity{info.Device, info.Inode}
		l.found[id] = append(l.found[id], r)
	case info.Mode.IsDir() && depth > 0:
		entries, err := l.guard.FS.ReadDir(l.guard.ctx, environment.Path(p))
		if err != nil {
			return
		}
		for _, e := range entries {
			if e.Type&^fs.ModeDir == 0 {
				l.below(r, p+"/"+e.Name, depth-1)
			}
		}
	}
}
