package mirror

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/hermes-runtime/hermes/environment"
)

// bring makes the place have one file.
func (w *work) bring(ctx context.Context, name string, f file) error {
	if !w.looked(name) {
		return nil // why not is told already
	}
	old, had := w.record(name)
	var sum string
	if had {
		var err error
		if sum, err = digest(f); err != nil {
			return unlessGone(err)
		}
		if sum == old.Hash && f.mode == old.Is { // only its time is another
			old.Here = w.p.m.settled(f.time)
			w.note(name, old)
			return nil
		}
	}
	if done, err := w.makeRoom(ctx, name, f, sum); done || err != nil {
		return unlessGone(err)
	}
	return unlessGone(w.send(ctx, name, f))
}

// unlessGone takes a file that vanished here for none.
func unlessGone(err error) error {
	if errors.Is(err, errVanished) {
		return nil
	}
	return err
}

var errVanished = errors.New("it vanished meanwhile")

func vanished(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotThere) {
		return fmt.Errorf("%w: %w", errVanished, err)
	}
	return err
}

// send writes a file there.
func (w *work) send(ctx context.Context, name string, f file) error {
	h, i, err := f.open()
	if err != nil {
		return vanished(err)
	}
	defer h.Close()
	c := &counting{r: io.LimitReader(h, min(i.Size(), w.p.m.o.MaxBytes)), h: sha256.New()}
	far, err := w.fs.Replace(ctx, w.at(name), c, environment.ReplaceOptions{Mode: f.mode})
	if err != nil {
		return err
	}
	r := record{Hash: hex.EncodeToString(c.h.Sum(nil)), Size: c.n, Is: f.mode, Here: w.p.m.settled(i.ModTime()), Far: far.ModTime.UnixNano(), File: f.tree.File}
	if after, err := h.Stat(); err != nil || after.Size() != c.n || !after.ModTime().Equal(i.ModTime()) { // it changed while it was read
		r.Here = 0
	}
	w.note(name, r)
	return nil
}

// counting hashes what is read.
type counting struct {
	r io.Reader
	h hash.Hash
	n int64
}

func (c *counting) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.h.Write(b[:n])
	c.n += int64(n)
	return n, err
}

// digest hashes a file of this machine.
func digest(f file) (string, error) {
	h, i, err := f.open()
	if err != nil {
		return "", vanished(err)
	}
	defer h.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, io.LimitReader(h, i.Size())); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// makeRoom sees to it that a file can be written there: one of ours is written over unless its mode is another, one that changed there, or
// never was ours, is put aside. done says that it holds already what is to be brought.
func (w *work) makeRoom(ctx context.Context, name string, f file, sum string) (done bool, err error) {
	kind, taken := w.there(name)
	switch {
	case !taken:
		return false, nil
	case kind&fs.ModeSymlink != 0:
		return false, errLink
	case kind.IsDir():
		return false, errors.New("a directory stands in its way there")
	case kind != 0:
		return false, errors.New("something that is no regular file stands in its way there")
	}
	i, err := w.fs.Stat(ctx, w.at(name))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	old, had := w.record(name)
	if had && old.stays(i) && !old.Found {
		if old.Is != f.mode { // what is there keeps its mode
			err = w.fs.Remove(ctx, w.at(name))
		}
		return false, err
	}
	return w.strange(ctx, name, f, sum, i)
}

// strange deals with a file there that isn't as we left it.
func (w *work) strange(ctx context.Context, name string, f file, sum string, i environment.FileInfo) (done bool, err error) {
	old, had := w.record(name)
	if had && f.tree.File && !old.Found { // ours to write; no other copy of it is to lie about
		return false, nil
	}
	if i.Size <= w.p.m.o.MaxBytes {
		far, err := w.digestThere(ctx, name, i.Size)
		if err != nil {
			return false, err
		}
		if sum == "" {
			if sum, err = digest(f); err != nil {
				return false, err
			}
		}
		switch {
		case far == sum:
			w.note(name, record{Hash: far, Size: i.Size, Is: f.mode, Here: w.p.m.settled(f.time), Far: i.ModTime.UnixNano(), File: f.tree.File, Found: !had || old.Found})
			return true, nil
		case had && far == old.Hash && !old.Found:
			return false, nil
		}
	}
	return false, w.putAside(ctx, name)
}

// putAside keeps a file of the place under another name, from where it is fetched in the end.
func (w *work) putAside(ctx context.Context, name string) error {
	if kind, taken := w.there(name + aside); taken && kind != 0 {
		return errLink
	}
	if err := w.fs.Rename(ctx, w.at(name), w.at(name+aside)); err != nil {
		return err
	}
	w.p.m.warn("a file in "+w.p.name()+" was changed there and here", fmt.Errorf("the one there is kept as ~/%s", path.Join(environment.SharedDir, name+aside)))
	return nil
}

// digestThere hashes a file of the place, which must have the size that it says.
func (w *work) digestThere(ctx context.Context, name string, size int64) (string, error) {
	r, err := w.fs.Read(ctx, w.at(name), 0, size)
	if err != nil {
		return "", err
	}
	defer r.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, io.LimitReader(r, size)); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// takeBack removes from the place what was brought and is wanted no more. What changed there is put aside.
func (w *work) takeBack(ctx context.Context, names []string) error {
	i := w.p.env.Info()
	err := each(ctx, names, func(ctx context.Context, name string) error {
		kind, taken := w.there(name)
		if !w.looked(name) {
			return nil // why not is told already
		}
		old, _ := w.record(name)
		if !taken || kind != 0 || old.Found || shows(i, w.at(name)) {
			w.forget(name)
			return nil
		}
		now, err := w.fs.Stat(ctx, w.at(name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return err
		case old.stays(now) || old.File:
			err = w.fs.Remove(ctx, w.at(name))
		default:
			if far, herr := w.digestThere(ctx, name, now.Size); herr == nil && far == old.Hash {
				err = w.fs.Remove(ctx, w.at(name))
			} else {
				err = cmp.Or(herr, w.putAside(ctx, name))
			}
		}
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			w.forget(name)
			return nil
		}
		return err
	})
	w.sweepDirs(ctx, names)
	return err
}

// sweepDirs removes the directories that became empty.
func (w *work) sweepDirs(ctx context.Context, names []string) {
	dirs := map[string]bool{}
	for _, name := range names {
		for d := path.Dir(name); d != "."; d = path.Dir(d) {
			dirs[d] = true
		}
	}
	for _, d := range slices.Backward(slices.SortedFunc(maps.Keys(dirs), func(a, b string) int { return strings.Count(a, "/") - strings.Count(b, "/") })) {
		if w.fs.Remove(ctx, w.at(d)) != nil && ctx.Err() != nil { // most hold something else
			return
		}
	}
}

// shows tells whether a place shows at p something of this machine.
func shows(i environment.Info, p environment.Path) bool {
	return slices.ContainsFunc(i.Shows, func(m environment.Mount) bool {
		return p == m.Inside || strings.HasPrefix(string(p), string(m.Inside)+"/")
	})
}
