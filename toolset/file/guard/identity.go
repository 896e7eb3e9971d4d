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

// byIdentity looks for a guarded file that i is another name of.
func (g *Guard) byIdentity(i environment.FileInfo, op environment.Operation) string {
	l := &look{guard: g, want: i}
	for _, a := range g.list {
		if !a.refuses(op) {
			continue
		}
		for _, dir := range g.dirsOf(a, i) {
			for _, p := range a.patterns {
				if l.pattern(a.row, dir, strings.TrimSuffix(p, "/")) {
					return a.why
				}
			}
		}
	}
	return ""
}

// dirsOf is where the files of a row are looked for. Names that may be anywhere are looked for beside the file and in the workspace.
func (g *Guard) dirsOf(a anchored, i environment.FileInfo) []string {
	switch a.at {
	case home, hermes:
		return []string{a.dir}
	case anywhere:
		dirs := []string{path.Dir(string(i.Path))}
		if w := clean(g.Workspace); w != "" && w != dirs[0] {
			dirs = append(dirs, w)
		}
		return dirs
	}
	return nil // hard links don't lead into other file systems, and /etc is judged by path
}

// look searches for one file by identity.
type look struct {
	guard *Guard
	want  environment.FileInfo
	seen  int
}

func (l *look) same(p string) (info environment.FileInfo, found bool) {
	if l.seen++; l.seen > maxLooked {
		return info, false
	}
	info, err := l.guard.FS.Stat(l.guard.ctx, environment.Path(p))
	return info, err == nil && info.Same(l.want)
}

// pattern follows one pattern from a directory.
func (l *look) pattern(r *row, dir, pattern string) bool {
	name, rest, more := strings.Cut(pattern, "/")
	if strings.ContainsAny(name, "*?[") {
		entries, err := l.guard.FS.ReadDir(l.guard.ctx, environment.Path(dir))
		if err != nil {
			return false
		}
		for _, e := range entries {
			if !matches(name, e.Name) || !more && r.at == anywhere && !r.covers(e.Name) {
				continue
			}
			if more && l.pattern(r, dir+"/"+e.Name, rest) || !more && l.below(dir+"/"+e.Name, maxDepth) {
				return true
			}
		}
		return false
	}
	if more {
		return l.pattern(r, dir+"/"+name, rest)
	}
	return l.below(dir+"/"+name, maxDepth)
}

// below compares a file, or everything in a directory.
func (l *look) below(p string, depth int) bool {
	info, found := l.same(p)
	if found || !info.Mode.IsDir() || depth == 0 {
		return found
	}
	entries, err := l.guard.FS.ReadDir(l.guard.ctx, environment.Path(p))
	if err != nil {
		return false
	}
	for _, e := range entries {
		if e.Type&^fs.ModeDir == 0 && l.below(p+"/"+e.Name, depth-1) {
			return true
		}
	}
	return false
}
