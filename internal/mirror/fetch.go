package mirror

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hermes-runtime/hermes/environment"
)

// leave takes back what was handed over and is wanted no more, and fetches what changed. A place that shows everything itself, and got
// nothing, isn't asked.
func (p *place) leave(ctx context.Context) error {
	trees := p.brought()
	if p.mine || len(trees) == 0 && len(p.known)+len(p.sent) == 0 {
		return nil
	}
	var err error
	for try := 0; ; try++ {
		if err = p.fetch(ctx, trees); err == nil || !environment.Failed(err) || errors.Is(err, environment.ErrGone) || try == len(p.m.o.Waits) {
			return err
		}
		t := time.NewTimer(p.m.o.Waits[try])
		select {
		case <-t.C:
		case <-ctx.Done():
			t.Stop()
			return err
		}
	}
}

func (p *place) fetch(ctx context.Context, trees []Tree) error {
	w, err := p.begin(ctx)
	if err != nil {
		return ignore(err, errMine)
	}
	defer w.end()
	err = w.withdraw(ctx, trees)
	var found []changed
	if err == nil && !p.m.o.NoFetch {
		found, err = w.changes(ctx, trees)
	}
	left := p.m.o.MaxBytes
	for _, c := range found {
		if environment.Failed(err) || ctx.Err() != nil {
			break
		}
		if left -= c.info.Size; left < 0 {
			left += c.info.Size
			err = errors.Join(err, fmt.Errorf("%s is left there: with it, more than %d MiB would be fetched", c.name, p.m.o.MaxBytes>>20))
			continue
		}
		err = errors.Join(err, w.take(ctx, c))
	}
	return w.settle(ctx, err)
}

// withdraw removes what was handed over and is in no tree any more.
func (w *work) withdraw(ctx context.Context, trees []Tree) error {
	var gone []string
	for _, name := range slices.Sorted(maps.Keys(w.now)) {
		if w.now[name].File && !slices.ContainsFunc(trees, func(t Tree) bool { return t.File && t.Name == name }) {
			gone = append(gone, name)
		}
	}
	err := w.look(ctx, nil, gone)
	if err != nil {
		return err
	}
	return w.takeBack(ctx, gone)
}

// changed is a file there that isn't as it was recorded.
type changed struct {
	tree Tree
	name string
	info environment.FileInfo
}

