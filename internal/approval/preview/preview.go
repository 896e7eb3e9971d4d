// Package preview tells what a delete would destroy on this machine, by looking and nothing else: it changes nothing, follows no link,
// runs nothing that a repository asks for, and stops after a moment with what it knows.
package preview

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// The bounds of a look, unless Options says otherwise.
const (
	MaxTime    = 200 * time.Millisecond
	MaxEntries = 100_000
)

const (
	// maxTargets bounds the places that are looked at one by one; the others are only counted.
	maxTargets = 20
	// maxRepositories bounds the git repositories that are asked.
	maxRepositories = 5
	// maxNames is how many names stand as examples in a text.
	maxNames = 5
	// batch is how many entries of a directory are read at once.
	batch = 512
)

// Options bounds a look. The zero value means MaxTime and MaxEntries.
type Options struct {
	Time    time.Duration
	Entries int
}

// Target is one place that a command would delete.
type Target struct {
	Path  string // absolute
	Class string // what kind of place it is, in a word; "" = nothing special
	All   bool   // everything in it, not itself
	Some  bool   // only some of what is there: what is counted is the most that can go
}

// Loss is what lies at one target.
type Loss struct {
	Target
	Missing  bool   // nothing is there
	Link     string // it is a link to this, and only the link goes
	Files    int    // and everything else that is no directory
	Dirs     int
	Bytes    int64
	Newest   time.Time // last change of a file in it
	LinksOut []string  // links in it to places outside, the first few: what is behind them stays
	Outward  int       // how many there are
	AtLeast  bool      // there is more than was counted
	Err      error     // why nothing, or not everything, could be read
}

// Preview is what would be lost.
type Preview struct {
	Losses       []Loss
	More         int // targets that were not looked at
	Repositories []*Repository
}

// Of looks at targets until it is done, until ctx ends or a bound is met. What it returns then is a lower bound, and says so.
func Of(ctx context.Context, targets []Target, o Options) Preview {
	if o.Time <= 0 {
		o.Time = MaxTime
	}
	if o.Entries <= 0 {
		o.Entries = MaxEntries
	}
	ctx, cancel := context.WithTimeout(ctx, o.Time)
	defer cancel()
	var p Preview
	if len(targets) > maxTargets {
		p.More, targets = len(targets)-maxTargets, targets[:maxTargets]
	}
	outer := enclosing(targets)
	var asked sync.WaitGroup
	for i := range outer { // git looks while we do
		asked.Go(func() { yield(); outer[i].look(ctx) })
	}
	w := walker{ctx: ctx, left: o.Entries}
	for _, t := range targets {
		p.Losses = append(p.Losses, w.look(t))
	}
	inner := w.repositories(outer)
	for i := range inner {
		asked.Go(func() { yield(); inner[i].look(ctx) })
	}
	asked.Wait()
	p.Repositories = append(outer, inner...)
	return p
}

// Start looks in the background, with low priority, and sends the text. The channel is closed behind it, and soon after ctx ends.
func Start(ctx context.Context, targets []Target) <-chan string {
	out := make(chan string, 1)
	if len(targets) == 0 {
		close(out)
		return out
	}
	go func() {
		defer close(out)
		yield()
		if text := Of(ctx, targets, Options{}).Text(); ctx.Err() == nil {
			out <- text
		}
	}()
	return out
}

// walker counts below targets.
type walker struct {
	ctx   context.Context
	left  int      // entries that may still be looked at
	repos []string // directories with a repository of their own
}

// look counts one target.
func (w *walker) look(t Target) (l Loss) {
	l.Target = t
	info, err := os.Lstat(t.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		l.Missing = true
	case err != nil:
		l.Err = err
	case info.Mode()&fs.ModeSymlink != 0 && !t.All:
		if l.Link, err = os.Readlink(t.Path); err != nil {
			l.Err = err
		}
	case info.IsDir():
		if !t.All {
			l.Dirs++
		}
		w.walk(&l)
	case info.Mode()&fs.ModeSymlink != 0: // everything in what a link leads to
		if real, err := filepath.EvalSymlinks(t.Path); err == nil {
			l.Path = real
			w.walk(&l)
		} else {
			l.Err = err
		}
	default:
		l.add(info)
	}
	return l
}

func (l *Loss) add(info fs.FileInfo) {
	l.Files++
	if info.Mode().IsRegular() {
		l.Bytes += info.Size()
	}
	if info.ModTime().After(l.Newest) {
		l.Newest = info.ModTime()
	}
}

// walk counts everything below a directory.
func (w *walker) walk(l *Loss) {
	for dirs := []string{l.Path}; len(dirs) > 0; {
		dir := dirs[len(dirs)-1]
		dirs = dirs[:len(dirs)-1]
		f, err := openDir(dir)
		if err != nil {
			l.Err, l.AtLeast = err, true
			continue
		}
		below, more := w.list(f, dir, l)
		_ = f.Close() // nothing was written
		dirs = append(dirs, below...)
		if more {
			l.AtLeast = true
			return
		}
	}
}

// list counts the entries of one directory. more tells that a bound was met.
func (w *walker) list(f *os.File, dir string, l *Loss) (below []string, more bool) {
	for {
		entries, err := f.ReadDir(batch)
		for _, e := range entries {
			if w.left--; w.left < 0 || w.ctx.Err() != nil {
				return below, true
			}
			path := filepath.Join(dir, e.Name())
			if e.Name() == ".git" {
				w.repos = append(w.repos, dir)
			}
			if e.IsDir() {
				l.Dirs++
				below = append(below, path)
				continue
			}
			info, err := e.Info()
			if err != nil {
				continue // it went meanwhile
			}
			l.add(info)
			if e.Type()&fs.ModeSymlink != 0 {
				l.follow(path)
			}
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				l.Err, l.AtLeast = err, true
			}
			return below, false
		}
	}
}

// follow notes a link that leads out of what is deleted. It reads where the link says it leads and goes nowhere.
func (l *Loss) follow(path string) {
	to, err := os.Readlink(path)
	if err != nil {
		return
	}
	at := to
	if !filepath.IsAbs(at) {
		at = filepath.Join(filepath.Dir(path), at)
	}
	if at = filepath.Clean(at); at == l.Path || below(at, l.Path) {
		return
	}
	l.Outward++
	if len(l.LinksOut) < maxNames {
		l.LinksOut = append(l.LinksOut, path+" → "+to)
	}
}

// below tells whether a path lies in a directory.
func below(path, dir string) bool {
	return strings.HasPrefix(path, strings.TrimSuffix(dir, string(filepath.Separator))+string(filepath.Separator))
}
