// Package search finds text and names in a tree of the machine it runs on: with ripgrep where that is installed, else by itself,
// with the same syntax, the same files and the same answers.
package search

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/hermes-runtime/hermes/environment"
)

// The engines, as Matches.Engine names them.
const (
	Ripgrep = "ripgrep"
	Builtin = "builtin"
)

// Defaults and bounds of a query.
const (
	defaultMaxLine    = 500
	defaultCountLimit = 20_000
	maxContext        = 20
	ignoredCap        = 10_000 // ignored files that are counted for the hint
)

// Options says which engine to use. The zero value uses ripgrep if a good one is on PATH.
type Options struct {
	Rg     string // path of ripgrep; "" = looked up on PATH at the first search
	Engine string // Ripgrep or Builtin to insist on one; "" = ripgrep if there is one
}

// Searcher searches. It implements environment.Searcher and is safe for concurrent use.
type Searcher struct {
	rg     *ripgrep
	engine string
}

var _ environment.Searcher = (*Searcher)(nil)

// New returns a searcher. It starts nothing.
func New(o Options) *Searcher {
	return &Searcher{rg: &ripgrep{path: o.Rg}, engine: o.Engine}
}

// An Error is a query that can't be run as it stands: what of it, where, and why.
type Error struct {
	What string // "pattern" or "glob"
	Text string
	At   int // characters before the place that is wrong; -1 = no place
	Err  string
}

// Error says it in one line.
func (e *Error) Error() string {
	if e.At < 0 {
		return fmt.Sprintf("bad %s %q: %s", e.What, e.Text, e.Err)
	}
	return fmt.Sprintf("bad %s %q at character %d: %s", e.What, e.Text, e.At+1, e.Err)
}

// counter is one way to search: each file with matching lines is reported once, with their number. It may stop early when report
// says false.
type counter interface {
	// count returns when all files were searched, ctx ended or report said false.
	count(ctx context.Context, j *job, report func(rel string, lines int) bool) (unreadable int, err error)
	// extract gives the matching lines from (inclusive) to (exclusive) of one file, counted from 0.
	extract(ctx context.Context, j *job, pages []filePage) ([]environment.Match, error)
	name() string
	sorted() bool // report is called in the order of paths
}

// filePage is the part of a file's matching lines that is wanted.
type filePage struct {
	rel      string
	from, to int
}

// job is a query made ready.
type job struct {
	environment.Query
	root    string // real path
	file    string // "" or the name of the one file, root being its directory
	pattern *pattern
	glob    *fileGlob
}

// Search runs q. A bad pattern or glob is an *Error; a missing root matches fs.ErrNotExist. When ctx ends before the search does the
// error is ctx's; a search that hits q.Timeout gives what it found, marked. Limits below zero count as none.
func (s *Searcher) Search(ctx context.Context, q environment.Query) (environment.Matches, error) {
	j, err := newJob(q)
	if err != nil {
		return environment.Matches{}, err
	}
	inner := ctx
	if q.Timeout > 0 {
		var cancel context.CancelFunc
		inner, cancel = context.WithTimeout(ctx, q.Timeout)
		defer cancel()
	}
	var m environment.Matches
	if q.Names {
		m, err = j.names(inner)
	} else {
		m, err = s.contents(ctx, inner, j)
	}
	switch {
	case ctx.Err() != nil:
		return environment.Matches{}, fmt.Errorf("search %s: %w", q.Root, context.Cause(ctx))
	case err != nil && inner.Err() != nil:
		m.TimedOut, m.TotalIsMin = true, true
		return m, nil
	case err != nil:
		return environment.Matches{}, fmt.Errorf("search %s: %w", q.Root, err)
	}
	if m.Total == 0 {
		m.Ignored = j.countIgnored(inner)
	}
	return m, nil
}

// newJob checks q and fills in what it leaves open.
func newJob(q environment.Query) (*job, error) {
	q.Limit, q.Offset = max(q.Limit, 0), max(q.Offset, 0)
	q.Context = min(max(q.Context, 0), maxContext)
	if q.MaxLine <= 0 {
		q.MaxLine = defaultMaxLine
	}
	if q.CountLimit <= 0 {
		q.CountLimit = defaultCountLimit
	}
	j := &job{Query: q}
	if err := j.findRoot(); err != nil {
		return nil, err
	}
	var err error
	if j.glob, err = newFileGlob(q.Glob); err != nil {
		return nil, err
	}
	if q.Names {
		return j, nil
	}
	if !utf8.ValidString(q.Pattern) {
		return nil, &Error{What: "pattern", Text: q.Pattern, At: -1, Err: "it isn't valid UTF-8"}
	}
	j.pattern, err = parsePattern(q.Pattern)
	return j, err
}