// changes finds the files of trees that were changed or made there. Links are no files, and none is followed.
func (w *work) changes(ctx context.Context, trees []Tree) ([]changed, error) {
	top, err := w.list(ctx, ".")
	if err != nil || len(top) == 0 {
		return nil, ignore(err, fs.ErrNotExist)
	}
	s := &search{work: w}
	for _, t := range trees {
		if first, _, _ := strings.Cut(t.Name, "/"); !t.File && top[first].IsDir() {
			s.next = append(s.next, spot{t, t.Name})
		}
	}
	for depth := 0; len(s.next) > 0 && depth <= deepest; depth++ {
		dirs := s.next
		s.next, s.files = nil, nil
		if err := each(ctx, dirs, s.enter); err != nil {
			return nil, err
		}
		if s.seen += len(s.next) + len(s.files); s.seen > mostFiles {
			return nil, fmt.Errorf("it holds more than %d files", mostFiles)
		}
		if err := each(ctx, s.files, s.stat); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(s.found, func(a, b changed) int { return strings.Compare(a.name, b.name) })
	return s.found, nil
}

func ignore(err, kind error) error {
	if errors.Is(err, kind) {
		return nil
	}
	return err
}

// spot is a directory or a file there, of a tree.
type spot struct {
	tree Tree
	name string
}

func (s spot) String() string { return s.name }

// search goes through trees there, level by level.
type search struct {
	*work
	mu    sync.Mutex
	next  []spot // directories of the next level
	files []spot // of this one
	seen  int
	found []changed
}

func (s *search) enter(ctx context.Context, dir spot) error {
	l, err := s.list(ctx, dir.name)
	if err != nil {
		return ignore(err, fs.ErrNotExist)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for name, kind := range l {
		switch at := (spot{dir.tree, path.Join(dir.name, name)}); {
		case kind.IsDir() && !slices.Contains(omitted, name):
			s.next = append(s.next, at)
		case kind == 0 && !isTemp(name):
			s.files = append(s.files, at)
		}
	}
	return nil
}

func (s *search) stat(ctx context.Context, f spot) error {
	i, err := s.fs.Stat(ctx, s.at(f.name))
	if err != nil {
		return ignore(err, fs.ErrNotExist)
	}
	if r, had := s.record(f.name); !had || !r.stays(i) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.found = append(s.found, changed{f.tree, f.name, i})
	}
	return nil
}

// take fetches one file, and puts it in its place or beside what changed here too.
func (w *work) take(ctx context.Context, c changed) error {
	root, err := c.tree.make()
	if err != nil {
		return fmt.Errorf("%s: %w", c.name, err)
	}
	defer root.Close()
	temp := ".hermes-" + strings.ToLower(rand.Text()) + ".tmp"
	defer root.Remove(temp) //nolint:errcheck // it is there only where something failed
	sum, err := w.download(ctx, c, root, temp)
	if err == nil {
		err = w.accept(c, root, temp, sum)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", c.name, err)
	}
	return nil
}

// make opens the tree's directory, which is made if there is none.
func (t Tree) make() (*os.Root, error) {
	root, _, err := t.open()
	if !errors.Is(err, errNotThere) {
		return root, err
	}
	base, err := os.OpenRoot(t.Base)
	if err != nil {
		return nil, err
	}
	defer base.Close()
	if err := base.MkdirAll(filepath.FromSlash(t.Path), 0o700); err != nil {
		return nil, err
	}
	root, _, err = t.open()
	return root, err
}

var errMoves = errors.New("it changed while it was read")

// download writes a file of the place to a new one here, as many bytes as it was said to have, and hashes it.
func (w *work) download(ctx context.Context, c changed, root *os.Root, temp string) (string, error) {
	r, err := w.fs.Read(ctx, w.at(c.name), 0, c.info.Size)
	if err != nil {
		return "", err
	}
	defer r.Close()
	f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(f, sum), io.LimitReader(r, c.info.Size))
	if err == nil && n != c.info.Size {
		err = errMoves
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// accept decides what becomes of a fetched file: it replaces one that is as it was when it was brought, and lies beside any other.
func (w *work) accept(c changed, root *os.Root, temp, sum string) error {
	rel := "."
	if c.name != c.tree.Name {
		rel = filepath.FromSlash(strings.TrimPrefix(c.name, c.tree.Name+"/"))
	}
	old, had := w.record(c.name)
	here, err := w.here(c, root, rel)
	switch {
	case err != nil:
		return err
	case here == sum: // nothing to do
	case here == "" && !had, had && here == old.Hash:
		if err := move(root, temp, rel, c.info.Mode); err != nil {
			return err
		}
		w.p.m.o.Log.Info("a file was fetched", "from", w.p.name(), "file", c.name)
	default:
		if err := move(root, temp, rel+aside, c.info.Mode); err != nil {
			return err
		}
		w.p.m.warn("a file was changed here and in "+w.p.name(), fmt.Errorf("%s stays; the other one lies beside it as %s", c.name, path.Base(c.name)+aside))
		w.p.m.tell(fmt.Sprintf("%s was changed here and in %s: the one here stays, and the other lies beside it as %s", c.name, w.p.name(), path.Base(c.name)+aside))
		return nil
	}
	i, err := root.Stat(rel)
	if err != nil {
		return err
	}
	w.note(c.name, record{Hash: sum, Size: c.info.Size, Is: carried(i.Mode()), Here: w.p.m.settled(i.ModTime()), Far: c.info.ModTime.UnixNano()})
	return nil
}

// here is the digest of what lies here under a name: "" = nothing, "?" = something that is no file of ours to replace.
func (w *work) here(c changed, root *os.Root, rel string) (string, error) {
	i, err := root.Lstat(rel)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", err
	case !i.Mode().IsRegular():
		return "?", nil
	}
	return digest(file{tree: c.tree, rel: rel, size: i.Size(), time: i.ModTime(), mode: carried(i.Mode())})
}

// move gives a fetched file its name. One that it replaces passes its mode on.
func move(root *os.Root, temp, rel string, mode fs.FileMode) error {
	if err := root.MkdirAll(filepath.Dir(rel), 0o700); err != nil {
		return err
	}
	mode = carried(mode)
	if i, err := root.Lstat(rel); err == nil && i.Mode().IsRegular() {
		mode = i.Mode().Perm()
	}
	if err := root.Chmod(temp, mode); err != nil {
		return err
	}
	return root.Rename(temp, rel)
}
