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
	if len(trees) == 0 && len(p.known)+len(p.sent) == 0 {
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
		return err
	}
	defer w.end()
	err = w.withdraw(ctx, trees)
	var found []changed
	for _, t := range trees {
		if err != nil || t.File || p.m.o.NoFetch {
			continue
		}
		var more []changed
		more, err = w.changes(ctx, t)
		found = append(found, more...)
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

// changes finds the files of a tree that were changed or made there. Links are no files, and none is followed.
func (w *work) changes(ctx context.Context, t Tree) ([]changed, error) {
	var mu sync.Mutex
	var out []changed
	level, seen := []string{t.Name}, 0
	for depth := 0; len(level) > 0 && depth <= deepest; depth++ {
		var next, files []string
		err := w.each(ctx, level, func(dir string) error {
			l, err := w.list(ctx, dir)
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			for _, name := range slices.Sorted(maps.Keys(l)) {
				switch kind := l[name]; {
				case kind.IsDir() && !slices.Contains(omitted, name):
					next = append(next, path.Join(dir, name))
				case kind == 0 && !isTemp(name):
					files = append(files, path.Join(dir, name))
				}
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		if seen += len(next) + len(files); seen > mostFiles {
			return nil, fmt.Errorf("%s holds more than %d files", t.Name, mostFiles)
		}
		err = w.each(ctx, files, func(name string) error {
			i, err := w.fs.Stat(ctx, w.at(name))
			if r, had := w.record(name); err == nil && (!had || !r.stays(i)) {
				mu.Lock()
				defer mu.Unlock()
				out = append(out, changed{t, name, i})
			}
			if errors.Is(err, fs.ErrNotExist) {
				return nil
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		level = next
	}
	slices.SortFunc(out, func(a, b changed) int { return strings.Compare(a.name, b.name) })
	return out, nil
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