// findRoot sets root and file.
func (j *job) findRoot() error {
	root := string(j.Root)
	if root == "" {
		return errors.New("search: the root is empty")
	}
	real, err := filepath.EvalSymlinks(root)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		return fmt.Errorf("search %s: %w", root, err)
	}
	info, err := os.Stat(real)
	switch {
	case err != nil:
		return fmt.Errorf("search %s: %w", root, err)
	case info.Mode().IsRegular():
		j.root, j.file = filepath.Dir(real), filepath.Base(real)
	case info.IsDir():
		j.root = real
	default:
		return &fs.PathError{Op: "search", Path: root, Err: errors.New("neither a directory nor a regular file")}
	}
	if !info.IsDir() {
		return nil
	}
	d, err := os.Open(real) // a root that can't be read is an error, not a tree with nothing in it
	if err != nil {
		return fmt.Errorf("search: %w", err)
	}
	return d.Close()
}

// path is the name under which a file of the tree is told.
func (j *job) path(rel string) environment.Path {
	if j.file != "" {
		return j.Root
	}
	return environment.Path(filepath.Join(string(j.Root), rel))
}

// skipped reports whether a file is neither to be matched nor named.
func (j *job) skipped(rel string) bool { return j.Skip != nil && j.Skip(j.path(rel)) }

// contents searches what files hold. outer ends when nobody waits any more, inner at the time limit.
func (s *Searcher) contents(outer, inner context.Context, j *job) (environment.Matches, error) {
	c, err := s.choose(inner, j)
	if err != nil {
		return environment.Matches{}, err
	}
	t := newTally(j, c.sorted())
	unreadable, err := c.count(inner, j, t.add)
	if refused := new(Error); errors.As(err, &refused) && j.pattern.bad == nil {
		// This ripgrep doesn't know the construct or finds it too large; the built-in engine can do it.
		c = &builtin{}
		t = newTally(j, c.sorted())
		unreadable, err = c.count(inner, j, t.add)
	}
	m := t.matches()
	m.Engine, m.Unreadable = c.name(), unreadable
	if err != nil && inner.Err() == nil {
		return m, err
	}
	if len(t.pages) > 0 && outer.Err() == nil {
		// The time limit may be over, and what was found is still to be shown: that takes a moment, which is bounded too.
		last, cancel := context.WithTimeout(outer, max(time.Until(deadline(inner)), extractTime))
		defer cancel()
		found, xerr := s.extractor(c, j).extract(last, j, t.pages)
		m.Matches = found
		if xerr != nil {
			return m, xerr
		}
	}
	return m, err
}

// extractor shows the lines of the page: the built-in engine wherever it knows the pattern. It opens files without following links,
// so that none is shown that wasn't judged, and needs no second program.
func (s *Searcher) extractor(c counter, j *job) counter {
	if j.pattern.bad == nil && !s.rg.showsToo {
		return &builtin{}
	}
	return c
}

// extractTime is what showing the page may take after the time limit.
const extractTime = 2 * time.Second

func deadline(ctx context.Context) time.Time {
	if d, ok := ctx.Deadline(); ok {
		return d
	}
	return time.Now().Add(time.Hour)
}

// choose takes the engine that was asked for or the better one. Without ripgrep a construct that only it knows is an error.
func (s *Searcher) choose(ctx context.Context, j *job) (counter, error) {
	if s.engine != Builtin && !unusual(j) {
		if err := s.rg.usable(ctx); err == nil {
			if j.pattern.bad != nil && !j.pattern.rgOnly {
				return nil, j.pattern.bad
			}
			return s.rg, nil
		} else if s.engine == Ripgrep {
			return nil, err
		}
	}
	if j.pattern.bad != nil {
		return nil, j.pattern.bad
	}
	return &builtin{}, nil
}

// unusual names can't be handed to another program as they are.
func unusual(j *job) bool { return strings.ContainsRune(j.Pattern, 0) }
