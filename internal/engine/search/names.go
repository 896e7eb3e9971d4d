package search

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hermes-runtime/hermes/environment"
)

// named is a file that was found by name.
type named struct {
	rel string
	mod time.Time
}

// names finds files by name, newest first, then in the order of paths. It needs no program: the walk is the whole work.
func (j *job) names(ctx context.Context) (environment.Matches, error) {
	m := environment.Matches{Engine: Builtin}
	chosen, err := newNameGlob(j.Pattern)
	if err != nil {
		return m, err
	}
	w := &walk{j: j.withHidden(chosen)}
	list, err := j.findNames(ctx, w, chosen)
	slices.SortFunc(list, func(a, b named) int {
		return cmp.Or(b.mod.Compare(a.mod), comparePaths(a.rel, b.rel))
	})
	from, to := page(j.Query, len(list))
	for _, f := range list[from:to] {
		m.Files = append(m.Files, j.path(f.rel))
	}
	m.Total, m.More, m.Unreadable = len(list), to < len(list), int(w.unreadable.Load())
	return m, err
}

// findNames walks, and looks at the files found on all processors.
func (j *job) findNames(ctx context.Context, w *walk, chosen *fileGlob) ([]named, error) {
	var (
		mu    sync.Mutex
		list  []named
		group sync.WaitGroup
		work  = make(chan *batch, batchAhead)
	)
	var walkErr error
	group.Go(func() {
		defer close(work)
		w.visit = func(dir string, names []string) bool {
			select {
			case work <- &batch{dir: dir, names: names}:
				return true
			case <-ctx.Done():
				return false
			}
		}
		walkErr = w.run(ctx)
	})
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for b := range work {
				if ctx.Err() != nil {
					continue
				}
				found := j.lookAt(b, chosen)
				mu.Lock()
				list = append(list, found...)
				mu.Unlock()
			}
		})
	}
	if !settle(ctx, &group) { // the goroutines may still write to what is shared
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(list), ctx.Err()
	}
	return list, cmp.Or(walkErr, ctx.Err())
}

// lookAt gives the files of a batch that are chosen and exist.
func (j *job) lookAt(b *batch, chosen *fileGlob) []named {
	var found []named
	for _, name := range b.names {
		rel := joinRel(b.dir, name)
		if !chosen.admits(rel) || j.skipped(rel) {
			continue
		}
		info, err := os.Lstat(filepath.Join(j.root, rel))
		if err == nil && info.Mode().IsRegular() {
			found = append(found, named{rel, info.ModTime()})
		}
	}
	return found
}

// newNameGlob reads the pattern of a search for names: a bare word means the names that contain it.
func newNameGlob(text string) (*fileGlob, error) {
	if text != "" && !strings.ContainsAny(text, `*?[]{}\/`) && text[0] != '!' {
		word := text
		text = "*" + word + "*"
		if word[0] == '.' {
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
