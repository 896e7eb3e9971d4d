package analysis

import (
	"strings"
)

// maxLookups bounds how many paths of a reading are asked about (A31).
const maxLookups = 64

// link is a symbolic link that a command of the text makes, for those behind it.
type link struct {
	to      string
	command int
}

// resolve follows symbolic links for a command, where the text or the environment tells.
func (r *Reading) resolve(p string, command int) string {
	for from, l := range r.links {
		if command > l.command && (p == from || strings.HasPrefix(p, from+"/")) {
			return Clean(l.to + p[len(from):])
		}
	}
	if r.Input.Files == nil || !strings.HasPrefix(p, "/") || !Literal(p) {
		return p
	}
	if to, ok := r.resolved[p]; ok {
		return to
	}
	if len(r.resolved) >= maxLookups {
		return p
	}
	if r.resolved == nil {
		r.resolved = map[string]string{}
	}
	to := r.Input.Files.Resolve(p)
	if !strings.HasPrefix(to, "/") {
		to = p
	}
	r.resolved[p] = to
	return to
}

// link notes a symbolic link that the text itself makes.
func (r *Reading) link(from, to string, command int) {
	i := strings.LastIndexByte(from, '/')
	if i < 0 || len(r.links) >= maxLookups || !strings.HasPrefix(from, "/") {
		return
	}
	if r.links == nil {
		r.links = map[string]link{}
	}
	if to = Join(from[:max(i, 1)], to); to != from && !strings.HasPrefix(to, from+"/") {
		r.links[from] = link{to, command}
	}
}

// real is a path with the links in its directory followed, but not one that its last element names.
func (r *Reading) real(p string, command int) string {
	i := strings.LastIndexByte(p, '/')
	if r.Input.Files == nil && len(r.links) == 0 || i <= 0 {
		return p
	}
	return Clean(r.resolve(p[:i], command) + p[i:])
}

// followed is the target that a link leads to.
func (r *Reading) followed(t Target, command int) (Target, bool) {
	if t.Class == ClassInner {
		return t, false
	}
	to := r.resolve(t.Path, command)
	if to == t.Path {
		return t, false
	}
	next := r.judge(to)
	next.All, next.Link = t.All, !t.All // a glob below a link opens it
	return next, true
}
