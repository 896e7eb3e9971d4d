package search

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hermes-runtime/hermes/environment"
)

// names finds files by name, newest first, then in the order of paths. It needs no program: the walk is the whole work.
func (j *job) names(ctx context.Context) (environment.Matches, error) {
	m := environment.Matches{Engine: Builtin}
	chosen, err := newNameGlob(j.Pattern)
	if err != nil {
		return m, err
	}
	type found struct {
		rel string
		mod time.Time
	}
	var list []found
	w := &walk{j: j.withHidden(chosen)}
	w.visit = func(dir string, names []string) bool {
		for _, name := range names {
			rel := joinRel(dir, name)
			if !chosen.admits(rel) || j.skipped(rel) {
				continue
			}
			info, err := os.Lstat(filepath.Join(j.root, rel))
			if err == nil && info.Mode().IsRegular() {
				list = append(list, found{rel, info.ModTime()})
			}
		}
		return ctx.Err() == nil
	}
	err = w.run(ctx)
	if err == nil {
		err = ctx.Err()
	}
	slices.SortFunc(list, func(a, b found) int {
		return cmp.Or(b.mod.Compare(a.mod), comparePaths(a.rel, b.rel))
	})
	from, to := page(j.Query, len(list))
	for _, f := range list[from:to] {
		m.Files = append(m.Files, j.path(f.rel))
	}
	m.Total, m.More, m.Unreadable = len(list), to < len(list), w.unreadable
	return m, err
}

// newNameGlob reads the pattern of a search for names: a bare word means the names that contain it.
func newNameGlob(text string) (*fileGlob, error) {
	if text != "" && !strings.ContainsAny(text, `*?[]{}\/`) && text[0] != '!' {
		text = "*" + text + "*"
		if word := strings.Trim(text, "*"); word[0] == '.' {
			text = "{" + text + "," + word + "*}" // a dot that is written may be that of a hidden name
		}
	}
	return newFileGlob(text)
}

// withHidden is the job as it is walked: hidden files are looked at if the pattern names them.
func (j *job) withHidden(g *fileGlob) *job {
	if !g.hidden || j.glob.glob != nil {
		return j
	}
	wide := *j
	wide.glob = &fileGlob{hidden: true}
	return &wide
}
