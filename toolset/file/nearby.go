package file

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/config"
)

// Bounds of what is offered instead of a file that isn't there.
const (
	maxSimilar  = 5
	maxListed   = 20
	similarTime = 2 * time.Second
)

// listing is the first names of a directory, for a reader who took it for a file.
func (w *work) listing(dir environment.Path) string {
	entries, err := w.fs.ReadDir(w.ctx, dir)
	if err != nil {
		return ""
	}
	if len(entries) == 0 {
		return ", and it is empty"
	}
	var names []string
	for _, e := range entries[:min(len(entries), maxListed)] {
		name := e.Name
		if e.Type.IsDir() {
			name += "/"
		}
		names = append(names, name)
	}
	more := ""
	if n := len(entries) - len(names); n > 0 {
		more = fmt.Sprintf(" and %d more", n)
	}
	return ". It holds " + strings.Join(names, ", ") + more
}

// similar names files that may be meant by a path that leads nowhere: beside it, then of the same name elsewhere in the workspace.
func (w *work) similar(t target) []string {
	dir, want := path.Dir(string(t.path)), path.Base(string(t.path))
	var out []string
	add := func(p environment.Path) {
		if len(out) < maxSimilar && !w.guard.Hidden(p) && w.guard.Judge(p, nil, environment.OpRead) == nil {
			if shown := w.as(t, p); !slices.Contains(out, shown) {
				out = append(out, shown)
			}
		}
	}
	entries, _ := w.fs.ReadDir(w.ctx, environment.Path(dir))
	type scored struct {
		name  string
		score int
	}
	var near []scored
	for _, e := range entries {
		if s := likeness(e.Name, want); s > 0 && !e.Type.IsDir() {
			near = append(near, scored{e.Name, s})
		}
	}
	slices.SortStableFunc(near, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	for _, n := range near {
		add(environment.Path(path.Join(dir, n.name)))
	}
	if len(out) < maxSimilar {
		for _, p := range w.elsewhere(want) {
			add(p)
		}
	}
	return out
}

// elsewhere looks for a name in the workspace.
func (w *work) elsewhere(name string) []environment.Path {
	s, ok := w.place.Environment.(environment.Searcher)
	root := w.place.Workspace
	if root == "" {
		root = w.dir
	}
	if !ok || root == "" || strings.ContainsAny(name, `*?[]{}\!`) {
		return nil
	}
	ctx, cancel := context.WithTimeout(w.ctx, similarTime)
	defer cancel()
	m, err := s.Search(ctx, environment.Query{
		Pattern: name, Names: true, Root: root, Limit: 50, Timeout: similarTime, Skip: w.guard.Hidden,
	})
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(m.Files, func(p environment.Path) bool { return path.Base(string(p)) != name })
}

// as writes a path the way the call wrote its own: relative if that was.
func (w *work) as(t target, p environment.Path) string {
	if relative(t.name) {
		if rest, ok := strings.CutPrefix(string(p), strings.TrimSuffix(string(w.dir), "/")+"/"); ok {
			return rest
		}
	}
	return string(p)
}

// begins reports whether a name begins with another that says something: .env and the like have no stem.
func begins(name, stem string) bool { return len(stem) >= 2 && strings.HasPrefix(name, stem) }

// likeness is how near a name comes to the one that was wanted; 0 = not at all.
func likeness(have, want string) int {
	h, l := strings.ToLower(norm.NFC.String(have)), strings.ToLower(norm.NFC.String(want))
	stem := func(s string) string { return strings.TrimSuffix(s, path.Ext(s)) }
	switch {
	case h == l:
		return 5
	case stem(h) == stem(l) && stem(h) != "":
		return 4
	case begins(h, stem(l)), begins(l, stem(h)):
		return 3
	case config.Nearest(want, []string{have}) != "":
		return 2
	}
	return 0
}
