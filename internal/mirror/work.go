package mirror

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/hermes-runtime/hermes/environment"
	"github.com/hermes-runtime/hermes/internal/atomicfile"
)

// work is one push or fetch under way.
type work struct {
	p    *place
	fs   environment.FS
	lock *atomicfile.Held

	empty bool // the place had nothing from us

	mu   sync.Mutex
	dirs map[string]listing // by name, as they were before; those that were looked into
	now  records
}

// begin makes sure that nobody else on this HERMES_HOME is at it, and finds out what the place has.
func (p *place) begin(ctx context.Context) (*work, error) {
	sum := sha256.Sum256([]byte(p.name()))
	file := filepath.Join(p.m.o.Home, "run", "mirror", hex.EncodeToString(sum[:8])+".lock")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, fmt.Errorf("lock the files of %s: %w", p.name(), err)
	}
	lock, err := atomicfile.Lock(ctx, file)
	for errors.Is(err, atomicfile.ErrLocked) && ctx.Err() == nil { // another brings something large
		lock, err = atomicfile.Lock(ctx, file)
	}
	if err != nil {
		return nil, fmt.Errorf("lock the files of %s: %w", p.name(), err)
	}
	w := &work{p: p, fs: p.env.Files(), lock: lock, dirs: map[string]listing{}}
	if err := w.enter(ctx); err != nil {
		w.end()
		return nil, err
	}
	return w, nil
}

func (w *work) end() { _ = w.lock.Unlock() }

// enter finds the directory there, if there is one, and what it has from us.
func (w *work) enter(ctx context.Context) error {
	p := w.p
	if p.root == "" {
		root, err := w.findRoot(ctx, p.env.Info().Home)
		if err == nil {
			p.mine, err = w.isHome(ctx, root)
		}
		if err != nil {
			return err
		}
		p.root = root
	}
	if p.mine {
		return errMine
	}
	var err error
	if w.now, err = p.readRecords(ctx); err == nil {
		w.empty = len(w.now) == 0
		maps.Copy(w.now, p.sent)
	}
	return err
}

// findRoot gives the directory there that everything lies below. It may be a link, but leads to nowhere outside the home directory.
func (w *work) findRoot(ctx context.Context, home environment.Path) (environment.Path, error) {
	if home == "" {
		return "", errors.New("the place has no home directory")
	}
	at := environment.SharedPath(home, "")
	real, err := w.fs.Resolve(ctx, string(at), "/")
	if err == nil && real != at {
		home, err = w.fs.Resolve(ctx, string(home), "/")
	}
	if err == nil && !strings.HasPrefix(string(real), strings.TrimRight(string(home), "/")+"/") {
		err = fmt.Errorf("~/%s: %w out of the home directory", environment.SharedDir, errLink)
	}
	return real, err
}

var errMine = errors.New("it works in this HERMES_HOME itself")

// isHome tells whether a directory there is HERMES_HOME: the host may be this one, or share its disks.
func (w *work) isHome(ctx context.Context, root environment.Path) (bool, error) {
	name := rand.Text() + ".here"
	dir := filepath.Join(w.p.m.o.Home, "run", "mirror")
	if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
		return false, fmt.Errorf("find out whether %s is elsewhere: %w", w.p.name(), err)
	}
	defer os.Remove(filepath.Join(dir, name)) //nolint:errcheck // an empty file
	_, err := w.fs.Stat(ctx, environment.Path(path.Join(string(root), "run", "mirror", name)))
	if err == nil {
		return true, nil
	}
	if environment.Failed(err) || ctx.Err() != nil {
		return false, err
	}
	return false, nil // it isn't there, or can't be looked at
}

// settle records what the place has by now, if nothing went wrong.
func (w *work) settle(ctx context.Context, err error) error {
	if err != nil {
		w.p.known, w.p.sent = nil, w.now
		return err
	}
	if w.empty && len(w.now) == 0 { // nothing is there that would have to be known
		w.p.known, w.p.sent = w.now, nil
		return nil
	}
	return w.p.writeRecords(ctx, w.now)
}

// listing is what lies in a directory there, by name.
type listing map[string]fs.FileMode

// each does something for each name, several at once. A place that failed ends it.
func each[T any](ctx context.Context, names []T, do func(ctx context.Context, name T) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var mu sync.Mutex
	var failed error
	var errs []error
	var all sync.WaitGroup
	turns := make(chan struct{}, sideways)
	for _, name := range names {
		turns <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		all.Go(func() {
			defer func() { <-turns }()
			err := do(ctx, name)
			if err == nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if environment.Failed(err) && failed == nil {
				failed = err
				cancel(err)
			}
			if len(errs) < sideways { // enough to see what is wrong
				errs = append(errs, fmt.Errorf("%v: %w", name, err))
			}
		})
	}
	all.Wait()
	switch {
	case failed != nil:
		return failed
	case len(errs) == 0 && ctx.Err() != nil:
		return context.Cause(ctx)
	}
	return errors.Join(errs...)
}

// look finds out what lies in the directories of names there, and makes those that something is to be brought to. None of them may be, or
// lie below, a link.
func (w *work) look(ctx context.Context, bring, other []string) error {
	made := map[string]bool{}
	for _, name := range bring {
		made[path.Dir(name)] = true
	}
	dirs := maps.Clone(made)
	for _, name := range other {
		dirs[path.Dir(name)] = true
	}
	return each(ctx, slices.Sorted(maps.Keys(dirs)), func(ctx context.Context, dir string) error {
		l, err := w.list(ctx, dir)
		if errors.Is(err, fs.ErrNotExist) && made[dir] {
			l, err = listing{}, w.fs.MkdirAll(ctx, w.at(dir), 0o700)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		w.mu.Lock()
		w.dirs[dir] = l
		w.mu.Unlock()
		return nil
	})
}

func (w *work) at(name string) environment.Path {
	return environment.Path(path.Join(string(w.p.root), name))
}

var errLink = errors.New("a link stands in its way there, which is not followed")

// isElement tells whether what a place says lies in a directory is one name and no way anywhere.
func isElement(name string) bool { return isName(name) && !strings.Contains(name, "/") }

// list gives what lies in a directory there, which must be no link.
func (w *work) list(ctx context.Context, dir string) (listing, error) {
	at := w.at(dir)
	real, err := w.fs.Resolve(ctx, string(at), "/")
	switch {
	case err != nil:
		return nil, err
	case real != at:
		return nil, errLink
	}
	entries, err := w.fs.ReadDir(ctx, at)
	if err != nil {
		return nil, err
	}
	l := make(listing, len(entries))
	for _, e := range entries {
		if isElement(e.Name) {
			l[e.Name] = e.Type
		}
	}
	return l, nil
}

func (w *work) record(name string) (record, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r, ok := w.now[name]
	return r, ok
}

func (w *work) note(name string, r record) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now[name] = r
}

func (w *work) forget(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.now, name)
}

// looked tells whether the directory of a name was looked into.
func (w *work) looked(name string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, ok := w.dirs[path.Dir(name)]
	return ok
}

func (w *work) there(name string) (fs.FileMode, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	t, ok := w.dirs[path.Dir(name)][path.Base(name)]
	return t, ok
}
